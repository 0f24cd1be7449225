#include "distributions/fit/doubts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "distributions/fit/drift.h"
#include "distributions/fit/odd_values.h"
#include "distributions/fit/outlying.h"
#include "distributions/fit/percent.h"
#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/structure.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

using Round = std::vector<double>;  // a time of each learner, ascending

constexpr std::size_t fewest_rounds = 8;

std::size_t rounds_of(const Trace& trace) {
  return std::ranges::min(trace.series, {}, &std::vector<double>::size).size();
}

/// The share of rounds that a test holds in.  With a shift, learner l's time is that of `shift` l
/// rounds later, so that a round's times are of different rounds.
double share_of_rounds(const Trace& trace, std::size_t shift,
                       const std::function<bool(const Round&)>& test) {
  const std::size_t rounds = rounds_of(trace), learners = trace.series.size();
  std::size_t held = 0;
  Round round(learners);
  for (std::size_t n = 0; n < rounds; ++n) {
    for (std::size_t l = 0; l < learners; ++l) round[l] = trace.series[l][(n + shift * l) % rounds];
    std::sort(round.begin(), round.end());
    if (test(round)) ++held;
  }
  return static_cast<double>(held) / static_cast<double>(rounds);
}

bool longest_agree(const Round& round) {
  return round[round.size() - 2] >= (1 - 1e-3) * round.back();
}

bool all_agree(const Round& round) { return round.front() >= (1 - 1e-2) * round.back(); }

double share_cancelled(const std::vector<bool>& cancelled) {
  return static_cast<double>(std::ranges::count(cancelled, true)) /
         static_cast<double>(cancelled.size());
}

/// What says that learners differ whose minibatches were cancelled: of one a share of them that is
/// 5 standard errors or more from that of all; empty of equal ones.
std::string unlike_cancelled(const Trace& trace) {
  double count = 0, all = 0;
  for (const auto& one : trace.cancelled) {
    all += share_cancelled(one) * static_cast<double>(one.size());
    count += static_cast<double>(one.size());
  }
  const double share = all / count;
  const auto is_far = [&](const std::vector<bool>& one) {
    const double error = std::sqrt(share * (1 - share) / static_cast<double>(one.size()));
    return std::abs(share_cancelled(one) - share) > 5 * error;
  };
  if (std::ranges::none_of(trace.cancelled, is_far)) return {};
  const auto [least, most] = std::ranges::minmax_element(trace.cancelled, {}, share_cancelled);
  const auto told = [&](auto one) {
    const auto learner = static_cast<std::size_t>(one - trace.cancelled.begin());
    return percent(share_cancelled(*one)) + " of those of learner " + trace.learners[learner];
  };
  return "the learners are unlike: " + told(least) + " were cancelled, " + told(most) +
         "; one law is fitted to all, which is right for equal learners alone: fit the trace of "
         "each learner by itself";
}

bool says_step(const std::string& column) {
  const std::string name = lowercase(column);
  return name.find("step") != std::string::npos || name.find("iter") != std::string::npos;
}

/// Of the column, and what stands beside the times of a log.
std::vector<std::string> names_of(const TraceSource& source) {
  std::vector<std::string> names{source.times};
  names.insert(names.end(), source.said.begin(), source.said.end());
  return names;
}

/// What says that times are averages.
std::string average_text(const Trace& trace, const TraceSource& source) {
  const auto names = names_of(source);
  const auto said = std::ranges::find_if(names, says_average);
  const bool says = said != names.end();
  const std::string name = "\"" + (says ? *said : source.times) + "\"";
  if (!source.average.empty()) return name + " is an average: " + source.average;
  if (!says && !are_running_averages(trace)) return {};
  return name +
         (says ? " says that it is an average, of the times so far or of several"
               : " changes ever less from one time to the next, as the average of the times so far "
                 "does") +
         ": averages vary less and persist more than minibatches; say --column NAME (of a log "
         "another --pattern) for the times themselves";
}

/// What says that a time is not that of one minibatch, but of several or of its parts.
std::string together_text(const TraceSource& source) {
  for (const auto& name : names_of(source)) {
    if (const std::size_t steps = steps_together(name); steps > 1)
      return "\"" + name + "\" says that each time is that of " + std::to_string(steps) +
             " steps together: sums vary less, over their mean, than minibatches do, and no option "
             "parts them; log each minibatch, or, where the mean alone counts, --scale " +
             short_number(1 / static_cast<double>(steps));
    if (const std::string item = item_of(name); !item.empty() && source.scale == 1)
      return "\"" + name + "\" says that a time is by " + item +
             ", and a law is fitted to minibatches: say --scale M where a minibatch has M of them";
    if (const std::string what = what_else(name);
        !what.empty() && (says_time(name) || name != source.times))
      return "\"" + name + "\" says that a time " + what +
             ", and a law is fitted to it as to that of a minibatch; say --column NAME, or of a "
             "log another --pattern, where there is one of these";
  }
  return {};
}

