#include "sim/reading/reader.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/check.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"
#include "sim/reading/edit_distance.h"
#include "sim/reading/json_places.h"
#include "sim/reading/quantity.h"
#include "sim/reading/reference.h"

namespace gradrace {

using nlohmann::ordered_json;

namespace {

/// An object or array that is open, the root first.
struct Open {
  const ordered_json* found;  // null if it is absent: then every key is
  std::string pointer;        // where it stands
  ordered_json* resolved;     // what is written down of it
  std::size_t problems_before;
  std::vector<std::string> known = {};  // keys visited or passed
  Kinds kinds = {};                     // of an array's items
  std::string unasked = {};             // a key that may be there, and that no message lists
  bool is_guess = false;                // its kind is near to the word that stands there, no slip
};

/// The first 40 characters of the value's compact JSON.
std::string shown(const ordered_json& value) {
  const std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_one = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (starts_one && ++characters > 40) return text.substr(0, i) + "...";
  }
  return text;
}

/// The object that a number alone may stand for; empty where there is none.
std::string of_number(std::string_view catalog, const std::string& number) {
  if (catalog == "stop") return R"({"time": )" + number + "}";
  if (catalog == "distributions")
    return R"({"distribution": "deterministic", "value": )" + number + "}";
  if (catalog == "learning-rates") return R"({"kind": "constant", "eta": )" + number + "}";
  return {};
}

std::string got(const ordered_json& value) { return ", got " + shown(value); }

std::string or_that(std::string_view instead) {
  return instead.empty() ? "" : " or " + std::string(instead);
}

/// What is right of a text that begins with a number; empty if it is none.
std::string without_quotes(const ordered_json& value) {
  return value.is_string() ? number_for(value.get_ref<const std::string&>()) : "";
}

bool within(double x, const Range& range) {
  const bool above = range.low_allowed ? x >= range.low : x > range.low;
  const bool below = range.high_allowed ? x <= range.high : x < range.high;
  return above && below;
}

/// ">= 1", "1 to 8 (cluster.learners)"
std::string allowed_range(const Range& range, double x) {
  std::string high = json_number(range.high);
  if (!range.high_name.empty()) high += " (" + std::string(range.high_name) + ")";
  const bool too_high = range.high_allowed ? !(x <= range.high) : !(x < range.high);
  const std::string text = range_text(range, high);
  return too_high && text.find(high) == std::string::npos ? "<= " + high : text;
}

std::optional<std::size_t> place_of(std::string_view name,
                                    std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  return static_cast<std::size_t>(found - names.begin());
}

/// A default as the resolved document shows it.
ordered_json whole_if_possible(double value) { return ordered_json::parse(json_number(value)); }

}  // namespace

struct Reader::State {
  const Document& document;
  const Locator locator;
  ordered_json resolved = ordered_json::object();
  std::vector<Problem> problems = {};
  std::vector<ExaminedKey> examined = {};
  std::vector<std::string> defaults = {};
  std::deque<Open> open = {};  // none moves when another is opened
  bool root_is_object = true;

  Open& top() { return open.back(); }

  std::string pointer(std::string_view key) { return child_pointer(top().pointer, key); }

  /// Of a key of the open object, or one further in at that dotted path.
  std::string pointer_along(std::string_view path) {
    return top().pointer + (path.empty() ? "" : gradrace::pointer_along(path));
  }

  void note(std::string_view pointer, std::string what, std::string allowed = {},
            std::string_view suggestion = {}, std::string_view meaning = {}) {
    if (!root_is_object && !problems.empty()) return;
    auto problem = document.problem(pointer, std::move(what));
    problem.allowed = std::move(allowed);
    problem.suggestion = suggestion;
    problem.meaning = meaning;
    problems.push_back(std::move(problem));
  }

  /// The value of a key of the open object; null if there is none, which is noted if there must be
  /// one.
  const ordered_json* find(const Key& key) {
    top().known.emplace_back(key.name);
    if (top().found != nullptr) {
      const auto value = top().found->find(std::string(key.name));
      if (value != top().found->end()) return &*value;
    }
    const bool is_no_object = top().found != nullptr && !top().found->is_object();
    if (key.need == Need::required && !is_no_object && !reads_a_guess())
      note(pointer(key.name), std::string(missing_key), {}, {}, key.meaning);
    if (key.need == Need::defaulted) defaults.push_back(pointer(key.name));
    return nullptr;
  }

