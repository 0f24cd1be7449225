#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/engine/books.h"
#include "sim/engine/machines.h"
#include "sim/engine/step_count.h"
#include "sim/learning_rate.h"
#include "sim/peer_protocol.h"

namespace gradrace {

/// A checkpoint of learners without a server, and how they go back to it where one fails.
struct Restarts {
  const Failures::Checkpoint rule;

  // The checkpoint.
  std::unique_ptr<PeerProtocol> saved = {};  // null: there is none yet
  std::vector<ValueId> values = {};          // [learner]
  StepCount steps;
  Work work = {};
  Totals totals = {};
  std::vector<std::uint64_t> staleness_counts = {};

  enum class Stage : std::uint8_t { runs, writes, stands, reforms };
  Stage stage = Stage::runs;
  double since = 0;                             // when it was written, or all went on from it
  std::uint32_t down = 0;                       // learners
  std::unique_ptr<PeerProtocol> protocol = {};  // that goes on from it
  std::vector<std::pair<std::uint32_t, double>> unsaved =
      {};  // [learner], made since: gradients, and how long they took

  bool is_saved(const Totals& now) const { return now.applied == totals.applied; }
};

}  // namespace gradrace
