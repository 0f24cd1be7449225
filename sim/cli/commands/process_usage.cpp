#include "sim/cli/commands/process_usage.h"

#include <ctime>
#include <fstream>
#include <string>

namespace gradrace {

/// In kB there.
static double of_status(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return std::stod(line.substr(name.size())) * 1024;
  return 0;
}

double resident_memory() { return of_status("VmRSS:"); }
double peak_memory() { return of_status("VmHWM:"); }

double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

MemoryGrowth::MemoryGrowth() {
  // Linux forgets the peak so far; where it does not, growth below that is not seen.
  constexpr const char* forget_peak = "5";
  std::ofstream("/proc/self/clear_refs") << forget_peak;
  before_ = resident_memory();
}

}  // namespace gradrace
