#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gradrace {

/// A line of a text file, read from left to right.  What is not as asked for is a
/// std::runtime_error with file, line, what was expected and what was found.
class TextLine {
 public:
  TextLine(const std::filesystem::path& file, std::size_t number, std::string_view text)
      : file_(file), number_(number), length_(text.size()), rest_(text) {}

  std::size_t number() const { return number_; }                     // from 1
  std::size_t column() const { return length_ - rest_.size() + 1; }  // where the rest begins
  std::string place() const;                                         // file and line
  bool at_end() const { return rest_.empty(); }

  std::uint64_t integer(std::uint64_t least, std::uint64_t greatest);
  double real();  // finite
  /// A cell of a table, up to the next separator or the end, without the spaces and quotes around
  /// it; within quotes separators are the cell's, and a double quote stands for one.  The separator
  /// ' ' is any number of blanks, and what stands at the end of the line is none.
  std::string cell(char separator = ',');

  void spaces();
  bool skip(char c);
  bool skip_word(std::string_view word);
  std::string_view rest() const { return rest_; }  // what is not read yet
  void separator(char separator);
  bool skip_separator(char separator);
  /// How many of these characters are left that are not within quotes.
  std::size_t count(char c) const;
  /// `after`: what the line was expected to hold.
  void end(const std::string& after) const;

  [[noreturn]] void defect(const std::string& what) const;

 private:
  void skip_blanks_but_one();
  [[noreturn]] void unexpected(const std::string& expected) const;

  const std::filesystem::path& file_;
  std::size_t number_, length_;
  std::string_view rest_;
};

/// The finite number that the whole text is; empty if it is none.  One that is too small for a
/// double is 0.
std::optional<double> finite_number(std::string_view text);

/// Whether what is finite_number() says a number that is not 0, however small.
bool is_not_zero(std::string_view text);

/// The number in single precision, in which data are kept; empty if it is beyond that.
std::optional<float> in_single_precision(double number);
/// What is wrong with such a number.
std::string beyond_single_precision(double number);
/// What is said of the first number that is not 0, and is in single precision.
inline constexpr std::string_view too_small_for_single_precision =
    "is closer to 0 than single precision goes (1e-45), in which data are kept: such numbers are "
    "taken for 0";

/// Calls take(line) for every line of a file, plain or packed by gzip; lines may end in CR LF.
/// std::runtime_error where it cannot be read.
void each_line(const std::filesystem::path& file, const std::function<void(TextLine&)>& take);

}  // namespace gradrace
