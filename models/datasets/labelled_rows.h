#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/datasets/shelf.h"

namespace gradrace {

/// A feature whose cells are words: in its place of x stands the number of each.
struct WordColumn {
  std::size_t feature;
  std::string name;
  std::vector<std::string> words;  // ascending
};

/// The rows of one file, each with a number that says its class or is its target, or with a word
/// that says its class.
struct LabelledRows {
  std::filesystem::path file;
  std::vector<std::string> names = {};  // of the columns, or empty
  std::size_t features = 0;
  std::vector<float> x = {};            // [count, features], or empty: they are listed
  ListedNumbers listed = {};            // of count rows, or empty
  std::vector<double> labels = {};      // [count]; NaN where it is a word
  std::vector<std::string> words = {};  // [count], labels as they stand; or empty: all are numbers
  std::vector<std::size_t> lines = {};  // [count], where they stand, from 1

  std::vector<std::string> feature_names = {};  // [features], or empty: 1, 2 and so on
  std::vector<WordColumn> word_columns = {};    // ascending
  bool first_is_unnamed = false;                // of the features' columns
  bool first_numbers_rows = false;              // the first feature does, and has no name
  std::vector<std::string> notes = {};
};

/// File and line.
std::string place_of_row(const LabelledRows& rows, std::size_t row);
/// The label of a row: a number, or what stands there in quotes.
std::string shown_label(const LabelledRows& rows, std::size_t row);

/// Rows of no more numbers (4 GB) are kept whole; of others those that are not 0 are listed.
constexpr std::size_t most_numbers = 1'000'000'000;

/// The keys that data sets of one file or two have: `path`, `test_path` or `test_rows`,
/// `regression` and `standardise`.
struct LabelledFiles {
  Location path, test_path;
  std::optional<std::uint64_t> test_rows;
  bool regression = false;
  bool standardise = false;
};

void visit(Fields& fields, LabelledFiles& files, DataShelf& shelf);

/// The data set of such files when it is first needed.  read(file) gives the rows of one,
/// suit(train, test) makes their features the same; `name` is that of the data set among those of
/// the files.
///
/// The classes are the different labels of the training rows, in ascending order, words where one
/// of these is not a number; with `regression` labels are targets.  Without test_path the test rows
/// are the first of a fixed shuffle of the file, and the others, in the file's order, the training
/// rows.
LoadDataset read_labelled_files(
    DataShelf& shelf, const std::string& name, const LabelledFiles& files,
    const std::function<LabelledRows(const std::filesystem::path& file)>& read,
    const std::function<void(LabelledRows& train, LabelledRows& test)>& suit);

}  // namespace gradrace
