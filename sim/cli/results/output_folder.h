#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "sim/cli/results/folder_lock.h"
#include "sim/cli/results/spool_file.h"

namespace gradrace {

/// The files of one scenario's results, in a folder that is locked.  They are written aside, in a
/// hidden folder beside their places, and moved there by publish(): a file appears whole or not at
/// all, and what was there stays until then.
class OutputFolder {
 public:
  /// Throws UsageError when the folder holds results and `overwrite` is false, or when another
  /// process has it.
  OutputFolder(std::filesystem::path folder, bool overwrite);
  ~OutputFolder();

  const std::filesystem::path& path() const { return folder_; }

  /// Adds text to a file; std::runtime_error if the disk refuses.
  void append(const std::string& file, std::string_view text);

  /// For what comes before its place in a file; ends with the folder.
  SpoolFile& spool_file() { return spool_file_; }

  /// Moves every file to its place, after removing result files of an earlier run and its plots.
  void publish();

 private:
  void remove_unfinished();
  void remove_plots();

  const std::filesystem::path folder_;
  bool held_results_;
  const FolderLock lock_;
  const std::filesystem::path& aside_ = lock_.aside();
  std::map<std::string, std::ofstream> files_;
  SpoolFile spool_file_;
};

}  // namespace gradrace
