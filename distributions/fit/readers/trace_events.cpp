#include "distributions/fit/readers/trace_events.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/message_text.h"

namespace gradrace {
namespace {

using Json = nlohmann::json;

constexpr std::string_view blanks = " \t\r\n";

/// Makes an event of the parser's calls on an object.
class EventParts {
 public:
  explicit EventParts(TraceEvent& event) : event_(event) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(Json::number_integer_t value) { return number(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return number(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return number(value); }
  bool binary(Json::binary_t&) { return true; }
  bool string(std::string& value) {
    if (depth_ == 1 && key_ == "name") event_.name = value;
    if (depth_ == 1 && key_ == "cat") event_.category = value;
    if (depth_ == 1 && key_ == "ph") event_.phase = value;
    if (depth_ == 2 && in_arguments_ && key_ == "name") event_.named = value;
    if (double parsed = 0; (key_ == "ts" || key_ == "dur") && parse_number(value, parsed))
      time(parsed);
    return label(value);
  }
  bool key(std::string& name) {
    key_ = name;
    return true;
  }
  bool start_array(std::size_t) { return start(); }
  bool start_object(std::size_t) { return start(); }
  bool end_array() { return end(); }
  bool end_object() { return end(); }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& error) {
    complaint = error.what();
    place = at;
    return false;
  }

  std::string complaint;
  std::size_t place = 0;

 private:
  bool start() {
    if (++depth_ == 2) in_arguments_ = key_ == "args";
    return true;
  }
  bool end() {
    --depth_;
    return true;
  }
  void time(double value) {
    if (depth_ == 1 && key_ == "ts") event_.begin = value;
    if (depth_ == 1 && key_ == "dur") event_.duration = value;
  }
  template <class Number>
  bool number(Number value) {
    time(static_cast<double>(value));
    return label(depth_ == 1 ? number_text(static_cast<double>(value)) : "");
  }
  bool label(const std::string& text) {
    const bool identity = key_ == "id" || key_ == "local" || key_ == "global";
    if (identity && (depth_ == 1 || !in_arguments_)) event_.identity = text;
    if (depth_ == 1 && key_ == "pid") event_.process = text;
    if (depth_ == 1 && key_ == "tid") event_.thread = text;
    return true;
  }

  TraceEvent& event_;
  std::size_t depth_ = 0;
  bool in_arguments_ = false;
  std::string key_;
};

/// Without the library's own name and place.
std::string syntax_complaint(const std::string& what) {
  const auto at = what.find(": ");
  return at == std::string::npos ? what : "is no JSON: " + what.substr(at + 2);
}

/// Past the object, array, text or other value that begins there; npos where the text ends first.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (bool quoted = false; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      quoted = c != '"';
      if (!quoted && depth == 0) return at + 1;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (depth == 0 && (c == ',' || blanks.find(c) != std::string_view::npos)) {
      return at;
    }
  }
  return std::string_view::npos;
}

/// With null for each word outside of texts that JSON does not know.
std::string with_nulls(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      const std::size_t end = std::min(end_of_value(text, at), text.size());
      result += text.substr(at, end - at);
      at = end;
      continue;
    }
    const auto is_part = [&](std::size_t i) {
      return i < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[i])) != 0 ||
              std::string_view("+-./#_%").find(text[i]) != std::string_view::npos);
    };
    if (!is_part(at)) {
      result += text[at++];
      continue;
    }
    std::size_t end = at;
    while (is_part(end)) ++end;
    const std::string_view word = text.substr(at, end - at);
    result += Json::accept(word) ? word : "null";
    at = end;
  }
  return result;
}

/// Walks over a text's events.
class Walk {
 public:
  Walk(const std::filesystem::path& file, std::string_view text,
       const std::function<void(TraceEvent&)>& take)
      : file_(file), text_(text), take_(take) {}

  TraceHeader header() {
    at_ = text_.find_first_not_of(blanks);
    if (at_ == std::string_view::npos) at_ = text_.size();
    if (at_ < text_.size() && text_[at_] == '[') {
      events();
    } else if (at_ < text_.size()) {
      members();
    }
    if (!found_) {
      throw TraceError("path", file_.string() + ": has no trace events",
                       "a JSON array of events, or an object with a list \"traceEvents\"");
    }
    if (unreadable_ > 0) {
      const std::string what = syntax_complaint(complaint_);
      if (taken_ == 0) throw event_error(file_, text_, first_unreadable_, what);
      header_.notes.push_back(count_text(unreadable_, "event") +
                              " left out that cannot be read, the first at " +
                              event_error(file_, text_, first_unreadable_, what).what());
    }
    return header_;
  }

