#include "sim/cli/results/run_recorders.h"

namespace gradrace {

RunRecorders::RunRecorders(const RunId& run, const Point& point, SpoolFile& file)
    : curve_(
          run, point,
          point.record_details ? &texts_.try_emplace("curve.csv", file).first->second : nullptr) {
  for (const auto& [record, make] : point.records) {
    const auto text = texts_.try_emplace(record->file, file).first;
    if (auto recorder = make(run, point, text->second)) {
      observers_.add(recorder.get());
      made_.push_back(std::move(recorder));
    } else {
      texts_.erase(text);
    }
  }
}

}  // namespace gradrace
