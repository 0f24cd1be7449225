#pragma once

namespace gradrace {

/// What the process has in memory now, and the most that it has had since a MemoryGrowth began, in
/// bytes.
double resident_memory();
double peak_memory();

/// What the thread has computed, in seconds: what others do on the machine is no part of it.
double thread_seconds();

/// How much the process grows while it lives.
class MemoryGrowth {
 public:
  MemoryGrowth();
  /// At its greatest.
  double bytes() const { return peak_memory() - before_; }

 private:
  double before_;
};

}  // namespace gradrace
