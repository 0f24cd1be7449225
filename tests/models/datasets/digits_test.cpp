#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "models/datasets/shelf.h"
#include "tests/support/reading.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::digits_test {

/// 64 times the number, then the class.
static std::string line(int number, int c) {
  std::string result;
  for (int i = 0; i < 64; ++i) result += std::to_string(number) + ",";
  return result + std::to_string(c) + "\n";
}

static std::shared_ptr<const Dataset> load(const TemporaryFolder& folder) {
  DataShelf shelf(folder.path(), {});
  const auto reading = read_dataset(R"({"kind": "digits", "path": "."})", shelf);
  REQUIRE(reading.problems == "");
  return reading.product();
}

TEST_CASE("digits: pixels over 16 and classes") {
  const TemporaryFolder folder;
  folder.write("optdigits.tra", line(0, 9) + line(16, 0));
  folder.write("optdigits.tes", line(3, 7).substr(0, 130));  // no line end
  const auto data = load(folder);
  CHECK(data->features == 64);
  CHECK(data->classes == 10);
  CHECK(data->byte_scale == 0.0625f);
  CHECK(data->train.count == 2);
  CHECK(data->train.classes == std::vector<std::uint8_t>{9, 0});
  CHECK(data->train.bytes[63] == 0);
  CHECK(data->train.bytes[64] == 16);
  CHECK(data->test.bytes == Bytes(64, 3));
}

TEST_CASE("digits: every defect is said with file and line") {
  const std::string good = line(1, 1);
  const std::pair<std::string, std::string> cases[] = {
      {good + line(17, 1), ":2: expected an integer from 0 to 16, found \"17,17,17,17,17,17,17\""},
      {good + line(-1, 1), ":2: expected an integer from 0 to 16, found \"-1,-1,-1,-1,-1,-1,-1\""},
      {line(1, 10), ":1: expected an integer from 0 to 9, found \"10\""},
      {good + good + "1,2,3\n", ":3: expected a comma, found the end of the line"},
      {good + "\n", ":2: expected an integer from 0 to 16, found the end of the line"},
      {good.substr(0, 129) + ",5\n",
       ":1: expected the end of the line after 65 integers, "
       "found \",5\""},
      {"", ": is empty"},
  };
  for (const auto& [content, says] : cases) {
    const TemporaryFolder folder;
    folder.write("optdigits.tra", good);
    folder.write("optdigits.tes", content);
    CHECK_THROWS_WITH_AS(load(folder), ((folder.path() / "optdigits.tes").string() + says).c_str(),
                         std::runtime_error);
  }
  const TemporaryFolder folder;
  folder.write("optdigits.tra", good);
  CHECK_THROWS_WITH_AS(load(folder),
                       (folder.path().string() +
                        ": holds no optdigits.tes; needed are optdigits.tra and optdigits.tes")
                           .c_str(),
                       MissingData);
}

TEST_CASE("digits: optdigits has the counts of its description") {
  GRADRACE_NEEDS_DATA("digits");
  DataShelf shelf(".", data_folder("digits").parent_path());
  const auto data =
      read_dataset(R"({"kind": "digits", "path": "../data/digits"})", shelf).product();
  CHECK(data->train.count == 3823);
  CHECK(data->test.count == 1797);
  const int train[] = {376, 389, 380, 389, 387, 376, 377, 387, 380, 382};
  const int test[] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
  for (int c = 0; c < 10; ++c) {
    CHECK(std::ranges::count(data->train.classes, c) == train[c]);
    CHECK(std::ranges::count(data->test.classes, c) == test[c]);
  }
  CHECK(std::accumulate(data->train.bytes.begin(), data->train.bytes.end(), 0L) == 1204758);
  CHECK(std::accumulate(data->test.bytes.begin(), data->test.bytes.end(), 0L) == 561718);
}

}  // namespace gradrace::digits_test
