#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/datasets/shelf.h"
#include "tests/support/reading.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::cifar10_test {

/// A record whose planes have one number each.
static std::string record(int c, int red, int green, int blue) {
  std::string result(1, static_cast<char>(c));
  for (const int number : {red, green, blue}) result.append(1024, static_cast<char>(number));
  return result;
}

/// Batch b: a record of class b.
static void write_batches(const TemporaryFolder& folder) {
  for (int b = 1; b <= 5; ++b)
    folder.write("data_batch_" + std::to_string(b) + ".bin", record(b, b, 10 * b, 40 * b));
}

static std::shared_ptr<const Dataset> load(const TemporaryFolder& folder,
                                           const std::string& more = {}) {
  DataShelf shelf(folder.path(), {});
  const auto reading = read_dataset(R"({"kind": "cifar10", "path": ".")" + more + "}", shelf);
  REQUIRE(reading.problems == "");
  return reading.product();
}

TEST_CASE("cifar10: planes and classes, batch after batch") {
  const TemporaryFolder folder;
  write_batches(folder);
  folder.write("test_batch.bin", record(9, 255, 0, 1) + record(0, 7, 8, 9));
  const auto data = load(folder);
  CHECK(data->features == 3072);
  REQUIRE(data->image);
  CHECK(data->image->channels == 3);
  CHECK(data->image->height == 32);
  CHECK(data->image->width == 32);
  CHECK(data->classes == 10);
  CHECK(data->byte_scale == 1.0f / 255);
  CHECK(data->train.count == 5);
  CHECK(data->train.classes == std::vector<std::uint8_t>{1, 2, 3, 4, 5});
  const auto& third = data->train.bytes;
  CHECK(third[2 * 3072] == 3);
  CHECK(third[2 * 3072 + 1023] == 3);
  CHECK(third[2 * 3072 + 1024] == 30);
  CHECK(third[2 * 3072 + 2048] == 120);
  CHECK(third[3 * 3072 - 1] == 120);
  CHECK(data->test.count == 2);
  CHECK(data->test.classes == std::vector<std::uint8_t>{9, 0});
  CHECK(data->test.bytes[0] == 255);
}

TEST_CASE("cifar10: grey is 0.2989 R + 0.587 G + 0.114 B, over 255") {
  const TemporaryFolder folder;
  write_batches(folder);
  std::string one = record(3, 255, 255, 255);
  one[1 + 1024 + 1] = 0, one[1 + 2048 + 1] = 51;  // pixel 1: 255, 0, 51
  folder.write("test_batch.bin", one);
  const auto data = load(folder, R"(, "grey": true)");
  CHECK(data->features == 1024);
  CHECK(data->image->channels == 1);
  CHECK(data->train.bytes.empty());
  CHECK(data->train.floats.size() == 5 * 1024);
  CHECK(data->train.floats[2 * 1024] ==
        doctest::Approx((0.2989 * 3 + 0.587 * 30 + 0.114 * 120) / 255).epsilon(1e-6));
  CHECK(data->test.floats[0] == doctest::Approx(0.9999).epsilon(1e-6));
  CHECK(data->test.floats[1] == doctest::Approx(0.2989 + 0.114 / 5).epsilon(1e-6));
  CHECK(load(folder)->hash != data->hash);
}

