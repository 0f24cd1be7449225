#include "protocols/groups/group_schedule.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gradrace {

void choose(Stream& random, std::span<std::uint32_t> numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto left = static_cast<std::uint32_t>(numbers.size() - i);
    std::swap(numbers[i], numbers[i + uniform_below(random, left)]);
  }
}

void divide(Stream& random, std::span<std::uint32_t> learners, std::uint32_t group,
            std::vector<std::size_t>& sizes) {
  choose(random, learners, learners.size());
  const std::size_t n = learners.size();
  const std::size_t groups = groups_of(n, group);
  sizes.clear();
  for (std::size_t i = 0; i < groups; ++i) {
    sizes.push_back(n / groups + (i < n % groups ? 1 : 0));
    std::ranges::sort(learners.first(sizes.back()));
    learners = learners.subspan(sizes.back());
  }
}

Requests::Requests(const GroupRule& rule)
    : rule_(rule), counts_(rule.learners), places_(rule.learners) {
  std::iota(places_.begin(), places_.end(), 0);
}

/// To the front of places_; how many they are.
std::uint32_t Requests::gather_others(std::uint32_t learner) {
  std::uint32_t count = 0;
  for (std::uint32_t other = 0; other < rule_.learners; ++other) {
    places_[count] = other;
    count += other != learner && may_take(learner, other);
  }
  return count;
}

void Requests::draw(std::uint32_t learner, Stream& random, std::vector<std::uint32_t>& members) {
  const bool any = !rule_.filter && left_.empty();
  const std::uint32_t others = any ? rule_.learners - 1 : gather_others(learner);
  const std::uint32_t count = std::min(rule_.group - 1, others);
  choose(random, std::span(places_).first(others), count);
  members.assign(places_.begin(), places_.begin() + count);
  if (any) {
    // Only these places have been changed: the first, and those of who was there before.
    for (const std::uint32_t place : members) places_[place] = place;
    for (std::uint32_t place = 0; place < count; ++place) places_[place] = place;
    for (std::uint32_t& member : members) member += member >= learner;  // place to learner
  }
  members.push_back(learner);
  std::ranges::sort(members);
}

}  // namespace gradrace
