#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "sim/reading/packed_file.h"

namespace gradrace {

/// The files in a ZIP archive, stored or deflated.
/// Source: PKWARE's APPNOTE 6.3.10, without ZIP64 and encryption.
class ZipFile {
 public:
  /// std::runtime_error with the file's name where it is no such archive.
  explicit ZipFile(const std::filesystem::path& file);

  bool contains(const std::string& name) const { return members_.contains(name); }
  /// "x_test.npy, x_train.npy"
  std::string names() const;

  /// Of a member that is there, unpacked; std::runtime_error where it is damaged, or has another
  /// size than most(its first bytes) says.
  Bytes read(const std::string& name, const MostBytes& size) const;

 private:
  struct Member {
    std::uint32_t method, packed, size, place;
  };

  [[noreturn]] void defect(const std::string& what) const;
  std::uint32_t number(std::size_t at, std::size_t bytes) const;

  std::filesystem::path file_;
  Bytes content_;
  std::map<std::string, Member> members_;
};

}  // namespace gradrace
