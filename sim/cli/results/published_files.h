#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace gradrace {

/// A hash of what the file has; empty where it cannot be read.
std::string hash_of_file(const std::filesystem::path& file);

/// The results in an output folder that gradrace put there: those that its manifest names, or,
/// without one, those that a call was about to publish when it was ended, and had noted before.
class PublishedFiles {
 public:
  using Hashes = std::map<std::string, std::string>;  // [name]

  explicit PublishedFiles(std::filesystem::path folder);

  /// Whether a call was ended while it published.
  bool are_half() const { return !has_manifest_ && !noted_.empty(); }
  bool has_manifest() const { return has_manifest_; }
  /// Whether anything says which they are.
  bool are_known() const { return has_manifest_ || are_half(); }

  /// Whether the manifest names the file; without a manifest, whether it is as it was noted.
  bool has(const std::string& file) const;
  /// And nobody has changed it since.
  bool has_unchanged(const std::string& file) const;
  /// Whether all that the manifest names is so.
  bool are_whole() const;

  /// Notes what comes and what is there, before a file of the folder is moved.  DiskError.
  void note(const Hashes& coming) const;
  /// At the end.
  void forget() const;

 private:
  std::filesystem::path folder_, note_;
  bool has_manifest_ = false;
  Hashes named_;                                   // by the manifest
  std::multimap<std::string, std::string> noted_;  // [name]: hashes
};

}  // namespace gradrace
