#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "models/dataset.h"

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

constexpr std::size_t features = 64, classes = 10;
constexpr unsigned most = 16;

/// Reads comma-separated integers and throws with file and line.
class Line {
 public:
  Line(const fs::path& file, std::size_t number, const std::string& text)
      : file_(file), number_(number), at_(text.data()), end_(text.data() + text.size()) {
    if (at_ != end_ && end_[-1] == '\r') --end_;
  }

  std::uint8_t integer(unsigned greatest) {
    unsigned value = 0;
    const auto [rest, error] = std::from_chars(at_, end_, value);
    const std::string range = "an integer from 0 to " + std::to_string(greatest);
    if (error != std::errc{} || value > greatest) defect("expected " + range);
    at_ = rest;
    return static_cast<std::uint8_t>(value);
  }

  void comma() {
    if (at_ == end_ || *at_ != ',') defect("expected a comma");
    ++at_;
  }

  void end() const {
    if (at_ != end_) defect("expected the end of the line after 65 integers");
  }

 private:
  [[noreturn]] void defect(const std::string& what) const {
    std::string found = "the end of the line";
    if (at_ != end_)
      found.assign("\"").append(std::string_view(at_, end_).substr(0, 20)).append("\"");
    throw std::runtime_error(file_.string() + ":" + std::to_string(number_) + ": " + what +
                             ", found " + found);
  }

  const fs::path& file_;
  std::size_t number_;
  const char *at_, *end_;
};

Rows read_rows(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(file.string() + ": cannot be opened");
  Rows rows;
  for (std::string text; std::getline(stream, text); ++rows.count) {
    Line line(file, rows.count + 1, text);
    for (std::size_t i = 0; i < features; ++i) {
      rows.bytes.push_back(line.integer(most));
      line.comma();
    }
    rows.classes.push_back(line.integer(classes - 1));
    line.end();
  }
  if (stream.bad()) throw std::runtime_error(file.string() + ": cannot be read");
  if (rows.count == 0) throw std::runtime_error(file.string() + ": is empty");
  return rows;
}

Dataset load(const fs::path& folder) {
  Dataset dataset;
  dataset.features = features;
  dataset.classes = classes;
  dataset.byte_scale = 1.0f / most;
  dataset.train = read_rows(folder / "optdigits.tra");
  dataset.test = read_rows(folder / "optdigits.tes");
  return dataset;
}

LoadDataset read(Fields& fields, DataShelf& shelf) {
  return read_dataset_folder(fields, shelf, "digits", "folder of the two files", load);
}

}  // namespace

extern const DatasetEntry digits_entry{page, read};

}  // namespace gradrace
