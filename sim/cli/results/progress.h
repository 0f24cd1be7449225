#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "sim/engine/run.h"

namespace gradrace {

/// Which of so many steps has begun.
using TellStep = std::function<void(const std::string& what, std::size_t number, std::size_t all)>;

/// Says so on a terminal, on one line that goes with the last copy, once the steps have taken half
/// a second.
TellStep tell_steps(const std::string& name);

/// Says on stderr how far the runs of a call are: on a terminal one line that is written over, with
/// rate and time left; else a plain line now and then, or for programs a line of JSON every second.
/// Safe from several threads.
class Progress {
 public:
  enum class Style { none, text, json };

  explicit Progress(Style style);
  ~Progress();

  /// Runs of a scenario that are to be made, with the work of each, and how many are there already.
  /// Their numbers go on where those of the scenarios before end, and the first is returned.
  std::size_t add(const std::string& name, const std::vector<double>& work, std::size_t kept);

  /// A run's share done, 0 to 1, and gradients applied since the last call.
  void report(std::size_t run, double done, std::uint64_t gradients);
  void end(std::size_t run, Status status);

  /// The call ends before its runs: in JSON the last line says so.
  void interrupt() { interrupted_ = true; }

  /// Takes its line off the terminal, before something else is printed.
  void clear() const;

  /// Since it was made, in seconds.
  double elapsed() const;

 private:
  struct Scenario {
    std::string name;
    std::size_t first;
  };
  void print_if_due();
  void print(const std::string& line) const;
  std::string text(double now) const;
  std::string json(double now, const char* state) const;
  double left(double now) const;

  using Clock = std::chrono::steady_clock;
  const Style style_;
  const bool terminal_;
  const double interval_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  std::vector<Scenario> scenarios_;
  std::vector<double> weights_, done_;  // [run]
  double weight_sum_ = 0, sum_ = 0;
  std::size_t kept_ = 0, ended_ = 0, diverged_ = 0, failed_ = 0;
  std::size_t last_run_ = 0;  // whose scenario is named
  std::uint64_t gradients_ = 0;
  bool interrupted_ = false;
  double next_print_;
};

}  // namespace gradrace
