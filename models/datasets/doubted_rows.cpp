#include "models/datasets/doubted_rows.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "models/datasets/feature_columns.h"
#include "sim/message_text.h"
#include "sim/reading/json_places.h"

namespace gradrace {

namespace {

constexpr std::size_t enough_rows = 20;  // for a pattern that is no chance

void note(LabelledRows& rows, const std::string& what) {
  rows.notes.push_back(rows.file.string() + ": " + what);
}

void note(LabelledRows& rows, std::size_t row, const std::string& what) {
  rows.notes.push_back(place_of_row(rows, row) + ": " + what);
}

/// The classes that labels are, ascending: how many rows each has, and one of them.
struct Classes {
  std::vector<std::size_t> rows, row;
  std::vector<double> of_row;  // numbers of classes
};

template <class Label>
Classes classes_in(const std::vector<Label>& labels) {
  std::map<Label, std::size_t> number;
  for (const Label& label : labels) number[label];
  Classes classes{{}, std::vector<std::size_t>(number.size()), {}};
  for (auto& [label, of_label] : number) of_label = classes.rows.size(), classes.rows.push_back(0);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::size_t of_row = number[labels[row]];
    ++classes.rows[of_row];
    classes.row[of_row] = row;
    classes.of_row.push_back(static_cast<double>(of_row));
  }
  return classes;
}

/// Of labels that are numbers; whether they are noted as targets.
bool are_targets(LabelledRows& rows, const Classes& classes) {
  constexpr std::size_t few = 10, many = 20, rows_of_many = 5;
  const std::size_t count = classes.rows.size();
  const bool whole = std::ranges::all_of(rows.labels, [](double y) { return y == std::floor(y); });
  const std::string text = "has " + std::to_string(count) + " classes in " +
                           std::to_string(rows.labels.size()) + " rows";
  if (count > few && count * 10 > rows.labels.size() && !whole)
    defect(rows.file, text +
                          "; numbers with fractions are targets: \"regression\": true, and the "
                          "model least-squares; classes may be words");
  bool from_minus_1 = count > 3;
  for (std::size_t i = 0; i < count; ++i)
    from_minus_1 &= rows.labels[classes.row[i]] == static_cast<double>(i) - 1;
  if (from_minus_1)
    note(rows, "label -1 beside 0 to " + std::to_string(count - 2) +
                   " is a class as every other; rows without a label are to be left out");
  const bool few_rows = count * rows_of_many > rows.labels.size();
  const bool of_images = rows.features > rows.labels.size();
  if (count <= many || (whole && (!few_rows || of_images))) return false;
  note(rows, text + "; if labels are targets: \"regression\": true");
  return true;
}

/// Of words that differ by case alone.
void look_for_alike(LabelledRows& rows, const Classes& classes) {
  std::map<std::string, std::size_t> seen;
  for (const std::size_t row : classes.row) {
    std::string small = rows.words[row];
    for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto [found, is_new] = seen.emplace(small, row);
    if (!is_new)
      note(rows, "labels " + shown_label(rows, found->second) + " and " + shown_label(rows, row) +
                     " are two classes, and differ by case alone");
  }
}

/// Of labels such as "a|b" where "a" is another.
void look_for_parts(LabelledRows& rows, const Classes& classes) {
  const std::set<std::string_view> labels(rows.words.begin(), rows.words.end());
  for (const std::size_t row : classes.row)
    for (const char mark : {',', ';', '|'})
      for (std::string_view part : split(rows.words[row], mark)) {
        part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
        if (part.size() < rows.words[row].size() && labels.contains(part))
          return note(rows, row,
                      "label " + shown_label(rows, row) + " is a class beside \"" +
                          std::string(part) + "\"; a row is of one class");
      }
}

void look_for_single_rows(LabelledRows& rows, const Classes& classes) {
  const auto all = static_cast<std::size_t>(std::ranges::count(classes.rows, 1));
  if (all == 0 || rows.labels.size() < std::max(enough_rows, 10 * all)) return;
  const auto at = std::ranges::find(classes.rows, 1) - classes.rows.begin();
  const std::size_t row = classes.row[static_cast<std::size_t>(at)];
  note(rows, row,
       "no other row has the label " + shown_label(rows, row) +
           (all > 1 ? " (" + count_text(all, "label") + " are of one row)" : "") +
           ": a slip, or a sum of the rows above?");
}

float number(const LabelledRows& rows, std::size_t row, std::size_t feature) {
  return rows.x[row * rows.features + feature];
}

bool is_name_of_id(std::string_view name) {
  constexpr std::string_view ends[] = {"Id", "ID", "_id", " id"};
  return name == "id" || std::ranges::any_of(ends, [&](auto end) { return name.ends_with(end); });
}

/// Whether all are whole and differ, as far as single precision tells.
bool number_rows(const std::vector<float>& sorted) {
  constexpr float exact = 1 << std::numeric_limits<float>::digits;
  const auto is_whole = [](float x) { return x == std::floor(x); };
  const auto is_same = [](float a, float b) { return a == b && a < exact; };
  return sorted.size() > 1 && sorted[0] < sorted.back() && std::ranges::all_of(sorted, is_whole) &&
         std::ranges::adjacent_find(sorted, is_same) == sorted.end();
}

/// Of numbers that number the rows, and are dense or named so.
void look_for_ids(LabelledRows& rows, std::size_t feature, const std::vector<float>& sorted) {
  const float dense = 2 * static_cast<float>(sorted.size());
  const bool is_dense = sorted.size() >= enough_rows && sorted.back() - sorted[0] <= dense;
  if ((is_dense || is_name_of_id(rows.feature_names[feature])) && number_rows(sorted))
    note(rows, name_of(rows, feature) +
                   " has another number in each row, as ids have, and is a feature as every other");
}

/// Of a word of the last row alone, where others come again.
void look_at_last_word(LabelledRows& rows, const WordColumn& column) {
  const std::size_t count = rows.labels.size(), last = count - 1;
  const float word = number(rows, last, column.feature);
  for (std::size_t row = 0; row < last; ++row)
    if (number(rows, row, column.feature) == word) return;
  if (count >= enough_rows && 2 * column.words.size() <= count)
    note(rows, last,
         "no other row has \"" + column.words[static_cast<std::size_t>(word)] + "\" in " +
             name_of(rows, column.feature) + ": a sum of the rows above?");
}

/// 999, -9999 and so on.
bool is_of_nines(float x) {
  const double power = std::log10(std::abs(static_cast<double>(x)) + 1);
  return power >= 3 && power == std::floor(power);
}

/// Of numbers that are far from the others: of nines, or again and again.
void look_for_marks(LabelledRows& rows, std::size_t feature, const std::vector<float>& sorted) {
  constexpr std::ptrdiff_t fewest = 3;
  constexpr std::size_t fewest_levels = 10;
  constexpr float far = 10;  // times the range of the others
  std::vector<float> levels = sorted;
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  if (levels.size() < 3 || sorted.size() < enough_rows) return;
  for (int end = 0; end < 2; ++end, std::ranges::reverse(levels)) {
    const float x = levels[0], distance = std::abs(x - levels[1]);
    const float range = std::abs(levels[1] - levels.back());
    const bool is_alone = x < 0 && levels[1] >= 0;
    const bool repeats = levels.size() >= fewest_levels && distance > far * range &&
                         std::ranges::count(sorted, x) >= fewest;
    if (repeats || (is_of_nines(x) && (distance > range || is_alone)))
      note(rows, name_of(rows, feature) + " has " + short_number(static_cast<double>(x), 7) +
                     ", far from its other numbers: where it marks what is missing, leave such "
                     "rows out");
  }
}

void note_implied(LabelledRows& rows, const std::vector<std::size_t>& features) {
  const auto name = [&](std::size_t feature) { return name_of(rows, feature); };
  if (!features.empty())
    note(rows, joined(features, ", ", name) +
                   ": the label in another form, as every row has it?  Then leave it out");
}

/// Of features on a line with the label, or with the number of its class.
void look_for_label(LabelledRows& rows, const std::vector<double>& y) {
  const auto distance = [&](double label) { return std::abs(label - y[0]); };
  const auto far = static_cast<std::size_t>(std::ranges::max_element(y, {}, distance) - y.begin());
  std::vector<std::size_t> left(rows.features);
  std::iota(left.begin(), left.end(), 0);
  for (std::size_t row = 0; row < y.size() && !left.empty(); ++row)
    std::erase_if(left, [&](std::size_t feature) {
      const float first = number(rows, 0, feature), change = number(rows, far, feature) - first;
      const auto share = static_cast<float>((y[row] - y[0]) / (y[far] - y[0]));
      const float off = number(rows, row, feature) - first - share * change;
      return !(std::abs(off) < 1e-5f * std::abs(change));
    });
  note_implied(rows, left);
}

/// Of features of 0 and 1 of which, and of the label of two classes, one is 1 in each row.
void look_for_one_hot(LabelledRows& rows, const std::vector<double>& y,
                      std::vector<std::size_t> left) {
  const auto is_1 = [&](std::size_t row) {
    return [&rows, row](std::size_t feature) { return number(rows, row, feature) == 1; };
  };
  for (std::size_t row = 0; row < y.size(); ++row)
    if (y[row] == 1) std::erase_if(left, is_1(row));
  for (std::size_t row = 0; row < y.size(); ++row)
    if (std::ranges::count_if(left, is_1(row)) != (y[row] == 0)) return;
  if (left.size() > 1) note_implied(rows, left);
}

}  // namespace

