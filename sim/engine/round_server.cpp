#include "sim/engine/round_server.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/check.h"

namespace gradrace {

namespace {

/// The k-th smallest; the times may change places.
double kth_of(std::span<double> times, std::uint32_t k) {
  const auto kth = times.begin() + (k - 1);
  std::nth_element(times.begin(), kth, times.end());
  return *kth;
}

/// The same of few: by counting, without a branch that depends on times.
double kth_of_few(std::span<const double> times, std::uint32_t k) {
  double kth = std::numeric_limits<double>::infinity();
  for (const double time : times) {
    std::uint64_t no_later = 0;
    for (const double other : times) no_later += other <= time;
    kth = std::min(kth, no_later >= k ? time : kth);
  }
  return kth;
}

}  // namespace

RoundServer::RoundServer(const Race& race, const ServerProtocol& protocol, Engine& engine,
                         TapeWriter& tape)
    : TimingServer(race, protocol, engine, tape) {
  GRADRACE_CHECK(protocol.traits().restarts_all, "minibatches do not begin and end together");
}

void RoundServer::begin() {
  const double end = begin_round();
  totals_.dispatched += race_.learners;
  engine_.set(Happening::Kind::timer, end);
}

void RoundServer::on_timer() {
  end_round();
  ++totals_.updates;
  totals_.applied += k_;
  totals_.cancelled += race_.learners - k_;
  totals_.last_update_time = engine_.time();
  staleness_counts_.assign(1, totals_.applied);
  count(1);
  begin();
}

EachDrawnServer::EachDrawnServer(const Race& race, std::uint32_t replica,
                                 const ServerProtocol& protocol, Engine& engine, TapeWriter& tape)
    : RoundServer(race, protocol, engine, tape),
      drawn_(*race.runtime, race.seed, replica, race.learners),
      learners_(race.learners),
      in_order_(race.learners) {}

double EachDrawnServer::begin_round() {
  began_ = engine_.time();
  for (std::uint32_t number = 0; number < race_.learners; ++number) {
    tape_.gradient(0, number, round(), 0);
    const double end = engine_.end_of(began_, drawn_.time(number, round()));
    if (!std::isfinite(end)) EventQueue::refuse(end);
    learners_[number].end = in_order_[number] = end;
  }
  return learners_.size() <= most_few ? kth_of_few(in_order_, k_) : kth_of(in_order_, k_);
}

/// Of minibatches that end at one time those of lower numbers came first.
void EachDrawnServer::end_round() {
  const double now = engine_.time();
  std::uint32_t now_applied = k_;
  for (const Learner& learner : learners_) now_applied -= learner.end < now;
  for (Learner& learner : learners_) {
    const bool ends_now = learner.end == now;
    const bool applied = learner.end < now || (ends_now && now_applied > 0);
    now_applied -= ends_now && applied;
    const double computed = std::min(learner.end, now) - began_;
    learner.busy += computed;
    learner.wasted += applied ? 0 : computed;
    learner.applied += applied;
  }
}

/// Minibatches of the round that have ended by now count; the others once the run is over.  Where
/// the round has just begun none has ended, not even one that takes less than the clock can tell.
std::vector<LearnerTotals> EachDrawnServer::learner_totals() const {
  const double now = engine_.time();
  std::vector<LearnerTotals> result;
  result.reserve(learners_.size());
  for (const Learner& learner : learners_) {
    const bool ended = now > began_ && learner.end <= now;
    const double computed = ended || is_over_ ? std::min(learner.end, now) - began_ : 0;
    result.push_back({learner.busy + computed, learner.wasted, learner.applied, round() + ended});
    result.back().wait_until(now);
  }
  return result;
}

double OrderStatisticServer::begin_round() {
  const std::uint32_t draw = tape_.gradient(0, 0, round(), 0);
  Stream words = stream({race_.seed, replica_, Purpose::order_statistic, 0, draw});
  const double time = race_.runtime->sample_order_statistic(k_, race_.learners, words);
  const double end = engine_.end_of(engine_.time(), time);
  if (!std::isfinite(end)) EventQueue::refuse(end);
  return end;
}

}  // namespace gradrace
