#include "distributions/cluster/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "distributions/cluster/some_learners.h"
#include "sim/message_text.h"
#include "sim/run_error.h"

namespace gradrace {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

void read_window(Fields& fields, Window& window, std::uint32_t learners) {
  fields.real("start", window.start, Need::required, at_least(0), "when it opens");
  fields.real("length", window.length, positive(), "how long it is open (default: for ever)");
  fields.real("factor", window.factor, Need::defaulted, between(1e-9, 1e9),
              "learners work at 1 / factor of their speed");
  fields.real("delay", window.delay, Need::defaulted, at_least(0),
              "each minibatch that they begin takes so much longer, as with a slow message; "
              "`factor` does not stretch it");
  if (fields.good() && !fields.has("factor") && !fields.has("delay"))
    fields.complain("", "does nothing", "factor, delay");
  fields.real("every", window.every, at_least(1e-6), "it opens again after each so long");
  visit_some_learners(fields, window.learners, learners, Need::none,
                      "the numbers of those that are slowed, counted from 0 (default: all)");
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
  double open;  // 1, or 0
};

/// What is done from one opening to the next by who would do 1 in a unit of time.
double work_of_period(const Window& window) {
  return *window.every - *window.length + *window.length / window.factor;
}

/// After so many openings a time tells the parts of the next too badly: the window then slows down
/// as on average.
constexpr double most_rounds = 0x1p40;

/// Of windows while a minibatch lasts, but for those that are skipped by whole periods.
constexpr int most_changes = 100'000;

double rounds(const Window& window, double time) {
  return std::floor((time - window.start) / *window.every);
}

Span span_at(const Window& window, double time) {
  if (time < window.start) return {1, window.start, 0};
  if (!window.length) return {window.factor, endless, 1};
  double opened = window.start, opens = endless;
  if (window.every) {
    double round = rounds(window, time);
    if (round > most_rounds) {
      return {*window.every / work_of_period(window), endless, *window.length / *window.every};
    }
    while (window.start + round * *window.every > time) --round;
    while (window.start + (round + 1) * *window.every <= time) ++round;
    opened = window.start + round * *window.every;
    opens = window.start + (round + 1) * *window.every;
  }
  const double closes = opened + *window.length;
  return time < closes ? Span{window.factor, closes, 1} : Span{1, opens, 0};
}

/// What all windows of a learner but one do together.
Span span_of_all(std::span<const Window> windows, std::uint32_t learner, double time,
                 const Window* but = nullptr) {
  Span all{1, endless, 0};
  for (const auto& window : windows) {
    if (&window == but || !concerns(window, learner)) continue;
    const Span span = span_at(window, time);
    all.factor *= span.factor;
    all.until = std::min(all.until, span.until);
  }
  return all;
}

double delay_at(std::span<const Window> windows, std::uint32_t learner, double time) {
  double delay = 0;
  for (const auto& window : windows) {
    if (window.delay > 0 && concerns(window, learner))
      delay += window.delay * span_at(window, time).open;
  }
  return delay;
}

/// The window of a learner that opens most often; null if none opens again.
const Window* most_frequent(std::span<const Window> windows, std::uint32_t learner) {
  const Window* result = nullptr;
  for (const auto& window : windows) {
    if (!window.every || !concerns(window, learner)) continue;
    if (result == nullptr || *window.every < *result->every) result = &window;
  }
  return result;
}

/// Where `frequent` opens many times before another window changes or the work is done, goes on by
/// whole periods of it.  A few are left to be walked through, which rounds less.
void skip_periods(std::span<const Window> windows, std::uint32_t learner, const Window& frequent,
                  double& now, double& work) {
  constexpr double few = 100;
  if (now < frequent.start || rounds(frequent, now) > most_rounds) return;
  const Span others = span_of_all(windows, learner, now, &frequent);
  const double done = work_of_period(frequent) / others.factor;
  const double periods = std::floor(std::min(work / done, (others.until - now) / *frequent.every));
  if (periods < few) return;
  now += periods * *frequent.every;
  work = std::max(0.0, work - periods * done);
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
  if (!(work < endless)) return work;
  const Window* const frequent = most_frequent(windows, learner);
  const double delay = delay_at(windows, learner, begin);
  double now = begin;
  for (int changes = 0; changes < most_changes; ++changes) {
    if (frequent != nullptr) skip_periods(windows, learner, *frequent, now, work);
    const Span all = span_of_all(windows, learner, now);
    const double worked = (all.until - now) / all.factor;
    if (!(worked < work)) return now - begin + work * all.factor + delay;
    work -= worked;
    now = all.until;
  }
  throw RunError("windows open and close more than " + std::to_string(most_changes) +
                 " times during one minibatch, which began at " + short_number(begin) +
                 "; cluster.windows: every is too short for such times");
}

}  // namespace gradrace
