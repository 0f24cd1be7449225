#include "sim/engine/transit.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/check.h"
#include "sim/run_error.h"

namespace gradrace {

using Kind = Happening::Kind;

Transit::Transit(const TransitFacts& facts, std::vector<Carriage> carried, const CodeHistory* codes,
                 std::uint32_t learners, std::uint64_t seed, std::uint32_t replica,
                 EventQueue& queue, std::uint32_t first_slot, Runtime runtime)
    : facts_(facts),
      carried_(std::move(carried)),
      codes_(codes),
      times_(facts.server.value_or(ServerTimes{})),
      seed_(seed),
      replica_(replica),
      queue_(queue),
      first_slot_(first_slot),
      runtime_(std::move(runtime)),
      ways_(learners),
      totals_(learners),
      waiting_(learners + 1) {
  if (!facts.network || !facts.network->carries()) return;
  const std::vector<double>& of_learners = facts.network->card_bandwidths;
  std::vector<double> cards = of_learners;
  if (cards.empty()) cards.push_back(SharedLink::unlimited);
  std::ranges::sort(cards);
  cards.erase(std::unique(cards.begin(), cards.end()), cards.end());
  if (!of_learners.empty()) card_of_.clear();
  for (const double card : of_learners) {
    const auto place = std::ranges::lower_bound(cards, card) - cards.begin();
    card_of_.push_back(static_cast<std::uint32_t>(place));
  }
  for (auto* link : {&outgoing_, &incoming_})
    link->emplace(facts.network->bandwidth.value_or(SharedLink::unlimited), cards);
}

std::uint32_t Transit::slots(const TransitFacts& facts, std::uint32_t learners) {
  return machines + (facts.failures ? learners : 0);
}

void Transit::start() {
  if (!facts_.failures) return;
  for (std::uint32_t learner = 0; learner < ways_.size(); ++learner) schedule_change(learner, 0);
}

Happening Transit::on_event(std::uint32_t event, double now) {
  if (event < ways_.size()) {
    const Place place = ways_[event].place;
    queue_.remove(event);
    if (place == Place::leaving) {
      pull(event, now);
      return {Kind::passage};
    }
    if (!incoming_) return reach_server(event, now);
    Way& way = ways_[event];
    way.place = Place::incoming;
    const double bytes = up(way);
    totals_[event].sent += bytes;
    ++totals_[event].messages;
    incoming_->enter(event, bytes, now, card(event));
    schedule(*incoming_, incoming);
    return {Kind::passage};
  }
  if (event == slot(outgoing)) {
    travel(outgoing_->pop(now), now);
    schedule(*outgoing_, outgoing);
    return {Kind::passage};
  }
  if (event == slot(incoming)) {
    const std::uint32_t learner = incoming_->pop(now);
    schedule(*incoming_, incoming);
    return reach_server(learner, now);
  }
  if (event == slot(server)) {
    const std::uint32_t first = waiting_.front();
    waiting_.pop_front();
    receiving_ = false;
    queue_.remove(event);
    return take_up(first);
  }
  return change(event - slot(machines), now);
}

void Transit::depart(std::uint32_t learner, std::uint32_t draw, std::uint32_t version,
                     std::uint16_t plan, double now) {
  Way& way = ways_[learner];
  way.draw = draw;
  const Carriage& carried = carried_[plan];
  const std::uint32_t lacks = version - way.version;
  const bool follows = carried.sends_back && way.follows;
  way.lacks = follows && lacks * carried.back <= carried.down ? lacks : Way::none;
  way.reads = version;
  way.plan = plan;
  const double departure = std::max(now, free_at_);
  if (outgoing_ && departure > now) {
    way.place = Place::leaving;
    queue_.schedule(learner, departure, EventClass::arrival);
  } else {
    pull(learner, departure);
  }
}

void Transit::pull(std::uint32_t learner, double from) {
  ways_[learner].left = from;
  if (!outgoing_) return travel(learner, from);
  const Way& way = ways_[learner];
  const Carriage& carried = carried_[way.plan];
  const double bytes = way.lacks == Way::none ? carried.down : way.lacks * carried.back;
  totals_[learner].received += bytes;
  ways_[learner].place = Place::outgoing;
  outgoing_->enter(learner, bytes, from, card(learner));
  schedule(*outgoing_, outgoing);
}

void Transit::travel(std::uint32_t learner, double from) {
  Way& way = ways_[learner];
  const auto latency = [&](const std::shared_ptr<const Distribution>& law, Purpose purpose) {
    return law ? law->draw({seed_, replica_, purpose, learner, way.draw}) : 0;
  };
  const ServerLinks none, &network = facts_.network ? *facts_.network : none;
  way.place = Place::away;
  way.version = way.reads;
  way.follows = carried_[way.plan].sends_back;
  way.begin = from + latency(network.pull, Purpose::pull) + network.latency(learner);
  way.begin += time_of_reading(way);
  way.runtime = runtime_(learner, way.begin);
  const double computed = way.begin + way.runtime;
  queue_.schedule(learner,
                  computed + latency(network.push, Purpose::push) + network.latency(learner),
                  EventClass::arrival);
}

Happening Transit::reach_server(std::uint32_t who, double now) {
  if (who != timer()) {
    ways_[who].place = Place::queued;
    ways_[who].reached = now;
    changes_ = 0;
  }
  if (service(who) == 0 && waiting_.empty() && free_at_ <= now) return take_up(who);
  waiting_.push_back(who);
  take_next(now);
  return {Kind::passage};
}

Happening Transit::take_up(std::uint32_t who) {
  if (who == timer()) return {Kind::timer};
  GRADRACE_CHECK(ways_[who].place == Place::queued, "a gradient arrives that is elsewhere");
  return {Kind::arrival, who};
}

void Transit::forget_timer(double now) {
  const auto queued = std::find(waiting_.begin(), waiting_.end(), timer());
  if (queued == waiting_.end()) return;
  const bool first = queued == waiting_.begin();
  waiting_.erase(queued);
  if (!first || !receiving_) return;
  receiving_ = false;
  queue_.remove(slot(server));
  take_next(now);
}

void Transit::take_next(double now) {
  if (receiving_ || waiting_.empty()) return;
  receiving_ = true;
  order(now, service(waiting_.front()));
  queue_.schedule(slot(server), free_at_, EventClass::arrival);
}

void Transit::pause(double now, double length) {
  GRADRACE_CHECK(!receiving_, "the server is made busy while it takes a gradient up");
  order(now, length);
}

void Transit::order(double now, double length) {
  free_at_ = std::max(now, free_at_) + length;
  ordered_ += length;
}

bool Transit::postpone(std::uint32_t learner) {
  Way& way = ways_[learner];
  GRADRACE_CHECK(!way.due, "a learner computes one minibatch at a time");
  way.due = way.down;
  return way.down;
}

TripFacts Transit::trip(std::uint32_t learner, double now) const {
  const Way& way = ways_[learner];
  if (way.place < Place::outgoing) return {learner, now, now, now, now, 0};
  const double reached = way.place == Place::queued ? way.reached : now;
  if (way.place == Place::outgoing) return {learner, way.left, reached, reached, reached, 0};
  const double reading = time_of_reading(way), making = carried_[way.plan].making_up;
  const double computing = way.runtime - making;
  const auto passed = [now](double from, double length) {
    return std::clamp(now - from, 0.0, length);
  };
  return {learner,
          way.left,
          std::min(way.begin, reached),
          std::min(way.begin + way.runtime, reached),
          reached,
          passed(way.begin, computing),
          passed(way.begin - reading, reading),
          passed(way.begin + computing, making)};
}

TripFacts Transit::end(std::uint32_t learner, double now) {
  Way& way = ways_[learner];
  const TripFacts ended = trip(learner, now);
  totals_[learner].communicating += ended.communicating();
  totals_[learner].encoding += ended.reading + ended.making;
  if (way.place == Place::outgoing) {
    outgoing_->remove(learner, now, card(learner));
    schedule(*outgoing_, outgoing);
  } else if (way.place == Place::incoming) {
    incoming_->remove(learner, now, card(learner));
    schedule(*incoming_, incoming);
  }
  way.place = Place::nowhere;
  return ended;
}

ExchangeTotals Transit::exchanged(std::uint32_t learner, double now) const {
  ExchangeTotals totals = totals_[learner];
  if (ways_[learner].down) totals.down += now - ways_[learner].changed;
  return totals;
}

Utilisation Transit::utilisation(double now) const {
  Utilisation share;
  if (now <= 0) return share;
  if (facts_.network && facts_.network->bandwidth)
    share.link = std::max(outgoing_->busy(now), incoming_->busy(now)) / now;
  if (facts_.server) share.server = (ordered_ - std::max(0.0, free_at_ - now)) / now;
  return share;
}

void Transit::withdraw(std::uint32_t learner) {
  GRADRACE_CHECK(!receiving_, "a gradient is cancelled while the server takes one up");
  const auto queued = std::find(waiting_.begin(), waiting_.end(), learner);
  if (queued != waiting_.end()) waiting_.erase(queued);
}

void Transit::clear_roads(double now) {
  GRADRACE_CHECK(!receiving_, "all is cancelled while the server takes a gradient up");
  if (outgoing_) {
    outgoing_->clear(now);
    incoming_->clear(now);
  }
  const bool timed = std::find(waiting_.begin(), waiting_.end(), timer()) != waiting_.end();
  waiting_.clear();
  if (timed) waiting_.push_back(timer());
}

Happening Transit::change(std::uint32_t learner, double now) {
  Way& way = ways_[learner];
  if (++changes_ > 1'000'000 + 1'000 * ways_.size()) {
    throw RunError("learners failed " + std::to_string(changes_ / 2) +
                   " times in a row and no gradient arrived: cluster.failures.up is too short for "
                   "cluster.runtime, or the protocol waits for nobody");
  }
  if (way.down) totals_[learner].down += now - way.changed;
  way.down = !way.down;
  way.changed = now;
  schedule_change(learner, now);
  if (!way.down) return {std::exchange(way.due, false) ? Kind::back : Kind::passage, learner};
  way.follows = false;
  if (way.place == Place::nowhere || way.place == Place::queued) return {Kind::passage};
  way.due = true;
  return {Kind::loss, learner};
}

void Transit::schedule_change(std::uint32_t learner, double now) {
  Way& way = ways_[learner];
  const auto& law = way.down ? facts_.failures->down : facts_.failures->up;
  const Purpose purpose = way.down ? Purpose::repair : Purpose::failure;
  const double length = law->draw({seed_, replica_, purpose, learner, way.failures});
  if (way.down) ++way.failures;
  queue_.schedule(slot(machines) + learner, now + length, EventClass::arrival);
}

void Transit::schedule(const SharedLink& link, Slot what) {
  if (link.is_idle()) {
    queue_.remove(slot(what));
  } else {
    queue_.schedule(slot(what), link.next_end(), EventClass::arrival);
  }
}

}  // namespace gradrace
