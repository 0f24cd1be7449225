#include "sim/cli/output/spool.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/spool_text.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::spool_test {

namespace {

/// Adds so many lines, each of which says its number and whose it is; the same text at once.
std::string add_lines(Spool& spool, const std::string& whose, int lines) {
  std::string all;
  for (int line = 0; line < lines; ++line) {
    const std::string text = whose + " " + std::to_string(line) + "\n";
    spool.end() += text;
    all += text;
  }
  return all;
}

constexpr int many = 50'000;  // lines, of some blocks

}  // namespace

TEST_CASE("spool: the text is what was added, in memory or on the disk") {
  const TemporaryFolder folder;
  SpoolFile file(folder.path() / "spool");
  for (const int lines : {0, 1, 100, many}) {
    Spool spool(file);
    CHECK(text_of(spool) == "");
    const std::string all = add_lines(spool, "one", lines);
    CHECK((text_of(spool) == all));
  }
  Spool spool(file);
  const std::string long_line(5 * SpoolFile::block_size + 7, 'x');
  spool.end() += long_line;
  spool.end() += "end";
  CHECK(text_of(spool) == long_line + "end");
}

TEST_CASE("spool: what is short makes no file, and a long one's file has no name") {
  const TemporaryFolder folder;
  SpoolFile file(folder.path() / "not there" / "spool");
  Spool spool(file);
  add_lines(spool, "short", 100);
  SpoolFile other(folder.path() / "spool");
  Spool long_one(other);
  add_lines(long_one, "long", many);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("spool: beginning again leaves nothing, and the disk's places are used again") {
  const TemporaryFolder folder;
  SpoolFile file(folder.path() / "spool");
  const auto block = [](char letter) { return std::string(SpoolFile::block_size, letter); };
  Spool kept(file), begun_again(file);
  kept.end() = block('a');
  begun_again.end() = block('b');
  kept.end(), begun_again.end();
  begun_again.restart();
  CHECK(text_of(begun_again) == "");
  const SpoolFile::Block next = file.write(block('c'));
  CHECK(next == 1);
  CHECK(file.write(block('d')) == 2);
  CHECK(text_of(kept) == block('a'));
}

TEST_CASE("spool: threads share a file") {
  const TemporaryFolder folder;
  SpoolFile file(folder.path() / "spool");
  std::vector<std::string> found(4), wanted(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < found.size(); ++i) {
      threads.emplace_back([&, i] {
        Spool spool(file);
        for (int round = 0; round < 5; ++round) {
          spool.restart();
          wanted[i] = add_lines(spool, std::to_string(i) + std::to_string(round), many);
        }
        found[i] = text_of(spool);
      });
    }
  }
  CHECK(found == wanted);
}

TEST_CASE("spool: a disk that refuses is said, with the file") {
  const TemporaryFolder folder;
  const auto refused = [](const std::filesystem::path& path, const std::string& what) {
    SpoolFile file(path);
    Spool spool(file);
    const std::string message = path.string() + ": cannot be made: " + what;
    CHECK_THROWS_WITH_AS(add_lines(spool, "long", many), message.c_str(), std::runtime_error);
  };
  refused(folder.path() / "not there" / "spool", "No such file or directory");
  folder.write("spool", "the user's");
  refused(folder.path() / "spool", "File exists");
  CHECK(std::filesystem::file_size(folder.path() / "spool") == 10);
}

}  // namespace gradrace::spool_test
