#include "sim/engine/parameter_server.h"

#include <algorithm>

#include "sim/engine/uses_of_update.h"

namespace gradrace {

void ParameterServer::start() {
  if (has_messages_ && std::ranges::any_of(race_.plans, &Message::of_steps, &Plan::message))
    dispatch_rates_.resize(race_.learners);
  if (protocol_.traits().bounds_staleness) unused_.resize(race_.learners);
  if (race_.local_steps > 1) reads_.resize(race_.learners);
  protocol_.start(*this);
  check();
}

void ParameterServer::on_message(std::uint32_t learner) {
  const GradientFacts& gradient = engine_.gradient(learner);
  const Message& message = race_.plans[gradient.plan].message;
  tape_.send_off(learner, message.memory.has_value(), message_of(gradient, false));
  tape_.want_answers();
  sending_ = learner, asked_ = 1;
}

void ParameterServer::hear(std::span<const double> bytes) {
  asked_ = 0;
  engine_.send_off(sending_, bytes[0]);
}

void ParameterServer::on_loss(std::uint32_t learner) {
  books_.lose(engine_.gradient(learner).version);
  protocol_.on_loss(*this, learner);
  check();
}

void ParameterServer::on_return(std::uint32_t learner) {
  if (!dispatch_rates_.empty()) note_rate(learner);
  if (!reads_.empty()) note_read(learner);
  books_.dispatch(engine_.resume(learner, reading()));
  protocol_.on_return(*this, learner);
  check();
}

void ParameterServer::on_timer() {
  protocol_.on_timer(*this);
  check();
}

void ParameterServer::on_evaluation(const Evaluation& evaluation) {
  protocol_.on_evaluation(*this, evaluation);
  check();
}

void ParameterServer::dispatch(std::uint32_t learner) {
  if (!dispatch_rates_.empty()) [[unlikely]]
    note_rate(learner);
  if (!reads_.empty()) [[unlikely]]
    note_read(learner);
  books_.dispatch(engine_.compute(learner, reading()));
}

void ParameterServer::dispatch_waiting() {
  if (!dispatch_rates_.empty()) [[unlikely]]
    note_rates();
  for (std::uint32_t learner = 0; learner < reads_.size(); ++learner)
    if (!engine_.is_computing(learner)) note_read(learner);
  books_.dispatch(engine_.compute_waiting(reading()));
}

void ParameterServer::accept(const GradientFacts& arrival) {
  if (has_messages_) [[unlikely]]
    send(arrival, false);
  engine_.settle(arrival, Ending::accepted);
  accepted_.push_back(arrival);
  if (!reads_.empty()) accepted_reads_.push_back(reads_[arrival.learner]);
}

void ParameterServer::drop(const GradientFacts& arrival) {
  if (has_messages_) [[unlikely]]
    send(arrival, true);
  engine_.settle(arrival, Ending::dropped);
  books_.drop(arrival.version);
}

const GradientFacts* ParameterServer::computing(std::uint32_t learner) const {
  return engine_.is_computing(learner) ? &engine_.gradient(learner) : nullptr;
}

void ParameterServer::cancel(const GradientFacts& gradient) {
  const GradientFacts* computed = computing(gradient.learner);
  GRADRACE_CHECK(computed && computed->gradient == gradient.gradient,
                 "a gradient is cancelled that is not on its way");
  books_.cancel(gradient.version);
  engine_.cancel(gradient.learner);
}

void ParameterServer::cancel_all() {
  engine_.cancel_all([this](const GradientFacts& gradient) { books_.cancel(gradient.version); });
}

void ParameterServer::update() {
  GRADRACE_CHECK(!accepted_.empty(), "an update needs a gradient");
  std::uint64_t samples = 0;
  for (auto& gradient : accepted_) {
    gradient.staleness = take_up(gradient);
    samples += samples_of(gradient);
  }
  if (tape_.taped()) {
    list_uses(race_, plan_, work_, accepted_, uses_);
    if (!reads_.empty()) [[unlikely]]
      add_local_steps();
  }
  const double last = books_.totals().last_update_time;
  make_version();
  if (observer_) tell_update(time() - last);
  count_work(accepted(), samples * race_.local_steps);
  accepted_.clear();
  accepted_reads_.clear();
}

/// Nobody looks at what is accepted, so that it need not be kept.
void ParameterServer::apply(const GradientFacts& arrival) {
  if (observer_ || tape_.taped() || !accepted_.empty()) [[unlikely]]
    return Server::apply(arrival);
  engine_.settle(arrival, Ending::accepted);
  take_up(arrival);
  make_version();
  count_work(1, std::uint64_t{samples_of(arrival)} * race_.local_steps);
}

void ParameterServer::note_rates() {
  for (std::uint32_t learner = 0; learner < race_.learners; ++learner)
    if (!engine_.is_computing(learner)) note_rate(learner);
}

/// One that is lost, and leaves no memory, is never made.
void ParameterServer::send(const GradientFacts& gradient, bool lost) {
  const Message& message = race_.plans[gradient.plan].message;
  const bool remembers = message.memory.has_value();
  if (!message.compressor) return;
  if (asks_) return tape_.arrive(gradient.gradient);  // it was sent when it left
  if (lost && !remembers) return;
  tape_.send(gradient.learner, remembers, message_of(gradient, lost));
}

Sent ParameterServer::message_of(const GradientFacts& gradient, bool lost) const {
  const Message& message = race_.plans[gradient.plan].message;
  const double weight = message.of_steps() ? dispatch_rates_[gradient.learner] : 1;
  std::uint16_t code = gradient.plan;
  if (race_.codes)
    code = static_cast<std::uint16_t>(race_.plans.size() + engine_.codes()->at(gradient.version));
  return {gradient.gradient, lost, weight, code};
}

void ParameterServer::add_local_steps() {
  firsts_.swap(uses_);
  uses_.clear();
  for (std::size_t i = 0; i < firsts_.size(); ++i) {
    uses_.push_back(firsts_[i]);
    add_local_steps(accepted_[i], accepted_reads_[i]);
  }
}

/// Of the gradient whose first is the last use: the others, each at what those before have led to.
void ParameterServer::add_local_steps(const GradientFacts& sent, const Read& read) {
  const auto rule = static_cast<std::uint16_t>(race_.plans.size());
  const std::uint16_t recipe = engine_.recipes().of(sent.plan, sent.learner);
  Use use = uses_.back();
  ValueId value = read.value;
  for (std::uint32_t step = 1; step < race_.local_steps; ++step) {
    const Use moves{use.gradient, 0, read.rate};
    value = tape_.update(value, rule, {&moves, 1});
    use.gradient = tape_.gradient(value, sent.learner, sent.draw + step, recipe);
    uses_.push_back(use);
  }
}

std::span<const ValueId> ParameterServer::live() {
  live_.assign(1, value_);
  for (std::uint32_t learner = 0; learner < reads_.size(); ++learner)
    if (engine_.is_computing(learner)) live_.push_back(reads_[learner].value);
  for (const Read& read : accepted_reads_) live_.push_back(read.value);
  std::ranges::sort(live_);
  live_.erase(std::ranges::unique(live_).begin(), live_.end());
  return live_;
}

void ParameterServer::tell_update(double iteration_time) const {
  const bool rate_known = race_.plans[plan_].rule.distance == 0;
  const double learning_rate = rate_known ? eta(0, accepted()) : not_known;
  observer_->on_update({books_.totals().updates, time(), iteration_time, learning_rate, accepted_});
}

std::vector<LearnerTotals> ParameterServer::learner_totals() const {
  auto totals = engine_.learner_totals();
  for (std::size_t learner = 0; learner < unused_.size(); ++learner) {
    Unused unused = unused_[learner];
    unused.use(time());
    totals[learner].longest_unused = unused.longest;
  }
  return totals;
}

void ParameterServer::follow(std::uint16_t plan) {
  GRADRACE_CHECK(plan < race_.plans.size(), "the race has no such plan");
  plan_ = plan;
}

void ParameterServer::evaluate(Evaluations& evaluations) {
  evaluations.add(point(protocol_.k(), protocol_.k()), changes_);
  tape_.evaluate(value_);
}

}  // namespace gradrace
