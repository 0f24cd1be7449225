#include "sim/document.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "sim/check.h"

namespace gradrace {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t deepest_nesting = 200;

/// Where a value stands.  Without a line it came from outside the text.
struct Place {
  std::size_t line = 0;
  std::size_t column = 0;
  std::string origin = {};  // empty: the document's
};

/// By JSON pointer, so that what lies below a pointer p are the keys that start with p + "/".
using Places = std::map<std::string, Place, std::less<>>;

std::string below(std::string_view pointer) { return std::string(pointer) + "/"; }

Places subtree(const Places& places, std::string_view pointer) {
  Places result;
  if (const auto self = places.find(pointer); self != places.end()) result[""] = self->second;
  const std::string prefix = below(pointer);
  for (auto at = places.lower_bound(prefix); at != places.end() && at->first.starts_with(prefix);
       ++at)
    result[at->first.substr(pointer.size())] = at->second;
  return result;
}

void erase_subtree(Places& places, std::string_view pointer) {
  const std::string prefix = below(pointer);
  auto end = places.lower_bound(prefix);
  const auto begin = end;
  while (end != places.end() && end->first.starts_with(prefix)) ++end;
  places.erase(begin, end);
  if (const auto self = places.find(pointer); self != places.end()) places.erase(self);
}

void put_subtree(Places& places, const std::string& pointer, const Places& subtree) {
  erase_subtree(places, pointer);
  for (const auto& [suffix, place] : subtree) places[pointer + suffix] = place;
}

/// The place of the pointer, or of the nearest value above.
Place place_of(const Places& places, std::string_view pointer) {
  GRADRACE_CHECK(pointer.empty() || pointer.front() == '/',
                 "no JSON pointer: " + std::string(pointer));
  while (true) {
    if (const auto found = places.find(pointer); found != places.end()) return found->second;
    if (pointer.empty()) return {};
    pointer = pointer.substr(0, pointer.rfind('/'));
  }
}

Problem problem_at(const Place& place, const std::string& origin, std::string path,
                   std::string what) {
  return {.origin = place.origin.empty() ? origin : place.origin,
          .line = place.line,
          .column = place.column,
          .path = std::move(path),
          .what = std::move(what),
          .allowed = {},
          .suggestion = {}};
}

std::string unescaped(std::string_view token) {
  std::string result;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escaped = token[i] == '~' && i + 1 < token.size();
    result += !escaped ? token[i] : token[++i] == '1' ? '/' : '~';
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::size_t> array_index(std::string_view token) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc() || end != token.data() + token.size()) return {};
  return index;
}

/// One token of a JSON text.
struct Token {
  std::size_t begin = 0;
  std::size_t end = 0;
  Place place;
};