  /// What a guessed kind requires, the file need not have.
  bool reads_a_guess() const { return std::ranges::any_of(open, &Open::is_guess); }

  void write(std::string_view key, ordered_json value) {
    (*top().resolved)[std::string(key)] = std::move(value);
  }

  void note_default(const Key& key, bool is_default) {
    if (key.need == Need::defaulted && is_default) defaults.push_back(pointer(key.name));
  }

  void push(const ordered_json* found, std::string pointer, ordered_json* slot) {
    open.push_back({found, std::move(pointer), slot, problems.size()});
  }

  std::optional<double> real(const ordered_json& value, const std::string& pointer,
                             const Range& range, std::string_view instead = {}) {
    if (!value.is_number()) {
      note(pointer, "expected a number" + or_that(instead) + got(value), without_quotes(value));
      return {};
    }
    const auto x = value.get<double>();
    if (!std::isfinite(x)) {
      note(pointer, "must be finite" + got(value));
    } else if (!within(x, range)) {
      note(pointer, "must be " + allowed_range(range, x) + got(value));
    } else {
      return x;
    }
    return {};
  }

  std::optional<std::uint64_t> integer(const ordered_json& value, const std::string& pointer,
                                       Range range, std::string_view instead) {
    if (range.low < 0) range.low = 0, range.low_allowed = true;
    if (!value.is_number()) {
      note(pointer, "expected a whole number" + or_that(instead) + got(value),
           without_quotes(value));
      return {};
    }
    const auto x = value.get<double>();
    if (!(x == std::floor(x))) {
      note(pointer, "must be a whole number" + got(value));
    } else if (!within(x, range)) {
      note(pointer, "must be " + allowed_range(range, x) + got(value));
    } else if (value.is_number_float() && !(x < 0x1p64)) {
      note(pointer, "must be a whole number below 2^64" + got(value));
    } else if (value.is_number_unsigned() && range.high < 0x1p64 &&
               value.get<std::uint64_t>() > static_cast<std::uint64_t>(range.high)) {
      note(pointer, "must be " + allowed_range(range, 0x1p64) + got(value));
    } else if (value.is_number_float()) {
      return static_cast<std::uint64_t>(x);
    } else {
      return value.get<std::uint64_t>();
    }
    return {};
  }

  bool is_object(const ordered_json& value, const std::string& pointer,
                 std::string_view meaning = {}, std::string_view key = {}) {
    if (value.is_object()) return true;
    const std::string allowed = value.is_number() ? of_number(key, value.dump()) : "";
    note(pointer, "expected an object" + got(value), allowed, {}, meaning);
    return false;
  }

  /// The index of the word among the names, an error if it is not there.
  std::optional<std::size_t> choose(const ordered_json& word, const std::string& pointer,
                                    std::span<const std::string_view> names) {
    if (!word.is_string()) {
      note(pointer, "expected a string" + got(word), joined(names));
      return {};
    }
    const auto& text = word.get_ref<const std::string&>();
    const auto place = place_of(text, names);
    if (!place)
      note(pointer, "unknown value " + shown(word), joined(names), nearest_name(text, names));
    return place;
  }

