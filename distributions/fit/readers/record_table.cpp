#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/readers/found_table.h"
#include "distributions/fit/trace.h"
#include "sim/hash.h"
#include "sim/message_text.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr std::size_t deepest = 16;         // objects in objects
constexpr std::size_t most_columns = 1000;  // memory grows with rows times columns
constexpr std::string_view no_numbers[] = {"NaN", "-Infinity", "Infinity"};

/// Collects columns as keys come.
class Records {
 public:
  explicit Records(Table& table) : table_(table) {}

  /// A row; of an object that has no time, but a list of objects, a row for each of these.
  void add(const Json& object, std::size_t line) {
    auto list = std::ranges::find_if(object, is_list_of_objects);
    if (list == object.end()) return add_row(object, line);
    if (has_time(object)) {
      left_out_ = list.key();
      return add_row(object, line);
    }
    const auto timed = std::ranges::find_if(object, is_list_of_times);
    if (timed != object.end()) list = timed;
    list_ = list.key();
    const auto other = std::find_if(std::next(list), object.end(), is_list_of_times);
    if (other != object.end())
      throw TraceError("path",
                       table_.file.string() + ":" + std::to_string(line) +
                           ": two lists have objects with times, " + shown(list.key()) + " and " +
                           shown(other.key()),
                       "one of them, as after jq -c 'del(." + other.key() + ")'");
    for (const Json& part : *list) {
      Json row = object;
      row[list_] = part;
      add_row(row, line);
    }
  }

  /// Key of a list whose objects are rows; empty: there was none.
  const std::string& list() const { return list_; }
  /// Of a list beside a time, whose objects are none.
  const std::string& left_out() const { return left_out_; }

  /// A cell for each column in each row.
  void fill_rows() {
    for (auto& row : table_.rows) row.resize(table_.names.size());
  }

 private:
  static bool is_list_of_objects(const Json& value) {
    return value.is_array() && !value.empty() && std::ranges::all_of(value, &Json::is_object);
  }

  static bool has_time(const Json& object) {
    return std::ranges::any_of(object.items(), [](const auto& entry) {
      const Json& value = entry.value();
      if (value.is_object()) return has_time(value);
      return value.is_primitive() && says_time(entry.key()) && !says_stamp(entry.key());
    });
  }

  static bool is_list_of_times(const Json& value) {
    return is_list_of_objects(value) && has_time(value.front());
  }

  void add_row(const Json& object, std::size_t line) {
    table_.rows.emplace_back(table_.names.size());
    table_.lines.push_back(line);
    add_keys(object, "", 0);
  }

  void add_keys(const Json& object, const std::string& before, std::size_t depth) {
    for (const auto& [key, value] : object.items()) {
      if (value.is_object() && depth < deepest) {
        add_keys(value, before + key + ".", depth + 1);
      } else if (!value.is_structured()) {
        cell(before + key) = value.is_string()         ? value.get<std::string>()
                             : value.is_null()         ? ""
                             : value.is_number_float() ? number_text(value.get<double>())
                                                       : value.dump();
      }
    }
  }

  std::string& cell(const std::string& name) {
    const auto [found, is_new] = columns_.emplace(name, table_.names.size());
    if (is_new) {
      if (table_.names.size() == most_columns) {
        throw TraceError("path",
                         table_.file.string() + ":" + std::to_string(table_.lines.back()) +
                             ": key " + shown(name) + " is one more than the " +
                             std::to_string(most_columns) + " different keys that are read",
                         "objects with the same keys; or --pattern REGEX, which reads what it "
                         "names alone");
      }
      table_.names.push_back(name);
      table_.rows.back().emplace_back();
    }
    return table_.rows.back()[found->second];
  }

  Table& table_;
  std::map<std::string, std::size_t> columns_;
  std::string list_, left_out_;
};

[[noreturn]] void refuse(const fs::path& file, std::size_t line) {
  throw TraceError("path",
                   file.string() + ":" + std::to_string(line) +
                       ": is neither a JSON object nor a row of a table",
                   "a JSON object a line; a CSV file with a line of names; or, of another log, "
                   "--pattern REGEX with a group of parentheses around the time");
}

/// Null where it is no JSON.  NaN and infinities, which Python writes, are null.
Json parsed(const fs::path& file, std::size_t line, std::string_view text) {
  std::string known;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto bare = std::ranges::find_if(
        no_numbers, [&](auto word) { return !quoted && rest.starts_with(word); });
    if (rest.front() == '"') quoted = !quoted;
    const std::size_t taken = bare != std::end(no_numbers)     ? bare->size()
                              : quoted && rest.front() == '\\' ? 2
                                                               : 1;
    known += bare != std::end(no_numbers) ? "null" : rest.substr(0, taken);
    at += taken;
  }
  std::vector<std::set<std::string>> keys;  // of the objects that a place lies in
  const auto check = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      throw TraceError("path",
                       file.string() + ":" + std::to_string(line) + ": an object has the key " +
                           shown(value.get<std::string>()) + " twice",
                       "a key once, so that it is clear which value counts");
    }
    return true;
  };
  return Json::parse(known, check, false);
}