/// Walks a text token by token and knows the line and column of each.  A column is a character, not
/// a byte; a tabulator is one.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {
    if (text.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  /// The next token, also a comma or a colon; empty at the end of the text.
  Token next() {
    while (at_ < text_.size() && is_space(text_[at_])) advance();
    Token token{at_, at_, place_};
    if (at_ == text_.size()) return token;
    if (text_[at_] == '"') {
      read_string();
    } else if (is_mark(text_[at_])) {
      advance();
    } else {
      while (at_ < text_.size() && !is_space(text_[at_]) && !is_mark(text_[at_]) &&
             text_[at_] != '"')
        advance();
    }
    token.end = at_;
    return token;
  }

  /// The next token that is neither comma nor colon.
  Token next_value() {
    Token token = next();
    while (text(token) == "," || text(token) == ":") token = next();
    return token;
  }

  std::string_view text(const Token& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  static bool is_mark(char c) { return std::string_view("{}[],:").find(c) != std::string::npos; }

  void read_string() {
    advance();
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) advance();
      advance();
    }
    if (at_ < text_.size()) advance();
  }

  void advance() {
    const auto byte = static_cast<unsigned char>(text_[at_++]);
    if (byte == '\n') {
      ++place_.line;
      place_.column = 1;
    } else if (at_ == text_.size() || (static_cast<unsigned char>(text_[at_]) & 0xC0) != 0x80) {
      ++place_.column;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Place place_{1, 1};
};

/// Builds the JSON value from the events of the parser, each of which is one token of the text, and
/// notes where its keys and items stand.
class Builder {
 public:
  using number_integer_t = ordered_json::number_integer_t;
  using number_unsigned_t = ordered_json::number_unsigned_t;
  using number_float_t = ordered_json::number_float_t;
  using string_t = ordered_json::string_t;
  using binary_t = ordered_json::binary_t;

  Builder(std::string_view text, std::string origin) : tokens_(text), origin_(std::move(origin)) {}

  bool null() { return scalar(nullptr); }
  bool boolean(bool value) { return scalar(value); }
  bool number_integer(number_integer_t value) { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) { return scalar(value); }
  bool number_float(number_float_t value, const string_t&) { return scalar(value); }
  bool string(string_t& value) { return scalar(std::move(value)); }
  bool binary(binary_t&) { return false; }

  bool start_object(std::size_t) { return start(ordered_json::object()); }
  bool start_array(std::size_t) { return start(ordered_json::array()); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }

  bool key(string_t& name) {
    last_ = tokens_.next_value();
    after_ = After::key;
    auto& object = open_.back();
    key_ = name;
    const std::string pointer = Document::child(object.pointer, name);
    if (object.value->contains(name)) {
      problems.push_back(problem_at(last_.place, origin_, Document::dotted(pointer),
                                    "given twice (JSON keeps only the last)"));
      erase_subtree(places, pointer);
    }
    places[pointer] = last_.place;
    return true;
  }

  bool parse_error(std::size_t bytes_read, const std::string&,
                   const nlohmann::detail::exception& error) {
    if (after_ != After::nothing && bytes_read <= last_.end)
      return refuse(last_, quoted(tokens_.text(last_)) + " is no JSON value");
    Token wrong = tokens_.next();
    const bool separated = !separator().empty() && tokens_.text(wrong) == separator();
    if (separated) wrong = tokens_.next();
    const std::string_view found = tokens_.text(wrong);
    const std::string message = error.what();
    std::string what = "expected " + expected(separated) + ", got " + quoted(found);
    if (message.find("invalid string: ") != std::string::npos)
      what = string_error(message);
    else if (found.starts_with("//") || found.starts_with("/*"))
      what = "JSON has no comments";
    else if (error.id == 406)
      what = std::string(found) + " is too large for a number";
    return refuse(wrong, what);
  }

  ordered_json root;
  Places places;
  std::vector<Problem> problems;
  bool broken = false;

 private:
  enum class After { nothing, key, opening, value };
  struct Open {
    ordered_json* value;
    std::string pointer;
  };

  bool refuse(const Token& token, std::string what) {
    problems.push_back(problem_at(token.place, origin_, "", std::move(what)));
    broken = true;
    return false;
  }

  /// Puts the value that starts with the current token in its place.
  Open add(ordered_json value) {
    last_ = tokens_.next_value();
    after_ = After::value;
    if (open_.empty()) {
      root = std::move(value);
      places[""] = last_.place;
      return {&root, ""};
    }
    auto& parent = open_.back();
    if (parent.value->is_object()) {
      auto& slot = (*parent.value)[key_];
      slot = std::move(value);
      return {&slot, Document::child(parent.pointer, key_)};
    }
    const std::string pointer = below(parent.pointer) + std::to_string(parent.value->size());
    places[pointer] = last_.place;
    parent.value->push_back(std::move(value));
    return {&parent.value->back(), pointer};
  }

  bool scalar(ordered_json value) {
    add(std::move(value));
    return true;
  }

  bool start(ordered_json value) {
    open_.push_back(add(std::move(value)));
    after_ = After::opening;
    if (open_.size() <= deepest_nesting) return true;
    return refuse(last_, "nested more than " + std::to_string(deepest_nesting) + " deep");
  }

  bool end() {
    last_ = tokens_.next_value();
    after_ = After::value;
    open_.pop_back();
    return true;
  }

  static std::string string_error(const std::string& message) {
    if (message.find("U+000A") != std::string::npos ||
        message.find("U+000D") != std::string::npos ||
        message.find("missing closing quote") != std::string::npos)
      return "a string is not closed on its line";
    const auto begin = message.find("invalid string: ") + 16;
    return "in a string: " + message.substr(begin, message.find("; last read") - begin);
  }

  /// The token that must stand between the last event and another one; empty if there is none.
  std::string_view separator() const {
    if (after_ == After::key) return ":";
    return after_ == After::value && !open_.empty() ? "," : "";
  }

  /// What may follow the last event, or the separator behind it.
  std::string expected(bool separated) const {
    if (after_ == After::key) return separated ? "a value" : "':' after the key";
    if (open_.empty()) return after_ == After::nothing ? "a value" : "the end of the file";
    const bool object = open_.back().value->is_object();
    const std::string item = object ? "a key in double quotes" : "a value";
    const std::string closing = object ? "'}'" : "']'";
    if (separated) return item;
    return after_ == After::opening ? item + " or " + closing : "',' or " + closing;
  }

  static std::string quoted(std::string_view token) {
    if (token.empty()) return "the end of the file";
    std::size_t length = std::min<std::size_t>(token.size(), 40);
    while (length < token.size() && (static_cast<unsigned char>(token[length]) & 0xC0) == 0x80)
      ++length;
    const std::string text(token.substr(0, length));
    return token.front() == '"' ? text : "'" + text + "'";
  }

  Tokens tokens_;
  std::string origin_;
  std::vector<Open> open_;
  std::string key_;
  Token last_;
  After after_ = After::nothing;
};

}  // namespace