  void note_missing_kind(const ordered_json* object, const std::string& pointer,
                         const Kinds& kinds) {
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : object->items()) keys.push_back(key);
    const std::string discriminator(kinds.discriminator);
    const std::string_view nearest = nearest_name(discriminator, keys);
    if (nearest.empty())
      return note(child_pointer(pointer, discriminator), std::string(missing_key),
                  joined(kinds.names));
    note(child_pointer(pointer, std::string(nearest)), "unknown key",
         discriminator + " (" + joined(kinds.names) + ")", discriminator);
  }

  /// Opens the object, which may be absent where there is a kind without it, if its discriminator
  /// names a kind.  One that names none is a problem of the object, whose keys are then read as
  /// those of the nearest kind.
  std::optional<std::size_t> open_kind(const ordered_json* value, const std::string& pointer,
                                       const Kinds& kinds, ordered_json* slot) {
    const std::string discriminator(kinds.discriminator);
    if (value != nullptr && !value->is_object()) {
      std::string allowed;
      if (value->is_string()) {
        const auto name = nearest_name(value->get_ref<const std::string&>(), kinds.names);
        const std::string kind(name.empty() ? "..." : name);
        allowed = "{\"" + discriminator + "\": \"" + kind + "\"}";
      }
      if (value->is_number()) allowed = of_number(kinds.catalog, value->dump());
      note(pointer, "expected an object" + got(*value), allowed);
      return {};
    }
    const std::string word_pointer = child_pointer(pointer, discriminator);
    ordered_json word = kinds.otherwise;
    if (value != nullptr && value->contains(discriminator)) {
      word = value->at(discriminator);
    } else if (kinds.otherwise.empty()) {
      note_missing_kind(value, pointer, kinds);
      return {};
    }
    const std::size_t problems_before = problems.size();
    auto chosen = choose(word, word_pointer, kinds.names);
    bool is_guess = false;
    if (!chosen && word.is_string()) {
      const auto& text = word.get_ref<const std::string&>();
      const std::string_view nearest = nearest_name(text, kinds.names);
      chosen = place_of(nearest, kinds.names);
      constexpr std::size_t letters_for_a_slip = 4;
      is_guess = letters_for_a_slip * edit_distance(text, nearest) >= text.size();
    }
    if (!chosen) return {};
    push(value, pointer, slot);
    top().problems_before = problems_before;
    top().is_guess = is_guess;
    if (kinds.tacit && !(value != nullptr && value->contains(discriminator))) {
      top().unasked = discriminator;
      return chosen;
    }
    top().known.push_back(discriminator);
    write(discriminator, word);
    return chosen;
  }

  /// Of a key whose name was written wrong: it is said once, where it stands.
  void withdraw_missing(std::string_view key) {
    const Problem missing = document.problem(pointer(key), std::string(missing_key));
    std::erase_if(problems, [&](const Problem& problem) {
      return problem.path == missing.path && problem.what == missing.what;
    });
  }

  void refuse_unknown_keys() {
    const Open& object = top();
    if (object.found == nullptr || !object.found->is_object()) return;
    const std::vector<std::string_view> known(object.known.begin(), object.known.end());
    std::vector<std::string_view> similar = known;
    if (!object.unasked.empty()) similar.push_back(object.unasked);
    for (const auto& [key, value] : object.found->items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const std::string_view nearest = nearest_name(key, similar);
      if (!nearest.empty()) withdraw_missing(nearest);
      note(pointer(key), "unknown key", joined(known), nearest);
    }
  }

  /// Adds an empty value to the resolved document.
  ordered_json* add(std::string_view key, ordered_json empty) {
    auto& slot = (*top().resolved)[std::string(key)];
    slot = std::move(empty);
    return &slot;
  }

  /// Whether what stands there is what may stand in place of a number.
  static bool is_instead(const Key& key, const ordered_json& value) {
    if (key.instead.empty()) return false;
    return key.instead == "null" ? value.is_null() : value == key.instead;
  }

  void read(const Key& key, double& value) {
    if (const auto* found = find(key)) {
      if (is_instead(key, *found)) {
        value = no_real;
        return write(key.name, *found);
      }
      if (const auto number = real(*found, pointer(key.name), key.range, key.instead)) {
        note_default(key, *number == value);
        value = *number;
        write(key.name, *found);
      }
    } else if (key.need == Need::defaulted && std::isfinite(value)) {
      write(key.name, whole_if_possible(value));
    }
  }

  void read(const Key& key, std::uint64_t& value) {
    // Of optional integers, whose mark for "absent" is 2^64 - 1 (fields.h).
    constexpr double most = std::uint64_t{1} << 53;
    if (const auto* found = find(key)) {
      if (is_instead(key, *found)) {
        value = no_integer;
        return write(key.name, *found);
      }
      Range range = key.range;
      if (key.need == Need::none && found->is_number() && found->get<double>() > most)
        range.high = std::min(range.high, most);
      if (const auto number = integer(*found, pointer(key.name), range, key.instead)) {
        note_default(key, *number == value);
        value = *number;
        write(key.name, *number);
      }
    } else if (key.need == Need::defaulted) {
      write(key.name, value);
    }
  }

  void read(const Key& key, bool& value) {
    if (const auto* found = find(key)) {
      if (!found->is_boolean())
        return note(pointer(key.name), "expected true or false" + got(*found));
      note_default(key, found->get<bool>() == value);
      value = found->get<bool>();
    } else if (key.need != Need::defaulted) {
      return;
    }
    write(key.name, value);
  }

  /// A text, or one of the words that are allowed.
  void read(const Key& key, std::string& value) {
    if (const auto* found = find(key)) {
      if (key.allowed.empty()) {
        if (!found->is_string()) return note(pointer(key.name), "expected a string" + got(*found));
        value = found->get<std::string>();
      } else {
        const auto chosen = choose(*found, pointer(key.name), key.allowed);
        if (!chosen) return;
        note_default(key, key.allowed[*chosen] == value);
        value = key.allowed[*chosen];
      }
    } else if (key.need != Need::defaulted) {
      return;
    }
    write(key.name, value);
  }

  void read(const Key& key, std::vector<double>& values) {
    const auto* found = find(key);
    if (found == nullptr) {
      if (key.need != Need::defaulted) return;
      auto* items = add(key.name, ordered_json::array());
      for (const double value : values) items->push_back(whole_if_possible(value));
      return;
    }
    const std::string at = pointer(key.name);
    if (!found->is_array() && !found->is_number())
      return note(at, "expected a number or an array of numbers" + got(*found),
                  without_quotes(*found));
    std::vector<double> numbers;
    if (found->is_number()) {
      if (const auto number = real(*found, at, key.range)) numbers.push_back(*number);
      if (numbers.empty()) return;
    } else {
      for (std::size_t i = 0; i < found->size(); ++i)
        if (const auto number = real((*found)[i], child_pointer(at, std::to_string(i)), key.range))
          numbers.push_back(*number);
      if (numbers.size() != found->size()) return;
    }
    values = std::move(numbers);
    write(key.name, *found);
  }
};

