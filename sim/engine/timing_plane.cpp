#include "sim/engine/timing_plane.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/engine/parameter_server.h"
#include "sim/engine/peer_values.h"
#include "sim/engine/renewal_server.h"
#include "sim/engine/round_server.h"
#include "sim/engine/sharded_server.h"
#include "sim/run_error.h"

namespace gradrace {

namespace {

bool has_roads(const Race& race, const AnyProtocol& protocol) {
  if (!protocol.has_server()) return false;
  const bool encodes = race.sampler == Sampler::events && race.encodes();
  return encodes || race.transit.any() || protocol->traits().pauses;
}

/// Whether nobody looks at minibatches, which are independent draws: those of a protocol that
/// restarts all or never waits are no events then.  A law whose minibatches may take no time is
/// left to events: where a run in rounds ends at an update, some of the minibatches that begin
/// there have ended and some have not.
bool are_minibatches_events(const Race& race, const AnyProtocol& protocol, bool taped,
                            const Observer* observer) {
  if (race.sampler == Sampler::order_statistic) return false;
  const Traits traits = protocol->traits();
  return !(traits.restarts_all || traits.never_waits) || taped || observer || race.make_runtimes ||
         has_roads(race, protocol) || race.counts_rows() || race.local_steps > 1 ||
         race.runtime->has_memory() || race.runtime->survival(0) < 1;
}

std::uint32_t learners_followed(const Race& race, const AnyProtocol& protocol, bool taped,
                                const Observer* observer) {
  return are_minibatches_events(race, protocol, taped, observer) ? race.learners : 0;
}

std::unique_ptr<Owner> make_owner(const Race& race, std::uint32_t replica,
                                  const AnyProtocol& protocol, Engine& engine, TapeWriter& tape,
                                  Observer* observer, const Quiet& quiet) {
  if (const auto* const peers = std::get_if<std::unique_ptr<PeerProtocol>>(&protocol))
    return std::make_unique<PeerValues>(race, replica, **peers, engine, tape, observer);
  ServerProtocol& server = *std::get<std::unique_ptr<ServerProtocol>>(protocol);
  if (race.sampler == Sampler::order_statistic)
    return std::make_unique<OrderStatisticServer>(race, replica, server, engine, tape);
  if (race.versions() > 1) return std::make_unique<ShardedServer>(race, replica, engine, tape);
  if (engine.learners() > 0)
    return std::make_unique<ParameterServer>(race, replica, server, engine, tape, observer);
  if (server.traits().never_waits)
    return std::make_unique<RenewalServer>(race, replica, server, engine, tape, quiet);
  return std::make_unique<EachDrawnServer>(race, replica, server, engine, tape);
}

/// A message of a step has the rate of its dispatch, so that none is known to its use alone.
void check_messages(const Race& race) {
  for (const Plan& plan : race.plans)
    if (plan.message.of_steps() && plan.learning_rate && plan.learning_rate->differs())
      throw RunError(
          "a memory of steps has the rate of each dispatch in it, and this learning rate, by "
          "staleness or distance, is known when a gradient is used; a memory of gradients goes "
          "with it");
}

/// The first count that is so many or more.
std::uint64_t first_count(double limit) {
  return limit < 0x1p63 ? static_cast<std::uint64_t>(std::ceil(limit))
                        : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

TimingPlane::TimingPlane(const Race& race, std::uint32_t replica, bool taped, Observer* observer,
                         std::uint32_t limit)
    : race_(race),
      limit_(limit),
      judged_(is_judged(race.stop)),
      wants_norms_(taped && race.codes),
      limits_(counted_limits(race.stop)),
      protocol_(race.make_protocol()),
      tape_(taped),
      engine_(race, replica, learners_followed(race, protocol_, taped, observer),
              has_roads(race, protocol_), protocol_.has_server() ? 0 : PeerValues::events(race),
              tape_, observer),
      owner_(make_owner(race, replica, protocol_, engine_, tape_, observer, quiet_)),
      made_(owner_->totals()),
      work_(owner_->work()),
      evaluations_(race.evaluations) {}

[[gnu::always_inline]] inline void TimingPlane::step() {
  const Happening happening = engine_.next();
  const std::uint64_t changes = owner_->changes();
  if (happening.kind == Happening::Kind::arrival) [[likely]] {
    owner_->on_arrival(happening.learner);
    engine_.done(happening);
  } else {
    happen(happening);
  }
  if (finished_) return;
  if (!owner_->standstill().empty()) return finish();
  if (owner_->changes() != changes && !is_quiet()) on_update();
  if (tape_.size() >= limit_) end_segment(End::limit);
}

const Segment& TimingPlane::next_segment() {
  GRADRACE_CHECK(!finished_, "the run is over");
  tape_.begin();
  evaluations_.begin_segment();
  end_.reset();
  if (!started_) start();
  if (answer_due_) answer();
  if (owner_->asked() > 0) tell_bytes();
  engine_.go_on();
  using Clock = std::chrono::steady_clock;
  constexpr std::uint32_t most_steps = 1 << 20, seldom = 1 << 8;
  constexpr auto most_time = std::chrono::milliseconds(100);
  const auto begin = Clock::now();
  for (std::uint32_t steps = 0; !end_; step()) {
    ++steps;
    const bool is_slow = steps % seldom == 0 && Clock::now() - begin > most_time;
    if (is_slow || steps == most_steps) end_segment(End::limit);
  }
  return tape_.cut(tape_.taped() ? owner_->live() : std::span<const ValueId>{}, *end_);
}

void TimingPlane::start() {
  started_ = true;
  if (tape_.taped()) check_messages(race_);
  using enum Happening::Kind;
  if (evaluations_.by_time()) engine_.set(evaluation, evaluations_.next_time());
  if (race_.stop.time) engine_.set(end, *race_.stop.time);
  engine_.start();
  owner_->start();
  evaluate();
}

/// Any event but an arrival.
void TimingPlane::happen(const Happening& happening) {
  using enum Happening::Kind;
  switch (happening.kind) {
    case part:
      return owner_->on_part(happening.learner);
    case exchange:
      return owner_->on_exchange(happening.learner);
    case timer:
      owner_->on_timer();
      return engine_.done(happening);
    case message:
      return owner_->on_message(happening.learner);
    case loss:
      return owner_->on_loss(happening.learner);
    case back:
      return owner_->on_return(happening.learner);
    case evaluation:
      evaluate();
      return engine_.set(evaluation, evaluations_.next_time());
    case look:
      return evaluate_for_protocol();
    case end:
      return finish();
    case arrival:
    case passage:
      return;
  }
}

void TimingPlane::on_update() {
  const Reached run = reached();
  if (evaluations_.due(made_.updates, run.epochs)) evaluate();
  double updates = evaluations_.next_update();
  double gradients = std::numeric_limits<double>::infinity();
  for (const auto& [what, limit] : limits_) {
    if (run.*what >= limit) return finish();
    if (what == &Reached::gradients) {
      gradients = limit;
    } else {
      updates = what == &Reached::updates ? std::min(updates, limit) : 0;
    }
  }
  if (wants_norms_) return end_segment(End::feedback);  // at each, none is quiet
  quiet_ = {first_count(updates), first_count(gradients)};
}

Reached TimingPlane::reached() const {
  return {engine_.time(), static_cast<double>(made_.updates), static_cast<double>(work_.gradients),
          work_.epochs};
}

void TimingPlane::evaluate() {
  if (evaluations_.made(engine_.time(), owner_->changes())) return;
  owner_->evaluate(evaluations_);
  const std::size_t looks = evaluations().size() * (1 + race_.learners_evaluated());
  if (looks >= limit_) end_segment(End::limit);
  if (judged_) end_segment(End::verdict);
}

/// The segment ends, so that the answer is there when the next one begins; it may be there already.
void TimingPlane::evaluate_for_protocol() {
  evaluate();
  if (evaluations().empty()) return answer();
  answer_due_ = true;
  end_segment(End::feedback);
}

void TimingPlane::answer() {
  answer_due_ = false;
  if (answer_) owner_->on_evaluation(*answer_);  // a timing-only run has none
}

void TimingPlane::tell_bytes() {
  const std::size_t count = owner_->asked();
  GRADRACE_CHECK(told_ + count <= heard_.size(), "the bytes of each message are told once");
  owner_->hear(std::span(heard_).subspan(std::exchange(told_, told_ + count), count));
  if (told_ == heard_.size()) heard_.clear(), told_ = 0;
}

/// For the first reason that is given but its length.
void TimingPlane::end_segment(End why) {
  if (!end_ || end_ == End::limit) end_ = why;
}

void TimingPlane::finish() {
  evaluate();
  engine_.finish();
  owner_->finish();
  engine_.close();
  finished_ = true;
  end_ = End::finished;
}

Totals TimingPlane::totals() const {
  Totals totals = made_;
  totals.time = engine_.time();
  return totals;
}

double TimingPlane::progress() const {
  return finished_ ? 1.0 : gradrace::progress(reached(), race_.stop);
}

}  // namespace gradrace
