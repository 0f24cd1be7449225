#include <filesystem>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/dataset.h"
#include "models/packed_file.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr Page page{
    "cifar10",
    "CIFAR-10 in its binary version, objects of 32 x 32: a folder with data_batch_1.bin to "
    "data_batch_5.bin (training) and test_batch.bin (test), each plain or .gz, of records of a "
    "class 0 to 9 and 1,024 red, 1,024 green and 1,024 blue bytes.  A feature is a byte / 255; "
    "with `grey` it is a pixel's (0.2989 R + 0.587 G + 0.114 B) / 255.",
    "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009; the grey as in Dutta "
    "et al., AISTATS 2018, sec. 9",
    R"({"kind": "cifar10", "path": "../data/cifar10", "grey": true})"};

constexpr std::size_t pixels = 32 * 32, record = 1 + 3 * pixels, classes = 10;

struct Config {
  bool grey = false;
  std::string test_file = "test_batch.bin";
  std::optional<std::uint64_t> rows;
};

void visit(Fields& fields, Config& config) {
  fields.flag("grey", config.grey, Need::defaulted, "1,024 features of a pixel each, not 3,072");
  fields.text("test_file", config.test_file, Need::defaulted,
              "the test records, where it is not the usual file: \"test_batch_9980.bin\"");
  fields.integer("rows", config.rows, at_least(1),
                 "only the first so many records, of training and of test each");
}

[[noreturn]] void defect(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

/// The records of files, appended to the rows until there are so many.
class Records {
 public:
  Records(bool grey, std::optional<std::uint64_t> most)
      : grey_(grey), most_(most.value_or(std::numeric_limits<std::uint64_t>::max())) {}

  void read(const fs::path& folder, const std::string& name) {
    if (rows.count == most_) return;
    fs::path file = folder / name;
    if (!fs::is_regular_file(file)) file += ".gz";
    if (!fs::is_regular_file(file))
      throw MissingData(folder.string() + ": holds no " + name + " (nor .gz)");
    const std::vector<std::uint8_t> content = read_packed(file);
    if (content.empty()) defect(file, "is empty");
    if (content.size() % record != 0)
      defect(file, "has " + std::to_string(content.size()) + " bytes, which is no multiple of " +
                       std::to_string(record));
    for (std::size_t at = 0; at < content.size() && rows.count < most_; at += record) {
      if (content[at] >= classes)
        defect(file, "record " + std::to_string(at / record + 1) + " has class " +
                         std::to_string(content[at]) + ", allowed are 0 to 9");
      add(content.data() + at);
    }
  }

  Rows rows;

 private:
  void add(const std::uint8_t* from) {
    ++rows.count;
    rows.classes.push_back(*from++);
    if (!grey_) {
      rows.bytes.insert(rows.bytes.end(), from, from + 3 * pixels);
      return;
    }
    for (const auto* red = from; red != from + pixels; ++red) {
      const double grey = 0.2989 * red[0] + 0.587 * red[pixels] + 0.114 * red[2 * pixels];
      rows.floats.push_back(static_cast<float>(grey / 255));
    }
  }

  bool grey_;
  std::uint64_t most_;
};

Dataset load(const fs::path& folder, const Config& config) {
  Records train(config.grey, config.rows), test(config.grey, config.rows);
  for (const char batch : {'1', '2', '3', '4', '5'})
    train.read(folder, std::string("data_batch_") + batch + ".bin");
  test.read(folder, config.test_file);
  return {.features = config.grey ? pixels : 3 * pixels,
          .classes = classes,
          .byte_scale = 1.0f / 255,
          .image = ImageShape{config.grey ? 1u : 3u, 32, 32},
          .train = std::move(train.rows),
          .test = std::move(test.rows),
          .hash = {}};
}

LoadDataset read(Fields& fields, DataShelf& shelf) {
  Config config;
  visit(fields, config);
  const std::string name = std::string("cifar10 ") + (config.grey ? "grey " : "") +
                           config.test_file +
                           (config.rows ? " " + std::to_string(*config.rows) : "");
  return read_dataset_folder(fields, shelf, name, "folder of the six files",
                             [config](const fs::path& folder) { return load(folder, config); });
}

}  // namespace

extern const DatasetEntry cifar10_entry{page, read};

}  // namespace gradrace
