#include "sim/cli/commands/run_queue.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace gradrace {

RunQueue::RunQueue(std::vector<Task> tasks, std::size_t groups)
    : tasks_(std::move(tasks)), taken_(tasks_.size()), places_(groups) {
  std::ranges::stable_sort(tasks_, std::greater(), &Task::work);
  for (std::size_t place = tasks_.size(); place-- > 0;)
    places_[tasks_[place].group].push_back(place);
}

std::optional<RunQueue::Task> RunQueue::take() {
  while (next_ < tasks_.size() && taken_[next_]) ++next_;
  if (next_ == tasks_.size()) return {};
  taken_[next_] = true;
  return tasks_[next_++];
}

std::optional<RunQueue::Task> RunQueue::take_of(std::size_t group) {
  std::vector<std::size_t>& places = places_[group];
  while (!places.empty() && taken_[places.back()]) places.pop_back();
  if (places.empty()) return {};
  const std::size_t place = places.back();
  taken_[place] = true;
  return tasks_[place];
}

}  // namespace gradrace
