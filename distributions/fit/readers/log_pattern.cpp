#include "distributions/fit/readers/log_pattern.h"

#include <algorithm>
#include <regex>
#include <vector>

#include "distributions/fit/table.h"

namespace gradrace {

namespace {

std::vector<std::string> beginning_of(std::string_view text) {
  constexpr std::size_t enough = 40, longest = 1000;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size() && lines.size() < enough;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, std::min(end - at, longest));
    if (!trimmed(line).empty()) lines.emplace_back(line);
    at = end + 1;
  }
  return lines;
}

/// For a regular expression: a blank is any number of them.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}'").find(c) != std::string_view::npos) result += '\\';
    if (c != ' ') result += c;
    if (c == ' ' && !result.ends_with(" *")) result += " *";
  }
  return result;
}

/// Options that read what a line says first; empty: it says none.
std::string options_of(const std::string& line) {
  static const std::regex time(
      R"(([a-z_/]*(?:time|elapsed|duration|took|latency)[a-z_/ ]*(?:\([a-z]+\))?[ :=]+)[0-9]+\.[0-9])",
      std::regex::optimize | std::regex::icase);
  static const std::regex rate(
      R"([0-9](?:\.[0-9]+)?[kM]?( ?((?:it|step|sample|img|image|token|iter|batch)[a-z]*)/s(?:ec)?\b| ?m?s/(?:it|step)\b))",
      std::regex::optimize);
  std::smatch found;
  const auto pattern = [](const std::string& text) { return "--pattern '" + text + "'"; };
  if (std::regex_search(line, found, time)) return pattern(escaped(found.str(1)) + "([0-9.]+)");
  if (!std::regex_search(line, found, rate)) return {};
  const std::string item = lowercase(found.str(2));
  if (item.empty()) return pattern("([0-9.]+)" + escaped(found.str(1)));
  const std::string options = pattern("([0-9.]+[kM]?)" + escaped(found.str(1)));
  const bool each = item == "it" || item.starts_with("iter") || item.starts_with("step");
  return options + (each ? " --rate 1" : " --rate ITEMS, how many a minibatch has");
}

}  // namespace

std::string log_options(std::string_view text) {
  const auto lines = beginning_of(without_mark(text));
  constexpr std::string_view separators = ",;\t|";
  if (lines.size() < 2 || lines.front().starts_with('#')) return {};
  const bool is_bar = lines.front().find("?it/s") != std::string::npos;  // tqdm's first
  const bool begins = (is_bar || lines.front().find_first_of(separators) == std::string::npos) &&
                      options_of(lines.front()).empty();
  const std::string options = options_of(lines[begins ? 1 : 0]);
  const auto as_many =
      std::ranges::count_if(lines, [&](const auto& line) { return options_of(line) == options; });
  return 2 * as_many >= std::ssize(lines) ? options : "";
}

}  // namespace gradrace