Reader::Reader(const Document& document, Locator locator)
    : state_(std::make_unique<State>(State{document, std::move(locator)})) {
  const auto& root = document.root();
  state_->root_is_object = root.is_object();
  state_->push(root.is_object() ? &root : nullptr, "", &state_->resolved);
  state_->is_object(root, "");
}

Reader::~Reader() = default;

void Reader::visit(const Key& key, Variable variable) {
  std::visit([&](auto* value) { state_->read(key, *value); }, variable);
}

void Reader::path(std::string_view key, Location& location, Need need, std::string_view meaning) {
  std::string name = location.name;
  text(key, name, need, meaning);
  const std::string control = control_character(name);
  if (!control.empty())
    return complain(key, "names a file or folder, and has " + control, "no control characters");
  location = state_->locator.find(name);
}

void Reader::pairs(std::string_view key, std::vector<std::array<double, 2>>& values, Need need,
                   const PairPart& first, const PairPart& second, std::string_view meaning) {
  const auto* found = state_->find({key, need, meaning});
  if (found == nullptr) return;
  const std::string pointer = state_->pointer(key);
  const std::string pair = "[" + std::string(first.name) + ", " + std::string(second.name) + "]";
  if (!found->is_array())
    return state_->note(pointer, "expected an array of pairs " + pair + got(*found));
  std::vector<std::array<double, 2>> read;
  for (std::size_t i = 0; i < found->size(); ++i) {
    const auto& item = (*found)[i];
    const std::string at = child_pointer(pointer, std::to_string(i));
    if (!item.is_array() || item.size() != 2) {
      state_->note(at, "expected a pair " + pair + got(item));
      continue;
    }
    const auto a = state_->real(item[0], child_pointer(at, "0"), first.range);
    const auto b = state_->real(item[1], child_pointer(at, "1"), second.range);
    if (a && b) read.push_back({*a, *b});
  }
  if (read.size() != found->size()) return;
  values = std::move(read);
  state_->write(key, *found);
}

void Reader::any_object(std::string_view key, std::string& json, std::string_view meaning) {
  const auto* found = state_->find({key, Need::none, meaning});
  if (found == nullptr || !state_->is_object(*found, state_->pointer(key), meaning, key)) return;
  json = found->dump();
  state_->write(key, *found);
}

bool Reader::open(std::string_view key, Need need, std::string_view meaning) {
  const auto* found = state_->find({key, need, meaning});
  const std::string pointer = state_->pointer(key);
  if (found == nullptr && need != Need::defaulted) return false;
  if (found != nullptr && !state_->is_object(*found, pointer, meaning, key)) return false;
  state_->push(found, pointer, state_->add(key, ordered_json::object()));
  return true;
}