void note_doubts(LabelledRows& rows, bool regression) {
  const bool words = std::ranges::any_of(rows.labels, [](double y) { return std::isnan(y); });
  Classes classes;
  if (!regression) {
    classes = words ? classes_in(rows.words) : classes_in(rows.labels);
    if (words) look_for_alike(rows, classes), look_for_parts(rows, classes);
    if (words || !are_targets(rows, classes)) look_for_single_rows(rows, classes);
  }
  if (rows.x.empty()) return;
  constexpr std::size_t enough = 4'000'000;  // numbers of all features
  const std::size_t some = std::min(rows.labels.size(), enough / rows.features + enough_rows);
  std::vector<std::size_t> bits;
  for (std::size_t feature = 0; feature < rows.features; ++feature) {
    const auto words_of = std::ranges::find(rows.word_columns, feature, &WordColumn::feature);
    if (words_of != rows.word_columns.end()) {
      look_at_last_word(rows, *words_of);
      continue;
    }
    const bool unnamed = feature == 0 && rows.first_is_unnamed;
    std::vector<float> sorted(unnamed ? rows.labels.size() : some);
    for (std::size_t row = 0; row < sorted.size(); ++row) sorted[row] = number(rows, row, feature);
    std::ranges::sort(sorted);
    if (unnamed && (rows.first_numbers_rows = number_rows(sorted))) continue;
    look_for_ids(rows, feature, sorted);
    look_for_marks(rows, feature, sorted);
    if (std::ranges::all_of(sorted, [](float x) { return x == 0 || x == 1; }) && sorted.back() == 1)
      bits.push_back(feature);
  }
  if (rows.labels.size() < enough_rows) return;
  look_for_label(rows, words ? classes.of_row : rows.labels);
  if (classes.rows.size() == 2) look_for_one_hot(rows, classes.of_row, bits);
}

}  // namespace gradrace