double mean_among(const Trace& trace, const std::function<bool(std::size_t, std::size_t)>& counts) {
  double sum = 0, n = 0;
  for (std::size_t l = 0; l < trace.series.size(); ++l) {
    for (std::size_t i = 0; i < trace.series[l].size(); ++i) {
      if (!counts(l, i)) continue;
      sum += trace.series[l][i];
      n += 1;
    }
  }
  return sum / n;
}

/// "the mean is 0.587 with them, 0.544 without"
std::string means_text(const Trace& trace, const std::vector<std::size_t>& draws) {
  const auto among = [&](std::size_t draw) {
    return std::ranges::find(draws, draw) != draws.end();
  };
  return "the mean is " + short_number(mean_among(trace, [](auto, auto) { return true; }), 3) +
         (draws.size() * trace.series.size() == 1 ? " with it, " : " with them, ") +
         short_number(mean_among(trace, [&](auto, auto draw) { return !among(draw); }), 3) +
         " without";
}

/// Of one learner whose first time is three times as long as any other of it, and is a twentieth of
/// all its time or more.
std::string first_time_text(const Trace& trace, std::size_t skipped) {
  for (std::size_t learner = 0; learner < trace.series.size(); ++learner) {
    const auto& times = trace.series[learner];
    if (times.size() < 3) continue;
    const double most = *std::max_element(times.begin() + 1, times.end());
    const double others = std::accumulate(times.begin() + 1, times.end(), 0.0);
    if (!(times.front() > 3 * most && 20 * times.front() > others)) continue;
    return "the first time of learner " + trace.learners[learner] + ", " +
           short_number(times.front(), 3) + ", stands far above its others, " +
           short_number(others / static_cast<double>(times.size() - 1), 3) +
           " in the mean, as a step does that compiles or warms up: --skip " +
           std::to_string(skipped + 1) + " leaves out the first of each learner";
  }
  return {};
}

void tell_common_outliers(const Trace& trace, std::size_t skipped,
                          std::vector<std::string>& doubts) {
  std::size_t slow = slow_beginning(trace);
  auto common = common_outliers(outlying_times(trace));
  std::size_t leading = 0;
  while (leading < common.size() && common[leading] == leading) ++leading;
  if (2 * leading > common.size()) slow = std::max(slow, leading);
  const bool several = trace.series.size() > 1, one = slow == 1;
  const std::string whose =
      (one ? "the first time" : "the first " + std::to_string(slow) + " times") +
      std::string(several ? " of all learners" : "");
  if (slow > 0) {
    std::vector<std::size_t> draws(slow);
    std::iota(draws.begin(), draws.end(), std::size_t{0});
    doubts.push_back(whose + (one ? " stands" : " stand") +
                     " far above the others, as steps do that compile or warm up; " +
                     means_text(trace, draws) + ": say --skip " + std::to_string(skipped + slow));
  } else if (const std::string first = several ? first_time_text(trace, skipped) : "";
             !first.empty()) {
    doubts.push_back(first);
  }
  std::erase_if(common, [&](std::size_t draw) { return draw < slow; });
  if (common.empty()) return;
  doubts.push_back("in " + count_text(common.size(), "round") + ", the first by draw " +
                   std::to_string(common.front()) +
                   ", all learners take far longer than else, as where all wait (a checkpoint, an "
                   "evaluation); " +
                   means_text(trace, common) +
                   ": independent draws have no such rounds, the cluster as measured has");
}

/// Of learners of one time or two, which give them a speed all the same; the first five.
std::string few_times_text(const Trace& trace, const std::string& column) {
  constexpr std::size_t few = 2, most = 5;
  std::vector<std::size_t> who;
  for (std::size_t learner = 0; learner < trace.series.size(); ++learner)
    if (trace.series[learner].size() <= few) who.push_back(learner);
  if (who.empty() || trace.series.size() == 1) return {};
  if (who.size() == trace.series.size())
    return "no learner has more than two times, which are too few to estimate its speed: log more";
  const bool one = who.size() == 1, more = who.size() > most;
  std::string cure = ": log more";
  if (!column.empty() && column.find(',') == column.npos)
    cure += ", or leave " + std::string(one ? "it" : "them") + " out, by --where '" + column +
            "!=" + trace.learners[who.front()] + "'" + (one ? "" : " and so on");
  who.resize(std::min(who.size(), most));
  const auto name = [&](std::size_t learner) {
    return trace.learners[learner] + " (" + count_text(trace.series[learner].size(), "time") + ")";
  };
  return (one ? "learner " : "learners ") + joined(who, ", ", name) + (more ? " ..." : "") +
         (one ? " has too few times to say how fast it is"
              : " have too few times to say how fast they are") +
         cure;
}

