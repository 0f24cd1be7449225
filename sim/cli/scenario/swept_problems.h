#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/reading/problem.h"
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

}  // namespace gradrace
