#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <future>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/datasets/arrays.h"
#include "models/datasets/shelf.h"
#include "sim/message_text.h"
#include "sim/reading/packed_file.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr Page page{
    "idx",
    "Images and labels in the IDX format of MNIST: a folder with train-images-idx3-ubyte, "
    "train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each plain or "
    ".gz; names may begin with more, and test stand for t10k, as EMNIST has it.  A feature is a "
    "pixel / 255, or a number as it stands where the file has another type than unsigned bytes; "
    "the classes are 0 to the greatest label of the training rows.",
    "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 86(11), 1998",
    R"({"kind": "idx", "path": "../data/mnist"})"};

constexpr Page mnist_page{
    "mnist",
    "MNIST, handwritten digits of 28 x 28, 60,000 to train on and 10,000 to test: `idx` of a "
    "folder "
    "mnist, which is found beside the scenario or under --data or GRADRACE_DATA.",
    "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 86(11), 1998", R"({"kind": "mnist"})"};

/// "train-images", "idx3": the file of that name as the folder spells it: of EMNIST the name has a
/// prefix and ends are others ("emnist-letters-test-images-idx3-ubyte").
fs::path find_file(const fs::path& folder, const std::string& split, const std::string& what,
                   const std::string& type) {
  for (const char* joint : {"-", "."})
    for (const char* suffix : {"", ".gz"})
      if (const fs::path file = folder / (split + "-" + what + joint + type + "-ubyte" + suffix);
          fs::exists(file))
        return file;
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool of_split = name.find(split + "-" + what) != name.npos ||
                          (split == "t10k" && name.find("test-" + what) != name.npos);
    if (of_split && name.find(type + "-") != name.npos) others.push_back(entry.path());
  }
  if (others.size() == 1) return others.front();
  std::ranges::sort(others);
  const auto name_of = [](const fs::path& file) { return file.filename().string(); };
  const std::string name = split + "-" + what;
  if (!others.empty())
    throw std::runtime_error(folder.string() + ": holds several " + name + " (" +
                             joined(others, ", ", name_of) +
                             "); keep those of one data set in the folder");
  std::string there;  // as torchvision has it, two folders deeper
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder))
    if (const fs::path raw = entry.path() / "raw"; fs::is_directory(raw, ignored))
      there = "; give the folder " + raw.string();
  throw MissingData(folder.string() + ": holds no " + name + "-" + type + "-ubyte (nor .gz, nor " +
                    name + "." + type +
                    "-ubyte); needed are images and labels of train and of t10k or test" + there);
}

std::uint32_t big_endian(std::span<const std::uint8_t> bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | std::uint32_t{bytes[at + 3]};
}

std::string hex(std::uint32_t number) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", number);
  return text;
}

/// Types of numbers of the format, by the third byte of the magic number.
struct Type {
  std::uint8_t code;
  char kind;  // as number_of() has it
  std::size_t bytes;
  const char* name;
};
constexpr Type types[] = {{0x08, 'u', 1, "unsigned bytes"}, {0x09, 'i', 1, "signed bytes"},
                          {0x0B, 'i', 2, "short integers"}, {0x0C, 'i', 4, "integers"},
                          {0x0D, 'f', 4, "floats"},         {0x0E, 'f', 8, "doubles"}};

/// What a file begins with.
struct Header {
  const Type* type = nullptr;      // null: it is none of the format
  std::vector<std::size_t> shape;  // as far as it is there
  std::size_t bytes;               // of the header

  double numbers() const {
    double product = 1;
    for (const std::size_t length : shape) product *= static_cast<double>(length);
    return product;
  }
};

Header header_of(std::span<const std::uint8_t> bytes, std::size_t dimensions) {
  Header header{.shape = {}, .bytes = 4 + 4 * dimensions};
  if (bytes.size() < header.bytes) return header;
  const std::uint32_t magic = big_endian(bytes, 0);
  for (const Type& type : types)
    if (magic == (std::uint32_t{type.code} << 8 | dimensions)) header.type = &type;
  for (std::size_t i = 0; i < dimensions; ++i) header.shape.push_back(big_endian(bytes, 4 + 4 * i));
  return header;
}

/// One more than the header says, so that a file that is too long is told.
std::size_t most_bytes(std::span<const std::uint8_t> first, std::size_t dimensions) {
  const Header header = header_of(first, dimensions);
  if (!header.type) return header.bytes;
  const double bytes = header.numbers() * static_cast<double>(header.type->bytes);
  return header.bytes + 1 + (bytes < 1e18 ? static_cast<std::size_t>(bytes) : std::size_t(1e18));
}

/// An array and its shape.
struct Array {
  fs::path file;
  std::vector<std::size_t> shape;
  const Type* type;
  Bytes bytes;  // of its numbers, the highest first

  std::size_t size() const { return bytes.size() / type->bytes; }
  double number(std::size_t i) const {
    std::uint64_t word = 0;
    for (std::size_t b = 0; b < type->bytes; ++b) word = word << 8 | bytes[i * type->bytes + b];
    return number_of(word, type->kind, type->bytes);
  }
};

