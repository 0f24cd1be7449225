#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gradrace {

/// The runs of a scenario that no thread has taken yet: the one that takes the most work comes
/// first, so that threads end at about the same time.
class RunQueue {
 public:
  /// Of each run of a point.
  struct Task {
    double work;        // estimated; run_work.h
    std::size_t group;  // of runs that one device can replay side by side
  };

  /// take() looks among so many runs from the first that is left on: results are written in the
  /// order of runs, and those of later ones wait.
  static constexpr std::size_t window = 64;

  /// tasks: [point]; a run's number is point x replicas + replica.
  RunQueue(std::vector<Task> tasks, std::size_t replicas);

  std::size_t size() const { return taken_.size(); }
  std::size_t group_of(std::size_t run) const { return task(run).group; }

  /// The next run.
  std::optional<std::size_t> take();
  /// The first that is left of that group.
  std::optional<std::size_t> take_of(std::size_t group);

 private:
  const Task& task(std::size_t run) const { return tasks_[run / replicas_]; }
  std::size_t taken(std::size_t run);

  std::vector<Task> tasks_;
  std::size_t replicas_;
  std::vector<bool> taken_;  // [run]
  std::size_t first_ = 0;    // that is left
};

}  // namespace gradrace