/// "{...}" of ":::MLLOG {...}".
std::string_view object_in(std::string_view line) {
  const std::size_t begin = line.starts_with(":::") ? line.find('{') : 0;
  return trimmed(line.substr(std::min(begin, line.size())));
}

void read_lines(const fs::path& file, std::string_view text, Records& records,
                std::vector<std::string>& notes) {
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = object_in(trimmed(text.substr(at, end - at)));
    ++number;
    at = end + 1;
    if (line.empty() || line.starts_with('#')) continue;
    const Json object = parsed(file, number, line);
    if (!object.is_object()) {
      if (at < text.size() || number == 1) refuse(file, number);
      notes.emplace_back("the last line was cut, and is left out");
      return;
    }
    records.add(object, number);
  }
}

/// Where a text is one object, in one line or in many; else null.
Json whole_object(const fs::path& file, std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos || text[begin] != '{') return nullptr;
  const auto end = text.find('\n', begin);
  const auto line = trimmed(text.substr(begin, end - begin));
  const bool is_one_line = end == text.npos || text.find_first_not_of(" \t\r\n", end) == text.npos;
  return is_one_line || !line.ends_with('}') ? parsed(file, 1, text) : nullptr;
}

bool begins_with_digit(const std::string& key) {
  return !key.empty() && key.front() >= '0' && key.front() <= '9';
}

/// Whether all values are objects of the same keys, two or more.
bool is_of_objects(const Json& object) {
  if (!object.is_object() || object.empty()) return false;
  const auto has_same_keys = [&](const Json& value) {
    if (!value.is_object() || value.size() < 2 || value.size() != object.front().size())
      return false;
    return std::ranges::all_of(value.items(),
                               [&](const auto& one) { return object.front().contains(one.key()); });
  };
  return std::ranges::all_of(object, has_same_keys);
}

/// As pandas writes a table: {"time": {"0": 1.2, "1": 1.3}}, or {"0": {"time": 1.2}, ...} by rows.
/// False: it is none.
bool add_table(const Json& table, Records& records) {
  if (!is_of_objects(table)) return false;
  const bool by_rows = begins_with_digit(table.begin().key());
  if (!by_rows && !begins_with_digit(table.front().begin().key())) return false;
  std::vector<std::string> keys;  // of rows, in the order of their numbers
  for (const auto& [key, value] : (by_rows ? table : table.front()).items()) keys.push_back(key);
  sort_learners(keys);
  for (std::size_t row = 0; row < keys.size(); ++row) {
    Json object = by_rows ? table[keys[row]] : Json::object();
    for (const auto& [name, column] : table.items()) {
      if (!by_rows) object[name] = column[keys[row]];
    }
    records.add(object, row + 1);
  }
  return true;
}

/// Answers of other tools, whose times stand deeper than a row's.
void refuse_others(const fs::path& file, const Json& object) {
  struct Other {
    const char *what, *place, *filter;
  };
  constexpr Other others[] = {
      {"an answer of Prometheus", "/data/resultType",
       R"(["rank","time"], (.data.result[] | (.metric|tostring) as $m | .values[] | [$m, .[1]]))"},
      {"a trace of Jaeger", "/data/0/spans/0/operationName",
       R"(["name","duration_us"], (.data[].spans[] | [.operationName, .duration]))"},
      {"what hyperfine measured", "/results/0/times/0", R"(["time"], (.results[].times[] | [.]))"}};
  for (const auto& [what, place, filter] : others) {
    if (!object.contains(Json::json_pointer(place))) continue;
    throw TraceError("path", file.string() + ": is " + what + ", and no table",
                     std::string("a CSV file, as of jq -r '(") + filter + ") | @csv' " +
                         file.string() + " > times.csv");
  }
}

}  // namespace

FoundTable record_table(const fs::path& file, std::string_view text) {
  FoundTable found;
  found.plain = false;
  Hash hash;
  hash.add_bytes(text);
  found.table.file = file;
  found.table.hash = hash.hex();
  text = without_mark(text);
  Records records(found.table);
  const Json whole = whole_object(file, text);
  refuse_others(file, whole);
  if (add_table(whole, records)) {
    found.notes.emplace_back("one object in JSON is a table, as pandas writes it");
  } else if (whole.is_object()) {
    records.add(whole, 1);
  } else if (trimmed(text).starts_with('[')) {
    const Json list = parsed(file, 1, text);
    if (!list.is_array()) refuse(file, 1);
    for (const auto& object : list) {
      if (!object.is_object()) refuse(file, 1);
      records.add(object, found.table.rows.size() + 1);
    }
  } else {
    read_lines(file, text, records, found.notes);
  }
  records.fill_rows();
  if (!records.list().empty())
    found.notes.push_back("each object of the list " + shown(records.list()) + " is a row");
  if (!records.left_out().empty())
    found.notes.push_back("left out: the objects of the list " + shown(records.left_out()) +
                          ", as a time stands beside it");
  if (found.table.rows.empty()) throw TraceError("path", file.string() + ": has no records");
  if (found.table.names.empty()) {
    throw TraceError("path", file.string() + ": its objects have lists, and no single values",
                     R"(an object for each minibatch, such as {"rank": 0, "time": 0.5})");
  }
  return found;
}

}  // namespace gradrace
