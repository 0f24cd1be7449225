#pragma once

#include <filesystem>
#include <string>

namespace gradrace {

/// A file or folder as a scenario names it, and where that is.
struct Location {
  std::string name;
  std::filesystem::path found;  // absolute, symbolic links resolved; empty if it is not there
  std::string looked_at;        // everywhere it was looked for, for the error message
};

/// A folder or file that a scenario names and that is not there.
struct MissingPlace {
  std::string kind;  // "folder", "file"
  std::string name;  // as the scenario has it
  std::string looked_at;

  std::string what() const { return "no " + kind + " \"" + name + "\""; }
  std::string places() const { return "looked at " + looked_at; }
  std::string text() const { return what() + ": " + places(); }
  auto operator<=>(const MissingPlace&) const = default;
};

/// Finds the files and folders that a scenario names.
class Locator {
 public:
  /// A relative path starts at `scenario_folder` (empty: the working folder); what is not there is
  /// looked for under `data_folder` (--data, GRADRACE_DATA; empty: nowhere) by the path's last
  /// component, then by its last two.
  explicit Locator(std::filesystem::path scenario_folder = {},
                   std::filesystem::path data_folder = {});

  Location find(const std::string& name) const;

 private:
  std::filesystem::path scenario_folder_, data_folder_;
};

}  // namespace gradrace
