#include <algorithm>
#include <cctype>
#include <map>
#include <regex>

#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/readers/column_words.h"
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

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Whether a number goes on from the first of two neighbouring places to the other one.
bool goes_on(std::string_view line, std::size_t at) {
  const auto digit = [&](std::size_t i) { return i < line.size() && is_digit(line[i]); };
  const auto mark = [&](std::size_t i) {
    return i < line.size() && std::string_view(",.'").find(line[i]) != std::string_view::npos;
  };
  if (at == 0) return false;
  return (digit(at - 1) && (digit(at) || (mark(at) && digit(at + 1)))) ||
         (mark(at - 1) && digit(at) && at > 1 && digit(at - 2));
}

/// "ms" of " ms | loss 1"; empty where no unit of time follows.
std::string_view unit_behind(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto end = std::ranges::find_if(rest, [](char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0 ||
           std::ispunct(static_cast<unsigned char>(c)) != 0;
  });
  rest = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  return seconds_of_unit(rest) ? rest : std::string_view();
}

/// A clock, thousands between which a blank or _ stands, or a negative number, of which [begin,
/// end) is a part; empty: it is part of none.
std::string longer_number(std::string_view line, std::size_t begin, std::size_t end) {
  static const std::regex numbers(
      "[0-9]+(?::[0-9]{2}){1,2}(?:[.,][0-9]+)?|[0-9]{1,3}(?:[_ ][0-9]{3})+(?:[.,][0-9]+)?",
      std::regex::optimize);
  const auto at = [&](std::size_t i) { return i < line.size() ? line[i] : ' '; };
  const bool joined = std::string_view(": _").find(at(end)) != std::string_view::npos;
  constexpr std::size_t wide = 20;
  const std::size_t from = begin - std::min(begin, wide);
  const std::string part(line.substr(from, end + wide - from));
  if (begin > 0 && line[begin - 1] == '-' && is_digit(at(begin)) &&
      (begin == 1 || std::string_view(" =:(\t").find(line[begin - 2]) != std::string_view::npos))
    return "-" + std::string(line.substr(begin, end - begin));
  if (!joined && (begin == 0 || std::string_view(":_ ").find(line[begin - 1]) == line.npos))
    return {};
  for (std::sregex_iterator one(part.begin(), part.end(), numbers), last; one != last; ++one) {
    const std::size_t first = from + static_cast<std::size_t>(one->position());
    const std::size_t behind = first + static_cast<std::size_t>(one->length());
    const bool holds = first <= begin && end <= behind && behind - first > end - begin;
    const bool blanks = one->str().find(' ') != std::string::npos;
    if (holds && (!blanks || !unit_behind(line.substr(behind)).empty())) return one->str();
  }
  return {};
}

/// "e-03" of "e-03 s", behind a digit; empty where no exponent follows.
std::string_view exponent_behind(std::string_view line, std::size_t end) {
  std::size_t to = end + 1;
  const auto at = [&](std::size_t i) { return i < line.size() ? line[i] : ' '; };
  if (end == 0 || !is_digit(line[end - 1]) || (at(end) != 'e' && at(end) != 'E')) return {};
  if (at(to) == '-' || at(to) == '+') ++to;
  if (!is_digit(at(to))) return {};
  while (is_digit(at(to))) ++to;
  return line.substr(end, to - end);
}

/// "it/s" of " it/s | loss 1", "Hz"; empty where no rate follows.
std::string_view rate_behind(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  rest = rest.substr(0, std::min(rest.find_first_of(" \t,;|()[]"), rest.size()));
  static const std::regex rates("(?:[a-z]*/s(?:ec(?:ond)?)?|[km]?hz|[gt]?flops?)[.:]?",
                                std::regex::icase | std::regex::optimize);
  return std::regex_match(rest.begin(), rest.end(), rates) ? rest : std::string_view();
}

/// "kit/s" behind 2.83, "k samples/s".
bool counts_thousands(std::string_view rest) {
  static const std::regex thousands("^[kKM] ?(?:it|step|sample|img|image|token|batch)[a-z]*/s",
                                    std::regex::optimize);
  return std::regex_search(rest.begin(), rest.end(), thousands);
}

