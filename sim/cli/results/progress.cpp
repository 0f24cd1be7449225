#include "sim/cli/results/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sim/cli/results/duration.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

double interval_of(Progress::Style style, bool terminal) {
  if (style == Progress::Style::json) return 1;
  return terminal ? 0.2 : 10;
}

/// A line of the terminal.
class StepLine {
 public:
  explicit StepLine(const std::string& name) : name_(printable(name)) {}
  ~StepLine() {
    if (is_there_) std::fputs("\r\033[K", stderr);
  }
  StepLine(const StepLine&) = delete;
  StepLine& operator=(const StepLine&) = delete;

  void tell(const std::string& what, std::size_t number, std::size_t all) {
    constexpr auto patience = std::chrono::milliseconds(500);
    if (std::chrono::steady_clock::now() - begin_ < patience) return;
    is_there_ = true;
    std::fprintf(stderr, "\r%s: %s, point %zu of %zu\033[K", name_.c_str(), what.c_str(),
                 number + 1, all);
    std::fflush(stderr);
  }

 private:
  const std::string name_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool is_there_ = false;
};

}  // namespace

TellStep tell_steps(const std::string& name) {
  if (isatty(STDERR_FILENO) == 0) return {};
  return
      [line = std::make_shared<StepLine>(name)](const std::string& what, std::size_t number,
                                                std::size_t all) { line->tell(what, number, all); };
}

Progress::Progress(Style style)
    : style_(style),
      terminal_(isatty(STDERR_FILENO) != 0),
      interval_(interval_of(style, terminal_)),
      next_print_(interval_) {}

Progress::~Progress() {
  try {
    if (style_ == Style::json) print(json(elapsed(), interrupted_ ? "interrupted" : "ended"));
  } catch (const std::bad_alloc&) {
    // The call ends with that.
  }
  clear();
}

void Progress::clear() const {
  if (style_ != Style::text || !terminal_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

std::size_t Progress::add(const std::string& name, const std::vector<double>& work,
                          std::size_t kept) {
  const std::size_t first = done_.size();
  scenarios_.push_back({printable(name), first});
  // Work is in units of its scenario, whose runs are taken for as long as those of others.
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  for (const double each : work)
    weights_.push_back(sum > 0 ? each / sum * static_cast<double>(work.size()) : 1);
  weight_sum_ += static_cast<double>(work.size());
  done_.resize(weights_.size(), 0.0);
  kept_ += kept;
  if (style_ != Style::text) return first;
  const std::string there = kept > 0 ? std::to_string(kept) + " of " +
                                           count_text(kept + work.size(), "run") +
                                           (kept == 1 ? " is there" : " are there")
                                     : count_text(work.size(), "run");
  std::fprintf(stderr, "%s: %s\n", scenarios_.back().name.c_str(), there.c_str());
  return first;
}

double Progress::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Progress::report(std::size_t run, double done, std::uint64_t gradients) {
  const std::lock_guard lock(mutex_);
  sum_ += (done - done_[run]) * weights_[run];
  done_[run] = done;
  gradients_ += gradients;
  last_run_ = run;
  print_if_due();
}

void Progress::end(std::size_t run, Status status) {
  const std::lock_guard lock(mutex_);
  sum_ += (1 - done_[run]) * weights_[run];
  done_[run] = 1;
  ++ended_;
  diverged_ += status == Status::diverged;
  failed_ += status == Status::failed;
  last_run_ = run;
  print_if_due();
}

void Progress::print_if_due() {
  if (style_ == Style::none) return;
  const double now = elapsed();
  if (now < next_print_) return;
  next_print_ = now + interval_;
  print(style_ == Style::json ? json(now, "running") : text(now));
}

void Progress::print(const std::string& line) const {
  const bool over_written = terminal_ && style_ == Style::text;
  std::fprintf(stderr, "%s%s%s", over_written ? "\r" : "", line.c_str(),
               over_written ? "\033[K" : "\n");
  std::fflush(stderr);
}

double Progress::left(double now) const {
  return sum_ > 0 ? now * std::max(0.0, weight_sum_ - sum_) / sum_ : std::nan("");
}

std::string Progress::text(double now) const {
  const auto scenario = std::ranges::upper_bound(scenarios_, last_run_, {}, &Scenario::first) - 1;
  const std::string numbers = ", " + std::to_string(std::lround(100 * sum_ / weight_sum_)) +
                              " %, " + rate_text(static_cast<double>(gradients_) / now) +
                              " gradients/s";
  std::string text = scenario->name + ": " + std::to_string(kept_ + ended_) + " of " +
                     count_text(kept_ + done_.size(), "run") + numbers;
  if (sum_ > 0) text += ", " + duration_text(left(now)) + " left";
  if (diverged_ > 0) text += ", " + std::to_string(diverged_) + " diverged";
  if (failed_ > 0) text += ", " + std::to_string(failed_) + " failed";
  return text;
}

std::string Progress::json(double now, const char* state) const {
  nlohmann::ordered_json line{{"state", state},
                              {"done", ended_},
                              {"total", done_.size()},
                              {"kept", kept_},
                              {"diverged", diverged_},
                              {"failed", failed_},
                              {"share", ended_ < done_.size() ? sum_ / weight_sum_ : 1.0},
                              {"seconds", now},
                              {"seconds_left", nullptr},
                              {"gradients_per_second", static_cast<double>(gradients_) / now},
                              {"scenario", nullptr}};
  if (sum_ > 0) line["seconds_left"] = ended_ < done_.size() ? left(now) : 0.0;
  const auto scenario = std::ranges::upper_bound(scenarios_, last_run_, {}, &Scenario::first);
  if (scenario != scenarios_.begin()) line["scenario"] = (scenario - 1)->name;
  return line.dump();
}

}  // namespace gradrace
