#include "distributions/fit/readers/trace_events.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "sim/message_text.h"

namespace gradrace {
namespace {

using Json = nlohmann::json;

/// Says how far the parser has read.
class Counted {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Counted(const char* at, std::size_t* read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  Counted& operator++() {
    ++at_, ++*read_;
    return *this;
  }
  bool operator==(const Counted& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  std::size_t* read_;
};

/// Makes events of the parser's calls.
class Handler {
 public:
  Handler(const std::size_t& read, const std::function<void(TraceEvent&)>& take)
      : read_(read), take_(take) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(Json::number_integer_t value) { return number(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return number(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return number(value); }
  bool binary(Json::binary_t&) { return true; }
  bool string(std::string& value) {
    if (inside(Part::event) && key_ == "name") event_.name = value;
    if (inside(Part::event) && key_ == "cat") event_.category = value;
    if (inside(Part::event) && key_ == "ph") event_.phase = value;
    if (inside(Part::arguments) && key_ == "name") event_.named = value;
    return label(value);
  }

  bool key(std::string& name) {
    key_ = name;
    return true;
  }
  bool start_array(std::size_t) {
    const bool events = open_.empty() || (inside(Part::root) && key_ == "traceEvents");
    found = found || events;
    open_.push_back(events ? Part::events : Part::other);
    return true;
  }
  bool start_object(std::size_t) {
    if (inside(Part::events)) {
      event_ = {};
      event_.offset = read_ - 1;
    }
    open_.push_back(object_begun());
    return true;
  }
  bool end_array() { return end(); }
  bool end_object() {
    if (inside(Part::event)) take_(event_);
    return end();
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
    complaint = error.what();
    return false;
  }

  /// Whether an array of events was read up to the end of an event.
  bool only_unclosed() const { return open_ == std::vector{Part::events}; }

  TraceHeader header;
  std::string complaint;
  bool found = false;

 private:
  enum class Part { root, events, event, arguments, distributed, other };

  bool inside(Part part) const { return !open_.empty() && open_.back() == part; }

  Part object_begun() const {
    if (open_.empty()) return Part::root;
    if (inside(Part::events)) return Part::event;
    if (inside(Part::event) && key_ == "args") return Part::arguments;
    if (inside(Part::root) && key_ == "distributedInfo") return Part::distributed;
    return Part::other;
  }

  bool end() {
    open_.pop_back();
    return true;
  }

  template <class Number>
  bool number(Number value) {
    if (inside(Part::event) && key_ == "ts") event_.begin = static_cast<double>(value);
    if (inside(Part::event) && key_ == "dur") event_.duration = static_cast<double>(value);
    return label(number_text(static_cast<double>(value)));
  }

  bool label(const std::string& text) {
    if (inside(Part::event) && key_ == "pid") event_.process = text;
    if (inside(Part::event) && key_ == "tid") event_.thread = text;
    if (inside(Part::distributed) && key_ == "rank") header.rank = text;
    return true;
  }

  const std::size_t& read_;
  const std::function<void(TraceEvent&)>& take_;
  std::vector<Part> open_;
  std::string key_;
  TraceEvent event_;
};

/// Without the library's own name and place.
std::string syntax_complaint(const std::string& what) {
  const auto at = what.find(": ");
  return at == std::string::npos ? what : "is no JSON: " + what.substr(at + 2);
}

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
  std::size_t read = 0;
  Handler handler(read, take);
  const char* end = text.data() + text.size();
  const bool whole = Json::sax_parse(Counted(text.data(), &read), Counted(end, &read), &handler);
  const bool at_end = text.substr(std::min(read, text.size())).empty();
  if (!whole && !(handler.only_unclosed() && at_end)) {
    throw event_error(file, text, read == 0 ? 0 : read - 1, syntax_complaint(handler.complaint));
  }
  if (!handler.found) {
    throw TraceError("path", file.string() + ": has no trace events",
                     "a JSON array of events, or an object with a list \"traceEvents\"");
  }
  return handler.header;
}

}  // namespace gradrace