/// What a line around a time says of averages; empty: nothing.
std::string average_around(std::string_view line, std::size_t begin, std::size_t end) {
  struct Writer {
    std::regex before, behind;
    const char* says;
  };
  static const std::regex_constants::syntax_option_type quick = std::regex::optimize;
  static const Writer writers[] = {
      {std::regex(R"([0-9]\.[0-9]+[^\s()]*[ \t]*\([ \t]*$)", quick),
       std::regex(R"(^[ a-z]*[,)])", quick),
       "a time in parentheses behind another number is the average so far, as AverageMeter has it: "
       "match the number before the parentheses"},
      {std::regex(R"((?:^|[ :-])[0-9]+(?:s|m|h|:[0-9]{2})[ \t]+$)", quick),
       std::regex(R"(^ *[mu]?s?/(?:step|epoch|sample|batch))", quick),
       "Keras' progress bar has the average since the epoch began: log each batch, as by a "
       "callback "
       "with on_train_batch_begin and on_train_batch_end"},
      {std::regex(R"(<[0-9:?]+, *$)", quick), std::regex(R"(^ *s?/[a-z]+[,\]])", quick),
       "tqdm's bar has a smoothed average, unless its smoothing is 1: log each minibatch"},
      {std::regex("", quick), std::regex(R"(^ *[mu\xC2\xB5]*s? *(?:\xC2\xB1|\+-))", quick),
       "a time before \u00B1 is the mean of several: log each"}};
  constexpr std::size_t wide = 40;
  const std::string before(line.substr(begin - std::min(begin, wide), std::min(begin, wide)));
  const std::string behind(line.substr(end, wide));
  for (const Writer& writer : writers) {
    if (std::regex_search(before, writer.before) && std::regex_search(behind, writer.behind))
      return writer.says;
  }
  return {};
}

/// "per 100 steps" of "12.3 s per 100 steps" and "time per 100 steps: 12.3", "/sample" of "3
/// ms/sample"; empty where nothing of the kind stands there.
std::string count_around(std::string_view line, std::size_t begin, std::size_t end) {
  static const std::regex behind("^ *[a-z]{0,12} *((?:/|per|every) *[0-9]*[km]? *[a-z]+)",
                                 std::regex::icase | std::regex::optimize);
  static const std::regex before("(?:per|every) *[0-9]*[km]? *[a-z]+(?=[^,;|0-9]{0,20}$)",
                                 std::regex::icase | std::regex::optimize);
  std::cmatch match;
  if (std::regex_search(line.data() + end, line.data() + line.size(), match, behind))
    return match[1].str();
  return std::regex_search(line.data(), line.data() + begin, match, before) ? match.str() : "";
}

/// "SamplesPerSec" of "SamplesPerSec=", "data time" of "data time (s): "; empty where no name
/// stands there.
std::string name_before(std::string_view line, std::size_t begin) {
  static const std::regex names(
      R"(((?:[a-z][\w/.-]*[ \t]+)?(?:time|duration|latency)|[a-z_][\w/.-]*)[ \t]*(?:\([a-z]+\))?[\s"':=]*$)",
      std::regex::icase | std::regex::optimize);
  constexpr std::size_t wide = 60;
  const std::string before(line.substr(begin - std::min(begin, wide), std::min(begin, wide)));
  std::smatch match;
  return std::regex_search(before, match, names) ? match[1].str() : "";
}

/// Refuses a time of which parentheses took a part, or which is of another unit than the first.
class TimeCheck {
 public:
  void check(const fs::path& file, std::size_t number, std::string_view line, std::size_t begin,
             std::size_t end) {
    const std::string time(line.substr(begin, end - begin));
    const std::string place = file.string() + ":" + std::to_string(number) +
                              ": the parentheses of --pattern match " + shown(time);
    if (begin < end && (goes_on(line, begin) || goes_on(line, end))) {
      const std::size_t from = std::min(line.find_last_not_of("0123456789,.'", begin) + 1, begin);
      const std::size_t to = std::min(line.find_first_not_of("0123456789,.'", end), line.size());
      const std::string whole(line.substr(from, to - from));  // of cells between commas it is none
      if (cell_time(whole, DecimalMark::point) || cell_time(whole, DecimalMark::comma))
        throw TraceError("pattern", place + ", a part of " + shown(whole),
                         "a group that takes all of the number, such as ([0-9.,]+)");
    }
    if (const auto whole = longer_number(line, begin, end); begin < end && !whole.empty())
      throw TraceError("pattern", place + ", a part of " + shown(whole),
                       "a group that takes all of it, such as ([-0-9:.,_]+)");
    if (const auto exponent = exponent_behind(line, end); begin < end && !exponent.empty())
      throw TraceError("pattern", place + ", a part of " + shown(time + std::string(exponent)),
                       "a group that takes all of the number, such as ([-+0-9.eE]+)");
    if (begin < end && counts_thousands(line.substr(end)))
      throw TraceError("pattern", place + ", a part of " + shown(time + line[end]),
                       "a group that takes the letter too, such as ([0-9.]+[kM]?)");
    if (rate_.empty()) rate_ = rate_behind(line.substr(end));
    const std::string unit(unit_behind(line.substr(end)));
    constexpr std::size_t first_lines = 20;
    if (average_.empty() && ++lines_ <= first_lines) average_ = average_around(line, begin, end);
    if (number_ == 0) {
      number_ = number;
      unit_ = unit;
      said_ = {name_before(line, begin), count_around(line, begin, end)};
      if (rate_.empty() && unit.empty() && is_rate(said_.front())) rate_ = said_.front();
    } else if (unit != unit_) {
      throw TraceError("pattern",
                       place + (unit.empty() ? " without a unit" : " of unit " + unit) +
                           ", and in line " + std::to_string(number_) +
                           (unit_.empty() ? " there is none" : " it is " + unit_),
                       "a group that takes the unit too, such as ([0-9.]+ *[a-z]+)");
    }
  }

