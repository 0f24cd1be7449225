#include "protocols/groups/group_schedule.h"

#include <algorithm>
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

void draw_group(const GroupRule& rule, const Requests& requests, std::uint32_t learner,
                Stream& random, std::vector<std::uint32_t>& members) {
  members.clear();
  for (std::uint32_t other = 0; other < rule.learners; ++other)
    if (other != learner && requests.may_take(learner, other)) members.push_back(other);
  const std::size_t others = std::min<std::size_t>(rule.group - 1, members.size());
  choose(random, members, others);
  members.resize(others);
  members.push_back(learner);
  std::ranges::sort(members);
}

}  // namespace gradrace
