#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gradrace {

/// Runs that no thread has taken yet: the one that takes the most work comes first, so that threads
/// end at about the same time.
class RunQueue {
 public:
  struct Task {
    std::size_t run;
    double work;        // estimated; run_work.h
    std::size_t group;  // of runs that one device can replay side by side
  };

  /// groups: their number; of equal runs the first comes first.
  RunQueue(std::vector<Task> tasks, std::size_t groups);

  std::size_t size() const { return tasks_.size(); }

  /// The next one.
  std::optional<Task> take();
  /// The next one of that group.
  std::optional<Task> take_of(std::size_t group);

 private:
  std::vector<Task> tasks_;                       // the longest first
  std::vector<bool> taken_;                       // [place in tasks_]
  std::vector<std::vector<std::size_t>> places_;  // [group]: in tasks_, the last comes first
  std::size_t next_ = 0;
};

}  // namespace gradrace
