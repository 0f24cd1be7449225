#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gradrace {

/// What is said of a key that must be there.
inline constexpr std::string_view missing_key = "required key is missing";

/// One complaint about a scenario.
struct Problem {
  std::string origin;    // "scenarios/bad.json", or "--set protocol.k=9"
  std::size_t line = 0;  // from 1; 0 where the origin has no lines
  std::size_t column = 0;
  std::string path;              // dotted: "protocol.k", "parts[0].mean"; empty for the whole file
  std::string what;              // "must be >= 1, got 0"
  std::string meaning = {};      // empty, or what the key is for
  std::string allowed = {};      // empty, or what would be right
  std::string suggestion = {};   // empty, or the nearest right name
  bool of_missing_file = false;  // the scenario may be right, but names a file that is not there

  /// origin:line:column: path
  std::string place() const;

  /// origin:line:column: error: path: what; it is: meaning, then a line each for `allowed` and
  /// `did you mean "..."?`, both indented; printable().
  std::string text() const;
};

/// Sorts by place, what has no line last, and keeps one of equals.
void sort_by_place(std::vector<Problem>& problems);

/// The user's mistakes, all of them, sorted by place.  what() is their texts, a line break between;
/// of a key with more than 20 the first 20 and the number of the others; of the values that
/// one place makes the first and how many more.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

}  // namespace gradrace
