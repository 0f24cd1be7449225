#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>
#include <string>

#include "models/datasets/labelled_rows.h"
#include "models/datasets/shelf.h"
#include "models/datasets/text_line.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t usual_most = 1 << 27;  // features; known sets of data have 3e7
constexpr std::uint64_t most_places = std::numeric_limits<std::uint32_t>::max() - 1;

constexpr Page page{
    "libsvm",
    "The sparse text format of LIBSVM: a line is a label and then index:value pairs with "
    "ascending indices, apart by spaces; what is not named is 0, what follows a # is left out, and "
    "so is a qid.  Indices count from 1, or from 0 where a 0 stands in one of the files.  The "
    "classes are the different labels of the training rows, in ascending order (-1 becomes 0 and "
    "+1 becomes 1); with `regression` labels are targets.  Of rows of more than 1e9 numbers (4 GB) "
    "only those that are not 0 are kept, and only the CPU trains on them.",
    "Chang, Lin, LIBSVM, ACM TIST 2(3), 2011",
    R"({"kind": "libsvm", "path": "../data/a9a", "test_path": "../data/a9a.t", "features": 123})"};

/// Of a line that is not empty: whether it begins with one label and then a blank.
void check_label(const TextLine& line) {
  const std::string label(line.rest().substr(0, line.rest().find_first_of(" \t#")));
  const bool comma = label.find(',') != label.npos, colon = label.find(':') != label.npos;
  if (comma)
    line.defect(colon ? "has commas between pairs, where blanks are to be"
                      : "has several labels, and a row is of one class; such data cannot be read");
  if (colon)
    line.defect("begins with \"" + label +
                "\", and not with a label: rows need one, without a weight behind it");
  if (!finite_number(label))
    line.defect("label \"" + label + "\" is no finite number; write words as 0, 1 and so on");
}

/// One file: places are indices as they stand until it is known from which they count.
class File {
 public:
  File(const fs::path& file, std::optional<std::uint64_t> features)
      : most_(features.value_or(usual_most)), is_said_(features.has_value()) {
    rows.file = file;
  }

  void read(TextLine& line) {
    line.spaces();
    if (line.at_end() || line.skip('#')) return;
    check_label(line);
    rows.labels.push_back(line.real());
    rows.lines.push_back(line.number());
    line.spaces();
    if (line.skip_word("qid:")) line.integer(0, std::numeric_limits<std::uint64_t>::max());
    std::optional<std::uint64_t> last;
    for (line.spaces(); !line.at_end() && !line.skip('#'); line.spaces()) last = entry(line, last);
    rows.listed.end_row();
  }

  LabelledRows rows;

 private:
  std::uint64_t entry(TextLine& line, std::optional<std::uint64_t> last) {
    const char first = line.rest().front();
    if (first == ',') line.defect("has commas between pairs, where blanks are to be");
    if (std::isalpha(static_cast<unsigned char>(first)) != 0)
      line.defect("index \"" + std::string(line.rest().substr(0, line.rest().find(':'))) +
                  "\" is a name; features are to be numbered, from 1");
    const std::uint64_t index = line.integer(0, most_places);
    if (index > most_ && !is_said_)
      line.defect(
          "index " + std::to_string(index) + " is beyond " + std::to_string(most_) +
          "; if there are so many features, say so: \"features\": " + std::to_string(index));
    if (index > most_)
      line.defect("index " + std::to_string(index) + ", and the key \"features\" is " +
                  std::to_string(most_));
    if (last && index <= *last)
      line.defect("index " + std::to_string(index) + " after " + std::to_string(*last) +
                  ": indices must ascend");
    if (!line.skip(':')) line.defect("expected a colon after index " + std::to_string(index));
    const std::string_view text = line.rest();
    const double number = line.real();
    if (line.rest().starts_with(':'))
      line.defect("has field:index:value, as files of LIBFFM do; leave the fields out");
    const auto kept = in_single_precision(number);
    if (!kept) line.defect(beyond_single_precision(number));
    if (*kept == 0 && rows.notes.empty() &&
        is_not_zero(text.substr(0, text.size() - line.rest().size())))
      rows.notes.push_back(line.place() + ": index " + std::to_string(index) + ": " +
                           std::string(too_small_for_single_precision));
    rows.listed.places.push_back(static_cast<std::uint32_t>(index));
    rows.listed.x.push_back(*kept);
    return index;
  }

