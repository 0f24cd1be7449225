#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/datasets/dataset.h"
#include "models/datasets/packed_file.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr Page page{
    "idx",
    "Images and labels in the IDX format of MNIST: a folder with train-images-idx3-ubyte, "
    "train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each plain or "
    ".gz. A feature is a pixel / 255; the classes are 0 to the greatest label of the training "
    "rows.",
    "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 86(11), 1998",
    R"({"kind": "idx", "path": "../data/mnist"})"};

constexpr Page mnist_page{
    "mnist",
    "MNIST, handwritten digits of 28 x 28, 60,000 to train on and 10,000 to test: `idx` of a "
    "folder "
    "mnist, which is found beside the scenario or under --data or GRADRACE_DATA.",
    "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 86(11), 1998", R"({"kind": "mnist"})"};

[[noreturn]] void defect(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

/// "train-images", "idx3-ubyte": the file of that name as the folder spells it.
fs::path find_file(const fs::path& folder, const std::string& stem, const std::string& type) {
  for (const char* joint : {"-", "."})
    for (const char* suffix : {"", ".gz"})
      if (const fs::path file = folder / (stem + joint + type + suffix); fs::exists(file))
        return file;
  throw MissingData(folder.string() + ": holds no " + stem + "-" + type + " (nor .gz, nor " + stem +
                    "." + type + ")");
}

std::uint32_t big_endian(const Bytes& bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | std::uint32_t{bytes[at + 3]};
}

std::string hex(std::uint32_t number) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", number);
  return text;
}

/// An array of bytes and its shape.
struct Array {
  std::vector<std::size_t> shape;
  Bytes bytes;
};

Array read_array(const fs::path& file, std::size_t dimensions) {
  Bytes content = read_packed(file);
  const std::size_t header = 4 + 4 * dimensions;
  if (content.size() < header)
    defect(file, "has " + std::to_string(content.size()) + " bytes, the header alone takes " +
                     std::to_string(header));
  const std::uint32_t magic = big_endian(content, 0);
  const auto expected = 0x0800u + static_cast<std::uint32_t>(dimensions);
  if (magic != expected) defect(file, "magic number " + hex(magic) + ", expected " + hex(expected));

  Array array;
  double numbers = 1;
  std::string product;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::uint32_t length = big_endian(content, 4 + 4 * i);
    if (length == 0) defect(file, "header: a length is 0");
    array.shape.push_back(length);
    numbers *= length;
    product += (i == 0 ? "" : " x ") + std::to_string(length);
  }
  const std::size_t got = content.size() - header;
  if (static_cast<double>(got) != numbers)
    defect(file, std::string(static_cast<double>(got) < numbers ? "is truncated" : "is too long") +
                     ": " + std::to_string(got) + " bytes after the header, which says " + product);
  content.erase(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(header));
  array.bytes = std::move(content);
  return array;
}

struct Split {
  Rows rows;
  std::size_t height, width;
};

Split read_split(const fs::path& folder, const std::string& split) {
  const fs::path images_file = find_file(folder, split + "-images", "idx3-ubyte");
  const fs::path labels_file = find_file(folder, split + "-labels", "idx1-ubyte");
  Array images = read_array(images_file, 3), labels = read_array(labels_file, 1);
  if (labels.shape[0] != images.shape[0])
    defect(labels_file, std::to_string(labels.shape[0]) + " labels for the " +
                            std::to_string(images.shape[0]) + " images of " +
                            images_file.filename().string());
  Rows rows{images.shape[0], std::move(images.bytes), {}, {}};
  rows.classes.assign(labels.bytes.begin(), labels.bytes.end());
  return {std::move(rows), images.shape[1], images.shape[2]};
}

std::string size_of(const Split& split) {
  return std::to_string(split.height) + " x " + std::to_string(split.width);
}

Dataset load(const fs::path& folder, std::size_t threads) {
  const auto when =
      threads > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
  auto reading = std::async(when, [&] { return read_split(folder, "t10k"); });
  Split train = read_split(folder, "train"), test = reading.get();
  if (test.height != train.height || test.width != train.width)
    defect(find_file(folder, "t10k-images", "idx3-ubyte"),
           "images of " + size_of(test) + ", those of training are " + size_of(train));
  Dataset dataset;
  dataset.train = std::move(train.rows);
  dataset.test = std::move(test.rows);
  dataset.features = train.height * train.width;
  dataset.image = {1, train.height, train.width};
  dataset.byte_scale = 1.0f / 255;
  dataset.classes = 1 + std::size_t{*std::ranges::max_element(dataset.train.classes)};
  if (dataset.classes < 2)
    defect(find_file(folder, "train-labels", "idx1-ubyte"),
           "every label is 0; two classes are needed");
  const std::size_t greatest = *std::ranges::max_element(dataset.test.classes);
  if (greatest >= dataset.classes)
    defect(find_file(folder, "t10k-labels", "idx1-ubyte"), "label " + std::to_string(greatest) +
                                                               ", the training labels end at " +
                                                               std::to_string(dataset.classes - 1));
  return dataset;
}

LoadDataset read_at(Fields& fields, DataShelf& shelf, const std::string& usual_path) {
  return read_dataset_folder(
      fields, shelf, "idx", "folder of the four files",
      [&shelf](const fs::path& folder) { return load(folder, shelf.threads()); }, usual_path);
}

LoadDataset read(Fields& fields, DataShelf& shelf) { return read_at(fields, shelf, ""); }

LoadDataset read_mnist(Fields& fields, DataShelf& shelf) { return read_at(fields, shelf, "mnist"); }

}  // namespace

extern const DatasetEntry idx_entry{page, partitioned<read>};
extern const DatasetEntry mnist_entry{mnist_page, partitioned<read_mnist>};

}  // namespace gradrace
