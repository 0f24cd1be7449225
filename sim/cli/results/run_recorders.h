#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/cli/results/curve_recorder.h"
#include "sim/cli/results/observers.h"
#include "sim/cli/results/run_result.h"
#include "sim/cli/results/spool.h"
#include "sim/cli/scenario/record.h"

namespace gradrace {

/// What the files of results have of one run.
using RunTexts = std::map<std::string_view, Spool>;  // [file]

/// Follows one run for the files that its scenario wants of it.
class RunRecorders {
 public:
  /// The point and the file must outlive it.
  RunRecorders(std::uint32_t replica, const Point& point, SpoolFile& file);

  Observer* observer() { return made_.empty() ? nullptr : &observers_; }
  CurveRecorder& curve() { return curve_; }

  /// The run is over: what its row says.  The rows of its learners and stalenesses follow.
  RunResult finish(const RunRecord& record);

  const RunTexts& texts() const { return texts_; }

 private:
  Spool& text_of(std::string_view file) { return texts_.try_emplace(file, file_).first->second; }

  const std::uint32_t replica_;
  const Point& point_;
  SpoolFile& file_;
  RunTexts texts_;
  CurveRecorder curve_;
  std::vector<std::unique_ptr<Observer>> made_;
  Observers observers_;
};

}  // namespace gradrace
