#include "sim/reading/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace gradrace {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t deepest_nesting = 200;

/// One token of a JSON text.
struct Token {
  std::size_t begin = 0;
  std::size_t end = 0;
  JsonPlace place;
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
  JsonPlace place_{1, 1};
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
    if (object.value->size() == most_keys_of_an_object)
      return refuse(last_,
                    "an object has more than " + std::to_string(most_keys_of_an_object) + " keys");
    key_ = name;
    const std::string pointer = child_pointer(object.pointer, name);
    is_given_twice_ = places.contains(pointer);
    if (is_given_twice_) {
      problems.push_back(problem_at(last_.place, origin_, dotted_path(pointer),
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
    else if (separated && separator() == "," && (found == "}" || found == "]"))
      what += "; there must be no comma after the last item";
    else if (found.starts_with("//") || found.starts_with("/*"))
      what = "JSON has no comments";
    else if (error.id == 406)
      what = quoted(found) + " is too large for a number";
    else if (after_ == After::nothing && !found.empty())
      what += "; JSON begins with {";
    return refuse(wrong, what);
  }

  /// To be called after the last event: the parser takes a NUL character for the end of the text.
  void refuse_more() {
    const Token more = tokens_.next();
    if (!tokens_.text(more).empty()) refuse(more, "expected the end of the file, got more text");
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
      return {member(*parent.value, std::move(value)), child_pointer(parent.pointer, key_)};
    }
    const std::string pointer = child_pointer(parent.pointer, std::to_string(parent.value->size()));
    places[pointer] = last_.place;
    parent.value->push_back(std::move(value));
    return {&parent.value->back(), pointer};
  }

  /// Of the object, at the current key.
  ordered_json* member(ordered_json& object, ordered_json value) {
    if (is_given_twice_) return &(object[key_] = std::move(value));
    auto& members = object.get_ref<ordered_json::object_t&>();
    return &members.emplace_back(key_, std::move(value)).second;
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
  bool is_given_twice_ = false;  // that key, in its object
  Token last_;
  After after_ = After::nothing;
};

}  // namespace

ParsedJson::ParsedJson() : root(std::make_unique<ordered_json>()) {}
ParsedJson::~ParsedJson() = default;
ParsedJson::ParsedJson(ParsedJson&&) noexcept = default;

ParsedJson parse_json(std::string_view text, const std::string& origin) {
  Builder builder(text, origin);
  if (ordered_json::sax_parse(text, &builder)) builder.refuse_more();
  if (builder.broken) throw ScenarioError(std::move(builder.problems));
  ParsedJson parsed;
  *parsed.root = std::move(builder.root);
  parsed.places = std::move(builder.places);
  parsed.problems = std::move(builder.problems);
  return parsed;
}

}  // namespace gradrace
