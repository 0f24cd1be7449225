#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models/datasets/dataset.h"
#include "models/datasets/labelled_rows.h"
#include "models/datasets/text_line.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr Page page{
    "libsvm",
    "The sparse text format of LIBSVM: a line is a label and then index:value pairs with "
    "ascending indices from 1, apart by spaces; what is not named is 0, what follows a # is left "
    "out.  The classes are the different labels of the training rows, in ascending order (-1 "
    "becomes 0 and +1 becomes 1); with `regression` labels are targets.  Rows are kept dense, up "
    "to 1e9 numbers (4 GB) a file.",
    "Chang, Lin, LIBSVM, ACM TIST 2(3), 2011",
    R"({"kind": "libsvm", "path": "../data/a9a", "test_path": "../data/a9a.t", "features": 123})"};

/// One file, before it is known how many features there are.
struct Sparse {
  struct Number {
    std::size_t row;
    std::uint64_t index;  // from 1
    float value;
  };
  std::vector<Number> numbers;
  std::uint64_t greatest = 0;  // index
};

void read_line(TextLine& line, std::uint64_t most, Sparse& sparse, LabelledRows& rows) {
  line.spaces();
  if (line.at_end() || line.skip('#')) return;
  rows.labels.push_back(line.real());
  rows.lines.push_back(line.number());
  std::uint64_t last = 0;
  for (line.spaces(); !line.at_end() && !line.skip('#'); line.spaces()) {
    const std::uint64_t index = line.integer(1, most);
    if (index <= last)
      line.defect("index " + std::to_string(index) + " after " + std::to_string(last) +
                  ": indices must ascend");
    if (!line.skip(':')) line.defect("expected a colon after index " + std::to_string(index));
    const double number = line.real();
    const auto kept = in_single_precision(number);
    if (!kept) line.defect(beyond_single_precision(number));
    sparse.numbers.push_back({rows.labels.size() - 1, index, *kept});
    last = index;
  }
  sparse.greatest = std::max(sparse.greatest, last);
}

LabelledRows read_rows(const fs::path& file, std::optional<std::uint64_t> features) {
  LabelledRows rows;
  rows.file = file;
  Sparse sparse;
  const std::uint64_t most = features.value_or(std::numeric_limits<std::uint32_t>::max());
  each_line(file, [&](TextLine& line) { read_line(line, most, sparse, rows); });
  rows.features = features.value_or(sparse.greatest);
  check_size(rows, rows.features);
  rows.x.resize(rows.labels.size() * rows.features);
  for (const auto& [row, index, value] : sparse.numbers)
    rows.x[row * rows.features + index - 1] = value;
  return rows;
}

LoadDataset read(Fields& fields, DataShelf& shelf) {
  LabelledFiles files;
  std::optional<std::uint64_t> features;
  visit(fields, files, shelf);
  fields.integer("features", features, between(1, 1e9),
                 "numbers in a row (default: the greatest index)");
  if (!fields.good()) return {};
  const std::string name = "libsvm " + (features ? std::to_string(*features) : "");
  return read_labelled_files(
      shelf, name, files, [features](const fs::path& file) { return read_rows(file, features); });
}

}  // namespace

extern const DatasetEntry libsvm_entry{page, partitioned<read>};

}  // namespace gradrace
