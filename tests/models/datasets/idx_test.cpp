#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>

#include "models/datasets/shelf.h"
#include "tests/support/reading.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::idx_test {

static std::string big_endian(std::initializer_list<std::uint32_t> numbers) {
  std::string bytes;
  for (const std::uint32_t number : numbers)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

using Files = std::map<std::string, std::string>;

/// Three training images of 1 x 2 and two of test, classes 0 to 2.
static Files good_files() {
  return {
      {"train-images-idx3-ubyte", big_endian({0x803, 3, 1, 2}) + std::string("\0\1\2\3\4\xff", 6)},
      {"train-labels-idx1-ubyte", big_endian({0x801, 3}) + std::string("\2\0\1", 3)},
      {"t10k-images-idx3-ubyte", big_endian({0x803, 2, 1, 2}) + "abcd"},
      {"t10k-labels-idx1-ubyte", big_endian({0x801, 2}) + std::string("\1\2", 2)}};
}

static std::shared_ptr<const Dataset> load(const TemporaryFolder& folder, std::size_t threads = 1) {
  DataShelf shelf(folder.path(), {});
  shelf.use_threads(threads);
  const auto reading = read_dataset(R"({"kind": "idx", "path": "."})", shelf);
  REQUIRE(reading.problems == "");
  return reading.product();
}

/// The message of the error that the files give.
static std::string message(const Files& files, const TemporaryFolder& folder,
                           std::size_t threads = 1) {
  for (const auto& [name, content] : files) folder.write(name, content);
  try {
    load(folder, threads);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("idx: shape, pixels and labels") {
  const TemporaryFolder folder;
  for (const auto& [name, content] : good_files()) folder.write(name, content);
  const auto data = load(folder);
  CHECK(data->features == 2);
  REQUIRE(data->image);
  CHECK(data->image->channels == 1);
  CHECK(data->image->height * data->image->width == 2);
  CHECK(data->classes == 3);
  CHECK(data->byte_scale == 1.0f / 255);
  CHECK(data->train.count == 3);
  CHECK(data->train.bytes == Bytes{0, 1, 2, 3, 4, 255});
  CHECK(data->train.classes == std::vector<std::uint8_t>{2, 0, 1});
  CHECK(data->test.count == 2);
  CHECK(data->test.bytes == Bytes{'a', 'b', 'c', 'd'});
  CHECK(data->test.classes == std::vector<std::uint8_t>{1, 2});
}

TEST_CASE("idx: plain, packed and dotted names give the same") {
  const TemporaryFolder plain, packed, dotted;
  for (const auto& [name, content] : good_files()) {
    plain.write(name, content);
    packed.write_gz(name + ".gz", content);
    std::string other = name;
    other[other.find("-idx")] = '.';
    dotted.write(other, content);
  }
  const auto data = load(plain);
  for (const auto& same : {load(packed), load(dotted), load(plain, 2)}) {
    CHECK(same->hash == data->hash);
    CHECK(same->train.bytes == data->train.bytes);
    CHECK(same->test.classes == data->test.classes);
  }
}

TEST_CASE("idx: every defect of a file is said with the file's name") {
  struct Case {
    const char* file;
    std::function<void(std::string&)> spoil;
    const char* says;
  };
  const Case cases[] = {
      {"train-images-idx3-ubyte", [](std::string& s) { s[3] = 1; },
       "is an array of 1 dimension, expected 3"},
      {"train-labels-idx1-ubyte", [](std::string& s) { s[2] = 0xc, s[3] = 2; },
       "is an array of 2 dimensions, expected 1; of labels in columns, as QMNIST's, write that of "
       "the classes, its first, to a file of its own"},
      {"train-labels-idx1-ubyte", [](std::string& s) { s[2] = 7; },
       "magic number 0x00000701, expected 0x00000801"},
      {"train-images-idx3-ubyte", [](std::string& s) { s.pop_back(); },
       "is truncated: 5 bytes after the header, which says 3 x 1 x 2"},
      {"train-images-idx3-ubyte", [](std::string& s) { s += 'x'; },
       "is too long: 7 bytes after the header, which says 3 x 1 x 2"},
      {"t10k-labels-idx1-ubyte", [](std::string& s) { s.resize(7); },
       "has 7 bytes, the header alone takes 8"},
      {"t10k-labels-idx1-ubyte", [](std::string& s) { s[8] = 3; },
       "label 3, the training labels end at 2"},
      {"train-labels-idx1-ubyte", [](std::string& s) { s[7] = 2, s.pop_back(); },
       "2 labels for the 3 images of train-images-idx3-ubyte"},
      {"train-labels-idx1-ubyte", [](std::string& s) { s[7] = 4, s += '\1'; },
       "4 labels for the 3 images of train-images-idx3-ubyte"},
      {"t10k-images-idx3-ubyte", [](std::string& s) { s[11] = 2, s[15] = 1; },
       "images of 2 x 1, those of training are 1 x 2"},
      {"t10k-images-idx3-ubyte", [](std::string& s) { s[11] = 0; }, "header: a length is 0"},
      {"train-labels-idx1-ubyte", [](std::string& s) { s[8] = s[10] = 0; },
       "every label is 0; two classes are needed"},
      {"train-images-idx3-ubyte", [](std::string& s) { s[4] = s[8] = s[12] = '\xff'; },
       "is truncated: 6 bytes after the header, which says 4278190083 x 4278190081 x 4278190082"},
  };
  for (const Case& c : cases) {
    const TemporaryFolder folder;
    Files files = good_files();
    c.spoil(files[c.file]);
    CHECK(message(files, folder) == (folder.path() / c.file).string() + ": " + c.says);
  }
}

TEST_CASE("idx: of two damaged splits the training set's defect is said") {
  const TemporaryFolder folder;
  Files files = good_files();
  files["train-images-idx3-ubyte"][3] = files["t10k-images-idx3-ubyte"][3] = 1;
  for (const std::size_t threads : {1u, 2u})
    CHECK(message(files, folder, threads)
              .starts_with((folder.path() / "train-images-idx3-ubyte").string() + ": is an array"));
}

TEST_CASE("idx: a missing file and a broken gzip stream are said") {
  const TemporaryFolder folder;
  Files files = good_files();
  const std::string images = files.extract("t10k-images-idx3-ubyte").mapped();
  CHECK(message(files, folder) == folder.path().string() +
                                      ": holds no t10k-images-idx3-ubyte (nor .gz, nor "
                                      "t10k-images.idx3-ubyte); needed are images and "
                                      "labels of train and of t10k or test");

  folder.write_gz("whole.gz", images);
  std::string packed(std::filesystem::file_size(folder.path() / "whole.gz"), '\0');
  FILE* file = fopen((folder.path() / "whole.gz").c_str(), "rb");
  REQUIRE(fread(packed.data(), 1, packed.size(), file) == packed.size());
  fclose(file);

  const std::string name = (folder.path() / "t10k-images-idx3-ubyte.gz").string();
  folder.write("t10k-images-idx3-ubyte.gz", packed.substr(0, packed.size() - 6));
  CHECK(message(files, folder).starts_with(name + ": cannot be read: "));
  packed[packed.size() - 6] ^= 1;  // in the checksum
  folder.write("t10k-images-idx3-ubyte.gz", packed);
  CHECK(message(files, folder).starts_with(name + ": cannot be read: "));
}

TEST_CASE("idx: a folder that is not there is a problem of the scenario") {
  const TemporaryFolder folder;
  DataShelf shelf(folder.path(), folder.path() / "data");
  for (const std::string path : {"mnist", "x/mnist"}) {
    const auto reading = read_dataset(R"({"kind": "idx", "path": ")" + path + "\"}", shelf);
    CHECK(!reading.product);
    CHECK(reading.problems.find("it.path: no folder \"" + path + "\"") != std::string::npos);
    CHECK(reading.problems.find((folder.path() / path).string()) != std::string::npos);
    CHECK(reading.problems.find((folder.path() / "data" / "mnist").string()) != std::string::npos);
  }
}

TEST_CASE("idx: MNIST has its known counts, labels and sums") {
  GRADRACE_NEEDS_DATA("mnist");
  DataShelf shelf(".", data_folder("mnist").parent_path());
  const auto data = read_dataset(R"({"kind": "idx", "path": "../data/mnist"})", shelf).product();
  CHECK(data->features == 784);
  CHECK(data->classes == 10);
  CHECK(data->train.count == 60000);
  CHECK(data->test.count == 10000);
  using Bytes = std::vector<std::uint8_t>;
  CHECK(Bytes(data->train.classes.begin(), data->train.classes.begin() + 5) ==
        Bytes{5, 0, 4, 1, 9});
  CHECK(Bytes(data->test.classes.begin(), data->test.classes.begin() + 5) == Bytes{7, 2, 1, 0, 4});
  // The known mean 0.1306604762738429 of the training pixels / 255 is this sum.
  CHECK(std::accumulate(data->train.bytes.begin(), data->train.bytes.end(), 0L) == 1567298545);
  CHECK(std::accumulate(data->test.bytes.begin(), data->test.bytes.end(), 0L) == 264923200);
  CHECK(std::ranges::count(data->train.classes, 1) == 6742);
  CHECK(std::ranges::count(data->train.classes, 5) == 5421);
}

TEST_CASE("idx: other types of numbers are features as they stand, and may be labels") {
  const TemporaryFolder folder;
  Files files = good_files();
  files["train-images-idx3-ubyte"] =
      big_endian({0xd03, 3, 1, 2, 0x3f000000, 0, 0x40000000, 0, 0, 0xbf800000});
  files["t10k-images-idx3-ubyte"] = big_endian({0xd03, 2, 1, 2, 0, 0, 0x3f800000, 0});
  files["train-labels-idx1-ubyte"] = big_endian({0xc01, 3, 2, 0, 1});
  for (const auto& [name, content] : files) folder.write(name, content);
  const auto data = load(folder);
  CHECK(data->train.bytes.empty());
  CHECK(data->train.floats == std::vector<float>{0.5f, 0, 2, 0, 0, -1});
  CHECK(data->test.floats == std::vector<float>{0, 0, 1, 0});
  CHECK(data->train.classes == std::vector<std::uint8_t>{2, 0, 1});
  files["train-labels-idx1-ubyte"] = big_endian({0xc01, 3, 2, 0, 0xffffffff});
  CHECK(message(files, folder) ==
        (folder.path() / "train-labels-idx1-ubyte").string() +
            ": label 3 is -1; allowed are whole numbers from 0 to 255: of "
            "labels -1 and 1, (y + 1) / 2 makes 0 and 1");
  files["train-labels-idx1-ubyte"] = big_endian({0xc01, 3, 2, 0});
  CHECK(message(files, folder)
            .ends_with("is truncated: 8 bytes after the header, which says 3 integers"));
}

TEST_CASE("idx: names of EMNIST are known, and a class without rows is told") {
  const TemporaryFolder folder;
  for (const auto& [name, content] : good_files()) {
    std::string other = "emnist-letters-" + name;
    if (const auto at = other.find("t10k"); at != other.npos) other.replace(at, 4, "test");
    folder.write(other, content);
  }
  DataShelf shelf(folder.path(), {});
  const auto reading = read_dataset(R"({"kind": "idx", "path": "."})", shelf);
  CHECK(reading.product()->train.count == 3);
  CHECK(shelf.notes().empty());
  folder.write("emnist-letters-train-labels-idx1-ubyte",
               big_endian({0x801, 3}) + std::string("\2\3\2", 3));
  folder.write("emnist-letters-test-labels-idx1-ubyte",
               big_endian({0x801, 2}) + std::string("\3\2", 2));
  DataShelf again(folder.path(), {});
  read_dataset(R"({"kind": "idx", "path": "."})", again).product();
  REQUIRE(again.notes().size() == 1);
  CHECK(again.notes().begin()->ends_with(
      ": no training row is of class 0, 1, of 4 that the model tells apart"));
  folder.write("emnist-digits-train-images-idx3-ubyte", "x");
  CHECK(message({}, folder).find(": holds several train-images (emnist-digits-train-images") !=
        std::string::npos);
}

TEST_CASE("idx: what is packed is unpacked as far as the header says") {
  const TemporaryFolder folder;
  for (const auto& [name, content] : good_files()) folder.write(name, content);
  std::filesystem::remove(folder.path() / "train-images-idx3-ubyte");
  folder.write_gz("train-images-idx3-ubyte.gz",
                  big_endian({0x803, 3, 1, 2}) + std::string(50'000'000, '\0'));
  const std::string file = (folder.path() / "train-images-idx3-ubyte.gz").string();
  CHECK(message({}, folder) ==
        file + ": is too long: 4080 bytes after the header, which says 3 x 1 x 2");
  folder.write_gz("train-images-idx3-ubyte.gz", std::string(50'000'000, '\0'));
  CHECK(message({}, folder) == file + ": magic number 0x00000000, expected 0x00000803");
}

}  // namespace gradrace::idx_test
