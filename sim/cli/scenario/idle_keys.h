#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/reading/reader.h"

namespace gradrace {

/// Keys that may say nothing, over the points of a scenario.
class IdleKeys {
 public:
  /// What the reader of one point has examined.
  void add(std::span<const ExaminedKey> keys);

  /// Of each key that says nothing at any point that has it, that of the first.
  std::vector<Problem> problems() const;

 private:
  struct Found {
    Problem first;
    bool says_something = false;
  };
  std::map<std::string, Found> found_;  // [place]
};

}  // namespace gradrace
