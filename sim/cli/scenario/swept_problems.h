#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sim/cli/scenario/sweep.h"
#include "sim/reading/document.h"
#include "sim/reading/problem.h"
#include "sim/reading/reader.h"
#include "sim/results/swept_value.h"

namespace gradrace {

/// The problems of the points of a sweep.  One that only some protocols of the sweep have, at a key
/// that is not swept, says which, and that the key can be swept with them.
class SweptProblems {
 public:
  /// paths: the swept ones.
  explicit SweptProblems(std::vector<std::string> paths);

  /// Those of the next point, which has these settings.
  void add(const std::vector<SweptValue>& settings, const std::vector<Problem>& problems);

  std::vector<Problem> problems() const;

 private:
  using Values = std::vector<std::set<std::string>>;  // [path]
  struct Found {
    Problem problem;
    Values values;  // of the points that have it
  };
  Problem explained(const Found& found) const;

  const std::vector<std::string> paths_;
  Values values_;  // of all points
  std::vector<Found> found_;
  std::map<std::string, std::size_t> places_;  // [text]: in found_
};

/// Mistakes in values that no point has, because the sweep sets another one there: the file's own,
/// and parts of what an earlier path sets.  A value is fine if it is at one of the points in place
/// of what the sweep sets.  `read`: the problems of a document.
std::vector<Problem> problems_of_covered_values(
    const Sweep& sweep, const std::function<std::vector<Problem>(const Document&)>& read);

/// Keys that say nothing, over the points of a scenario.
class IdleKeys {
 public:
  /// What the reader of one point has examined: a key is idle there if one rule says so.
  void add(std::span<const ExaminedKey> keys);

  /// Whether its keys say something is not known, as the point has other problems.
  void spare(const Document& unsound);

  /// Of each key that is idle at every point that has it, that of the first.
  std::vector<Problem> problems() const;

 private:
  std::map<std::string, ExaminedKey> idle_;  // [place]
  std::set<std::string> at_work_;            // places
};

}  // namespace gradrace
