#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace gradrace {

/// The content of a file, unpacked if gzip packed it.  std::runtime_error with the file's name
/// where it cannot be read.
std::vector<std::uint8_t> read_packed(const std::filesystem::path& file);

}  // namespace gradrace
