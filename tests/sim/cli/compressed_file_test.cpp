#include "sim/cli/output/compressed_file.h"

#include <doctest/doctest.h>
#include <zstd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/cli/output/disk.h"
#include "sim/reading/packed_file.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::compressed_file_test {

namespace fs = std::filesystem;

namespace {

/// Lines of numbers, so many bytes of them.
std::string lines_of(std::size_t size) {
  std::string text;
  for (std::uint64_t i = 1; text.size() < size; ++i)
    text += std::to_string(i * 0x9e3779b97f4a7c15) + (i % 5 == 0 ? "\n" : ",");
  text.resize(size);
  return text;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The file of that text, which came in pieces of that size.
fs::path written(const TemporaryFolder& folder, const std::string& text, Compression compression,
                 std::size_t piece) {
  const fs::path path =
      folder.path() / ("text" + std::to_string(piece) + std::string(ending_of(compression)));
  CompressedFile file(path, compression);
  for (std::size_t i = 0; i < text.size(); i += piece)
    file.append(std::string_view(text).substr(i, piece));
  file.close();
  return path;
}

std::string without_gzip(const fs::path& file) {
  const auto bytes = read_packed(file, most_bytes_of_text);
  return {bytes.begin(), bytes.end()};
}

std::string without_zstd(const fs::path& file, std::size_t size) {
  const std::string bytes = bytes_of(file);
  std::string text(size + 1, '\0');
  const std::size_t got = ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size());
  REQUIRE_MESSAGE(!ZSTD_isError(got), ZSTD_getErrorName(got));
  REQUIRE(got <= size);
  text.resize(got);
  return text;
}

}  // namespace

TEST_CASE("compressed file: what is read back is what was written") {
  const TemporaryFolder folder;
  constexpr std::size_t part = 1 << 18;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, part - 1, part, part + 1, 9 * part}) {
    CAPTURE(size);
    const std::string text = lines_of(size);
    CHECK((bytes_of(written(folder, text, Compression::none, 1000)) == text));
    CHECK((without_gzip(written(folder, text, Compression::gzip, 1000)) == text));
    CHECK((without_zstd(written(folder, text, Compression::zstd, 1000), size) == text));
  }
}

TEST_CASE("compressed file: its bytes do not depend on the pieces, nor on the time") {
  const TemporaryFolder folder;
  const std::string text = lines_of(1'000'000);
  for (const auto compression : {Compression::gzip, Compression::zstd}) {
    const std::string whole = bytes_of(written(folder, text, compression, text.size()));
    CHECK(whole.size() < 2 * text.size() / 3);
    for (const std::size_t piece : {std::size_t{7}, std::size_t{100'000}, std::size_t{1} << 18})
      CHECK((bytes_of(written(folder, text, compression, piece)) == whole));
  }
  const std::string gzip = bytes_of(written(folder, text, Compression::gzip, 1000));
  CHECK(gzip.substr(4, 4) == std::string(4, '\0'));  // its time
}

TEST_CASE("compressed file: a disk that refuses is told") {
  for (const auto compression : {Compression::none, Compression::gzip, Compression::zstd}) {
    CompressedFile full("/dev/full", compression);
    const auto write = [&] {
      full.append(lines_of(3'000'000));
      full.close();
    };
    CHECK_THROWS_WITH_AS(write(), "/dev/full: cannot be written: No space left on device",
                         DiskError);
    CompressedFile nowhere("/nowhere/text", compression);
    CHECK_THROWS_WITH_AS(nowhere.append("text"),
                         "/nowhere/text: cannot be written: No such file or directory", DiskError);
  }
}

}  // namespace gradrace::compressed_file_test
