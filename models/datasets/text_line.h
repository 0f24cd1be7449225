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
      : file_(file), number_(number), rest_(text) {}

  std::size_t number() const { return number_; }  // from 1
  bool at_end() const { return rest_.empty(); }

  std::uint64_t integer(std::uint64_t least, std::uint64_t greatest);
  double real();  // finite
  /// A cell of a CSV file, up to the next comma or the end, without the spaces and quotes around
  /// it; within quotes commas are the cell's, and a double quote stands for one.
  std::string cell();

  void spaces();
  bool skip(char c);
  void comma();
  /// `after`: what the line was expected to hold.
  void end(const std::string& after) const;

  [[noreturn]] void defect(const std::string& what) const;

 private:
  [[noreturn]] void unexpected(const std::string& expected) const;

  const std::filesystem::path& file_;
  std::size_t number_;
  std::string_view rest_;
};

/// The finite number that the whole text is; empty if it is none.  One that is too small for a
/// double is 0.
std::optional<double> finite_number(std::string_view text);

/// The number in single precision, in which data are kept; empty if it is beyond that.
std::optional<float> in_single_precision(double number);
/// What is wrong with such a number.
std::string beyond_single_precision(double number);

/// Calls take(line) for every line of a file, plain or packed by gzip; lines may end in CR LF.
/// std::runtime_error where it cannot be read.
void each_line(const std::filesystem::path& file, const std::function<void(TextLine&)>& take);

}  // namespace gradrace
