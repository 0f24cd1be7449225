#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/cli/output/spool.h"
#include "sim/cli/results/curve_recorder.h"
#include "sim/cli/results/observers.h"
#include "sim/cli/results/run_result.h"
#include "sim/cli/scenario/record.h"

namespace gradrace {

/// The rows that the files of results have of one run.
using RunRows = std::map<std::string_view, Spool>;  // [file]

/// Follows one run for the files that its scenario wants of it.
class RunRecorders {
 public:
  /// The point and the file must outlive it.
  RunRecorders(std::uint32_t replica, const Point& point, SpoolFile& file);

  Observer* observer() { return made_.empty() ? nullptr : &observers_; }
  CurveRecorder& curve() { return curve_; }

  /// The run is over: what its row says.  The rows of its learners and stalenesses follow.
  RunResult finish(const RunRecord& record);

  const RunRows& rows() const { return rows_; }

 private:
  Spool& rows_of(std::string_view file) { return rows_.try_emplace(file, file_).first->second; }

  const Point& point_;
  SpoolFile& file_;
  RunRows rows_;
  CurveRecorder curve_;
  std::vector<std::unique_ptr<Observer>> made_;
  Observers observers_;
};

}  // namespace gradrace
