#include "protocols/rejoining_step.h"

#include <cmath>
#include <compare>
#include <cstddef>
#include <map>
#include <utility>

namespace gradrace {

namespace {

using Counts = std::vector<std::uint32_t>;  // [class]

/// Learners of one rate of finishing minibatches.
struct Class {
  double rate;
  std::uint32_t learners;
};

/// Within a step: how many of each class have delivered, and how many are late; the others compute
/// a fresh gradient.
struct State {
  Counts delivered, late;
  auto operator<=>(const State&) const = default;
};

/// A step that begins with some learners late: its mean time, and who is late when it ends.
struct Step {
  double time = 0;
  std::map<Counts, double> next;  // [late at the next step] probability
};

constexpr double most_visits = 300'000;  // of states, by all steps together: under a second

std::vector<Class> classes_of(const std::vector<double>& means) {
  std::map<double, std::uint32_t> counts;
  for (const double mean : means) ++counts[mean];
  std::vector<Class> classes;
  for (const auto& [mean, count] : counts) classes.push_back({1 / mean, count});
  return classes;
}

/// All ways in which so many learners of the classes can be late.
std::vector<Counts> late_ones(const std::vector<Class>& classes, std::uint32_t late) {
  std::vector<Counts> found{{}};
  for (const Class& one : classes) {
    std::vector<Counts> longer;
    for (const Counts& counts : found) {
      for (std::uint32_t i = 0; i <= one.learners; ++i) {
        longer.push_back(counts);
        longer.back().push_back(i);
      }
    }
    found = std::move(longer);
    if (static_cast<double>(found.size()) > most_visits) return {};
  }
  std::erase_if(found, [&](const Counts& counts) {
    std::uint32_t sum = 0;
    for (const std::uint32_t i : counts) sum += i;
    return sum != late;
  });
  return found;
}

/// States of a step, at most.
double states_of(const std::vector<Class>& classes) {
  double states = 1;
  for (const Class& one : classes) states *= (one.learners + 1.0) * (one.learners + 2.0) / 2;
  return states;
}

/// Every minibatch that ends either delivers or makes a late learner fresh, so that states are met
/// in the order of how many have ended.
Step step_from(const std::vector<Class>& classes, const Counts& late, std::uint32_t n) {
  Step step;
  std::map<State, double> states{{{Counts(classes.size(), 0), late}, 1.0}}, after;
  for (; !states.empty(); states = std::exchange(after, {})) {
    for (const auto& [state, probability] : states) {
      std::uint32_t delivered = 0;
      double rate = 0;
      for (std::size_t c = 0; c < classes.size(); ++c) {
        delivered += state.delivered[c];
        rate += classes[c].rate * (classes[c].learners - state.delivered[c]);
      }
      if (delivered == n) {
        Counts left(classes.size());
        for (std::size_t c = 0; c < classes.size(); ++c)
          left[c] = classes[c].learners - state.delivered[c];
        step.next[left] += probability;
        continue;
      }
      step.time += probability / rate;
      for (std::size_t c = 0; c < classes.size(); ++c) {
        const double share = probability * classes[c].rate / rate;
        const auto fresh = classes[c].learners - state.delivered[c] - state.late[c];
        State next = state;
        ++next.delivered[c];
        if (fresh > 0) after[next] += share * fresh;
        next = state;
        if (state.late[c] == 0) continue;
        --next.late[c];
        after[next] += share * state.late[c];
      }
    }
  }
  return step;
}

}  // namespace

std::optional<double> rejoining_step(const std::vector<double>& means, std::uint32_t n) {
  const auto classes = classes_of(means);
  const auto starts = late_ones(classes, static_cast<std::uint32_t>(means.size()) - n);
  const double visits = states_of(classes) * static_cast<double>(starts.size());
  if (starts.empty() || visits > most_visits) return {};
  std::map<Counts, Step> steps;
  for (const Counts& late : starts) steps[late] = step_from(classes, late, n);
  std::map<Counts, double> law;  // of who is late when a step begins
  for (const Counts& late : starts) law[late] = 1.0 / static_cast<double>(starts.size());
  constexpr int most_rounds = 100'000;
  double change = 1;
  for (int round = 0; round < most_rounds && change > 1e-13; ++round) {
    std::map<Counts, double> next;
    for (const auto& [late, probability] : law)
      for (const auto& [left, share] : steps[late].next) next[left] += probability * share;
    change = 0;
    for (const Counts& late : starts) change += std::abs(next[late] - law[late]);
    law = std::move(next);
  }
  if (change > 1e-13) return {};
  double time = 0;
  for (const auto& [late, probability] : law) time += probability * steps[late].time;
  return time;
}

}  // namespace gradrace
