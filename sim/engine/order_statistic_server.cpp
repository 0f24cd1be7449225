#include "sim/engine/order_statistic_server.h"

#include <cmath>
#include <limits>

#include "sim/check.h"

namespace gradrace {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

}  // namespace

OrderStatisticServer::OrderStatisticServer(const Race& race, std::uint32_t replica,
                                           const ServerProtocol& protocol, Engine& engine,
                                           TapeWriter& tape)
    : race_(race), replica_(replica), k_(protocol.k()), engine_(engine), tape_(tape) {
  GRADRACE_CHECK(protocol.restarts_all() && !tape.taped() && !race.make_runtimes &&
                     !race.runtime->has_memory() && !race.transit.any(),
                 "the times of these updates are no order statistics of independent draws");
}

void OrderStatisticServer::begin() {
  totals_.dispatched += race_.learners;
  const std::uint32_t draw = tape_.gradient(0, 0, static_cast<std::uint32_t>(totals_.updates), 0);
  Stream words = stream({race_.seed, replica_, Purpose::order_statistic, 0, draw});
  const double time = race_.runtime->sample_order_statistic(k_, race_.learners, words);
  const double end = engine_.end_of(engine_.time(), time);
  if (!std::isfinite(end)) EventQueue::refuse(end);
  engine_.set(Happening::Kind::timer, end);
}

void OrderStatisticServer::on_timer() {
  ++totals_.updates;
  totals_.applied += k_;
  totals_.cancelled += race_.learners - k_;
  totals_.last_update_time = engine_.time();
  staleness_counts_[0] = totals_.applied;
  ++changes_;
  work_.gradients = totals_.applied;
  work_.samples = totals_.applied * race_.plans[0].recipe.minibatch;
  if (race_.training_rows > 0) {
    work_.epochs = static_cast<double>(work_.samples) / static_cast<double>(race_.training_rows);
  }
  begin();
}

void OrderStatisticServer::evaluate(Evaluations& evaluations) {
  const double epoch = race_.training_rows > 0 ? work_.epochs : not_known;
  evaluations.add({engine_.time(), totals_.updates, totals_.applied, epoch, not_known, k_},
                  changes_);
}

void OrderStatisticServer::refuse() {
  GRADRACE_CHECK(false, "a run by order statistics has no learners");
}

}  // namespace gradrace
