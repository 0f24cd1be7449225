#include <algorithm>
#include <regex>

#include "distributions/fit/readers/found_table.h"
#include "sim/hash.h"
#include "sim/message_text.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t longest = 4000;  // bytes of a line that are matched: std::regex recurses
constexpr const char* allowed = "such as 'iteration (?<step>\\d+).* time \\(ms\\): ([0-9.]+)'";

/// A pattern whose groups have names that std::regex does not know.
struct Pattern {
  std::string text;                 // without the names
  std::vector<std::string> groups;  // their names [group - 1]; empty where it has none
};

/// Names as Perl and Python write them: "(?<rank>", "(?P<rank>".
Pattern pattern_of(const std::string& words) {
  Pattern pattern;
  bool in_class = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view rest = std::string_view(words).substr(i);
    pattern.text += words[i];
    if (words[i] == '\\' && i + 1 < words.size()) {
      pattern.text += words[++i];
    } else if (in_class || words[i] == '[') {
      in_class = words[i] != ']';
    } else if (rest.starts_with("(?<") || rest.starts_with("(?P<")) {
      const std::size_t begin = rest.find('<') + 1, end = rest.find('>');
      if (end == std::string_view::npos) continue;
      pattern.groups.emplace_back(rest.substr(begin, end - begin));
      i += end;
    } else if (words[i] == '(' && !rest.starts_with("(?")) {
      pattern.groups.emplace_back();
    }
  }
  return pattern;
}

}  // namespace

FoundTable matched_table(const fs::path& file, std::string_view text, const std::string& words) {
  FoundTable found;
  found.plain = false;
  Hash hash;
  hash.add_bytes(text);
  found.table.file = file;
  found.table.hash = hash.hex();
  auto [pattern, groups] = pattern_of(words);
  const auto nameless = std::ranges::find(groups, "");
  if (nameless != groups.end() && std::ranges::find(groups, "time") == groups.end())
    *nameless = "time";
  if (std::ranges::find(groups, "time") == groups.end()) {
    throw TraceError("pattern",
                     "--pattern " + shown(words) + " has no group of parentheses around the time",
                     allowed);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].empty()) found.table.names.push_back(groups[i]);
  }
  try {
    const std::regex regex(pattern);
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::size_t cut = std::min(end, at + longest);
      const char* begin = text.data() + at;
      at = end + 1;
      ++number;
      std::cmatch match;
      if (!std::regex_search(begin, text.data() + cut, match, regex)) continue;
      auto& row = found.table.rows.emplace_back();
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (!groups[i].empty()) row.push_back(match[i + 1].str());
      }
      found.table.lines.push_back(number);
    }
    if (found.table.rows.empty()) {
      throw TraceError("pattern", file.string() + ": no line matches --pattern " + shown(words),
                       allowed);
    }
    found.notes.push_back("--pattern matches " + count_text(found.table.rows.size(), "line") +
                          " of " + std::to_string(number));
  } catch (const std::regex_error& error) {
    throw TraceError("pattern", "--pattern " + shown(words) + ": " + error.what(), allowed);
  }
  return found;
}

}  // namespace gradrace
