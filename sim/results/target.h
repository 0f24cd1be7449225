#pragma once

#include <string>
#include <string_view>

namespace gradrace {

/// A level that is waited for.
struct Target {
  std::string_view of;     // "loss" or "test_error": a column of curve.csv
  double level;            // reached where that is at it or below
  std::string column;      // of runs.csv, with the time of the first evaluation that reached it
  std::string resolution;  // of runs.csv, with the time since the evaluation before
};

}  // namespace gradrace
