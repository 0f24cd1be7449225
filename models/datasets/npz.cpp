#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/datasets/arrays.h"
#include "models/datasets/shelf.h"
#include "models/datasets/text_line.h"
#include "models/datasets/zip_file.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr Page page{
    "npz",
    "Arrays of NumPy in one file, as Keras and MedMNIST have theirs: x_train, y_train, x_test and "
    "y_test, or train_images, train_labels, test_images and test_labels, in C order.  Of unsigned "
    "bytes a feature is a byte / 255, of others the number as it stands; rows are [features], "
    "[height, width] or [height, width, channels].  The classes are 0 to the greatest label of the "
    "training rows.",
    "NumPy's format of .npy and .npz files, NEP 1",
    R"({"kind": "npz", "path": "../data/mnist.npz"})"};

/// "<f4": their kind and bytes.
struct Array {
  std::string name, type;
  std::vector<std::size_t> shape;
  std::size_t header = 0;  // bytes
  Bytes bytes = {};        // of the file

  std::size_t number_bytes() const { return static_cast<std::size_t>(type[2] - '0'); }
  std::size_t numbers() const {
    double all = 1;
    for (const std::size_t length : shape) all *= static_cast<double>(length);
    return all < 1e15 ? static_cast<std::size_t>(all) : std::size_t(1e15);
  }

  double number(std::size_t i) const {
    const std::uint8_t* const at = bytes.data() + header + i * number_bytes();
    std::uint64_t word = 0;
    for (std::size_t b = number_bytes(); b-- > 0;) word = word << 8 | at[b];
    return number_of(word, type[1], number_bytes());
  }
};

/// What stands after a key of the header's dictionary: "'descr': '<f4', 'shape': (2, 3), ".
std::string after(const std::string& text, const std::string& key) {
  const auto at = text.find("'" + key + "':");
  if (at == text.npos) return {};
  const auto begin = text.find_first_not_of(' ', at + key.size() + 3);
  return begin == text.npos ? "" : text.substr(begin);
}

/// Without its numbers; empty where it is none, or of a type that is not read, and `cure` is what
/// makes of it one that is.
std::optional<Array> header_of(std::span<const std::uint8_t> first, std::string& cure) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (first.size() < 12 ||
      !std::equal(magic.begin(), magic.end(), first.begin(),
                  [](char a, auto b) { return static_cast<std::uint8_t>(a) == b; }))
    return {};
  const std::size_t at = first[6] == 1 ? 10 : 12;
  std::size_t length = first[8] | std::size_t{first[9]} << 8;
  if (first[6] != 1) length |= std::size_t{first[10]} << 16 | std::size_t{first[11]} << 24;
  if (at + length > first.size()) return {};
  const std::string text(first.begin() + static_cast<std::ptrdiff_t>(at),
                         first.begin() + static_cast<std::ptrdiff_t>(at + length));
  const std::string type = after(text, "descr"), shape = after(text, "shape");
  if (!shape.starts_with("(")) return {};
  cure = "is in Fortran's order: save numpy.ascontiguousarray(...)";
  if (!after(text, "fortran_order").starts_with("False")) return {};
  Array array{
      .name = {}, .type = type.substr(std::min<std::size_t>(1, type.size()), 3), .shape = {}};
  constexpr std::array known{"|u1", "|i1", "|b1", "<u2", "<i2", "<u4",
                             "<i4", "<u8", "<i8", "<f4", "<f8"};
  cure = "is of type " + type.substr(0, type.find(',')) +
         ", which is not read: save it with .astype(\"float32\"), labels with .astype(\"uint8\")";
  if (std::ranges::find(known, array.type) == known.end()) return {};
  array.header = at + length;
  std::size_t number = 0;
  bool has_digits = false;
  for (const char c : shape.substr(1, shape.find(')'))) {
    if (c >= '0' && c <= '9') {
      if (number > std::size_t(1e12)) return {};
      number = 10 * number + static_cast<std::size_t>(c - '0'), has_digits = true;
    } else if (has_digits) {
      array.shape.push_back(number), number = 0, has_digits = false;
    }
  }
  return array;
}

Array read_array(const fs::path& file, const ZipFile& zip, const std::string& name) {
  std::optional<Array> array;
  std::string cure = "is no array of NumPy";
  Bytes bytes = zip.read(name + ".npy", [&](std::span<const std::uint8_t> first) {
    array = header_of(first, cure);
    if (!array) defect(file, name + " " + cure);
    return array->header + array->numbers() * array->number_bytes();
  });
  array->name = name;
  array->bytes = std::move(bytes);
  if (array->numbers() == 0) defect(file, name + " is empty");
  return std::move(*array);
}

