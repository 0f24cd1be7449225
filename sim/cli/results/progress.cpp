#include "sim/cli/results/progress.h"

#include <unistd.h>

#include <cstdio>

#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

std::string duration(double seconds) {
  char text[32];
  if (seconds < 60) {
    std::snprintf(text, sizeof text, "%.0f s", seconds);
  } else if (seconds < 3600) {
    std::snprintf(text, sizeof text, "%d min %02d s", static_cast<int>(seconds) / 60,
                  static_cast<int>(seconds) % 60);
  } else {
    std::snprintf(text, sizeof text, "%d h %02d min", static_cast<int>(seconds) / 3600,
                  static_cast<int>(seconds) / 60 % 60);
  }
  return text;
}

}  // namespace

Progress::Progress(std::string name, std::size_t runs, bool quiet)
    : name_(printable(name)),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      done_(runs, 0.0) {
  next_print_ = terminal_ ? 0.2 : 10.0;
  if (!quiet_) std::fprintf(stderr, "%s: %s\n", name_.c_str(), count_text(runs, "run").c_str());
}

Progress::~Progress() {
  if (!quiet_ && terminal_) std::fputs("\r\033[K", stderr);
}

double Progress::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Progress::report(std::size_t run, double done, std::uint64_t gradients) {
  const std::lock_guard lock(mutex_);
  sum_ += done - done_[run];
  if (done >= 1 && done_[run] < 1) ++finished_;
  done_[run] = done;
  gradients_ += gradients;
  const double now = elapsed();
  if (quiet_ || now < next_print_) return;
  next_print_ = now + (terminal_ ? 0.2 : 10.0);
  print(now);
}

void Progress::print(double now) {
  const double share = sum_ / static_cast<double>(done_.size());
  const std::string left = share > 0 ? duration(now * (1 - share) / share) + " left" : "";
  std::fprintf(stderr, "%s%s: %zu of %s, %.0f %%, %.3g gradients/s, %s%s", terminal_ ? "\r" : "",
               name_.c_str(), finished_, count_text(done_.size(), "run").c_str(), 100 * share,
               static_cast<double>(gradients_) / now, left.c_str(), terminal_ ? "\033[K" : "\n");
  std::fflush(stderr);
}

}  // namespace gradrace