  /// What follows a time and says that it is none, such as "it/s"; empty: nothing does.
  const std::string& rate() const { return rate_; }

  const std::string& average() const { return average_; }
  const std::vector<std::string>& said() const { return said_; }

 private:
  std::string rate_, average_;
  std::vector<std::string> said_;
  std::size_t lines_ = 0;
  std::size_t number_ = 0;  // of the first line
  std::string unit_;
};

}  // namespace

/// Which of several learners a line names, as "rank 3" or "[gpu:0]" do; empty where it names none.
static std::string learner_named(std::string_view line) {
  static const std::regex names(
      "(?:^ *|[^A-Za-z])((?:rank|worker|gpu|device|node|cuda|process|replica|host|default|pid)"
      "[^0-9A-Za-z]{0,2}[0-9]+|^\\[[0-9]+,[0-9]+\\](?=<)|^ *[0-9]+(?=: ))(?![0-9.%])",
      std::regex::icase | std::regex::optimize);
  std::cmatch match;
  return std::regex_search(line.data(), line.data() + line.size(), match, names) ? match[1].str()
                                                                                 : "";
}

/// A line that matches twice has two numbers, and perhaps one of them is no time.
static void refuse_second(const fs::path& file, std::size_t number, const std::cmatch& first,
                          std::string_view line, const std::regex& regex, std::size_t time,
                          const std::string& words) {
  std::cmatch again;
  if (first.length() == 0 ||
      !std::regex_search(first[0].second, line.data() + line.size(), again, regex,
                         std::regex_constants::match_prev_avail) ||
      again.length(time) == 0)
    return;
  throw TraceError("pattern",
                   file.string() + ":" + std::to_string(number) +
                       ": --pattern matches twice in a line, " + shown(first[time].str()) +
                       " and " + shown(again[time].str()),
                   "more of what stands before the time; or '^.*?" + words +
                       "' for the first in a line, '^.*" + words + "' for the last");
}

FoundTable matched_table(const fs::path& file, std::string_view text, const std::string& words) {
  FoundTable found;
  found.plain = false;
  Hash hash;
  hash.add_bytes(text);
  found.table.file = file;
  found.table.hash = hash.hex();
  auto [pattern, groups] = pattern_of(words);
  if (std::ranges::find(groups, "time") == groups.end()) {
    const auto nameless = std::ranges::count(groups, "");
    if (nameless > 1)
      throw TraceError("pattern",
                       "--pattern " + shown(words) + " has " + std::to_string(nameless) +
                           " groups of parentheses without a name, and one alone can be the time",
                       "(?<time>...) for the time, (?<NAME>...) for a column, (?:...) for neither");
    if (nameless == 1) *std::ranges::find(groups, "") = "time";
  }
  const auto time =
      static_cast<std::size_t>(std::ranges::find(groups, "time") - groups.begin()) + 1;
  if (time > groups.size()) {
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
    TimeCheck times;
    std::map<std::string, std::size_t> learners;  // how many lines name them
    std::size_t twice = 0;                        // of these, so many by two lines or more
    bool several = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::size_t cut = std::min(end, at + longest);
      if (cut > at && text[cut - 1] == '\r') --cut;
      const char* begin = text.data() + at;
      at = end + 1;
      ++number;
      std::cmatch match;
      if (!std::regex_search(begin, text.data() + cut, match, regex)) continue;
      times.check(file, number, {begin, text.data() + cut},
                  static_cast<std::size_t>(match.position(time)),
                  static_cast<std::size_t>(match.position(time) + match.length(time)));
      refuse_second(file, number, match, {begin, text.data() + cut}, regex, time, words);
      auto& row = found.table.rows.emplace_back();
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (!groups[i].empty()) row.push_back(match[i + 1].str());
      }
      found.table.lines.push_back(number);
      constexpr std::size_t enough = 10'000;  // lines that name no learner
      if (found.table.names.size() != 1 || several ||
          (learners.empty() && found.table.rows.size() > enough))
        continue;
      const std::string name = learner_named({begin, text.data() + cut});
      if (!name.empty() && ++learners[name] == 2) several = ++twice > 1;
    }
    found.rate = times.rate();
    found.average = times.average();
    found.said = times.said();
    std::erase_if(learners, [](const auto& one) { return one.second < 2; });  // as lines' numbers
    if (learners.size() > 1)
      found.notes.push_back("lines that match name several learners, such as \"" +
                            learners.rbegin()->first +
                            "\", and the pattern does not ask whose a time is: a group "
                            "(?<rank>[0-9]+) does");
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
