#include "sim/cli/output/output_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <new>
#include <set>
#include <string_view>
#include <vector>

#include "sim/check.h"
#include "sim/cli/output/disk.h"
#include "sim/cli/output/files_lock.h"
#include "sim/cli/output/stamp.h"
#include "sim/cli/scenario/record.h"
#include "sim/cli/usage_error.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

/// Where `gradrace report` writes by default (analysis/report/report.py).
constexpr const char* report_page = "report.html";

/// What a run writes for machines, and may compress.
std::vector<std::string> large_files() {
  std::vector<std::string> files{"curve.csv", "staleness.csv", "learners.csv", "theory.csv"};
  for (const Record* record : records()) files.emplace_back(record->file);
  return files;
}

bool is_large(const std::string& file) {
  const auto files = large_files();
  return std::ranges::find(files, file) != files.end();
}

std::string form_of(const std::string& file, Compression compression) {
  return file + std::string(ending_of(compression));
}

/// All that a file of runs may have.
std::vector<std::string> forms_of(const std::string& file) {
  std::vector<std::string> forms{file};
  if (is_large(file))
    for (const auto compression : {Compression::gzip, Compression::zstd})
      forms.push_back(form_of(file, compression));
  if (file.ends_with(".csv")) forms.push_back(parquet_name(file));
  return forms;
}

std::vector<std::string> files_of_runs() {
  std::vector<std::string> files = large_files();
  files.emplace_back("runs.csv");
  return files;
}

const std::set<std::string> files_of_fits{"fit.csv", "sample.csv", "quantiles.csv", fit_record};
const std::set<std::string> files_of_searches{"search.csv", "costs.csv", search_record};

/// In each form.
std::vector<std::string> result_files() {
  std::vector<std::string> files{manifest_record};
  for (const auto* of : {&files_of_fits, &files_of_searches})
    files.insert(files.end(), of->begin(), of->end());
  for (const auto& file : files_of_runs())
    for (auto& form : forms_of(file)) files.push_back(std::move(form));
  return files;
}

/// Of the files of a command: the first to go and the last to come.
std::string last_of(const std::set<std::string>& files) {
  for (const char* const name : {manifest_record, fit_record, search_record})
    if (files.contains(name)) return name;
  return {};
}

}  // namespace

std::string parquet_name(const std::string& csv) {
  return fs::path(csv).replace_extension(".parquet");
}

std::string result_file_in(const fs::path& folder) {
  for (const auto& file : result_files())
    if (fs::exists(folder / file)) return file;
  return {};
}

OutputFolder::OutputFolder(fs::path folder, const std::string& shard)
    : folder_(std::move(folder)),
      is_shard_(!shard.empty()),
      lock_(folder_, shard),
      spool_file_(aside_ / ("spool" + shard)) {
  remove_unfinished();
}

OutputFolder::OutputFolder(fs::path folder, const char* record, bool overwrite)
    : OutputFolder(std::move(folder)) {
  const PublishedFiles there(folder_);
  const auto refuse = [this](const std::string& what) {
    throw UsageError(folder_.string() + ": holds " + what + "; use --out DIR for another folder");
  };
  constexpr std::pair<const char*, const char*> others[] = {
      {manifest_record, "runs"}, {fit_record, "a fit"}, {search_record, "a search"}};
  for (const auto& [file, of] : others)
    if (file != std::string_view(record) && fs::exists(folder_ / file))
      refuse("results of " + std::string(of) + " (" + file + ")");
  for (const auto& entry : fs::directory_iterator(folder_))
    if (const std::string name = entry.path().filename();
        name.starts_with("runs.") && name.ends_with(".store"))
      refuse("results of runs (" + name + ")");
  refuse_others(record == std::string_view(fit_record) ? files_of_fits : files_of_searches);
  const std::string file = result_file_in(folder_);
  if (file.empty() || overwrite || there.are_half()) return;
  if (there.record().empty())
    refuse(file + ", which gradrace did not make or somebody has changed since");
  refuse("results already (" + file + "); use --force to overwrite them");
}

OutputFolder::~OutputFolder() {
  files_.clear();
  try {
    remove_unfinished();
  } catch (const std::bad_alloc&) {
    // What is left aside goes with the next call.
  }
}

Compression OutputFolder::compression_of(const std::string& file) const {
  return is_large(file) ? compression_ : Compression::none;
}

bool OutputFolder::has_other_forms() const {
  const PublishedFiles there(folder_);
  return std::ranges::any_of(files_of_runs(), [&](const std::string& file) {
    const std::string written = form_of(file, compression_of(file));
    return std::ranges::any_of(forms_of(file), [&](const std::string& form) {
      return form != written && there.has(form);
    });
  });
}