/// Of rows [height, width, channels] or less; the channels come first then.
ImageShape image_of(const std::vector<std::size_t>& shape) {
  return {shape.size() > 3 ? shape[3] : 1, shape[1], shape.size() > 2 ? shape[2] : 1};
}

/// The place in the array of each feature of a row.
std::vector<std::size_t> places_of(const ImageShape& image) {
  std::vector<std::size_t> places;
  for (std::size_t channel = 0; channel < image.channels; ++channel)
    for (std::size_t i = 0; i < image.height * image.width; ++i)
      places.push_back(i * image.channels + channel);
  return places;
}

/// The first number that single precision takes for 0 is noted.
void put_features(const fs::path& file, const Array& x, Rows& rows,
                  std::vector<std::string>& notes) {
  bool has_lost = false;
  const std::vector<std::size_t> places = places_of(image_of(x.shape));
  for (std::size_t row = 0; row < rows.count; ++row)
    for (const std::size_t place : places) {
      const double number = x.number(row * places.size() + place);
      if (x.type == "|u1") {
        rows.bytes.push_back(static_cast<std::uint8_t>(number));
      } else if (std::isfinite(static_cast<float>(number))) {
        rows.floats.push_back(static_cast<float>(number));
        if (rows.floats.back() == 0 && number != 0 && !std::exchange(has_lost, true))
          notes.push_back(file.string() + ": " + x.name + "[" + std::to_string(row) +
                          "]: " + std::string(too_small_for_single_precision));
      } else {
        defect(file, x.name + "[" + std::to_string(row) +
                         "] has a number that is not finite in "
                         "single precision");
      }
    }
}

Rows read_rows(const fs::path& file, const Array& x, const Array& y,
               std::vector<std::string>& notes) {
  if (x.shape.size() < 2 || x.shape.size() > 4)
    defect(file, x.name + " has " + std::to_string(x.shape.size()) +
                     " dimensions; allowed are rows of one to three");
  Rows rows{.count = x.shape[0]};
  const bool one_hot = y.shape.size() == 2 && y.shape[0] == rows.count && y.shape[1] > 1;
  if (y.numbers() != rows.count)
    defect(file,
           y.name + " has " + std::to_string(y.numbers()) + " labels for the " +
               std::to_string(rows.count) + " rows of " + x.name +
               (one_hot ? ", " + std::to_string(y.shape[1]) +
                              " a row: where they are one-hot, save " + y.name + ".argmax(axis=1)"
                        : ""));
  put_features(file, x, rows, notes);
  for (std::size_t row = 0; row < rows.count; ++row)
    rows.classes.push_back(class_of(y.number(row), [&] {
      return file.string() + ": " + y.name + "[" + std::to_string(row) + "]";
    }));
  return rows;
}

Dataset load(const fs::path& file) {
  using Names = std::array<const char*, 4>;
  constexpr Names usual[] = {{"x_train", "y_train", "x_test", "y_test"},
                             {"train_images", "train_labels", "test_images", "test_labels"}};
  const ZipFile zip(file);
  for (const Names& names : usual) {
    if (!std::ranges::all_of(
            names, [&](const char* name) { return zip.contains(std::string(name) + ".npy"); }))
      continue;
    const Array x = read_array(file, zip, names[0]), x_test = read_array(file, zip, names[2]);
    if (!std::ranges::equal(x.shape | std::views::drop(1), x_test.shape | std::views::drop(1)) ||
        x.type != x_test.type)
      defect(file, x_test.name + " has rows of another shape or type than " + x.name);
    Dataset data;
    data.train = read_rows(file, x, read_array(file, zip, names[1]), data.notes);
    data.test = read_rows(file, x_test, read_array(file, zip, names[3]), data.notes);
    const ImageShape image = image_of(x.shape);
    data.features = image.numbers();
    if (x.shape.size() > 2) data.image = image;
    data.byte_scale = 1.0f / 255;
    count_classes(data, file.string() + ": ", file.string() + ": " + names[3] + " has ");
    return data;
  }
  defect(file,
         "has neither x_train, y_train, x_test, y_test nor train_images, train_labels, "
         "test_images, test_labels (it has " +
             zip.names() + ")");
}

LoadDataset read(Fields& fields, DataShelf& shelf) {
  return read_dataset_at(fields, shelf, "npz", "file", "file of the four arrays", load);
}

}  // namespace

extern const DatasetEntry npz_entry{page, partitioned<read>};

}  // namespace gradrace
