#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "sim/large_pages.h"

namespace gradrace {

/// resize() leaves what it adds as the memory is.
using Bytes = std::vector<std::uint8_t, UnsetLargePages<std::uint8_t>>;

/// The content of a file, unpacked if gzip packed it.  std::runtime_error with the file's name
/// where it cannot be read.
Bytes read_packed(const std::filesystem::path& file);

}  // namespace gradrace
