#include "sim/cli/output/output_folder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/check.h"
#include "sim/cli/output/disk.h"
#include "sim/cli/output/stamp.h"
#include "sim/cli/standard_streams.h"
#include "sim/cli/usage_error.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

/// Where `gradrace report` writes by default (analysis/report/report.py).
constexpr const char* report_page = "report.html";

std::string form_of(const std::string& file, Compression compression) {
  return file + std::string(ending_of(compression));
}

}  // namespace

std::set<std::string> Files::forms() const {
  std::set<std::string> forms = names;
  for (const auto& file : compressible)
    for (const auto compression : {Compression::gzip, Compression::zstd})
      forms.insert(form_of(file, compression));
  forms.insert(record);
  return forms;
}

std::string Files::first_in(const fs::path& folder) const {
  if (fs::exists(folder / record)) return record;
  for (const auto& file : forms())
    if (fs::exists(folder / file)) return file;
  return {};
}

OutputFolder::OutputFolder(fs::path folder, Files files, const std::string& shard)
    : folder_(std::move(folder)),
      of_(std::move(files)),
      is_shard_(!shard.empty()),
      lock_(folder_, shard),
      spool_file_(aside_ / ("spool" + shard + std::string(temporary_ending))) {
  remove_unfinished();
}

OutputFolder::OutputFolder(fs::path folder, Files files, bool overwrite)
    : OutputFolder(std::move(folder), std::move(files)) {
  const PublishedFiles there = published();
  const auto refuse = [this](const std::string& what) {
    throw UsageError(folder_.string() + ": holds " + what + "; use --out DIR for another folder");
  };
  for (const RecordFile& other : record_files)
    if (other.name != of_.record && fs::exists(in_ / other.name))
      refuse("results of " + std::string(other.of) + " (" + other.name + ")");
  auto coming = of_.names;
  coming.insert(of_.record);
  refuse_others(coming);
  const std::string file = of_.first_in(in_);
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

PublishedFiles OutputFolder::published() const { return {in_, aside_}; }

Compression OutputFolder::compression_of(const std::string& file) const {
  return of_.compressible.contains(file) ? compression_ : Compression::none;
}

bool OutputFolder::has_other_forms() const {
  const PublishedFiles there = published();
  return std::ranges::any_of(of_.compressible, [&](const std::string& file) {
    return std::ranges::any_of(std::array{Compression::none, Compression::gzip, Compression::zstd},
                               [&](Compression other) {
                                 return other != compression_ && there.has(form_of(file, other));
                               });
  });
}

void OutputFolder::refuse_others(const std::set<std::string>& files) const {
  const PublishedFiles there = published();
  if (!there.record().empty() && there.record() != of_.record)
    throw UsageError(folder_.string() + ": holds results of another command (" + there.record() +
                     "); use --out DIR for another folder");
  for (const auto& file : files) {
    const std::string form = form_of(file, compression_of(file));
    const fs::path place = in_ / form;
    if (fs::is_symlink(place)) refuse_link(place);
    if (!fs::exists(place)) continue;
    const bool is_ours = there.are_known() ? there.has(form) : of_.takes_unknown;
    if (is_ours && fs::is_regular_file(place)) continue;
    throw UsageError(shown(place).string() + ": is there, and is not among the results that " +
                     (there.are_half()         ? "a call was about to publish when it was ended"
                      : there.record().empty() ? "a command wrote"
                                               : "the " + there.record() + " there names") +
                     "; it is left as it is: move it away, or use --out DIR for another folder");
  }
}

void OutputFolder::append(const std::string& file, std::string_view text) {
  auto found = files_.find(file);
  if (found == files_.end()) {
    lock_.check_in_place();
    const Compression compression = compression_of(file);
    found = files_.try_emplace(file, aside_ / form_of(file, compression), compression).first;
  }
  found->second.append(text);
}

const std::set<std::string>& OutputFolder::close() {
  for (auto& [file, stream] : files_) {
    stream.close();
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
  for (const auto& file : close()) sync_file(aside_ / file);
  const PublishedFiles there = published();
  refuse_others(closed_);
  const bool had_drawings = remove_drawings();
  const auto place = [this](const std::string& file) { move_to_place(aside_ / file, in_ / file); };
  const auto old_files = old_results(there);
  const std::string& last = of_.record;
  GRADRACE_CHECK(closed_.contains(last), "results have a file that comes last");
  const auto hashes = finish();
  keep_others(there, hashes);
  there.note(hashes);
  remove_file(in_ / last);
  for (const auto& file : old_files) remove_file(in_ / file);
  for (const auto& file : closed_)
    if (file != last) place(file);
  sync_folder(in_);
  place(last);
  sync_folder(in_);
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
    const fs::path place = in_ / file;
    const bool is_ours = file == there.record() || there.has_unchanged(file);
    if (is_ours || !fs::exists(place) || hash_of_file(place) == hash) continue;
    const fs::path other = free_name(place);
    move_to_place(place, other);
    tell_note(shown(place).string() + ": " +
              (there.are_known() ? "was changed since gradrace wrote it"
                                 : "no manifest says whose it is") +
              "; it is " + other.filename().string() + " now");
  }
}

/// Results that are there and have no successors, which nobody has changed.
std::vector<std::string> OutputFolder::old_results(const PublishedFiles& there) const {
  std::vector<std::string> files;
  for (const auto& name : of_.forms())
    if (!closed_.contains(name) && there.has_unchanged(name)) files.push_back(name);
  return files;
}

void OutputFolder::remove_unfinished() {
  std::error_code ignored;
  if (is_shard_ || !lock_.is_in_place()) return;  // what is there may be another one's
  for (const auto& file : of_.forms()) fs::remove(aside_ / file, ignored);
  for (const auto& entry : fs::directory_iterator(aside_, ignored))
    if (entry.path().extension() == temporary_ending) fs::remove(entry.path(), ignored);
}

/// Plots and page of the results before, which nobody has changed since; whether there were any.
bool OutputFolder::remove_drawings() const {
  const Folder plots(in_ / "plots", false);  // what a link leads to is the user's
  std::error_code ignored;
  std::vector<fs::path> drawings{in_ / report_page};
  if (plots.is_open())
    for (const auto& entry : fs::directory_iterator(plots.place(), ignored))
      drawings.push_back(entry.path());
  std::erase_if(drawings,
                [](const fs::path& file) { return fs::is_symlink(file) || !is_stamped(file); });
  for (const auto& file : drawings) remove_file(file);
  ::rmdir(plots.path().c_str());  // if nothing else is in it
  return !drawings.empty();
}

}  // namespace gradrace