  std::uint64_t most_;
  bool is_said_;  // by the scenario
};

LabelledRows read_rows(const fs::path& path, std::optional<std::uint64_t> features) {
  File file(path, features);
  each_line(path, [&](TextLine& line) { file.read(line); });
  return std::move(file.rows);
}

/// The line of the first such index.
std::string line_of(const LabelledRows& rows, std::uint32_t index) {
  const auto at = std::ranges::find(rows.listed.places, index) - rows.listed.places.begin();
  const auto after = std::ranges::upper_bound(rows.listed.begin, static_cast<std::uint64_t>(at));
  const auto row = static_cast<std::size_t>(after - rows.listed.begin.begin()) - 1;
  return std::to_string(rows.lines[row]);
}

std::string place_of(const LabelledRows& rows, std::uint32_t index) {
  return rows.file.string() + ":" + line_of(rows, index);
}

/// Indices count from 0 in both files if one has a 0, else from 1.  Where the other has none and
/// greater ones, it may count from 1.
void suit(LabelledRows& train, LabelledRows& test, std::optional<std::uint64_t> features) {
  const LabelledRows* from_0 = nullptr;
  std::uint32_t greatest = 0;
  for (const LabelledRows* const rows : {&test, &train}) {
    for (const std::uint32_t index : rows->listed.places) {
      if (index == 0) from_0 = rows;
      greatest = std::max(greatest, index);
    }
  }
  const std::uint32_t first = from_0 ? 0 : 1;
  const std::uint64_t most = features ? *features - 1 + first : greatest;
  if (greatest > most) {
    const bool in_train =
        std::ranges::find(train.listed.places, greatest) != train.listed.places.end();
    throw std::runtime_error(place_of(in_train ? train : test, greatest) + ": index " +
                             std::to_string(greatest) + ", and " + std::to_string(*features) +
                             " features that count from " + std::to_string(first) + " (" +
                             place_of(*from_0, 0) + " has index 0) end at " + std::to_string(most));
  }
  if (from_0) {
    const LabelledRows& other = from_0 == &train ? test : train;
    const auto& of_other = other.listed.places;
    const bool also_from_0 = std::ranges::find(of_other, 0u) != of_other.end();
    const auto end = std::ranges::find(of_other, greatest);
    const bool ends_there =
        std::ranges::find(from_0->listed.places, greatest) != from_0->listed.places.end();
    if (!also_from_0 && end != of_other.end() && !ends_there)
      throw std::runtime_error(
          place_of(other, greatest) + ": index " + std::to_string(greatest) +
          " is greater than all of " + from_0->file.string() + ", which has index 0 (line " +
          line_of(*from_0, 0) + "), and " + other.file.string() +
          " has none: one may count from 0 and the other from 1; count both from 1");
    train.notes.push_back(place_of(*from_0, 0) +
                          ": has index 0, so that indices count from 0 and not from 1");
  }
  for (LabelledRows* const rows : {&train, &test}) {
    for (std::uint32_t& index : rows->listed.places) index -= first;
    rows->features = features.value_or(greatest + 1 - first);
  }
}

LoadDataset read(Fields& fields, DataShelf& shelf) {
  LabelledFiles files;
  std::optional<std::uint64_t> features;
  visit(fields, files, shelf);
  fields.integer("features", features, between(1, 1e9),
                 "numbers in a row (default: as many as indices up to the greatest)");
  if (!fields.good()) return {};
  const std::string name = "libsvm " + (features ? std::to_string(*features) : "");
  return read_labelled_files(
      shelf, name, files, [features](const fs::path& file) { return read_rows(file, features); },
      [features](LabelledRows& train, LabelledRows& test) { suit(train, test, features); });
}

}  // namespace

extern const DatasetEntry libsvm_entry{page, partitioned<read>};

}  // namespace gradrace