std::string Problem::text() const {
  std::string result = origin;
  if (line > 0) result += ":" + std::to_string(line) + ":" + std::to_string(column);
  result += ": error: ";
  if (!path.empty()) result += path + ": ";
  result += what;
  if (!allowed.empty()) result += "\n    allowed: " + allowed;
  if (!suggestion.empty()) result += "\n    did you mean \"" + suggestion + "\"?";
  return result;
}

void sort_by_place(std::vector<Problem>& problems) {
  const auto place = [](const Problem& p) {
    return std::make_tuple(p.line == 0, std::string_view(p.origin), p.line, p.column);
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const Problem& a, const Problem& b) { return place(a) < place(b); });
  std::map<std::string, bool> seen;
  std::erase_if(problems, [&](const Problem& p) { return !seen.emplace(p.text(), true).second; });
}

static std::string texts(const std::vector<Problem>& problems) {
  std::string result;
  for (const auto& problem : problems) result += (result.empty() ? "" : "\n") + problem.text();
  return result;
}

static std::vector<Problem> sorted(std::vector<Problem> problems) {
  sort_by_place(problems);
  return problems;
}

ScenarioError::ScenarioError(std::vector<Problem> problems)
    : std::runtime_error(texts(sorted(problems))), problems_(sorted(std::move(problems))) {}

struct Document::Content {
  std::string origin;
  ordered_json root;
  Places places;
  std::vector<Problem> problems;

  void put(std::string_view dotted_path, ordered_json value, const Places& value_places);
};

Document::Document() : content_(std::make_unique<Content>()) {}
Document::Document(const Document& other) : content_(std::make_unique<Content>(*other.content_)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(const Document& other) {
  if (this != &other) content_ = std::make_unique<Content>(*other.content_);
  return *this;
}
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

const ordered_json& Document::root() const { return content_->root; }
const std::vector<Problem>& Document::problems() const { return content_->problems; }

Document Document::read(const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error("cannot read " + file.string() + ": " + why);
  };
  if (std::filesystem::is_directory(file)) refuse("it is a folder");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) refuse(std::generic_category().message(errno));
  return parse(text, file.string());
}

