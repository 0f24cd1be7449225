#include "models/datasets/labelled_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
#include <utility>

#include "models/datasets/doubted_rows.h"
#include "models/datasets/feature_columns.h"
#include "models/datasets/permutation.h"
#include "models/datasets/text_line.h"
#include "sim/message_text.h"
#include "sim/random.h"
#include "sim/reading/reference.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_classes = 256;

MissingPlace missing(const Location& place) { return {"file", place.name, place.looked_at}; }

/// Complains of a file that is not there, or notes it where it may lack.
void check_file(Fields& fields, DataShelf& shelf, std::string_view key, const Location& place) {
  const bool told = place.name.empty() && !fields.good();
  if (told || fs::is_regular_file(place.found)) return;
  const MissingPlace lacking = missing(place);
  shelf.note_missing(lacking);
  if (shelf.data_needed()) fields.lacks(key, lacking);
}

/// The rows of those numbers.
LabelledRows selected(const LabelledRows& from, const std::vector<std::uint32_t>& rows) {
  LabelledRows result{.file = from.file, .names = from.names, .features = from.features};
  result.feature_names = from.feature_names;
  result.word_columns = from.word_columns;
  result.first_numbers_rows = from.first_numbers_rows;
  for (const std::uint32_t i : rows) {
    if (from.listed.empty()) {
      const auto begin = from.x.begin() + static_cast<std::ptrdiff_t>(i * from.features);
      result.x.insert(result.x.end(), begin, begin + static_cast<std::ptrdiff_t>(from.features));
    } else {
      from.listed.each_of(i, [&](std::uint32_t place, float number) {
        result.listed.places.push_back(place);
        result.listed.x.push_back(number);
      });
      result.listed.end_row();
    }
    result.labels.push_back(from.labels[i]);
    if (!from.words.empty()) result.words.push_back(from.words[i]);
    result.lines.push_back(from.lines[i]);
  }
  return result;
}

/// Takes the test rows out of the rows.
LabelledRows hold_out(LabelledRows& rows, std::uint64_t count) {
  const std::size_t n = rows.labels.size();
  if (count >= n)
    defect(rows.file, "has " + std::to_string(n) + " rows, and test_rows are " +
                          std::to_string(count) + ": none is left for training");
  const Permutation order({0, 0, Purpose::dataset, 0, 0}, static_cast<std::uint32_t>(n));
  std::vector<std::uint32_t> test, train;
  std::vector<bool> held(n);
  for (std::uint32_t i = 0; i < count; ++i) test.push_back(order(i)), held[test.back()] = true;
  for (std::uint32_t i = 0; i < n; ++i)
    if (!held[i]) train.push_back(i);
  LabelledRows result = selected(rows, test);
  std::vector<std::string> notes = std::move(rows.notes);
  rows = selected(rows, train);
  rows.notes = std::move(notes);
  return result;
}

std::string shown(double label) { return json_number(label); }
std::string shown(const std::string& label) { return "\"" + label + "\""; }

/// The different labels, ascending.
template <class Label>
std::vector<Label> classes_of(const LabelledRows& rows, std::vector<Label> classes) {
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  if (classes.size() > most_classes)
    defect(rows.file, "has " + std::to_string(classes.size()) + " different labels, and " +
                          std::to_string(most_classes) +
                          " classes are the most; targets are read with \"regression\": true");
  if (classes.size() < 2)
    defect(rows.file, "has training rows of one label only, " + shown(classes[0]));
  return classes;
}

std::vector<float> targets_of(LabelledRows& rows) {
  std::vector<float> targets;
  bool told = false;
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    const auto kept = in_single_precision(rows.labels[i]);
    if (!kept) defect(place_of_row(rows, i), "target " + beyond_single_precision(rows.labels[i]));
    if (*kept == 0 && rows.labels[i] != 0 && !std::exchange(told, true))
      rows.notes.push_back(place_of_row(rows, i) + ": target " +
                           std::string(too_small_for_single_precision));
    targets.push_back(*kept);
  }
  return targets;
}

/// The first ones.
template <class Label>
std::string listed(const std::vector<Label>& classes) {
  constexpr std::size_t most = 5;
  const auto text = [](const Label& label) { return shown(label); };
  return joined(classes | std::views::take(most), ", ", text) +
         (classes.size() > most ? " ..." : "");
}

/// What makes a class of a label that is none.
std::string hint_of(double, const std::vector<double>& classes) {
  constexpr std::size_t many = 20;
  return classes.size() > many ? "; if labels are targets: \"regression\": true" : "";
}

/// Labels of adult.test end with a dot.
std::string hint_of(const std::string& label, const std::vector<std::string>& classes) {
  const bool is_known = label.ends_with('.') &&
                        std::ranges::binary_search(classes, label.substr(0, label.size() - 1));
  return is_known ? "; a dot at the end is to be left out" : "";
}

/// The numbers of the rows' classes.
template <class Label>
std::vector<std::uint8_t> class_numbers(const LabelledRows& rows, const std::vector<Label>& labels,
                                        const std::vector<Label>& classes) {
  std::vector<std::uint8_t> numbers;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto found = std::lower_bound(classes.begin(), classes.end(), labels[i]);
    if (found == classes.end() || *found != labels[i])
      defect(place_of_row(rows, i), "label " + shown_label(rows, i) +
                                        " is none of the training rows, which have " +
                                        listed(classes) + hint_of(labels[i], classes));
    numbers.push_back(static_cast<std::uint8_t>(found - classes.begin()));
  }
  return numbers;
}

