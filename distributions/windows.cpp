#include "distributions/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradrace {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

void read_learners(Fields& fields, std::vector<std::uint32_t>& learners, std::uint32_t most) {
  std::vector<double> numbers;
  fields.reals(
      "learners", numbers, Need::none,
      {.low = 0, .high = double(most), .high_allowed = false, .high_name = "cluster.learners"},
      "who is slowed, counted from 0 (default: all)");
  const auto is_broken = [](double x) { return x != std::floor(x); };
  if (std::any_of(numbers.begin(), numbers.end(), is_broken)) {
    fields.complain("learners", "must be whole numbers");
  } else if (fields.has("learners") && numbers.empty() && fields.good()) {
    fields.complain("learners", "must be at least one");
  }
  learners.assign(numbers.begin(), numbers.end());
  std::sort(learners.begin(), learners.end());
}

void read_window(Fields& fields, Window& window, std::uint32_t learners) {
  fields.real("start", window.start, Need::required, at_least(0), "when it opens");
  fields.real("length", window.length, positive(), "how long it is open (default: for ever)");
  fields.real("factor", window.factor, Need::required, positive(),
              "learners work at 1 / factor of their speed");
  fields.real("every", window.every, positive(), "it opens again after each so long");
  read_learners(fields, window.learners, learners);
  if (!fields.good() || !window.every) return;
  if (!window.length) {
    fields.complain("every", "needs a length: what stays open does not open again");
  } else if (!(*window.every > *window.length)) {
    fields.complain("every", "must be greater than length");
  }
}

bool concerns(const Window& window, std::uint32_t learner) {
  return window.learners.empty() ||
         std::binary_search(window.learners.begin(), window.learners.end(), learner);
}

/// What a window does at a time, and the next time at which it does something else.
struct Span {
  double factor;
  double until;
};

Span span_at(const Window& window, double time) {
  if (time < window.start) return {1, window.start};
  if (!window.length) return {window.factor, endless};
  double opened = window.start, opens = endless;
  if (window.every) {
    double round = std::floor((time - window.start) / *window.every);
    while (window.start + round * *window.every > time) --round;
    while (window.start + (round + 1) * *window.every <= time) ++round;
    opened = window.start + round * *window.every;
    opens = window.start + (round + 1) * *window.every;
  }
  const double closes = opened + *window.length;
  return time < closes ? Span{window.factor, closes} : Span{1, opens};
}

}  // namespace

std::vector<Window> read_windows(Fields& fields, std::uint32_t learners) {
  std::vector<Window> windows(fields.open_list(
      "windows", Need::none, "times at which learners are slow; what is open together multiplies"));
  for (std::size_t i = 0; i < windows.size(); ++i) {
    fields.open_item(i);
    read_window(fields, windows[i], learners);
    fields.close();
  }
  if (!windows.empty()) fields.close();
  return windows;
}

double time_through(std::span<const Window> windows, std::uint32_t learner, double begin,
                    double work) {
  double now = begin;
  while (true) {
    Span all{1, endless};
    for (const auto& window : windows) {
      if (!concerns(window, learner)) continue;
      const Span span = span_at(window, now);
      all.factor *= span.factor;
      all.until = std::min(all.until, span.until);
    }
    const double worked = (all.until - now) / all.factor;
    if (!(worked < work)) return now - begin + work * all.factor;
    work -= worked;
    now = all.until;
  }
}

}  // namespace gradrace
