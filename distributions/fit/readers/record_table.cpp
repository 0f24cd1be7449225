#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "distributions/fit/readers/found_table.h"
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

  void add(const Json& object, std::size_t line) {
    table_.rows.emplace_back(table_.names.size());
    table_.lines.push_back(line);
    add_keys(object, "", 0);
  }

  /// A cell for each column in each row.
  void fill_rows() {
    for (auto& row : table_.rows) row.resize(table_.names.size());
  }

 private:
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
  if (trimmed(text).starts_with('[')) {
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
  if (found.table.rows.empty()) throw TraceError("path", file.string() + ": has no records");
  if (found.table.names.empty()) {
    throw TraceError("path", file.string() + ": its objects have lists, and no single values",
                     R"(an object for each minibatch, such as {"rank": 0, "time": 0.5})");
  }
  return found;
}

}  // namespace gradrace
