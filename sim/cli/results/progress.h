#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace gradrace {

/// Says on stderr how far a set of runs is: on a terminal one line that is written over, with rate
/// and time left; else a plain line now and then.  Safe from several threads.
class Progress {
 public:
  /// Silent if `quiet`.
  Progress(std::string name, std::size_t runs, bool quiet);
  ~Progress();

  /// A run's share done, 0 to 1, and gradients applied since the last call.
  void report(std::size_t run, double done, std::uint64_t gradients);

  double elapsed() const;

 private:
  void print(double now);

  using Clock = std::chrono::steady_clock;
  const std::string name_;
  const bool quiet_, terminal_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  std::vector<double> done_;
  double sum_ = 0;
  std::size_t finished_ = 0;
  std::uint64_t gradients_ = 0;
  double next_print_ = 0;
};

}  // namespace gradrace