Document Document::parse(std::string_view text, std::string origin) {
  Builder builder(text, origin);
  ordered_json::sax_parse(text, &builder);
  if (builder.broken) throw ScenarioError(std::move(builder.problems));
  Document document;
  *document.content_ = {std::move(origin), std::move(builder.root), std::move(builder.places),
                        std::move(builder.problems)};
  return document;
}

void Document::Content::put(std::string_view dotted_path, ordered_json value,
                            const Places& value_places) {
  const auto refuse = [&](std::string path, std::string what) {
    throw ScenarioError({problem_at(value_places.at(""), origin, std::move(path), what)});
  };
  ordered_json* at = &root;
  std::string pointer;
  for (const auto token : split(dotted_path, '.')) {
    if (token.empty()) refuse("", "\"" + std::string(dotted_path) + "\" is no path of keys");
    if (at->is_array()) {
      const auto index = array_index(token);
      if (!index || *index >= at->size())
        refuse(dotted(pointer), "has no item " + std::string(token) + ", its length is " +
                                    std::to_string(at->size()));
      pointer += "/" + std::to_string(*index);
      at = &(*at)[*index];
    } else if (at->is_object()) {
      pointer = child(pointer, token);
      const std::string key(token);
      if (!at->contains(key)) {
        (*at)[key] = ordered_json::object();
        places[pointer] = value_places.at("");
      }
      at = &(*at)[key];
    } else {
      refuse(dotted(pointer), "expected an object, got " + at->dump());
    }
  }
  *at = std::move(value);
  put_subtree(places, pointer, value_places);
}

void Document::set(std::string_view dotted_path, const ordered_json& value, std::string origin) {
  content_->put(dotted_path, value, {{"", Place{0, 0, std::move(origin)}}});
}

void Document::set(std::string_view dotted_path, std::string_view pointer_to_value) {
  const ordered_json::json_pointer source{std::string(pointer_to_value)};
  Places places = subtree(content_->places, pointer_to_value);
  places.try_emplace("", place_of(content_->places, pointer_to_value));
  content_->put(dotted_path, content_->root.at(source), places);
}

void Document::remove(std::string_view pointer) {
  const ordered_json::json_pointer target{std::string(pointer)};
  if (pointer.empty() || !content_->root.contains(target)) return;
  auto& parent = content_->root[target.parent_pointer()];
  auto& places = content_->places;
  if (parent.is_object()) {
    parent.erase(target.back());
    erase_subtree(places, pointer);
    return;
  }
  const std::size_t index = *array_index(target.back());
  parent.erase(index);
  const std::string items = below(target.parent_pointer().to_string());
  for (std::size_t i = index; i < parent.size(); ++i)
    put_subtree(places, items + std::to_string(i), subtree(places, items + std::to_string(i + 1)));
  erase_subtree(places, items + std::to_string(parent.size()));
}

Problem Document::problem(std::string_view pointer, std::string what) const {
  return problem_at(place_of(content_->places, pointer), content_->origin, dotted(pointer),
                    std::move(what));
}

std::string Document::dotted(std::string_view pointer) {
  std::string result;
  if (pointer.empty()) return result;
  for (const auto token : split(pointer.substr(1), '/')) {
    if (array_index(token))
      result += "[" + std::string(token) + "]";
    else
      result += (result.empty() ? "" : ".") + unescaped(token);
  }
  return result;
}

std::string Document::child(std::string_view pointer, std::string_view key) {
  std::string result = below(pointer);
  for (const char c : key) {
    if (c == '~')
      result += "~0";
    else if (c == '/')
      result += "~1";
    else
      result += c;
  }
  return result;
}

}  // namespace gradrace
