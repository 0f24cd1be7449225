#include "sim/engine/renewal_server.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/check.h"

namespace gradrace {

namespace {

/// So many that looking at all learners costs little beside them; of many learners fewer, as caches
/// hold no more.
std::size_t ends_of_span(std::uint32_t learners) {
  constexpr std::uint32_t most_cached = 1 << 17;
  return std::max(256u, std::min(8 * learners, std::max(most_cached, learners)));
}

/// Sorts what is nearly sorted.
template <class Ends>
void insert_each(Ends& ends, std::size_t size) {
  for (std::size_t i = 1; i < size; ++i) {
    const auto end = ends[i];
    std::size_t place = i;
    for (; place > 0 && end.time < ends[place - 1].time; --place) ends[place] = ends[place - 1];
    ends[place] = end;
  }
}

}  // namespace

RenewalServer::RenewalServer(const Race& race, std::uint32_t replica,
                             const ServerProtocol& protocol, Engine& engine, TapeWriter& tape,
                             const Quiet& quiet)
    : TimingServer(race, protocol, engine, tape),
      quiet_(quiet),
      drawn_(*race.runtime, race.seed, replica, race.learners),
      learners_(race.learners),
      ends_(race.learners),
      enough_(ends_of_span(race.learners)),
      drawn_ends_(2 * enough_),
      span_(2 * enough_ + 1 + 2 * ahead),
      places_(2 * enough_) {
  GRADRACE_CHECK(protocol.traits().never_waits, "a learner waits");
}

void RenewalServer::start() {
  for (std::uint32_t learner = 0; learner < race_.learners; ++learner) {
    begin(learner);
    ends_[learner] = end_of_next(learner);
  }
  books_.dispatch(race_.learners);
  LargeVector<double> ends = ends_;
  const auto middle = ends.begin() + race_.learners / 2;
  std::nth_element(ends.begin(), middle, ends.end());
  length_ = *middle / race_.learners * static_cast<double>(enough_);
  next_span();
  engine_.set(Happening::Kind::timer, span_[at_].time);
}

void RenewalServer::on_timer() {
  constexpr std::uint64_t most = 4096;  // then a signal may be heard
  const double alarm = engine_.next_alarm();
  const std::uint64_t before = books_.totals().updates;
  const std::uint64_t enough = std::min({quiet_.updates, quiet_.gradients, before + most});
  do {
    if (span_[at_].time == span_[at_ + 1].time && at_ >= ordered_) [[unlikely]]
      order_ties();
    const End end = span_[at_];
    fetch_coming();
    engine_.advance(end.time);
    apply(end);
    begin(end.learner);
    if (of_heap_ > 0) [[unlikely]]
      ends_[end.learner] = end_of_next(end.learner);
    books_.dispatch(1);
    if (++at_ == size_) [[unlikely]]
      next_span();
  } while (span_[at_].time <= alarm && books_.totals().updates < enough);
  books_.check(race_.learners);
  count(books_.totals().updates - before);
  engine_.set(Happening::Kind::timer, span_[at_].time);
}

/// Inlined for the same reason as Books::prefetch().
[[gnu::always_inline]] inline void RenewalServer::fetch_coming() {
  __builtin_prefetch(&learners_[span_[at_ + 2 * ahead].learner], 1);
  books_.prefetch(learners_[span_[at_ + ahead].learner].read, ahead);
}

inline void RenewalServer::apply(const End& end) {
  Learner& learner = learners_[end.learner];
  books_.apply(learner.read);
  books_.update(race_.learners - 1, end.time);
  learner.busy += end.time - learner.begin;
  learner.begin = end.time;
  ++learner.applied;
}

inline void RenewalServer::begin(std::uint32_t number) {
  Learner& learner = learners_[number];
  tape_.gradient(0, number, learner.applied, 0);
  learner.read = books_.version();
}

/// RunError where it overflows, or time stands still.
double RenewalServer::end_of_next(std::uint32_t number) {
  const Learner& learner = learners_[number];
  const double end = engine_.end_of(learner.begin, drawn_.time(number, learner.applied));
  if (!std::isfinite(end)) EventQueue::refuse(end);
  return end;
}

void RenewalServer::next_span() {
  at_ = ordered_ = 0;
  if (of_heap_ > 0 && --of_heap_ > 0) {
    const std::uint32_t number = span_[0].learner;
    heap_.emplace(ends_[number], learners_[number].read, number);
    return take_from_heap();
  }
  if (!draw_span()) return go_by_heap();
  sort_span();
  if (size_ < enough_ / 2) length_ *= 2;
  if (size_ > enough_ + enough_ / 2) length_ /= 2;
}

/// From the next end on; false: one ends when it begins, or never, or they are too many.
bool RenewalServer::draw_span() {
  const double from = std::ranges::min(ends_), to = from + length_;
  const auto last_part = static_cast<double>(places_.size() - 1);
  const double parts = last_part / length_;
  std::ranges::fill(places_, 0);
  size_ = 0;
  for (std::uint32_t number = 0; number < race_.learners; ++number) {
    double end = ends_[number];
    if (end > to) continue;
    for (std::uint32_t draw = learners_[number].applied + 1; end <= to; ++draw) {
      if (size_ == drawn_ends_.size()) {
        length_ /= 2;
        return false;
      }
      const auto part = static_cast<std::uint32_t>(std::min(last_part, (end - from) * parts));
      drawn_ends_[size_++] = {end, number, part};
      ++places_[part];
      const double begin = end;
      end += drawn_.time(number, draw);
      if (end == begin || !std::isfinite(end)) return false;
    }
    ends_[number] = end;
  }
  return true;
}

/// By parts of the span, which have about one end each.
void RenewalServer::sort_span() {
  constexpr std::uint32_t few = 16;
  std::uint32_t place = 0, most = 0;
  for (std::uint32_t& of_part : places_) {
    most = std::max(most, of_part);
    place += std::exchange(of_part, place);
  }
  for (std::size_t i = 0; i < size_; ++i) span_[places_[drawn_ends_[i].part]++] = drawn_ends_[i];
  span_[size_].time = std::numeric_limits<double>::infinity();
  if (most <= few) return insert_each(span_, size_);
  auto first = span_.begin();
  for (const std::uint32_t next : places_) {
    const auto last = span_.begin() + next;
    std::sort(first, last, [](const End& a, const End& b) { return a.time < b.time; });
    first = last;
  }
}

/// Ends of the next one's time come in the order in which the minibatches began: of one version, by
/// number.
void RenewalServer::order_ties() {
  const auto first = span_.begin() + static_cast<std::ptrdiff_t>(at_);
  const auto last =
      std::find_if(first, span_.end(), [&](const End& end) { return end.time != first->time; });
  std::sort(first, last, [this](const End& a, const End& b) {
    const std::uint32_t read_a = learners_[a.learner].read, read_b = learners_[b.learner].read;
    return read_a != read_b ? read_a < read_b : a.learner < b.learner;
  });
  ordered_ = static_cast<std::size_t>(last - span_.begin());
}

/// For some ends; those drawn ahead are forgotten.
void RenewalServer::go_by_heap() {
  of_heap_ = enough_;
  heap_ = {};
  for (std::uint32_t number = 0; number < race_.learners; ++number) {
    const Learner& learner = learners_[number];
    ends_[number] = learner.begin + drawn_.again(number, learner.applied);
    heap_.emplace(ends_[number], learner.read, number);
  }
  take_from_heap();
}

void RenewalServer::take_from_heap() {
  const auto [time, read, learner] = heap_.top();
  heap_.pop();
  span_[0] = {time, learner, 0};
  span_[1].time = std::numeric_limits<double>::infinity();
  size_ = 1;
}

/// Minibatches under way count once the run is over.
std::vector<LearnerTotals> RenewalServer::learner_totals() const {
  std::vector<LearnerTotals> result;
  result.reserve(learners_.size());
  for (const Learner& learner : learners_) {
    const double computed = is_over_ ? engine_.time() - learner.begin : 0;
    result.push_back({learner.busy + computed, 0, learner.applied, learner.applied});
    result.back().wait_until(engine_.time());
  }
  return result;
}

}  // namespace gradrace
