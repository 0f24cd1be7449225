#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace gradrace {

/// A hash of what the file has; empty where it cannot be read.
std::string hash_of_file(const std::filesystem::path& file);

/// Files that come last among those of a command, and name the others with their hashes.
constexpr const char* manifest_record = "manifest.json";
constexpr const char* fit_record = "fit.json";
constexpr const char* search_record = "search.json";
constexpr const char* advise_record = "advise.json";

/// How a command's record is told apart: by the key that it has beside "files".
struct RecordFile {
  const char *name, *key, *of;
};
constexpr RecordFile record_files[] = {{manifest_record, "version", "runs"},
                                       {fit_record, "verdict", "a fit"},
                                       {search_record, "switch_point", "a search"},
                                       {advise_record, "answer", "advice"}};

/// The results in an output folder that gradrace put there: those that its record names, or,
/// without one, those that a call was about to publish when it was ended, and had noted before.
class PublishedFiles {
 public:
  using Hashes = std::map<std::string, std::string>;  // [name]

  explicit PublishedFiles(const std::filesystem::path& folder)
      : PublishedFiles(folder, folder / ".unfinished") {}
  /// aside: .unfinished in the folder.
  PublishedFiles(std::filesystem::path folder, const std::filesystem::path& aside);

  /// The name of the record; empty where none is there that gradrace wrote.
  const std::string& record() const { return record_; }
  /// By the record.
  const Hashes& named() const { return named_; }
  /// Whether a call was ended while it published.
  bool are_half() const { return record_.empty() && !noted_.empty(); }
  /// Whether anything says which they are.
  bool are_known() const { return !record_.empty() || are_half(); }

  /// Whether the file is the record or named by it; without one, whether it is as it was noted.
  bool has(const std::string& file) const;
  /// And nobody has changed it since.
  bool has_unchanged(const std::string& file) const;
  /// The first file that the record names and that is not so; empty: there is none.
  std::string changed() const;
  /// Whether there is a record, and all is as it says.
  bool are_whole() const { return !record_.empty() && changed().empty(); }

  /// Notes what comes and what is there, before a file of the folder is moved.  DiskError.
  void note(const Hashes& coming) const;
  /// At the end.
  void forget() const;

 private:
  std::filesystem::path folder_, note_;
  std::string record_;
  Hashes named_;
  std::multimap<std::string, std::string> noted_;  // [name]: hashes
};

}  // namespace gradrace
