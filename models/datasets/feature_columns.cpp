#include "models/datasets/feature_columns.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <utility>

#include "sim/message_text.h"

namespace gradrace {

namespace {

std::size_t count_of(const LabelledRows& rows) { return rows.labels.size(); }

void leave_out_first(LabelledRows& rows) {
  std::vector<float> x;
  x.reserve(count_of(rows) * (rows.features - 1));
  for (std::size_t row = 0; row < count_of(rows); ++row) {
    const float* const from = rows.x.data() + row * rows.features;
    x.insert(x.end(), from + 1, from + rows.features);
  }
  rows.x = std::move(x);
  --rows.features;
  rows.feature_names.erase(rows.feature_names.begin());
  std::erase_if(rows.word_columns, [](const WordColumn& column) { return column.feature == 0; });
  for (WordColumn& column : rows.word_columns) --column.feature;
}

/// Words of the training rows, the features that they become, and the test rows' numbers for them.
struct Expansion {
  const WordColumn* words = nullptr;      // null: a number stays one
  std::vector<std::size_t> of_test = {};  // [number there]: its number in training, or none
};

constexpr std::size_t none = static_cast<std::size_t>(-1);

std::vector<std::size_t> numbers_in_training(const WordColumn& train, const WordColumn& test) {
  std::vector<std::size_t> numbers;
  for (const std::string& word : test.words) {
    const auto found = std::lower_bound(train.words.begin(), train.words.end(), word);
    const bool known = found != train.words.end() && *found == word;
    numbers.push_back(known ? static_cast<std::size_t>(found - train.words.begin()) : none);
  }
  return numbers;
}

const WordColumn* words_of(const LabelledRows& rows, std::size_t feature) {
  const auto found = std::ranges::find(rows.word_columns, feature, &WordColumn::feature);
  return found == rows.word_columns.end() ? nullptr : &*found;
}

/// of_row(expansion, cell): its number among the words of training, or none.
void expand(LabelledRows& rows, const std::vector<Expansion>& expansions, std::size_t features,
            const auto& of_row) {
  std::vector<float> x;
  x.reserve(count_of(rows) * features);
  for (std::size_t row = 0; row < count_of(rows); ++row)
    for (std::size_t feature = 0; feature < rows.features; ++feature) {
      const float cell = rows.x[row * rows.features + feature];
      const Expansion& expansion = expansions[feature];
      if (!expansion.words) {
        x.push_back(cell);
        continue;
      }
      const std::size_t at = x.size();
      x.resize(at + expansion.words->words.size());
      const std::size_t number = of_row(expansion, static_cast<std::size_t>(cell));
      if (number != none) x[at + number] = 1;
    }
  rows.x = std::move(x);
}

void note_unknown_words(const Expansion& expansion, const WordColumn& test, LabelledRows& rows) {
  std::string unknown;
  for (std::size_t i = 0; i < test.words.size(); ++i)
    if (expansion.of_test[i] == none)
      unknown += (unknown.empty() ? "\"" : ", \"") + test.words[i] + "\"";
  if (unknown.empty()) return;
  rows.notes.push_back(rows.file.string() + ": column \"" + test.name + "\": no training row has " +
                       unknown + ", which is 0 in every feature of that column");
}

/// A feature, and the greatest size of its numbers.
struct Size {
  std::size_t feature = none;
  double size = 0;
};

/// Calls use(feature, greatest size of its numbers) in ascending order; of listed numbers for those
/// features alone that have some, which may be few of a thousand million.
template <class Use>
void each_greatest(const LabelledRows& rows, const Use& use) {
  const auto raise = [](double& greatest, float x) {
    greatest = std::max(greatest, std::abs(static_cast<double>(x)));
  };
  std::map<std::size_t, double> of_listed;
  for (std::size_t i = 0; i < rows.listed.x.size(); ++i)
    raise(of_listed[rows.listed.places[i]], rows.listed.x[i]);
  for (const auto& [feature, greatest] : of_listed) use(feature, greatest);
  if (rows.x.empty()) return;
  std::vector<double> greatest(rows.features);
  for (std::size_t i = 0; i < rows.x.size(); ++i) raise(greatest[i % rows.features], rows.x[i]);
  for (std::size_t feature = 0; feature < rows.features; ++feature) use(feature, greatest[feature]);
}

}  // namespace

std::string name_of(const LabelledRows& rows, std::size_t feature) {
  if (rows.feature_names.empty()) return "feature " + std::to_string(feature + 1);
  return "column \"" + rows.feature_names[feature] + "\"";
}

bool put_in_order(const LabelledRows& train, LabelledRows& test) {
  if (test.names == train.names) return true;
  auto ours = train.names, theirs = test.names;
  std::ranges::sort(ours);
  std::ranges::sort(theirs);
  if (ours != theirs || std::ranges::adjacent_find(ours) != ours.end()) return false;
  std::map<std::string, std::size_t> place;  // in training
  for (const std::string& name : train.feature_names) place.emplace(name, place.size());
  std::vector<std::size_t> to;
  for (const std::string& name : test.feature_names) to.push_back(place.at(name));
  const std::vector<float> x = test.x;
  for (std::size_t i = 0; i < x.size(); ++i)
    test.x[i - i % test.features + to[i % test.features]] = x[i];
  for (WordColumn& column : test.word_columns) column.feature = place.at(column.name);
  std::ranges::sort(test.word_columns, {}, &WordColumn::feature);
  test.feature_names = train.feature_names;
  return true;
}

void leave_out_row_numbers(LabelledRows& train, LabelledRows& test) {
  if (!train.first_numbers_rows) return;
  leave_out_first(train);
  leave_out_first(test);
  train.notes.push_back(train.file.string() +
                        ": the first column has no name and numbers the rows: it is no feature");
}

void number_words(LabelledRows& train, LabelledRows& test) {
  if (train.word_columns.empty() && test.word_columns.empty()) return;
  std::vector<Expansion> expansions(train.features);
  std::vector<std::string> names;
  for (std::size_t feature = 0; feature < train.features; ++feature) {
    const WordColumn *const words = words_of(train, feature), *const there =
                                                                  words_of(test, feature);
    if ((words == nullptr) != (there == nullptr))
      defect(test.file, name_of(train, feature) + " has " + (there ? "words" : "numbers") +
                            ", and the training rows have " + (words ? "words" : "numbers"));
    const std::string& name = train.feature_names[feature];
    if (!words) {
      names.push_back(name);
      continue;
    }
    expansions[feature] = {words, numbers_in_training(*words, *there)};
    note_unknown_words(expansions[feature], *there, test);
    for (const std::string& word : words->words) names.push_back(name + " = " + word);
    train.notes.push_back(train.file.string() + ": column \"" + name +
                          "\" has words: " + count_text(words->words.size(), "feature") +
                          ", each 1 where its word stands and else 0");
  }
  expand(train, expansions, names.size(),
         [](const Expansion&, std::size_t number) { return number; });
  expand(test, expansions, names.size(),
         [](const Expansion& expansion, std::size_t number) { return expansion.of_test[number]; });
  train.features = test.features = names.size();
  train.feature_names = test.feature_names = std::move(names);
}

void standardise(LabelledRows& train, LabelledRows& test) {
  if (!train.listed.empty())
    defect(train.file, "has too many numbers to keep those that are 0, which standardise changes");
  const auto count = static_cast<double>(count_of(train));
  for (std::size_t feature = 0; feature < train.features; ++feature) {
    double mean = 0, squares = 0;
    for (std::size_t i = feature; i < train.x.size(); i += train.features)
      mean += static_cast<double>(train.x[i]) / count;
    for (std::size_t i = feature; i < train.x.size(); i += train.features) {
      const double from_mean = static_cast<double>(train.x[i]) - mean;
      squares += from_mean * from_mean / count;
    }
    const bool varies = std::ranges::any_of(
        std::views::iota(std::size_t{1}, count_of(train)), [&](std::size_t row) {
          return train.x[row * train.features + feature] != train.x[feature];
        });
    const double deviation = std::sqrt(squares);
    for (LabelledRows* const rows : {&train, &test})
      for (std::size_t i = feature; i < rows->x.size(); i += rows->features)
        rows->x[i] =
            varies ? static_cast<float>((static_cast<double>(rows->x[i]) - mean) / deviation) : 0;
  }
}

std::string note_of_scales(const LabelledRows& train) {
  constexpr double most_ratio = 1000;
  Size largest, smallest;
  const auto compare = [&](std::size_t feature, double size) {
    if (size == 0) return;
    if (size > largest.size) largest = {feature, size};
    if (smallest.size == 0 || size < smallest.size) smallest = {feature, size};
  };
  each_greatest(train, compare);
  if (largest.size <= most_ratio * smallest.size) return {};
  return train.file.string() +
         ": features are of very different size: " + name_of(train, largest.feature) + " reaches " +
         short_number(largest.size) + ", " + name_of(train, smallest.feature) + " " +
         short_number(smallest.size) + "; " +
         (train.listed.empty()
              ? "\"standardise\": true gives each of them mean 0 and standard deviation 1"
              : "scale them in the file");
}

}  // namespace gradrace