 private:
  bool skip(std::string_view characters) {
    at_ = std::min(text_.find_first_not_of(characters, at_), text_.size());
    return at_ < text_.size();
  }

  /// Of the object that the text is.
  void members() {
    ++at_;
    while (skip(" \t\r\n,") && text_[at_] == '"') {
      const std::size_t key_end = end_of_value(text_, at_);
      if (key_end == std::string_view::npos) return;
      const std::string_view key = text_.substr(at_ + 1, key_end - at_ - 2);
      at_ = key_end;
      if (!skip(" \t\r\n:")) return;
      if (key == "traceEvents" && text_[at_] == '[') {
        events();
        continue;
      }
      const std::size_t end = end_of_value(text_, at_);
      const std::string_view value = text_.substr(at_, end - at_);
      if (key == "distributedInfo") rank_in(value);
      at_ = std::min(end, text_.size());
    }
    if (at_ < text_.size() && text_[at_] != '}' && !found_)
      throw event_error(file_, text_, at_, "is no JSON: a key or } expected");
  }

  void rank_in(std::string_view value) {
    const Json info = Json::parse(value, nullptr, false);
    if (!info.is_object() || !info.contains("rank")) return;
    const Json& rank = info["rank"];
    header_.rank = rank.is_string() ? rank.get<std::string>() : rank.dump();
  }

  void events() {
    found_ = true;
    ++at_;
    while (skip(" \t\r\n,") && text_[at_] != ']') {
      const std::size_t begin = at_;
      const std::size_t end = end_of_value(text_, at_);
      if (end == std::string_view::npos) {
        cut(begin);
        return;
      }
      at_ = std::max(end, begin + 1);
      if (text_[begin] == '{') event(begin, text_.substr(begin, end - begin));
    }
    if (at_ < text_.size()) ++at_;
  }

  void event(std::size_t begin, std::string_view words) {
    TraceEvent event;
    event.offset = begin;
    EventParts parts(event);
    bool whole = Json::sax_parse(words, &parts);
    if (!whole) {
      event = {};
      event.offset = begin;
      EventParts mended(event);
      whole = Json::sax_parse(with_nulls(words), &mended);
    }
    if (!whole) return left_out(begin, parts.complaint);
    ++taken_;
    take_(event);
  }

  void left_out(std::size_t begin, const std::string& complaint) {
    if (unreadable_++ > 0) return;
    first_unreadable_ = begin;
    complaint_ = complaint;
  }

  /// The text ends before the event does: it was cut, or a quote in the event is open.  Goes on at
  /// the next line that begins an event.
  void cut(std::size_t begin) {
    constexpr std::size_t most_lines = 1000, most_events = 20;
    std::size_t next = text_.find('\n', begin);
    for (std::size_t line = 0;
         line < most_lines && next != std::string_view::npos && unreadable_ < most_events;
         next = text_.find('\n', next + 1), ++line) {
      at_ = next;
      if (!skip(blanks) || text_[at_] != '{' || end_of_value(text_, at_) == std::string_view::npos)
        continue;
      left_out(begin, ": an event that does not end");
      --at_;
      return events();
    }
    at_ = text_.size();
    header_.notes.emplace_back("the last event was cut, and is left out");
  }

  const std::filesystem::path& file_;
  const std::string_view text_;
  const std::function<void(TraceEvent&)>& take_;
  TraceHeader header_;
  std::size_t at_ = 0, taken_ = 0, unreadable_ = 0, first_unreadable_ = 0;
  bool found_ = false;
  std::string complaint_;
};

}  // namespace

TraceError event_error(const std::filesystem::path& file, std::string_view text, std::size_t offset,
                       const std::string& what, std::string allowed) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return {"path",
          file.string() + ":" + std::to_string(line) + ":" +
              std::to_string(before.size() - begin + 1) + ": " + what,
          std::move(allowed)};
}

TraceHeader read_events(const std::filesystem::path& file, std::string_view text,
                        const std::function<void(TraceEvent&)>& take) {
  return Walk(file, text, take).header();
}

}  // namespace gradrace
