#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sim/reading/document.h"
#include "sim/reading/reader.h"

namespace gradrace {

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