TEST_CASE("cifar10: means of the training rows are taken from all rows") {
  const TemporaryFolder folder;
  write_batches(folder);  // on the average 3, 30, 120
  std::string other = record(1, 1, 10, 40);
  other[1 + 1024] = 60;  // green of the first pixel: on the average 40, and 30 + 10 / 1024 of all
  folder.write("data_batch_1.bin", other);
  folder.write("test_batch.bin", record(9, 5, 60, 250));
  const auto channels = load(folder, R"(, "subtract": "channel-mean")");
  CHECK(channels->train.bytes.empty());
  REQUIRE(channels->train.floats.size() == 5 * 3072);
  CHECK(channels->train.floats[0] == doctest::Approx(-2.0 / 255));
  CHECK(channels->train.floats[1024] == doctest::Approx((30 - 10.0 / 1024) / 255));
  CHECK(channels->train.floats[2 * 3072 + 1025] == doctest::Approx(-10.0 / 1024 / 255));
  CHECK(channels->train.floats[5 * 3072 - 1] == doctest::Approx(80.0 / 255));
  CHECK(channels->test.floats[0] == doctest::Approx(2.0 / 255));
  CHECK(channels->test.floats[2048] == doctest::Approx(130.0 / 255));
  const auto pixels = load(folder, R"(, "subtract": "pixel-mean", "divisor": 1)");
  CHECK(pixels->train.floats[0] == -2);
  CHECK(pixels->train.floats[1024] == 20);
  CHECK(pixels->train.floats[1025] == -20);
  CHECK(pixels->test.floats[1024] == 20);
  CHECK(pixels->test.floats[1025] == 30);
  const auto grey = load(folder, R"(, "subtract": "channel-mean", "grey": true, "divisor": 1)");
  double sum = 0;
  for (const float x : grey->train.floats) sum += static_cast<double>(x);
  CHECK(std::abs(sum) <= 1e-3);
  CHECK(grey->test.floats[5] ==
        doctest::Approx(0.2989 * 2 + 0.587 * (30 - 10.0 / 1024) + 0.114 * 130).epsilon(1e-6));
}

TEST_CASE("cifar10: bytes may stay as they are") {
  const TemporaryFolder folder;
  write_batches(folder);
  folder.write("test_batch.bin", record(9, 5, 60, 250));
  const auto data = load(folder, R"(, "divisor": 1)");
  CHECK(data->byte_scale == 1);
  CHECK(data->train.bytes == load(folder)->train.bytes);
}

TEST_CASE("cifar10: packed files and another test file") {
  const TemporaryFolder folder;
  write_batches(folder);
  folder.write_gz("test_batch.bin.gz", record(1, 1, 1, 1));
  folder.write_gz("fewer.bin.gz", record(2, 1, 1, 1));
  CHECK(load(folder)->test.classes == std::vector<std::uint8_t>{1});
  DataShelf shelf(folder.path(), {});
  for (const int c : {1, 2}) {
    const std::string file = c == 1 ? "test_batch.bin" : "fewer.bin";
    const std::string json = R"({"kind": "cifar10", "path": ".", "test_file": ")" + file + "\"}";
    CHECK(read_dataset(json, shelf).product()->test.classes[0] == c);
  }
}

TEST_CASE("cifar10: only the first rows") {
  const TemporaryFolder folder;
  write_batches(folder);
  folder.write("data_batch_1.bin", record(1, 1, 1, 1) + record(6, 6, 6, 6));
  folder.write("test_batch.bin", record(9, 9, 9, 9) + record(0, 7, 8, 9));
  const auto first = load(folder, R"(, "rows": 1)");
  CHECK(first->train.classes == std::vector<std::uint8_t>{1});
  CHECK(first->train.bytes.size() == 3072);
  CHECK(first->test.classes == std::vector<std::uint8_t>{9});
  CHECK(load(folder, R"(, "rows": 3)")->train.classes == std::vector<std::uint8_t>{1, 6, 2});
  CHECK(load(folder, R"(, "rows": 100)")->train.count == 6);
  CHECK(load(folder, R"(, "rows": 100)")->hash == load(folder)->hash);
  CHECK(first->hash != load(folder)->hash);
}

TEST_CASE("cifar10: every defect is said with the file's name") {
  const std::string good = record(1, 1, 1, 1);
  const std::pair<std::string, std::string> cases[] = {
      {"", ": is empty"},
      {good.substr(1), ": has 3072 bytes, which is no multiple of 3073"},
      {good + good + "x", ": has 6147 bytes, which is no multiple of 3073"},
      {good + record(10, 1, 1, 1), ": record 2 has class 10, allowed are 0 to 9"},
  };
  for (const auto& [content, says] : cases) {
    const TemporaryFolder folder;
    write_batches(folder);
    folder.write("test_batch.bin", good);
    folder.write("data_batch_4.bin", content);
    CHECK_THROWS_WITH_AS(load(folder),
                         ((folder.path() / "data_batch_4.bin").string() + says).c_str(),
                         std::runtime_error);
  }
}

