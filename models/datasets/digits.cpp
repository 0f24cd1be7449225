#include <filesystem>
#include <stdexcept>

#include "models/datasets/shelf.h"
#include "models/datasets/text_line.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr Page page{
    "digits",
    "UCI optdigits, handwritten digits of 8 x 8: a folder with optdigits.tra (training) and "
    "optdigits.tes (test), each line 64 integers 0 to 16 and the class 0 to 9.  A feature is its "
    "integer / 16.",
    "Alpaydin, Kaynak, UCI Machine Learning Repository, 1998, doi:10.24432/C50P49",
    R"({"kind": "digits", "path": "../data/digits"})"};

constexpr std::size_t side = 8, features = side * side, classes = 10;
constexpr unsigned most = 16;

Rows read_rows(const fs::path& folder, const char* name) {
  const fs::path file = folder / name;
  if (!fs::is_regular_file(file))
    throw MissingData(folder.string() + ": holds no " + name +
                      "; needed are optdigits.tra and optdigits.tes");
  Rows rows;
  each_line(file, [&](TextLine& line) {
    for (std::size_t i = 0; i < features; ++i) {
      rows.bytes.push_back(static_cast<std::uint8_t>(line.integer(0, most)));
      line.separator(',');
    }
    rows.classes.push_back(static_cast<std::uint8_t>(line.integer(0, classes - 1)));
    line.end("65 integers");
    ++rows.count;
  });
  if (rows.count == 0) throw std::runtime_error(file.string() + ": is empty");
  return rows;
}

Dataset load(const fs::path& folder) {
  Dataset dataset;
  dataset.features = features;
  dataset.classes = classes;
  dataset.byte_scale = 1.0f / most;
  dataset.image = ImageShape{1, side, side};
  dataset.train = read_rows(folder, "optdigits.tra");
  dataset.test = read_rows(folder, "optdigits.tes");
  return dataset;
}

LoadDataset read(Fields& fields, DataShelf& shelf) {
  return read_dataset_at(fields, shelf, "digits", "folder", "folder of the two files", load);
}

}  // namespace

extern const DatasetEntry digits_entry{page, partitioned<read>};

}  // namespace gradrace