template <class Label>
void classify(Dataset& dataset, const LabelledRows& train, const LabelledRows& test,
              std::vector<Label> LabelledRows::*labels) {
  const std::vector<Label> classes = classes_of(train, train.*labels);
  dataset.classes = classes.size();
  dataset.train.classes = class_numbers(train, train.*labels, classes);
  dataset.test.classes = class_numbers(test, test.*labels, classes);
}

void add_labels(Dataset& dataset, LabelledRows& train, LabelledRows& test, bool regression) {
  if (regression) {
    dataset.train.targets = targets_of(train);
    dataset.test.targets = targets_of(test);
  } else if (std::ranges::any_of(train.labels, [](double label) { return std::isnan(label); })) {
    classify(dataset, train, test, &LabelledRows::words);
  } else {
    classify(dataset, train, test, &LabelledRows::labels);
  }
}

Rows features_of(LabelledRows& from) {
  return {
      .count = from.labels.size(), .floats = std::move(from.x), .listed = std::move(from.listed)};
}

/// Whether so many features of each row are more than is kept whole.
bool is_too_large(const LabelledRows& rows, std::size_t features) {
  return features > most_numbers / rows.labels.size();
}

/// Of listed rows, all numbers.
void put_whole(LabelledRows& rows) {
  rows.x.resize(rows.labels.size() * rows.features);
  for (std::size_t row = 0; row < rows.labels.size(); ++row)
    rows.listed.each_of(row, [&](std::uint32_t place, float number) {
      rows.x[row * rows.features + place] = number;
    });
  rows.listed = {};
}

void check_size(const LabelledRows& rows) {
  if (is_too_large(rows, rows.features))
    defect(rows.file, std::to_string(rows.labels.size()) + " rows of " +
                          std::to_string(rows.features) + " features are more than " +
                          std::to_string(most_numbers) + " numbers, which is the most");
}

}  // namespace

std::string place_of_row(const LabelledRows& rows, std::size_t row) {
  return rows.file.string() + ":" + std::to_string(rows.lines[row]);
}

std::string shown_label(const LabelledRows& rows, std::size_t row) {
  return rows.words.empty() ? shown(rows.labels[row]) : shown(rows.words[row]);
}

void visit(Fields& fields, LabelledFiles& files, DataShelf& shelf) {
  fields.path("path", files.path, Need::required, "file of the training rows, plain or .gz");
  fields.path("test_path", files.test_path, Need::none, "file of the test rows");
  fields.integer("test_rows", files.test_rows, between(1, 4294967294),
                 "without test_path: rows of `path` that a fixed shuffle takes for the test");
  fields.flag("regression", files.regression, Need::defaulted,
              "labels are real targets, not classes");
  fields.flag("standardise", files.standardise, Need::defaulted,
              "each feature less its mean and over its standard deviation, both of the training "
              "rows");
  if (fields.has("test_path") == fields.has("test_rows"))
    fields.complain(fields.has("test_path") ? "test_rows" : "",
                    "the test rows come from a file or are held out", "test_path or test_rows");
  check_file(fields, shelf, "path", files.path);
  if (fields.has("test_path")) check_file(fields, shelf, "test_path", files.test_path);
}

LoadDataset read_labelled_files(DataShelf& shelf, const std::string& name,
                                const LabelledFiles& files,
                                const std::function<LabelledRows(const fs::path& file)>& read,
                                const std::function<void(LabelledRows&, LabelledRows&)>& suit) {
  const auto load = [files, read, suit] {
    LabelledRows train = read(files.path.found);
    if (train.labels.empty()) defect(train.file, "has no rows");
    note_doubts(train, files.regression);
    LabelledRows test =
        files.test_rows ? hold_out(train, *files.test_rows) : read(files.test_path.found);
    if (test.labels.empty()) defect(test.file, "has no rows");
    if (!put_in_order(train, test))
      defect(test.file, "has other columns than " + train.file.string());
    Dataset dataset;
    suit(train, test);
    if (train.features == 0) defect(train.file, "has no features");
    const bool listed = !train.listed.empty() &&
                        (is_too_large(train, train.features) || is_too_large(test, test.features));
    for (LabelledRows* const rows : {&train, &test}) {
      if (!listed && !rows->listed.empty()) put_whole(*rows);
      if (!listed) check_size(*rows);
    }
    if (files.standardise) standardise(train, test);
    std::string scales = note_of_scales(train);
    dataset.features = train.features;
    dataset.train = features_of(train);
    dataset.test = features_of(test);
    add_labels(dataset, train, test, files.regression);
    dataset.notes = std::move(train.notes);
    std::ranges::move(test.notes, std::back_inserter(dataset.notes));
    if (!scales.empty()) dataset.notes.push_back(std::move(scales));
    return dataset;
  };
  const std::string whole =
      name + " " + files.path.found.string() + " " +
      (files.test_rows ? std::to_string(*files.test_rows) : files.test_path.found.string()) +
      (files.regression ? " regression" : "") + (files.standardise ? " standardised" : "");
  return [&shelf, whole, files, load] {
    if (files.path.found.empty()) throw MissingData(missing(files.path).text());
    if (!files.test_rows && files.test_path.found.empty())
      throw MissingData(missing(files.test_path).text());
    return shelf.get(whole, load);
  };
}

}  // namespace gradrace
