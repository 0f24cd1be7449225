#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/cli/results/curve_recorder.h"
#include "sim/cli/results/observers.h"
#include "sim/cli/results/spool.h"
#include "sim/cli/scenario/record.h"

namespace gradrace {

/// What the files of results have of one run.
using RunTexts = std::map<std::string_view, Spool>;  // [file]

/// Follows one run for the files that its scenario wants of it.
class RunRecorders {
 public:
  /// The point and the file must outlive it.
  RunRecorders(const RunId& run, const Point& point, SpoolFile& file);

  Observer* observer() { return made_.empty() ? nullptr : &observers_; }
  CurveRecorder& curve() { return curve_; }

  /// Of the files that are written while it runs.
  RunTexts& texts() { return texts_; }

 private:
  RunTexts texts_;
  CurveRecorder curve_;
  std::vector<std::unique_ptr<Observer>> made_;
  Observers observers_;
};

}  // namespace gradrace