/// Small letters; a number without zeros that say nothing.
std::string plain_name(const std::string& name) {
  double number = 0;
  return parse_number(name, number) ? number_text(number) : lowercase(name);
}

/// Of learners whose names may be one: they differ in capitals, in how a number is written, or in a
/// domain; the first two.
std::string alike_names_text(const Trace& trace) {
  std::map<std::string, std::size_t> seen;  // [plain name]
  const auto text = [&](std::size_t a, std::size_t b) {
    return "learners " + shown(trace.learners[a]) + " and " + shown(trace.learners[b]) +
           " are two by their names; if they are one, give it one name";
  };
  for (std::size_t learner = 0; learner < trace.learners.size(); ++learner) {
    const auto [first, is_new] = seen.try_emplace(plain_name(trace.learners[learner]), learner);
    if (!is_new) return text(first->second, learner);
  }
  for (const auto& [name, learner] : seen) {
    const auto dot = name.find('.');
    if (dot == name.npos || is_number(name)) continue;
    if (const auto host = seen.find(name.substr(0, dot)); host != seen.end())
      return text(host->second, learner);
  }
  return {};
}

/// Whether learners' times rise and fall together from round to round: the mean rank correlation of
/// their changes, beyond chance; 0 where it is not.
double common_changes(const Trace& trace) {
  constexpr double least = 0.3, errors = 6;
  const std::size_t rounds = rounds_of(trace);
  std::vector<double> sums(rounds - 1);
  for (const auto& times : trace.series) {
    std::vector<double> changes;
    for (std::size_t n = 0; n + 1 < rounds; ++n) changes.push_back(times[n + 1] - times[n]);
    const auto ranks = centred_ranks(changes);
    double square = 0;
    for (const double rank : ranks) square += rank * rank;
    if (!(square > 0)) return 0;
    for (std::size_t n = 0; n < ranks.size(); ++n) sums[n] += ranks[n] / std::sqrt(square);
  }
  double square = 0;
  for (const double sum : sums) square += sum * sum;
  const auto learners = static_cast<double>(trace.series.size());
  const double pairs = learners * (learners - 1);
  const double correlation = (square - learners) / pairs;
  const double error = std::sqrt(2 / (pairs * static_cast<double>(rounds)));
  return correlation > std::max(least, errors * error) ? correlation : 0;
}

void tell_drift(const Trace& trace, std::vector<std::string>& doubts) {
  const auto drift = drift_of(trace);
  if (!drift) return;
  const std::string whose = drift->learner
                                ? " of learner " + trace.learners[*drift->learner] + "'s times"
                                : " of the times";
  doubts.push_back(
      "the last " + percent(drift->share) + whose + " are " + short_number(drift->ratio, 3) +
      " times as long as those before: they drift or change, and the cluster below "
      "does not; what looks like persistence or a slow learner may be that alone; fit a "
      "part that is steady (--skip leaves out the beginning), or replay the times as "
      "they are");
}

constexpr const char* slowest_option =
    "if each is that of a job that waits for its slowest of P workers, say --slowest-of P: "
    "else the law is fitted to the maximum of P minibatches";
constexpr const char* cancelled_option =
    "say --censored COLUMN, a column that has 1 for them: else the times are taken for whole ones, "
    "and the law's mean comes out too low";

/// How often times rise and fall from one to the next, and the variance of either in a random
/// order.
struct Runs {
  double rises = 0, falls = 0, variance = 0;
  std::vector<double> after_falls;  // times that are shorter than the one before
  std::vector<double> by;           // which times rise
  std::size_t pairs = 0;            // every second rise of a learner's, if these are all

  bool are_many(double some, double share) const {
    const double all = rises + falls;
    return some >= share * all && some - all / 2 > 4 * std::sqrt(variance);
  }

  /// Whether they fall to values like those by which they rise, as totals of few rows do.
  bool begin_again() const {
    constexpr double alike = 2;
    if (after_falls.empty() || by.empty()) return false;
    const double ratio = median_of(after_falls) / median_of(by);
    return ratio <= alike && ratio >= 1 / alike;
  }
};

Runs runs_of(const Trace& trace) {
  Runs runs;
  for (const auto& times : trace.series) {
    const double before = runs.rises + runs.falls;
    std::size_t other[] = {0, 0}, all[] = {0, 0};  // of every second time
    for (std::size_t i = 1; i < times.size(); ++i) {
      ++all[i % 2];
      other[i % 2] += times[i] <= times[i - 1];
      if (times[i] > times[i - 1]) runs.by.push_back(times[i] - times[i - 1]);
      if (times[i] < times[i - 1]) runs.after_falls.push_back(times[i]);
      runs.rises += times[i] > times[i - 1];
      runs.falls += times[i] < times[i - 1];
    }
    runs.variance += (runs.rises + runs.falls - before + 2) / 12;  // of m + 1 values
    if (other[0] == 0 || other[1] == 0) runs.pairs += all[other[0] > 0];
  }
  return runs;
}

}  // namespace

