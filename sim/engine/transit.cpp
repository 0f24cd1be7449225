#include "sim/engine/transit.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "sim/check.h"
#include "sim/layers.h"

namespace gradrace {

using Kind = Happening::Kind;

static const ServerLinks no_links;

Transit::Transit(const TransitFacts& facts, std::vector<Carriage> carried, const CodeHistory* codes,
                 std::uint32_t learners, std::uint64_t seed, std::uint32_t replica,
                 EventQueue& queue, std::uint32_t first_slot, Runtime runtime)
    : facts_(facts),
      links_(facts.network ? *facts.network : no_links),
      carried_(std::move(carried)),
      pulls_(links_.layers ? pulls_of(*links_.layers) : std::vector<StepExchange>{}),
      pushes_(links_.layers ? exchanges_of(*links_.layers, 1) : std::vector<StepExchange>{}),
      overlaps_computing_(links_.overlap || links_.layers),
      plain_(!overlaps_computing_ &&
             std::ranges::none_of(
                 carried_,
                 [](const Carriage& plan) { return plan.making_up + plan.reading_back > 0; })),
      codes_(codes),
      times_(facts.server.value_or(ServerTimes{})),
      seed_(seed),
      replica_(replica),
      queue_(queue),
      slots_{first_slot, first_slot + count_, first_slot + 2 * count_, first_slot + 3 * count_},
      runtime_(std::move(runtime)),
      ways_(learners),
      totals_(learners),
      untaken_(learners + 1) {
  for (std::uint32_t shard = 0; shard < shards(); ++shard) {
    shards_.emplace_back().part = times_.parts[shard];
    shards_.back().waiting.set_capacity(learners + 1);
  }
  if (facts.failures)
    machines_.emplace(*facts.failures, seed, replica, learners, queue, slot(machines),
                      EventClass::arrival);
  if (overlaps_computing_) overlaps_.resize(learners);
  if (!links_.carries()) return;
  if (shards() > 1) leaves_.resize(std::size_t{learners} * shards());
  const double bandwidth = links_.bandwidth.value_or(SharedLink::unlimited);
  const auto of_one_part = [this](std::vector<double> cards) {
    for (double& card : cards) card /= alike_;
    return cards;
  };
  outgoing_.emplace(bandwidth, of_one_part(links_.down.bandwidths), shards(), learners, queue,
                    slot(outgoing));
  incoming_.emplace(bandwidth, of_one_part(links_.up.bandwidths), shards(), learners, queue,
                    slot(incoming));
}

std::uint32_t Transit::slots(const TransitFacts& facts, std::uint32_t learners) {
  const ServerTimes times = facts.server.value_or(ServerTimes{});
  return machines * (times.shards() / times.alike()) + (facts.failures ? learners : 0);
}

void Transit::start() {
  if (machines_) machines_->start();
}

Happening Transit::on_event(std::uint32_t event, double now) {
  if (event < ways_.size()) {
    queue_.remove(event);
    if (ways_[event].place > Place::outgoing) return push(event, now);
    shards() == 1 ? pull(event, 0, now) : leave(event, now);
    return {Kind::passage};
  }
  if (event >= slot(incoming)) {
    if (event >= slot(machines)) [[unlikely]]
      return change(event - slot(machines), now);
    const std::uint32_t shard = event - slot(incoming);
    if (overlaps_computing_) [[unlikely]]
      return come(shard, now);
    return reach(shards_[shard], incoming_->end(shard, now), now);
  }
  if (event >= slot(outgoing)) {
    const std::uint32_t learner = outgoing_->end(event - slot(outgoing), now);
    if (--ways_[learner].coming == 0) travel(learner, now);
    return {Kind::passage};
  }
  queue_.remove(event);
  return on_shard(shards_[event - slot(server)], now);
}

/// What the others take up at this instant comes before the next that it takes up, as the gradient
/// may then be complete.
Happening Transit::on_shard(Shard& shard, double now) {
  if (!shard.receiving) {
    take_next(shard, now);
    return {Kind::passage};
  }
  const std::uint32_t first = shard.waiting.front();
  shard.waiting.pop_front();
  shard.receiving = false;
  taker_ = static_cast<std::uint32_t>(&shard - shards_.data());
  const Happening happening = take_up(first);
  if (happening.kind == Kind::passage || happening.kind == Kind::part) schedule(shard, now);
  return happening;
}

void Transit::depart(std::uint32_t learner, std::uint32_t draw, std::uint32_t version,
                     std::uint16_t plan, double now) {
  Way& way = ways_[learner];
  way.draw = draw;
  way.reads = version;
  way.plan = plan;
  way.left = 0;
  for (const Shard& shard : shards_) way.left = std::max(way.left, shard.leaves(now));
  if (shards() > 1 && outgoing_)
    for (std::uint32_t shard = 0; shard < shards(); ++shard)
      leaves_[std::size_t{learner} * shards() + shard] = std::max(now, shards_[shard].leaves(now));
  if (carried_[plan].back_asked && way.follows && version >= backs_.size()) [[unlikely]]
    return departing_.push_back(learner);
  set_off(learner, now);
}

void Transit::go_on(double now) {
  for (const std::uint32_t learner : std::exchange(departing_, {})) set_off(learner, now);
}

void Transit::set_off(std::uint32_t learner, double now) {
  Way& way = ways_[learner];
  const Carriage& carried = carried_[way.plan];
  way.lacks = Way::none;
  if (carried.sends_back && way.follows) [[unlikely]]
    if (bytes_lacking(way) <= carried.down) way.lacks = way.reads - way.version;
  if (!outgoing_) return travel(learner, way.left = std::max(now, way.left));
  way.place = Place::leaving;
  way.coming = shards();
  if (shards() > 1) return leave(learner, now);
  if (way.left <= now) return pull(learner, 0, now);
  queue_.schedule(learner, way.left, EventClass::arrival);
}

/// Of the model, what is to leave by now.
void Transit::leave(std::uint32_t learner, double now) {
  double next = SharedLink::unlimited;
  const std::span<const double> parts(&leaves_[std::size_t{learner} * shards()], shards());
  const auto due = std::ranges::count_if(parts, [now](double leaves) { return leaves <= now; });
  outgoing_->expect(learner, static_cast<std::uint32_t>(due), now);
  for (std::uint32_t shard = 0; shard < shards(); ++shard) {
    double& leaves = leaves_[std::size_t{learner} * shards() + shard];
    if (leaves <= now) {
      leaves = SharedLink::unlimited;
      pull(learner, shard, now);
    }
    next = std::min(next, leaves);
  }
  if (next < SharedLink::unlimited) queue_.schedule(learner, next, EventClass::arrival);
}

void Transit::pull(std::uint32_t learner, std::uint32_t shard, double now) {
  Way& way = ways_[learner];
  if (way.place == Place::leaving) {
    way.left = now;
    if (overlaps_computing_) begin_computing(learner);
  }
  way.place = Place::outgoing;
  const Carriage& carried = carried_[way.plan];
  const double whole = way.lacks == Way::none ? carried.down : bytes_lacking(way);
  const double bytes = whole * shards_[shard].part;
  if (is_by_layer()) [[unlikely]] {
    overlaps_[learner] = {.bytes = whole};
    return pull_layer(learner, now);
  }
  totals_[learner].received += shards() == 1 ? whole : bytes;
  fetch(outgoing_->begin(learner, shard, bytes, now));
}

void Transit::pull_layer(std::uint32_t learner, double now) {
  const Overlap& its = overlaps_[learner];
  const double share = pulls_[its.next].share;
  ways_[learner].coming = 1;
  totals_[learner].received += its.bytes * share;
  outgoing_->begin(learner, 0, its.bytes * shards_[0].part * share, now);
}

/// A layer of the model has come; whether it was the last.
bool Transit::take_layer(std::uint32_t learner, double now) {
  Way& way = ways_[learner];
  Overlap& its = overlaps_[learner];
  const double there = now + latency(learner, Purpose::pull) + links_.down.latency(learner);
  if (its.next == 0) {
    way.begin = there;
    way.runtime = runtime_(learner, there);
  }
  const double due = pulls_[its.next].begins(backward_pass) * way.runtime;
  its.there = there;
  its.hidden = std::min(there - way.begin - its.late, due);
  its.waits = due;
  its.before = its.late;
  its.late = std::max(its.late, there - way.begin - due);
  if (++its.next == pulls_.size()) return true;
  pull_layer(learner, now);
  return false;
}

/// Of a message, besides its transfer and the card's latency.
[[gnu::always_inline]] inline double Transit::latency(std::uint32_t learner,
                                                      Purpose purpose) const {
  const auto& law = purpose == Purpose::pull ? links_.pull : links_.push;
  return law ? law->draw({seed_, replica_, purpose, learner, ways_[learner].draw}) : 0;
}

void Transit::travel(std::uint32_t learner, double from) {
  if (is_by_layer() && !take_layer(learner, from)) [[unlikely]]
    return;
  Way& way = ways_[learner];
  way.place = Place::away;
  way.version = way.reads;
  way.follows = carried_[way.plan].sends_back;
  if (overlaps_computing_) [[unlikely]]
    return travel_while_computing(learner, from);
  way.begin = from + latency(learner, Purpose::pull) + links_.down.latency(learner);
  way.begin += time_of_reading(way);
  way.runtime = runtime_(learner, way.begin);
  const double computed = way.begin + way.runtime;
  const double push = latency(learner, Purpose::push);
  queue_.schedule(learner, computed + push + links_.up.latency(learner), EventClass::arrival);
}

/// The model's first bytes leave.
void Transit::begin_computing(std::uint32_t learner) {
  if (is_by_layer()) return;  // the first layer does that
  Way& way = ways_[learner];
  way.begin = way.left + latency(learner, Purpose::pull) + links_.down.latency(learner);
  way.runtime = runtime_(learner, way.begin);
}

/// Its last bytes have come.
void Transit::travel_while_computing(std::uint32_t learner, double from) {
  const Way& way = ways_[learner];
  Overlap& its = overlaps_[learner];
  if (is_by_layer()) {
    its.next = 0;
    return await_layer(learner, from);
  }
  its.there = from + latency(learner, Purpose::pull) + links_.down.latency(learner);
  its.backward = std::max(way.begin + forward(way), its.there);
  its.end = its.backward + (way.runtime - forward(way));
  const double push = latency(learner, Purpose::push) + links_.up.latency(learner);
  its.leaves = its.end + push;
  queue_.schedule(learner, its.backward + push, EventClass::arrival);
}

Happening Transit::push(std::uint32_t learner, double now) {
  Way& way = ways_[learner];
  if (overlaps_computing_) [[unlikely]] {
    if (way.place != Place::away) {
      if (!is_by_layer()) return release(learner, now);
      if (overlaps_[learner].next == pushes_.size()) return reach(shards_[0], learner, now);
      push_layer(learner, now);
      return {Kind::passage};
    }
    if (!is_by_layer()) queue_.schedule(learner, overlaps_[learner].leaves, EventClass::arrival);
  }
  way.place = Place::incoming;
  way.coming = shards();
  untaken_[learner] = shards();
  if (!incoming_) return reach_all(learner, now);
  if (carried_[way.plan].asked) [[unlikely]]
    return {Kind::message, learner};
  send_off(learner, up(way), now);
  return {Kind::passage};
}

void Transit::send_off(std::uint32_t learner, double bytes, double now) {
  ++totals_[learner].messages;
  if (is_by_layer()) [[unlikely]] {
    overlaps_[learner].bytes = bytes;
    return push_layer(learner, now);
  }
  totals_[learner].sent += bytes;
  if (shards() > 1) incoming_->expect(learner, shards(), now);
  std::uint32_t shard = 0;
  do {
    fetch(incoming_->begin(learner, shard, bytes * shards_[shard].part, now));
  } while (++shard < shards());
}

/// When its computing is at the next layer that it pushes.
double Transit::is_there(std::uint32_t learner) const {
  const Way& way = ways_[learner];
  const Overlap& its = overlaps_[learner];
  return way.begin + its.late + pushes_[its.next].begins(backward_pass) * way.runtime;
}

/// The way is free for that.
void Transit::await_layer(std::uint32_t learner, double now) {
  const double there = is_there(learner);
  overlaps_[learner].since = std::max(now, there);
  const double leaves = there + latency(learner, Purpose::push) + links_.up.latency(learner);
  queue_.schedule(learner, std::max(now, leaves), EventClass::arrival);
}

void Transit::push_layer(std::uint32_t learner, double now) {
  Overlap& its = overlaps_[learner];
  const double share = pushes_[its.next++].share;
  totals_[learner].sent += its.bytes * share;
  incoming_->begin(learner, 0, its.bytes * shards_[0].part * share, now);
}

/// Of what it pushes, from its.since on.
void Transit::note_hidden(std::uint32_t learner, double now) {
  const Way& way = ways_[learner];
  Overlap& its = overlaps_[learner];
  const double end = way.begin + its.late + way.runtime;
  its.hidden += std::max(0.0, std::min(now, end) - its.since);
  its.since = std::numeric_limits<double>::infinity();
}

/// A gradient's part has come.
Happening Transit::come(std::uint32_t shard, double now) {
  const std::uint32_t learner = incoming_->end(shard, now);
  if (is_by_layer()) {
    const Way& way = ways_[learner];
    const double end = way.begin + overlaps_[learner].late + way.runtime;
    note_hidden(learner, now);
    if (overlaps_[learner].next < pushes_.size())
      await_layer(learner, now);
    else if (now < end)
      queue_.schedule(learner, end, EventClass::arrival);
    else
      return reach(shards_[shard], learner, now);
    return {Kind::passage};
  }
  if (now > overlaps_[learner].leaves) return reach(shards_[shard], learner, now);
  overlaps_[learner].held.push_back(shard);
  return {Kind::passage};
}

/// The gradient has been computed: what comes from now on need not wait.
Happening Transit::release(std::uint32_t learner, double now) {
  Happening last{Kind::passage};
  overlaps_[learner].leaves = -SharedLink::unlimited;
  for (const std::uint32_t shard : std::exchange(overlaps_[learner].held, {}))
    last = reach(shards_[shard], learner, now);
  return last;
}

Happening Transit::on_timer(double now) {
  untaken_[timer()] = shards();
  return reach_all(timer(), now);
}

Happening Transit::reach_all(std::uint32_t who, double now) {
  Happening last{Kind::passage};
  for (Shard& shard : shards_) last = reach(shard, who, now);
  return last;
}

Happening Transit::reach(Shard& shard, std::uint32_t who, double now) {
  const bool is_gradient = who != timer();
  if (is_gradient && --ways_[who].coming == 0) {
    ways_[who].place = Place::queued;
    ways_[who].reached = now;
    if (machines_) machines_->note_progress();
  }
  const bool takes_time =
      is_gradient && (times_.per_gradient > 0 || service(who) > 0 || tells_parts_);
  if (!takes_time && shard.waiting.empty() && shard.free_at <= now) return take_up(who);
  shard.waiting.push_back(who);
  take_next(shard, now);
  return {Kind::passage};
}

/// A part of it.
Happening Transit::take_up(std::uint32_t who) {
  if (who == nobody) return {Kind::passage};
  if (--untaken_[who] > 0) return {tells_parts_ ? Kind::part : Kind::passage, who};
  if (who == timer()) return {Kind::timer};
  GRADRACE_CHECK(ways_[who].place == Place::queued, "a gradient arrives that is elsewhere");
  return {Kind::arrival, who};
}

void Transit::forget_timer(double now) {
  for (std::uint32_t index = 0; index < shards(); ++index) {
    Shard& shard = shards_[index];
    const auto queued = std::find(shard.waiting.begin(), shard.waiting.end(), timer());
    if (queued == shard.waiting.end()) continue;
    const bool first = queued == shard.waiting.begin();
    shard.waiting.erase(queued);
    if (!first || !shard.receiving) continue;
    shard.receiving = false;
    queue_.remove(slot(server) + index);
    take_next(shard, now);
  }
}

/// The first that waits.
void Transit::receive(Shard& shard, double now) {
  shard.receiving = true;
  shard.takes_at = std::max(now, shard.free_at);
  order(shard, now, service(shard.waiting.front()) * shard.part);
  shard.taken_at = shard.free_at;
  schedule(shard, shard.free_at);
}

void Transit::schedule(const Shard& shard, double time) {
  const auto index = static_cast<std::uint32_t>(&shard - shards_.data());
  queue_.schedule(slot(server) + index, time, EventClass::arrival);
}

void Transit::pause(double now, double length) {
  for (Shard& shard : shards_) order(shard, now, length);
}

bool Transit::postpone(std::uint32_t learner) {
  if (!machines_) return false;
  Way& way = ways_[learner];
  GRADRACE_CHECK(!way.due, "a learner computes one minibatch at a time");
  way.due = machines_->is_down(learner);
  return way.due;
}

/// As if it had computed without a break until it ended.
TripFacts Transit::trip_while_computing(std::uint32_t learner, double now) const {
  const Way& way = ways_[learner];
  const Overlap& its = overlaps_[learner];
  const bool all = way.place >= Place::away;  // of the model is there
  double computed = std::clamp(now - way.begin, 0.0, forward(way));
  if (all) computed += std::clamp(now - its.backward, 0.0, way.runtime - forward(way));
  const double end = all ? std::min(now, its.end) : now;
  const double reached = way.place == Place::queued ? way.reached : now;
  return {learner, way.left, end - computed, end, reached, computed};
}

/// As if it had computed without a break until it ended, or to the layer that is not there.
TripFacts Transit::trip_by_layer(std::uint32_t learner, double now) const {
  const Way& way = ways_[learner];
  const Overlap& its = overlaps_[learner];
  const double reached = way.place == Place::queued ? way.reached : now;
  const bool all = way.place >= Place::away;  // of the model is there
  if (!all && its.next == 0) return {learner, way.left, reached, reached, reached, 0};
  const double due = all ? way.runtime : pulls_[its.next].begins(backward_pass) * way.runtime;
  const double start = way.begin + its.late, end = std::min(start + due, reached);
  if (now < its.there) {
    const double computed = std::clamp(now - way.begin - its.before, 0.0, its.waits);
    return {learner, way.left, end - computed, end, reached, computed};
  }
  return {learner, way.left, std::min(start, reached),
          end,     reached,  std::clamp(now - start, 0.0, due)};
}

TripFacts Transit::trip(std::uint32_t learner, double now) const {
  const Way& way = ways_[learner];
  if (way.place < Place::outgoing) return {learner, now, now, now, now, 0};
  if (overlaps_computing_) [[unlikely]]
    return is_by_layer() ? trip_by_layer(learner, now) : trip_while_computing(learner, now);
  const double reached = way.place == Place::queued ? way.reached : now;
  if (way.place == Place::outgoing) return {learner, way.left, reached, reached, reached, 0};
  const double begin = std::min(way.begin, reached),
               end = std::min(way.begin + way.runtime, reached);
  if (plain_)
    return {learner, way.left, begin, end, reached, std::clamp(now - way.begin, 0.0, way.runtime)};
  const double reading = time_of_reading(way), making = carried_[way.plan].making_up;
  const double computing = way.runtime - making;
  const auto passed = [now](double from, double length) {
    return length > 0 ? std::clamp(now - from, 0.0, length) : 0;
  };
  return {learner,
          way.left,
          begin,
          end,
          reached,
          passed(way.begin, computing),
          passed(way.begin - reading, reading),
          passed(way.begin + computing, making)};
}

TripFacts Transit::end(std::uint32_t learner, double now) {
  Way& way = ways_[learner];
  if (waits()) std::erase(departing_, learner);
  TripFacts ended = trip(learner, now);
  ended.left = std::min(ended.left, ended.reached);  // it may end before the model has left
  totals_[learner].communicating += ended.communicating();
  if (is_by_layer() && way.place == Place::incoming) [[unlikely]]
    note_hidden(learner, now);
  if (!plain_) note_more(ended);
  const Place place = std::exchange(way.place, Place::nowhere);
  if (place == Place::queued) [[likely]]
    return ended;
  if (place == Place::outgoing) outgoing_->remove(learner, now);
  if (place == Place::incoming) {
    incoming_->remove(learner, now);
    withdraw(learner);
    if (overlaps_computing_) overlaps_[learner].held.clear();
  }
  return ended;
}

/// The time in which it made and read messages, or computed while they came and went.
void Transit::note_more(const TripFacts& ended) {
  const Way& way = ways_[ended.learner];
  totals_[ended.learner].encoding += ended.reading + ended.making;
  if (!overlaps_computing_ || way.place < Place::outgoing) return;
  const Overlap& its = overlaps_[ended.learner];
  if (is_by_layer()) {
    const bool comes = way.place == Place::outgoing || ended.reached < its.there;
    totals_[ended.learner].hidden += comes ? ended.computed : its.hidden;
    return;
  }
  double exchanging = ended.reached - ended.left;
  if (way.place >= Place::away)
    exchanging = std::min(its.there, ended.reached) - ended.left +
                 std::max(0.0, ended.reached - its.backward);
  totals_[ended.learner].hidden += std::max(0.0, exchanging - ended.communicating());
}

ExchangeTotals Transit::exchanged(std::uint32_t learner, double now) const {
  ExchangeTotals totals = totals_[learner];
  if (machines_) totals.down = machines_->down(learner, now);
  return totals;
}

Utilisation Transit::utilisation(double now) const {
  Utilisation share;
  if (now <= 0) return share;
  if (links_.bandwidth) share.link = std::max(outgoing_->busy(now), incoming_->busy(now)) / now;
  if (!facts_.server) return share;
  share.server = 0;
  for (const Shard& shard : shards_) {
    const double done = shard.ordered - std::max(0.0, shard.free_at - now);
    share.server = std::max(share.server, done / now);
  }
  return share;
}

void Transit::withdraw(std::uint32_t learner) {
  for (Shard& shard : shards_) withdraw(shard, learner);
}

/// A shard that takes it up already goes on to do so.
void Transit::withdraw(Shard& shard, std::uint32_t who) {
  const auto queued = std::find(shard.waiting.begin(), shard.waiting.end(), who);
  if (queued == shard.waiting.end()) return;
  if (shard.receiving && queued == shard.waiting.begin()) {
    *queued = nobody;
  } else {
    shard.waiting.erase(queued);
  }
}

void Transit::clear_roads(double now) {
  if (outgoing_) {
    outgoing_->clear(now);
    incoming_->clear(now);
  }
  for (Shard& shard : shards_) {
    std::vector<std::uint32_t> kept;
    if (shard.receiving && shard.waiting.front() != timer()) kept.push_back(nobody);
    if (std::ranges::find(shard.waiting, timer()) != shard.waiting.end()) kept.push_back(timer());
    shard.waiting.clear();
    for (const std::uint32_t who : kept) shard.waiting.push_back(who);
  }
}

Happening Transit::change(std::uint32_t learner, double now) {
  machines_->change(learner, now);
  Way& way = ways_[learner];
  if (!machines_->is_down(learner))
    return {std::exchange(way.due, false) ? Kind::back : Kind::passage, learner};
  way.follows = false;
  if (way.place == Place::nowhere || way.place == Place::queued) return {Kind::passage};
  way.due = true;
  return {Kind::loss, learner};
}

}  // namespace gradrace
