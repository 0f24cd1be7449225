#include "sim/cli/results/measured_notes.h"

#include <algorithm>

#include "distributions/measured.h"
#include "sim/message_text.h"

namespace gradrace {

std::vector<RanOut> replays_that_ran_out(const Cluster& cluster,
                                         const std::vector<LearnerTotals>& learners) {
  std::vector<RanOut> found;
  if (cluster.traces().empty()) return found;
  for (std::size_t learner = 0; learner < learners.size(); ++learner) {
    for (const auto& law : cluster.laws_of(static_cast<std::uint32_t>(learner))) {
      const auto* measured = as_measured(*law);
      if (measured == nullptr) continue;
      const std::size_t times = measured->period(static_cast<std::uint32_t>(learner));
      const std::size_t draws = learners[learner].draws;
      if (times == 0 || draws <= times) continue;
      const std::string file = measured->traces().front()->file.string();
      const auto known = std::ranges::find(found, file, &RanOut::file);
      const RanOut ran_out{file, learner, draws, times};
      if (known == found.end()) {
        found.push_back(ran_out);
      } else if (ran_out.went_further_than(*known)) {
        *known = ran_out;
      }
    }
  }
  return found;
}

void MeasuredNotes::add(const std::vector<RanOut>& of_run) {
  for (const RanOut& ran_out : of_run) {
    OfFile& known = files_[ran_out.file];
    if (known.runs++ == 0 || ran_out.went_further_than(known.furthest)) known.furthest = ran_out;
  }
}

std::vector<std::string> MeasuredNotes::texts() const {
  std::vector<std::string> texts;
  for (const auto& [file, known] : files_) {
    texts.push_back("replay of " + file + " ran out in " + count_text(known.runs, "run") +
                    " and started again: learner " + std::to_string(known.furthest.learner) +
                    " made " + count_text(known.furthest.draws, "draw") + " of " +
                    count_text(known.furthest.times, "measured time"));
  }
  return texts;
}

}  // namespace gradrace