bool only_rises(const Trace& trace) {
  const Runs runs = runs_of(trace);
  return runs.are_many(runs.rises, 0.75) || (runs.are_many(runs.rises, 0.6) && runs.begin_again());
}

bool rises_in_pairs(const Trace& trace) {
  const Runs runs = runs_of(trace);
  constexpr double fewest = 20;
  return static_cast<double>(runs.pairs) >= std::max(fewest, 0.45 * (runs.rises + runs.falls)) &&
         runs.begin_again();
}

bool only_falls(const Trace& trace) {
  const Runs runs = runs_of(trace);
  return runs.are_many(runs.falls, 0.75);
}

std::vector<std::string> doubts_about(const Trace& trace, const TraceSource& source,
                                      std::uint32_t slowest_of) {
  std::vector<std::string> doubts;
  tell_common_outliers(trace, source.skipped, doubts);
  const bool common = !doubts.empty();
  const bool rounds = trace.series.size() > 1 && rounds_of(trace) >= fewest_rounds;
  const double alike = rounds ? share_of_rounds(trace, 0, all_agree) : 0;
  const bool same = alike >= 0.9 && alike >= 4 * share_of_rounds(trace, 1, all_agree);
  if (slowest_of == 1 && same) {
    doubts.push_back("in " + percent(alike) +
                     " of the rounds all learners have the same time, as step times of a "
                     "synchronous job have; " +
                     slowest_option);
  } else if (slowest_of == 1 &&
             (source.step_times ||
              (trace.series.size() == 1 && std::ranges::any_of(names_of(source), says_step)))) {
    doubts.push_back("\"" + source.times + "\" is one series, perhaps of a whole job's steps; " +
                     slowest_option);
  }
  if (const std::string average = average_text(trace, source); !average.empty())
    doubts.push_back(average);
  if (const std::string together = together_text(source); !together.empty())
    doubts.push_back(together);
  const std::string few = few_times_text(trace, source.learner);
  if (const std::string greatest = greatest_text(trace, source.times);
      few.empty() && !greatest.empty())
    doubts.push_back(greatest);
  else if (const std::string pauses = pauses_text(trace); !common && !pauses.empty())
    doubts.push_back(pauses);
  if (const std::string units = units_text(trace); !units.empty()) doubts.push_back(units);
  if (const std::string twice = source.repeated.empty() ? twice_text(trace) : source.repeated;
      !twice.empty())
    doubts.push_back(twice);
  if (!few.empty()) doubts.push_back(few);
  if (const std::string two = alike_names_text(trace); !two.empty()) doubts.push_back(two);
  tell_drift(trace, doubts);
  if (const std::string unlike = unlike_cancelled(trace); !unlike.empty()) doubts.push_back(unlike);
  const std::string whole = trace.cancelled.empty() ? whole_text(trace, source.learner) : "";
  if (!whole.empty()) doubts.push_back(whole);
  if (slowest_of > 1 && trace.series.size() > 1 && !same)
    doubts.push_back(
        "--slowest-of is for the times of a job that waits for its slowest worker, and "
        "these are of " +
        count_text(trace.series.size(), "learner") +
        " with times of their own: leave the option out");
  if (!trace.cancelled.empty() || same || !whole.empty()) return doubts;
  if (source.learners_a_step > 0) {
    doubts.push_back(
        "each step has times of " + std::to_string(source.learners_a_step) + " of the " +
        std::to_string(trace.series.size()) +
        " learners, as where the others' minibatches were cancelled and not logged: the "
        "law is then that of the fastest; log those too, with how long they ran, and say "
        "--censored COLUMN");
  }
  const double tied = rounds ? share_of_rounds(trace, 0, longest_agree) : 0;
  if (!source.cancelled_hint.empty()) {
    doubts.push_back("column " + source.cancelled_hint +
                     " may say which minibatches were cancelled; if so, say --censored " +
                     source.cancelled_hint);
  } else if (tied >= 0.25 && tied >= 4 * share_of_rounds(trace, 1, longest_agree)) {
    doubts.push_back("in " + percent(tied) +
                     " of the rounds the longest times are equal, as those of minibatches are that "
                     "were cancelled together; " +
                     cancelled_option);
  } else if (const double together = rounds ? common_changes(trace) : 0; together > 0) {
    doubts.push_back(
        "the learners' times rise and fall together (rank correlation " +
        short_number(together, 2) +
        " of their changes), as where all wait for one thing: draws are independent, so "
        "that waits for the slowest come out too long; a replay keeps them together");
  }
  return doubts;
}

}  // namespace gradrace
