#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gradrace {

/// An empty folder that goes away with its name.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const;
  void write_gz(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

}  // namespace gradrace
