#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "sim/large_pages.h"

namespace gradrace {

/// resize() leaves what it adds as the memory is.
using Bytes = std::vector<std::uint8_t, UnsetLargePages<std::uint8_t>>;

/// How many bytes a packed file may have, by its first ones, which are 4,096 or all of them: a few
/// bytes may be packed of more than memory holds.
using MostBytes = std::function<std::size_t(std::span<const std::uint8_t> first)>;

/// Of a text: no more than the first ones where a zero byte says that it is none.
std::size_t most_bytes_of_text(std::span<const std::uint8_t> first);

/// The first 4,096 bytes of what was deflated, fewer where there are no more or it is damaged;
/// window_bits: zlib's, 31 of gzip and -15 of what has no header.
Bytes first_inflated(std::span<const std::uint8_t> packed, int window_bits);

/// The content of a file, unpacked if gzip packed it, and then cut off after as many bytes as it
/// may have.  std::runtime_error with the file's name where it cannot be read.
Bytes read_packed(const std::filesystem::path& file, const MostBytes& most);

}  // namespace gradrace
