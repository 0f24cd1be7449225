#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/per_learner.h"
#include "sim/reading/locator.h"

namespace gradrace {

/// Whether a key must stand in the file.  `defaulted`: the value that the variable has is the
/// default.  `none`: without the key there is no value.
enum class Need { required, defaulted, none };

/// What a number may be.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_allowed = true;
  bool high_allowed = true;
  std::string_view high_name = {};  // the key that `high` comes from, if it comes from one
};

inline Range anything() { return {}; }
inline Range positive() { return {.low = 0, .low_allowed = false}; }
inline Range at_least(double low) { return {.low = low}; }
inline Range greater_than(double low) { return {.low = low, .low_allowed = false}; }
inline Range between(double low, double high, std::string_view high_name = {}) {
  return {.low = low, .high = high, .high_name = high_name};
}
/// low <= x < high
inline Range from_below(double low, double high) {
  return {.low = low, .high = high, .high_allowed = false};
}

/// What is said of a key that has one value, or a list of numbers.
struct Key {
  std::string_view name;
  Need need;
  std::string_view meaning;
  Range range = {};                                // of each number
  std::span<const std::string_view> allowed = {};  // words to choose from; empty: any text
  std::string_view instead = {};  // "null", or a word: may stand in place of a number
};
/// The variable that has the default, and gets the value.
using Variable = std::variant<double*, std::uint64_t*, bool*, std::string*, std::vector<double>*>;

/// What those that may be absent are then.
inline constexpr std::uint64_t no_integer = std::numeric_limits<std::uint64_t>::max();
inline constexpr double no_real = std::numeric_limits<double>::quiet_NaN();

/// One of the two numbers of a pair.
struct PairPart {
  std::string_view name;
  Range range;
};

/// How a value is written.  A list is one of pairs if its first item is a list, else of numbers.
enum class Form { number, list, numbers, pairs, object };

/// Names to choose from, and the key that chooses.
struct Kinds {
  std::string_view catalog;        // "distributions"
  std::string_view discriminator;  // "distribution"
  std::span<const std::string_view> names;
  std::string_view otherwise = {};  // without the key; empty: it must be there
  bool tacit = false;  // without the key it is not in the resolved document either, nor asked for
};

/// The one list of a config's keys, walked by whoever needs it: the reader (JSON to struct, every
/// check, and the resolved JSON with defaults filled in) and the reference (keys, defaults, ranges
/// and meanings for `list` and `schema`).
///
/// A config is a plain struct; one function visits its fields in order.  Numbers that break their
/// range, keys that are missing, unknown or of the wrong type are noted as errors and the walk goes
/// on, so that one run shows all of them.
class Fields {
 public:
  virtual ~Fields() = default;

  virtual void visit(const Key& key, Variable variable) = 0;
  void real(std::string_view key, double& value, Need need, Range range, std::string_view meaning) {
    visit({key, need, meaning, range}, &value);
  }
  void integer(std::string_view key, std::uint64_t& value, Need need, Range range,
               std::string_view meaning) {
    visit({key, need, meaning, range}, &value);
  }
  void flag(std::string_view key, bool& value, Need need, std::string_view meaning) {
    visit({key, need, meaning}, &value);
  }
  void text(std::string_view key, std::string& value, Need need, std::string_view meaning) {
    visit({key, need, meaning}, &value);
  }
  /// One of a few words.
  void choice(std::string_view key, std::string& value, std::span<const std::string_view> allowed,
              Need need, std::string_view meaning) {
    visit({key, need, meaning, {}, allowed}, &value);
  }
  /// One of two words, the first by default: whether it is the second.
  bool second_of(std::string_view key, std::string_view first, std::string_view second,
                 std::string_view meaning) {
    const std::string_view words[] = {first, second};
    std::string word(first);
    choice(key, word, words, Need::defaulted, meaning);
    return word == second;
  }
  /// An array of numbers; a single number is read as an array of one.
  void reals(std::string_view key, std::vector<double>& values, Need need, Range range,
             std::string_view meaning) {
    visit({key, need, meaning, range}, &values);
  }
  /// The name of a file or folder.  That it is there is for the kind to check.
  virtual void path(std::string_view key, Location& location, Need need,
                    std::string_view meaning) = 0;

  /// An array of arrays of two numbers.
  virtual void pairs(std::string_view key, std::vector<std::array<double, 2>>& values, Need need,
                     const PairPart& first, const PairPart& second, std::string_view meaning) = 0;

