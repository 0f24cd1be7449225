#include "sim/reading/packed_file.h"

#include <doctest/doctest.h>

#include <fstream>
#include <stdexcept>

#include "tests/support/temporary_folder.h"

namespace gradrace {
namespace {

/// Of one file of that content.
class Reading {
 public:
  explicit Reading(const std::string& content) { folder_.write("file", content); }
  std::string text() const {
    const Bytes bytes = read_packed(folder_.path() / "file", most_bytes_of_text);
    return {bytes.begin(), bytes.end()};
  }
  std::string message() const {
    try {
      text();
    } catch (const std::runtime_error& error) {
      return std::string(error.what()).substr(folder_.path().string().size() + 1);
    }
    return "none";
  }

 private:
  TemporaryFolder folder_;
};

std::string packed(const std::string& content) {
  const TemporaryFolder folder;
  folder.write_gz("packed", content);
  std::ifstream stream(folder.path() / "packed", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("packed file: parts one after the other, however much smaller than what they hold") {
  const std::string zeros(1'000'000, '0'), few = "a few words";
  for (const std::string& content : {std::string(), few, zeros}) {
    CHECK(Reading(packed(content)).text() == content);
    CHECK(Reading(packed(content) + packed(few)).text() == content + few);
    CHECK(Reading(packed(few) + packed(content)).text() == few + content);
    CHECK(Reading(packed(content) + "what follows").text() == content);
  }
}

TEST_CASE("packed file: what gzip did not pack is as it is") {
  for (const std::string content : {"", "\x1f", "plain", "\x8b\x1f and more"})
    CHECK(Reading(content).text() == content);
}

TEST_CASE("packed file: a file that the system calls empty is read, a folder is not") {
  const std::filesystem::path of_system = "/proc/self/stat";
  if (std::filesystem::exists(of_system))
    CHECK(!read_packed(of_system, most_bytes_of_text).empty());
  const TemporaryFolder folder;
  const std::string message =
      folder.path().string() + ": cannot be read: it is a folder, and not a file";
  CHECK_THROWS_WITH_AS(read_packed(folder.path(), most_bytes_of_text), message.c_str(),
                       std::runtime_error);
}

TEST_CASE("packed file: a part that is cut or damaged is an error") {
  const std::string whole = packed("a few words, and some more of them");
  const std::string defect = "file: cannot be read: what gzip packed is cut or damaged";
  for (std::size_t length = 2; length < whole.size(); ++length)
    CHECK(Reading(whole.substr(0, length)).message() == defect);
  for (std::size_t at = whole.size() - 8; at < whole.size(); ++at) {  // checksum and length
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CHECK(Reading(damaged).message() == defect);
  }
  CHECK(Reading(whole + whole.substr(0, 20)).message() == defect);
}

}  // namespace gradrace