void OutputFolder::refuse_others(const std::set<std::string>& files) const {
  const PublishedFiles there(folder_);
  if (!there.record().empty() && there.record() != last_of(files))
    throw UsageError(folder_.string() + ": holds results of another command (" + there.record() +
                     "); use --out DIR for another folder");
  for (const auto& file : files) {
    const std::string form = form_of(file, compression_of(file));
    const fs::path place = folder_ / form;
    if (fs::is_symlink(place)) refuse_link(place);
    if (!fs::exists(place)) continue;
    const bool is_ours = there.are_known() ? there.has(form) : files.contains(manifest_record);
    if (is_ours && fs::is_regular_file(place)) continue;
    throw UsageError(place.string() + ": is there, and is not among the results that " +
                     (there.are_half()         ? "a call was about to publish when it was ended"
                      : there.record().empty() ? "a command wrote"
                                               : "the " + there.record() + " there names") +
                     "; it is left as it is: move it away, or use --out DIR for another folder");
  }
}

CompressedFile& OutputFolder::opened(const std::string& file) {
  lock_.check_in_place();
  const Compression compression = compression_of(file);
  const fs::path path = aside_ / form_of(file, compression);
  return files_.try_emplace(file, path, compression).first->second;
}

void OutputFolder::append(const std::string& file, std::string_view text) {
  const auto found = files_.find(file);
  CompressedFile& stream = found != files_.end() ? found->second : opened(file);
  if (!stream.append(text)) fail(stream.path());
}

const std::set<std::string>& OutputFolder::close() {
  for (auto& [file, stream] : files_) {
    if (!stream.close()) fail(stream.path());
    closed_.insert(stream.path().filename());
  }
  files_.clear();
  return closed_;
}

void OutputFolder::replace(const std::string& file, const std::string& with) {
  closed_.erase(file);
  fs::remove(aside_ / file);
  closed_.insert(with);
}

PublishedFiles::Hashes OutputFolder::finish() {
  for (const auto& file : close()) hashes_.try_emplace(file, hash_of_file(aside_ / file));
  return hashes_;
}

bool OutputFolder::publish() {
  lock_.check_in_place();
  const FilesLock lock({folder_});
  for (const auto& file : close())
    if (!sync_to_disk(aside_ / file)) fail(aside_ / file);
  const PublishedFiles there(folder_);
  refuse_others(closed_);
  const bool had_drawings = remove_drawings();
  const auto place = [this](const std::string& file) {
    move_to_place(aside_ / file, folder_ / file);
  };
  const auto old_files = old_results(there);
  const std::string last = last_of(closed_);
  GRADRACE_CHECK(!last.empty(), "results have a file that comes last");
  const auto hashes = finish();
  keep_others(there, hashes);
  there.note(hashes);
  remove_file(folder_ / last);
  for (const auto& file : old_files) remove_file(folder_ / file);
  for (const auto& file : closed_)
    if (file != last) place(file);
  if (!sync_folder(folder_)) fail(folder_);
  place(last);
  if (!sync_folder(folder_)) fail(folder_);
  there.forget();
  closed_.clear();
  hashes_.clear();
  return had_drawings;
}

/// Files that somebody has changed, or of which nothing says whose they are, get other names where
/// what comes differs from them.
void OutputFolder::keep_others(const PublishedFiles& there,
                               const PublishedFiles::Hashes& coming) const {
  for (const auto& [file, hash] : coming) {
    const fs::path place = folder_ / file;
    const bool is_ours = file == there.record() || there.has_unchanged(file);
    if (is_ours || !fs::exists(place) || hash_of_file(place) == hash) continue;
    const fs::path other = free_name(place);
    move_to_place(place, other);
    std::cerr << "gradrace: note: " << printable(place.string()) << ": "
              << (there.are_known() ? "was changed since gradrace wrote it"
                                    : "no manifest says whose it is")
              << "; it is " << printable(other.filename().string()) << " now\n";
  }
}

/// Results that are there and have no successors, which nobody has changed.
std::vector<std::string> OutputFolder::old_results(const PublishedFiles& there) const {
  std::vector<std::string> files;
  for (const auto& name : result_files())
    if (!closed_.contains(name) && there.has_unchanged(name)) files.push_back(name);
  return files;
}

void OutputFolder::remove_unfinished() {
  std::error_code ignored;
  if (is_shard_ || !lock_.is_in_place()) return;  // what is there may be another one's
  for (const auto& file : result_files()) fs::remove(aside_ / file, ignored);
  for (const auto& entry : fs::directory_iterator(aside_, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("spool") || name == "runs.store" || name.ends_with(".new"))
      fs::remove(entry.path(), ignored);
  }
}

/// Plots and page of the results before, which nobody has changed since; whether there were any.
bool OutputFolder::remove_drawings() const {
  const fs::path plots = folder_ / "plots";
  std::error_code ignored;
  std::vector<fs::path> drawings{folder_ / report_page};
  if (!fs::is_symlink(plots)) {  // what it leads to is the user's
    for (const auto& entry : fs::directory_iterator(plots, ignored)) {
      drawings.push_back(entry.path());
    }
  }
  std::erase_if(drawings,
                [](const fs::path& file) { return fs::is_symlink(file) || !is_stamped(file); });
  for (const auto& file : drawings) remove_file(file);
  if (!fs::is_symlink(plots)) fs::remove(plots, ignored);  // if nothing else is in it
  return !drawings.empty();
}

void OutputFolder::fail(const fs::path& file) {
  throw DiskError(file.string() + ": cannot be written: " + std::strerror(errno));
}

}  // namespace gradrace