TEST_CASE("cifar10: a missing file is said") {
  const TemporaryFolder folder;
  write_batches(folder);
  const std::string cure = " (nor .gz); test_file names another file of test rows";
  CHECK_THROWS_WITH_AS(load(folder),
                       (folder.path().string() + ": holds no test_batch.bin" + cure).c_str(),
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(load(folder, R"(, "test_file": "")"),
                       (folder.path().string() + ": holds no " + cure).c_str(), std::runtime_error);
  std::filesystem::remove(folder.path() / "data_batch_2.bin");
  CHECK_THROWS_WITH_AS(load(folder),
                       (folder.path().string() +
                        ": holds no data_batch_2.bin (nor .gz); needed are data_batch_1.bin "
                        "data_batch_2.bin data_batch_3.bin data_batch_4.bin data_batch_5.bin")
                           .c_str(),
                       std::runtime_error);
}

TEST_CASE("cifar10: the training records have their known counts") {
  GRADRACE_NEEDS_DATA("cifar10");
  DataShelf shelf(".", data_folder("cifar10").parent_path());
  const auto data =
      read_dataset(
          R"({"kind": "cifar10", "path": "../data/cifar10", "test_file": "test_batch_9980.bin"})",
          shelf)
          .product();
  CHECK(data->train.count == 50000);
  for (std::uint8_t c = 0; c < 10; ++c) CHECK(std::ranges::count(data->train.classes, c) == 5000);
  using Bytes = std::vector<std::uint8_t>;
  CHECK(Bytes(data->train.classes.begin(), data->train.classes.begin() + 5) ==
        Bytes{6, 9, 9, 4, 1});
  CHECK(data->train.bytes[0] == 59);  // the frog's first pixel is 59, 62, 63
  CHECK(data->train.bytes[1024] == 62);
  CHECK(data->train.bytes[2048] == 63);
  CHECK(data->test.count == 9980);
  // The known means of the training channels: 0.4914, 0.4822, 0.4465.
  double sums[3] = {};
  for (std::size_t i = 0; i < data->train.bytes.size(); ++i)
    sums[i / 1024 % 3] += data->train.bytes[i];
  CHECK(sums[0] / (50000.0 * 1024 * 255) == doctest::Approx(0.4914).epsilon(0.0001));
  CHECK(sums[1] / (50000.0 * 1024 * 255) == doctest::Approx(0.4822).epsilon(0.0001));
  CHECK(sums[2] / (50000.0 * 1024 * 255) == doctest::Approx(0.4465).epsilon(0.0001));
}

TEST_CASE("cifar100: a record has a coarse label and a fine one, of which one is learnt") {
  const TemporaryFolder folder;
  const auto two = [](int coarse, const std::string& rest) {
    return std::string(1, static_cast<char>(coarse)) + rest;
  };
  folder.write("train.bin", two(3, record(99, 1, 2, 3)) + two(19, record(0, 4, 5, 6)));
  folder.write("test.bin", two(3, record(7, 1, 2, 3)));
  DataShelf shelf(folder.path(), {});
  const auto fine = read_dataset(R"({"kind": "cifar100", "path": "."})", shelf).product();
  CHECK(fine->classes == 100);
  CHECK(fine->train.classes == std::vector<std::uint8_t>{99, 0});
  CHECK(fine->train.bytes[3072] == 4);
  CHECK(fine->test.classes == std::vector<std::uint8_t>{7});
  const auto coarse =
      read_dataset(R"({"kind": "cifar100", "path": ".", "labels": "coarse"})", shelf).product();
  CHECK(coarse->classes == 20);
  CHECK(coarse->train.classes == std::vector<std::uint8_t>{3, 19});
}

}  // namespace gradrace::cifar10_test
