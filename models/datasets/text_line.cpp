#include "models/datasets/text_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <system_error>

#include "sim/message_text.h"
#include "sim/reading/no_text.h"
#include "sim/reading/packed_file.h"

namespace gradrace {

std::uint64_t TextLine::integer(std::uint64_t least, std::uint64_t greatest) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc{} || value < least || value > greatest)
    unexpected("an integer from " + std::to_string(least) + " to " + std::to_string(greatest));
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return value;
}

/// The finite number that the text begins with, which is taken off it.
static std::optional<double> take_number(std::string_view& text) {
  const bool plus = text.starts_with('+') && !text.starts_with("+-");
  const char* const begin = text.data() + (plus ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(std::string(begin, end).c_str(), nullptr);  // infinite, or 0 or near it
  } else if (error != std::errc{}) {
    return {};
  }
  if (!std::isfinite(value)) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<float> in_single_precision(double number) {
  if (std::abs(number) > static_cast<double>(std::numeric_limits<float>::max())) return {};
  return static_cast<float>(number);
}

std::string beyond_single_precision(double number) {
  return number_text(number) +
         " is beyond single precision, in which data are kept: at most 3.4e38";
}

bool is_not_zero(std::string_view text) {
  return text.substr(0, text.find_first_of("eE")).find_first_of("123456789") != text.npos;
}

std::optional<double> finite_number(std::string_view text) {
  const auto value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

double TextLine::real() {
  const auto value = take_number(rest_);
  if (!value) unexpected("a finite number");
  return *value;
}

std::string TextLine::cell(char separator) {
  while (skip(' ') || (separator != '\t' && skip('\t'))) continue;
  std::string cell;
  if (!skip('"')) {
    cell = rest_.substr(0, separator == ' ' ? rest_.find_first_of(" \t") : rest_.find(separator));
    rest_.remove_prefix(cell.size());
    cell.erase(cell.find_last_not_of(" \t") + 1);
    if (separator == ' ') skip_blanks_but_one();
    return cell;
  }
  while (true) {
    const std::size_t quote = rest_.find('"');
    if (quote == rest_.npos) defect("a quote is not closed on this line");
    cell += rest_.substr(0, quote);
    rest_.remove_prefix(quote + 1);
    if (!skip('"')) break;
    cell += '"';
  }
  if (separator == ' ') skip_blanks_but_one();
  while (separator != ' ' && (skip(' ') || (separator != '\t' && skip('\t')))) continue;
  return cell;
}

void TextLine::spaces() {
  while (skip(' ') || skip('\t')) continue;
}

bool TextLine::skip(char c) {
  const bool found = rest_.starts_with(c);
  if (found) rest_.remove_prefix(1);
  return found;
}

bool TextLine::skip_word(std::string_view word) {
  const bool found = rest_.starts_with(word);
  if (found) rest_.remove_prefix(word.size());
  return found;
}

/// None at the end of the line.
void TextLine::skip_blanks_but_one() {
  const std::size_t next = rest_.find_first_not_of(" \t");
  if (next != 0) rest_.remove_prefix(next == rest_.npos ? rest_.size() : next - 1);
}

bool TextLine::skip_separator(char separator) {
  return skip(separator) || (separator == ' ' && skip('\t'));
}

void TextLine::separator(char separator) {
  if (skip_separator(separator)) return;
  unexpected(separator == ','    ? "a comma"
             : separator == ';'  ? "a semicolon"
             : separator == '\t' ? "a tab"
             : separator == ' '  ? "a blank"
                                 : std::string("\"") + separator + "\"");
}

std::size_t TextLine::count(char c) const {
  std::size_t count = 0;
  bool quoted = false;
  for (const char x : rest_) {
    if (x == '"') quoted = !quoted;
    count += x == c && !quoted;
  }
  return count;
}

void TextLine::end(const std::string& after) const {
  if (!at_end()) unexpected("the end of the line after " + after);
}

void TextLine::unexpected(const std::string& expected) const {
  const std::string found =
      at_end() ? "the end of the line" : "\"" + std::string(rest_.substr(0, 20)) + "\"";
  defect("expected " + expected + ", found " + found);
}

std::string TextLine::place() const { return file_.string() + ":" + std::to_string(number_); }

void TextLine::defect(const std::string& what) const {
  throw std::runtime_error(place() + ": " + what);
}

/// A few bytes may be packed of as many as there is memory for.
static constexpr std::size_t longest_line = 64 << 20;

void each_line(const std::filesystem::path& file, const std::function<void(TextLine&)>& take) {
  const Bytes content = read_packed(file, most_bytes_of_text);
  std::string_view rest(reinterpret_cast<const char*>(content.data()), content.size());
  if (const auto other = no_text(rest, file.string()))
    throw std::runtime_error(file.string() + ": " + other->what + "; allowed: " + other->allowed);
  if (rest.find('\n') == rest.npos && rest.find('\r') < rest.size() - 1)
    throw std::runtime_error(file.string() + ": lines end in CR alone; allowed: LF, or CR and LF");
  for (std::size_t number = 1; !rest.empty(); ++number) {
    std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    if (text.ends_with('\r')) text.remove_suffix(1);
    TextLine line(file, number, text);
    if (text.size() > longest_line)
      line.defect("has more than " + std::to_string(longest_line >> 20) + " MB, as no row of data");
    if (text.find('\0') != text.npos) line.defect("holds a zero byte, so that it is no text");
    take(line);
  }
}

}  // namespace gradrace
