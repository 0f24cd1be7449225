#include "sim/cli/results/output_folder.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "sim/cli/scenario/record.h"
#include "sim/cli/usage_error.h"

namespace gradrace {

namespace {

/// The first to go and the last to come: where it is, the others are whole.
constexpr const char* manifest = "manifest.json";

constexpr const char* spool = "spool";

std::vector<std::string_view> result_files() {
  std::vector<std::string_view> files{
      manifest,     "runs.csv",    "curve.csv", "staleness.csv", "learners.csv",
      "theory.csv", "fit.csv",     "fit.json",  "sample.csv",    "quantiles.csv",
      "search.csv", "search.json", "costs.csv"};
  for (const Record* record : records()) files.push_back(record->file);
  return files;
}

/// What the plots of a folder are called.
constexpr std::array plot_names{"error_time", "loss_time", "error_updates", "disagreement_time",
                                "staleness",  "timeline",  "fit",           "persistence"};

/// Whether it does; UsageError if it may not.
bool holds_result_files(const std::filesystem::path& folder, bool allowed) {
  for (const auto file : result_files()) {
    if (!std::filesystem::exists(folder / file)) continue;
    if (allowed) return true;
    throw UsageError(folder.string() + ": holds results already (" + std::string(file) +
                     "); use --force to overwrite them, or --out DIR for another folder");
  }
  return false;
}

}  // namespace

OutputFolder::OutputFolder(std::filesystem::path folder, bool overwrite)
    : folder_(std::move(folder)),
      held_results_(holds_result_files(folder_, overwrite)),
      lock_(folder_),
      spool_file_(aside_ / spool) {
  // Another process may have ended before it was locked, or have been killed.
  held_results_ = holds_result_files(folder_, overwrite);
  remove_unfinished();
}

OutputFolder::~OutputFolder() {
  files_.clear();
  remove_unfinished();
}

void OutputFolder::append(const std::string& file, std::string_view text) {
  auto [found, is_new] = files_.try_emplace(file);
  std::ofstream& stream = found->second;
  if (is_new) stream.open(aside_ / file, std::ios::binary);
  stream << text;
  if (!stream) {
    throw std::runtime_error((aside_ / file).string() +
                             ": cannot be written: " + std::strerror(errno));
  }
}

void OutputFolder::publish() {
  for (auto& [file, stream] : files_) {
    stream.close();
    if (!stream) {
      throw std::runtime_error((aside_ / file).string() +
                               ": cannot be written: " + std::strerror(errno));
    }
  }
  for (const auto file : result_files()) std::filesystem::remove(folder_ / file);
  if (held_results_) remove_plots();
  const auto place = [this](const std::string& file) {
    std::filesystem::rename(aside_ / file, folder_ / file);
  };
  for (const auto& [file, stream] : files_) {
    if (file != manifest) place(file);
  }
  if (files_.contains(manifest)) place(manifest);
}

void OutputFolder::remove_unfinished() {
  std::error_code ignored;
  for (const auto file : result_files()) std::filesystem::remove(aside_ / file, ignored);
  std::filesystem::remove(aside_ / spool, ignored);
}

void OutputFolder::remove_plots() {
  if (std::filesystem::is_symlink(folder_ / "plots")) return;  // what it leads to is the user's
  for (const auto* name : plot_names) {
    for (const auto* ending : {".png", ".svg"}) {
      std::filesystem::remove(folder_ / "plots" / (std::string(name) + ending));
    }
  }
  std::error_code ignored;
  std::filesystem::remove(folder_ / "plots", ignored);  // if nothing else is in it
}

}  // namespace gradrace
