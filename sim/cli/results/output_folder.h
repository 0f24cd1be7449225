#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace gradrace {

/// The files of one scenario's results.  They are written aside, in a hidden folder beside their
/// places, and moved there by publish(): a file appears whole or not at all, and what was there
/// stays until then.
class OutputFolder {
 public:
  /// Throws UsageError when the folder holds results and `overwrite` is false.
  OutputFolder(std::filesystem::path folder, bool overwrite);
  ~OutputFolder();

  const std::filesystem::path& path() const { return folder_; }

  /// Adds text to a file; std::runtime_error if the disk refuses.
  void append(const std::string& file, const std::string& text);

  /// Moves every file to its place, after removing result files of an earlier run and its plots.
  void publish();

 private:
  void remove_plots();

  std::filesystem::path folder_, aside_;
  bool held_results_ = false;
  std::map<std::string, std::ofstream> files_;
};

}  // namespace gradrace
