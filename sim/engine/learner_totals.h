#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace gradrace {

/// What a learner did besides computing: its exchanges with other learners, or with the server.
struct ExchangeTotals {
  double communicating = 0, waiting = 0;  // up and idle: in an exchange, or not
  double encoding = 0;                    // up and idle: making or reading messages
  double hidden = 0;                      // in an exchange while it computed
  double down = 0;                        // failed, and not back
  double sent = 0, received = 0;          // bytes of exchanges begun
  double messages = 0, conflicts = 0;     // sent; conflicts without a server
};

/// Times of one learner, up to the clock.
struct LearnerTotals {
  double busy = 0, wasted = 0;  // computing; wasted: on gradients cancelled, dropped or lost
  std::uint32_t gradients = 0;  // applied
  std::uint32_t draws = 0;      // minibatches that arrived, were cancelled or lost
  std::uint32_t dropped = 0;
  double longest_unused = 0;  // time without a gradient of it in an update; where it is asked for
  ExchangeTotals exchanged = {};

  /// What is left of the time on the clock was waiting.
  void wait_until(double clock) {
    const ExchangeTotals& its = exchanged;
    exchanged.waiting = std::fmax(0.0, clock - busy - its.communicating - its.down - its.encoding);
  }
};

/// Minibatches lost as a learner without a server failed: what it, or all, computed or had not
/// used, and what was made since the checkpoint that all went back to.
struct Losses {
  std::uint64_t computing = 0, unused = 0, taken_back = 0;
};

/// Of a coordinator, by what one learner after another brings it.  Staleness: updates that it made
/// since that learner had read its value.
struct OuterUpdates {
  std::uint64_t updates = 0, staleness_sum = 0;
  std::uint32_t max_staleness = 0;
};

/// The shares of a run's time in which what all its learners use was busy; NaN where it is not
/// there, or takes no time.
struct Utilisation {
  double link = std::numeric_limits<double>::quiet_NaN();  // the server's, the busier direction
  double server = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace gradrace
