#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models/datasets/shelf.h"
#include "sim/reading/packed_file.h"
#include "sim/reading/reference.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr Page page{
    "cifar10",
    "CIFAR-10 in its binary version, objects of 32 x 32: a folder with data_batch_1.bin to "
    "data_batch_5.bin (training) and test_batch.bin (test), each plain or .gz, of records of a "
    "class 0 to 9 and 1,024 red, 1,024 green and 1,024 blue bytes.  A feature is a byte / "
    "`divisor`; with `grey` it is a pixel's (0.2989 R + 0.587 G + 0.114 B) / divisor.  Of these, "
    "`subtract` takes the mean of the training rows: channel by channel, or pixel by pixel.",
    "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009; the grey as in Dutta "
    "et al., AISTATS 2018, sec. 9",
    R"({"kind": "cifar10", "path": "../data/cifar10", "grey": true})"};

constexpr std::size_t pixels = 32 * 32;
constexpr std::size_t largest_record = 2 + 3 * pixels, most_records_of_a_file = 200'000;

constexpr Page page_of_100{
    "cifar100",
    "CIFAR-100 in its binary version, objects of 32 x 32: a folder with train.bin and test.bin, "
    "each plain or .gz, of records of a coarse class 0 to 19, a fine class 0 to 99 and 1,024 red, "
    "1,024 green and 1,024 blue bytes; `labels` says which is learnt.  Features are those of "
    "cifar10.",
    "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
    R"({"kind": "cifar100", "path": "../data/cifar100", "labels": "coarse"})"};

/// How records are written: their labels, then the pixels.
struct Version {
  std::size_t labels, label;  // bytes, and which of them is the class
  std::size_t classes;
  std::vector<std::string> training;  // files

  std::size_t record() const { return labels + 3 * pixels; }
};

const Version version_of_10{1,
                            0,
                            10,
                            {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                             "data_batch_4.bin", "data_batch_5.bin"}};
const Version coarse{2, 0, 20, {"train.bin"}}, fine{2, 1, 100, {"train.bin"}};

struct Config {
  Version version = version_of_10;
  bool grey = false;
  std::string test_file = "test_batch.bin";
  std::optional<std::uint64_t> rows;
  double divisor = 255;
  std::string subtract = "none";  // or channel-mean, pixel-mean
};

void visit(Fields& fields, Config& config) {
  fields.flag("grey", config.grey, Need::defaulted, "1,024 features of a pixel each, not 3,072");
  fields.text("test_file", config.test_file, Need::defaulted,
              "the test records, where it is not the usual file: \"test_batch_9980.bin\"");
  fields.integer("rows", config.rows, at_least(1),
                 "only the first so many records, of training and of test each");
  fields.real("divisor", config.divisor, Need::defaulted, between(1e-30, 1e30),
              "of the bytes; 1 leaves them as they are");
  constexpr std::string_view means[] = {"none", "channel-mean", "pixel-mean"};
  fields.choice("subtract", config.subtract, means, Need::defaulted,
                "what of the training rows is taken from every row");
}

/// The records of files, appended to the rows until there are so many.
class Records {
 public:
  explicit Records(const Config& config)
      : version_(config.version),
        grey_(config.grey),
        divisor_(config.divisor),
        most_(config.rows.value_or(std::numeric_limits<std::uint64_t>::max())) {}

  /// `cure`: what to do where there is no such file.
  void read(const fs::path& folder, const std::string& name, const std::string& cure) {
    if (rows.count == most_) return;
    fs::path file = folder / name;
    if (!fs::is_regular_file(file)) file += ".gz";
    if (!fs::is_regular_file(file))
      throw MissingData(folder.string() + ": holds no " + name + " (nor .gz)" + cure);
    const Bytes content =
        read_packed(file, [](auto) { return most_records_of_a_file * largest_record; });
    if (content.empty()) defect(file, "is empty");
    const std::size_t record = version_.record();
    if (content.size() == most_records_of_a_file * largest_record)
      defect(file, "unpacks to more than " + std::to_string(most_records_of_a_file) + " records");
    if (content.size() % record != 0)
      defect(file, "has " + std::to_string(content.size()) + " bytes, which is no multiple of " +
                       std::to_string(record));
    for (std::size_t at = 0; at < content.size() && rows.count < most_; at += record) {
      const std::uint8_t label = content[at + version_.label];
      if (label >= version_.classes)
        defect(file, "record " + std::to_string(at / record + 1) + " has class " +
                         std::to_string(label) + ", allowed are 0 to " +
                         std::to_string(version_.classes - 1));
      rows.classes.push_back(label);
      add(content.data() + at + version_.labels);
    }
  }

  Rows rows;

