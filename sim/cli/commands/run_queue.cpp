#include "sim/cli/commands/run_queue.h"

#include <algorithm>
#include <utility>

namespace gradrace {

RunQueue::RunQueue(std::vector<Task> tasks, std::size_t replicas)
    : tasks_(std::move(tasks)), replicas_(replicas), taken_(tasks_.size() * replicas) {}

std::optional<std::size_t> RunQueue::take() {
  const std::size_t end = std::min(first_ + window, size());
  std::optional<std::size_t> longest;
  for (std::size_t run = first_; run < end; ++run) {
    if (taken_[run] || (longest && task(run).work <= task(*longest).work)) continue;
    longest = run;
  }
  if (longest) taken(*longest);
  return longest;
}

std::optional<std::size_t> RunQueue::take_of(std::size_t group) {
  for (std::size_t run = first_; run < size(); ++run) {
    if (!taken_[run] && task(run).group == group) return taken(run);
  }
  return {};
}

std::size_t RunQueue::taken(std::size_t run) {
  taken_[run] = true;
  while (first_ < size() && taken_[first_]) ++first_;
  return run;
}

}  // namespace gradrace