std::optional<std::size_t> Reader::open_kind(std::string_view key, const Kinds& kinds, Need need,
                                             std::string_view meaning) {
  const auto* found = state_->find({key, need, meaning});
  if (found == nullptr && (need != Need::defaulted || kinds.otherwise.empty())) return {};
  return state_->open_kind(found, state_->pointer(key), kinds,
                           state_->add(key, ordered_json::object()));
}

std::size_t Reader::open_list(std::string_view key, Need need, std::string_view meaning) {
  const auto* found = state_->find({key, need, meaning});
  if (found == nullptr && need != Need::defaulted) return 0;
  const std::string pointer = state_->pointer(key);
  if (found != nullptr && !found->is_array()) {
    state_->note(pointer, "expected an array" + got(*found));
    return 0;
  }
  auto* items = state_->add(key, ordered_json::array());
  if (found == nullptr || found->empty()) return 0;
  state_->push(found, pointer, items);
  return found->size();
}

void Reader::open_item(std::size_t index) {
  const Open& array = state_->top();
  const ordered_json& item = (*array.found)[index];
  const std::string pointer = child_pointer(array.pointer, std::to_string(index));
  array.resolved->push_back(ordered_json::object());
  state_->push(&item, pointer, &array.resolved->back());
  state_->is_object(item, pointer);
}

std::size_t Reader::open_kinds(std::string_view key, const Kinds& kinds, Need need,
                               std::string_view meaning) {
  const std::size_t length = open_list(key, need, meaning);
  if (length > 0) state_->top().kinds = kinds;
  return length;
}

std::optional<std::size_t> Reader::next_kind(std::size_t index) {
  const Open& array = state_->top();
  const std::string pointer = child_pointer(array.pointer, std::to_string(index));
  array.resolved->push_back(ordered_json::object());
  return state_->open_kind(&(*array.found)[index], pointer, array.kinds, &array.resolved->back());
}

void Reader::close() {
  GRADRACE_CHECK(state_->open.size() > 1, "nothing is open but the root");
  state_->refuse_unknown_keys();
  state_->open.pop_back();
}

void Reader::complain(std::string_view key, std::string what, std::string allowed) {
  state_->note(state_->pointer_along(key), std::move(what), std::move(allowed));
}

void Reader::lacks(std::string_view key, const MissingPlace& place) {
  complain(key, place.text());
  state_->problems.back().of_missing_file = true;
}

void Reader::idle(std::string_view key, bool says_nothing, std::string what, std::string allowed) {
  const std::string pointer = state_->pointer_along(key);
  if (!state_->document.root().contains(ordered_json::json_pointer(pointer))) return;
  Problem problem = state_->document.problem(pointer, std::move(what));
  problem.allowed = std::move(allowed);
  state_->examined.push_back({pointer, std::move(problem), says_nothing});
}

bool Reader::good() const { return state_->problems.size() == state_->top().problems_before; }

void Reader::pass(std::string_view key) {
  if (const auto* found = state_->find({key, Need::none, ""})) state_->write(key, *found);
}

bool Reader::has(std::string_view key) const {
  const auto* found = state_->top().found;
  return found != nullptr && found->contains(std::string(key));
}

bool Reader::is(std::string_view key, Form form) const {
  if (!has(key)) return form == Form::number;
  const ordered_json& value = state_->top().found->at(std::string(key));
  if (value.is_array()) {
    const bool pairs = !value.empty() && value.front().is_array();
    return form == Form::list || form == (pairs ? Form::pairs : Form::numbers);
  }
  return form == (value.is_object() ? Form::object : Form::number);
}

std::vector<Problem> Reader::finish() {
  GRADRACE_CHECK(state_->open.size() == 1, "an object was not closed");
  state_->refuse_unknown_keys();
  auto problems = state_->document.problems();
  problems.insert(problems.end(), state_->problems.begin(), state_->problems.end());
  sort_by_place(problems);
  return problems;
}

const std::vector<ExaminedKey>& Reader::examined() const { return state_->examined; }

const std::vector<std::string>& Reader::defaults() const { return state_->defaults; }

const ordered_json& Reader::resolved() const { return state_->resolved; }

}  // namespace gradrace