/// Its magic number is none of an array of so many dimensions.
[[noreturn]] void refuse_magic(const fs::path& file, std::uint32_t magic, std::size_t dimensions) {
  const auto wanted = static_cast<std::uint32_t>(dimensions);
  const auto is_its = [magic](const Type& type) { return magic >> 8 == type.code; };
  if (std::ranges::none_of(types, is_its))
    defect(file, "magic number " + hex(magic) + ", expected " + hex(0x0800u + wanted));
  defect(file, "is an array of " + count_text(magic & 0xff, "dimension") + ", expected " +
                   std::to_string(dimensions) +
                   (dimensions == 1 ? "; of labels in columns, as QMNIST's, write that of the "
                                      "classes, its first, to a file of its own"
                                    : ""));
}

Array read_array(const fs::path& file, std::size_t dimensions) {
  Bytes content =
      read_packed(file, [dimensions](auto first) { return most_bytes(first, dimensions); });
  Header header = header_of(content, dimensions);
  if (header.shape.empty())
    defect(file, "has " + std::to_string(content.size()) + " bytes, the header alone takes " +
                     std::to_string(header.bytes));
  if (!header.type) refuse_magic(file, big_endian(content, 0), dimensions);
  std::string product;
  for (const std::size_t length : header.shape) {
    if (length == 0) defect(file, "header: a length is 0");
    product += (product.empty() ? "" : " x ") + std::to_string(length);
  }
  const std::size_t got = content.size() - header.bytes;
  const double expected = header.numbers() * static_cast<double>(header.type->bytes);
  if (static_cast<double>(got) != expected)
    defect(file, std::string(static_cast<double>(got) < expected ? "is truncated" : "is too long") +
                     ": " + std::to_string(got) + " bytes after the header, which says " + product +
                     (header.type->bytes > 1 ? std::string(" ") + header.type->name : ""));
  content.erase(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(header.bytes));
  return {file, std::move(header.shape), header.type, std::move(content)};
}

/// Numbers of bytes stay so; others are as they stand.
void put_features(Array& images, Rows& rows) {
  if (images.type->code == 0x08) {
    rows.bytes = std::move(images.bytes);
    return;
  }
  rows.floats.resize(images.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    const double number = images.number(i);
    if (!std::isfinite(static_cast<float>(number)))
      defect(images.file, "number " + std::to_string(i + 1) + " is not finite in single precision");
    rows.floats[i] = static_cast<float>(number);
  }
}

void put_classes(const Array& labels, Rows& rows) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    rows.classes.push_back(class_of(labels.number(i), [&] {
      return labels.file.string() + ": label " + std::to_string(i + 1);
    }));
}

struct Split {
  Rows rows;
  std::size_t height, width;
};

Split read_split(const fs::path& folder, const std::string& split) {
  const fs::path images_file = find_file(folder, split, "images", "idx3");
  const fs::path labels_file = find_file(folder, split, "labels", "idx1");
  Array images = read_array(images_file, 3), labels = read_array(labels_file, 1);
  if (labels.shape[0] != images.shape[0])
    defect(labels_file, std::to_string(labels.shape[0]) + " labels for the " +
                            std::to_string(images.shape[0]) + " images of " +
                            images_file.filename().string());
  Rows rows{.count = images.shape[0]};
  put_features(images, rows);
  put_classes(labels, rows);
  return {std::move(rows), images.shape[1], images.shape[2]};
}

std::string size_of(const Split& split) {
  return std::to_string(split.height) + " x " + std::to_string(split.width);
}

Dataset load(const fs::path& path, std::size_t threads) {
  const fs::path folder = folder_with(
      path, [](const std::string& name) { return name.find("train-images") != name.npos; });
  const auto when =
      threads > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
  auto reading = std::async(when, [&] { return read_split(folder, "t10k"); });
  Split train = read_split(folder, "train"), test = reading.get();
  if (test.height != train.height || test.width != train.width)
    defect(find_file(folder, "t10k", "images", "idx3"),
           "images of " + size_of(test) + ", those of training are " + size_of(train));
  Dataset dataset;
  dataset.train = std::move(train.rows);
  dataset.test = std::move(test.rows);
  dataset.features = train.height * train.width;
  dataset.image = {1, train.height, train.width};
  dataset.byte_scale = 1.0f / 255;
  const auto labels = [&](const char* split) {
    return find_file(folder, split, "labels", "idx1").string() + ": ";
  };
  count_classes(dataset, labels("train"), labels("t10k"));
  return dataset;
}

LoadDataset read_at(Fields& fields, DataShelf& shelf, const std::string& usual_path) {
  return read_dataset_at(
      fields, shelf, "idx", "folder", "folder of the four files",
      [&shelf](const fs::path& folder) { return load(folder, shelf.threads()); }, usual_path);
}

LoadDataset read(Fields& fields, DataShelf& shelf) { return read_at(fields, shelf, ""); }

LoadDataset read_mnist(Fields& fields, DataShelf& shelf) { return read_at(fields, shelf, "mnist"); }

}  // namespace

extern const DatasetEntry idx_entry{page, partitioned<read>};
extern const DatasetEntry mnist_entry{mnist_page, partitioned<read_mnist>};

}  // namespace gradrace