  /// A number that may be absent.
  void real(std::string_view key, std::optional<double>& value, Range range,
            std::string_view meaning) {
    double number = no_real;
    real(key, number, Need::none, range, meaning);
    if (number == number) value = number;
  }
  void integer(std::string_view key, std::optional<std::uint64_t>& value, Range range,
               std::string_view meaning) {
    std::uint64_t number = no_integer;
    integer(key, number, Need::none, range, meaning);
    if (number != no_integer) value = number;
  }
  /// A number, by default the one that is there, in place of which "null" or a word may stand for
  /// none.
  void real(std::string_view key, std::optional<double>& value, std::string_view instead,
            Range range, std::string_view meaning) {
    double number = *value;
    visit({key, Need::defaulted, meaning, range, {}, instead}, &number);
    value = number == number ? std::optional(number) : std::nullopt;
  }
  void integer(std::string_view key, std::optional<std::uint64_t>& value, std::string_view instead,
               Range range, std::string_view meaning) {
    std::uint64_t number = *value;
    visit({key, Need::defaulted, meaning, range, {}, instead}, &number);
    value = number != no_integer ? std::optional(number) : std::nullopt;
  }
  void integer(std::string_view key, std::uint32_t& value, Need need, Range range,
               std::string_view meaning) {
    constexpr double most = std::numeric_limits<std::uint32_t>::max();
    if (range.high > most) range.high = most;
    std::uint64_t number = value;
    integer(key, number, need, range, meaning);
    value = static_cast<std::uint32_t>(number);
  }
  /// An array of whole numbers; a single one is read as an array of one.
  void integers(std::string_view key, std::vector<std::uint64_t>& values, Need need, Range range,
                std::string_view meaning) {
    std::vector<double> numbers(values.begin(), values.end());
    reals(key, numbers, need, range, meaning);
    for (const double x : numbers) {
      if (x != std::floor(x)) return complain(key, "must be whole numbers");
    }
    values.assign(numbers.begin(), numbers.end());
  }

  /// A whole number, or a list with one for each learner, whose length check_learners() looks at.
  void per_learner(std::string_view key, PerLearner& value, Need need, Range range,
                   std::string_view meaning, std::string_view of_list) {
    constexpr double most = std::numeric_limits<std::uint32_t>::max();
    if (range.high > most) range.high = most;
    if (is(key, Form::number) || !is(key, Form::list)) {
      std::uint32_t number = value[0];
      integer(key, number, need, range, meaning);
      value = number;
    }
    if (!is(key, Form::list)) return;
    std::vector<std::uint64_t> numbers;
    integers(key, numbers, Need::none, range, of_list);
    if (numbers.empty()) {
      if (good()) complain(key, "must hold at least one number, got none");
      return;
    }
    value = PerLearner(std::vector<std::uint32_t>(numbers.begin(), numbers.end()));
  }
  /// Complains of a list at `key` that has not one number for each of so many learners.
  bool check_learners(std::string_view key, const PerLearner& value, std::uint32_t learners) {
    const std::size_t listed = value.listed().value_or(learners);
    if (listed == learners) return true;
    complain(key,
             "has " + std::to_string(listed) + " numbers, and there are " +
                 std::to_string(learners) + " learners (cluster.learners)",
             "a number, or a list of " + std::to_string(learners));
    return false;
  }

  /// An object of any keys and values, as JSON text; as it is where it is absent.
  virtual void any_object(std::string_view key, std::string& json, std::string_view meaning) = 0;

  /// A nested object.  True: its fields come next, then close().
  virtual bool open(std::string_view key, Need need, std::string_view meaning) = 0;
  /// A nested object whose discriminator chooses one of the names; see read_kind().
  virtual std::optional<std::size_t> open_kind(std::string_view key, const Kinds& kinds, Need need,
                                               std::string_view meaning) = 0;
  /// An array of those; its length, and close() if that is not 0; see read_kinds().
  virtual std::size_t open_kinds(std::string_view key, const Kinds& kinds, Need need,
                                 std::string_view meaning) = 0;
  virtual std::optional<std::size_t> next_kind(std::size_t index) = 0;
  /// An array of plain objects; its length, and close() if that is not 0.  For each index in turn
  /// open_item(), the item's fields, close().
  virtual std::size_t open_list(std::string_view key, Need need, std::string_view meaning) = 0;
  virtual void open_item(std::size_t index) = 0;
  /// Ends the object or array opened last.
  virtual void close() = 0;

  /// A complaint that no single range can express, at a key of the open object or at the dotted
  /// path of one further in; `allowed` may be empty.
  virtual void complain(std::string_view key, std::string what, std::string allowed = {}) = 0;

  /// Complains unless the open object has one of two keys, and one alone.
  void need_one(std::string_view key, std::string_view other, std::string_view of_other = {}) {
    if (has(key) != has(other)) return;
    complain(has(key) ? other : "", "needs one of two keys",
             std::string(key) + ", " + std::string(other) + std::string(of_other));
  }

  /// Complains of a file or folder that is not there.
  virtual void lacks(std::string_view key, const MissingPlace& place) = 0;

  /// A key, found as that of complain(), which says nothing beside what other keys say, or says
  /// something: a complaint if it says nothing at every point of a sweep that has it.
  virtual void idle(std::string_view key, bool says_nothing, std::string what,
                    std::string allowed = {}) = 0;

  /// True if the open object has the key.  Always false for the reference.
  virtual bool has(std::string_view key) const = 0;

  /// A key may have one of several forms, each visited where `is` says so.  What is neither a list
  /// nor an object, or is not there, counts as a number.  Always true for the reference.
  virtual bool is(std::string_view key, Form form) const = 0;

  /// True when the open object was read without an error so far: make the product.  Always false
  /// for the reference.
  virtual bool good() const = 0;
};

}  // namespace gradrace