 private:
  void add(const std::uint8_t* from) {
    ++rows.count;
    if (!grey_) {
      rows.bytes.insert(rows.bytes.end(), from, from + 3 * pixels);
      return;
    }
    for (const auto* red = from; red != from + pixels; ++red) {
      const double grey = 0.2989 * red[0] + 0.587 * red[pixels] + 0.114 * red[2 * pixels];
      rows.floats.push_back(static_cast<float>(grey / divisor_));
    }
  }

  Version version_;
  bool grey_;
  double divisor_;
  std::uint64_t most_;
};

/// The features as floats.
void unpack(Rows& rows, float byte_scale) {
  if (rows.bytes.empty()) return;
  rows.floats.resize(rows.bytes.size());
  std::ranges::transform(rows.bytes, rows.floats.begin(), [byte_scale](std::uint8_t byte) {
    return static_cast<float>(byte) * byte_scale;
  });
  rows.bytes = {};
}

/// Of the rows' features [count, channels, pixels of one], as many means as `kinds` of them: one
/// for each channel or for each feature.
std::vector<double> means(const Rows& rows, std::size_t features, std::size_t kinds) {
  std::vector<double> sums(kinds);
  const std::size_t alike = features / kinds;
  for (std::size_t i = 0; i < rows.floats.size(); ++i)
    sums[i % features / alike] += static_cast<double>(rows.floats[i]);
  for (double& sum : sums) sum /= static_cast<double>(rows.count * alike);
  return sums;
}

void subtract(Rows& rows, std::size_t features, const std::vector<double>& means) {
  const std::size_t alike = features / means.size();
  for (std::size_t i = 0; i < rows.floats.size(); ++i)
    rows.floats[i] =
        static_cast<float>(static_cast<double>(rows.floats[i]) - means[i % features / alike]);
}

void subtract_mean(Dataset& data, const std::string& kind) {
  if (kind == "none") return;
  unpack(data.train, data.byte_scale);
  unpack(data.test, data.byte_scale);
  const auto mean = means(data.train, data.features,
                          kind == "channel-mean" ? data.image->channels : data.features);
  subtract(data.train, data.features, mean);
  subtract(data.test, data.features, mean);
}

/// What is said of a folder with the version for Python; empty: it has not that.
std::string pickles_in(const fs::path& folder, const Config& config) {
  const fs::path file = fs::path(config.version.training.front()).stem();
  const fs::path place = folder_with(folder, [&](const std::string& name) { return name == file; });
  if (!fs::is_regular_file(place / file)) return {};
  return std::string(
             "; it has pickles of the version for Python, which are not read: get the binary "
             "version, ") +
         (config.version.labels == 1 ? "cifar-10-binary.tar.gz" : "cifar-100-binary.tar.gz");
}

Dataset load(const fs::path& path, const Config& config) {
  const std::string& first = config.version.training.front();
  const fs::path folder =
      folder_with(path, [&](const std::string& name) { return name.starts_with(first); });
  Records train(config), test(config);
  std::string needed = pickles_in(folder, config) + "; needed are";
  for (const std::string& file : config.version.training) needed += " " + file;
  for (const std::string& file : config.version.training) train.read(folder, file, needed);
  test.read(folder, config.test_file, "; test_file names another file of test rows");
  Dataset data{.features = config.grey ? pixels : 3 * pixels,
               .classes = config.version.classes,
               .byte_scale = 1.0f / static_cast<float>(config.divisor),
               .image = ImageShape{config.grey ? 1u : 3u, 32, 32},
               .train = std::move(train.rows),
               .test = std::move(test.rows)};
  subtract_mean(data, config.subtract);
  return data;
}

LoadDataset read_config(Fields& fields, DataShelf& shelf, Config config, std::string name,
                        std::string_view meaning) {
  visit(fields, config);
  name += std::string(" ") + (config.grey ? "grey " : "") + config.test_file +
          (config.rows ? " " + std::to_string(*config.rows) : "") + " " +
          json_number(config.divisor) + " " + config.subtract;
  return read_dataset_at(fields, shelf, name, "folder", meaning,
                         [config](const fs::path& folder) { return load(folder, config); });
}

LoadDataset read(Fields& fields, DataShelf& shelf) {
  return read_config(fields, shelf, Config(), "cifar10", "folder of the six files");
}

LoadDataset read_100(Fields& fields, DataShelf& shelf) {
  Config config;
  const bool of_coarse =
      fields.second_of("labels", "fine", "coarse", "100 classes, or 20 of five of them each");
  config.version = of_coarse ? coarse : fine;
  config.test_file = "test.bin";
  return read_config(fields, shelf, config, of_coarse ? "cifar100 coarse" : "cifar100 fine",
                     "folder of train.bin and test.bin");
}

}  // namespace

extern const DatasetEntry cifar10_entry{page, partitioned<read>};
extern const DatasetEntry cifar100_entry{page_of_100, partitioned<read_100>};

}  // namespace gradrace
