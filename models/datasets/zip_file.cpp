#include "models/datasets/zip_file.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <ranges>
#include <span>
#include <stdexcept>

#include "sim/message_text.h"
#include "sim/reading/no_text.h"

namespace gradrace {

namespace {

constexpr std::uint32_t end_mark = 0x06054b50, member_mark = 0x02014b50, local_mark = 0x04034b50;
constexpr std::size_t end_bytes = 22, member_bytes = 46, local_bytes = 30;
constexpr std::uint32_t stored = 0, deflated = 8;

}  // namespace

ZipFile::ZipFile(const std::filesystem::path& file)
    : file_(file),
      content_(read_packed(file, [](auto) { return std::numeric_limits<std::size_t>::max(); })) {
  constexpr std::size_t longest_comment = 0xffff;
  const std::string_view text(reinterpret_cast<const char*>(content_.data()), content_.size());
  if (const auto other = no_text(text, file.string()); other && !text.starts_with("PK"))
    throw std::runtime_error(file.string() + ": " + other->what + ", and no ZIP archive");
  if (content_.size() < end_bytes) defect("is no ZIP archive");
  std::size_t end = content_.size() - end_bytes;
  const std::size_t least = end > longest_comment ? end - longest_comment : 0;
  while (end > least && number(end, 4) != end_mark) --end;
  if (number(end, 4) != end_mark) defect("is no ZIP archive");
  std::size_t at = number(end + 16, 4);
  for (std::uint32_t left = number(end + 10, 2); left > 0; --left) {
    if (at + member_bytes > content_.size() || number(at, 4) != member_mark)
      defect("is a damaged ZIP archive");
    const std::size_t length = number(at + 28, 2);
    if (at + member_bytes + length > content_.size()) defect("is a damaged ZIP archive");
    const auto name = content_.begin() + static_cast<std::ptrdiff_t>(at + member_bytes);
    members_[std::string(name, name + static_cast<std::ptrdiff_t>(length))] = {
        number(at + 10, 2), number(at + 20, 4), number(at + 24, 4), number(at + 42, 4)};
    at += member_bytes + length + number(at + 30, 2) + number(at + 32, 2);
  }
}

std::string ZipFile::names() const { return joined(members_ | std::views::keys); }

Bytes ZipFile::read(const std::string& name, const MostBytes& size) const {
  const Member& member = members_.at(name);
  const std::size_t local = member.place;
  if (local + local_bytes > content_.size() || number(local, 4) != local_mark)
    defect("is a damaged ZIP archive");
  const std::size_t begin = local + local_bytes + number(local + 26, 2) + number(local + 28, 2);
  if (begin + member.packed > content_.size()) defect("is a cut ZIP archive");
  const std::span packed(content_.data() + begin, member.packed);
  if (member.method != stored && member.method != deflated)
    defect(name + " is packed in another way than by storing or deflating");
  const bool is_stored = member.method == stored;
  const Bytes first =
      is_stored
          ? Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(
                                                       std::min<std::size_t>(packed.size(), 4096)))
          : first_inflated(packed, -15);
  const std::size_t expected = size(first);
  if (expected != member.size)
    defect(name + " has " + std::to_string(member.size) + " bytes, and says that it has " +
           std::to_string(expected));
  if (is_stored) return {packed.begin(), packed.end()};
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> decompressor(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (!decompressor) throw std::bad_alloc();
  Bytes content(member.size);
  if (libdeflate_deflate_decompress(decompressor.get(), packed.data(), packed.size(),
                                    content.data(), content.size(), nullptr) != LIBDEFLATE_SUCCESS)
    defect(name + " is damaged");
  return content;
}

void ZipFile::defect(const std::string& what) const {
  throw std::runtime_error(file_.string() + ": " + what);
}

/// Of up to four bytes, the lowest first.
std::uint32_t ZipFile::number(std::size_t at, std::size_t bytes) const {
  std::uint32_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | content_[at + i];
  return value;
}

}  // namespace gradrace
