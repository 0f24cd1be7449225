#include "sim/engine/stop.h"

#include <algorithm>

namespace gradrace {

void StopCondition::visit(Fields& fields, Stop& stop) const {
  if (const auto* real = std::get_if<Real>(&limit)) {
    fields.real(key, stop.**real, range, meaning);
  } else {
    fields.integer(key, stop.*std::get<Whole>(limit), range, meaning);
  }
}

std::optional<double> StopCondition::of(const Stop& stop) const {
  return std::visit(
      [&](auto member) -> std::optional<double> {
        if (!(stop.*member)) return std::nullopt;
        return static_cast<double>(*(stop.*member));
      },
      limit);
}

/// Of whole numbers that every reader of JSON tells apart.
static constexpr double most_counted = 9007199254740992;

std::span<const StopCondition> stop_conditions() {
  using enum StopCondition::Needs;
  using enum StopCondition::How;
  static const StopCondition conditions[] = {
      {"time", &Stop::time, positive(), "simulated time", nothing, clock, false, &Reached::time,
       nullptr},
      {"updates", &Stop::updates, between(1, most_counted),
       "updates made, or more where several are made at once", nothing, count, false,
       &Reached::updates, nullptr},
      {"gradients", &Stop::gradients, between(1, most_counted), "gradients applied", nothing, count,
       true, &Reached::gradients, nullptr},
      {"epochs", &Stop::epochs, positive(), "samples applied over the training set's size",
       data_set, count, true, &Reached::epochs, nullptr},
      {"loss", &Stop::loss, anything(), "training objective at an evaluation, or less", model,
       judged, false, nullptr, &Evaluation::loss},
      {"test_error", &Stop::test_error, between(0, 1), "test error at an evaluation, or less",
       classes, judged, false, nullptr, &Evaluation::test_error},
  };
  return conditions;
}

std::vector<CountedLimit> counted_limits(const Stop& stop) {
  std::vector<CountedLimit> limits;
  for (const auto& condition : stop_conditions()) {
    const auto limit = condition.of(stop);
    if (limit && condition.how == StopCondition::How::count) {
      limits.push_back({condition.reached, *limit});
    }
  }
  return limits;
}

bool is_judged(const Stop& stop) {
  return std::ranges::any_of(stop_conditions(), [&](const StopCondition& condition) {
    return condition.found && condition.of(stop);
  });
}

bool is_limited(const Stop& stop) {
  return std::ranges::any_of(stop_conditions(), [&](const StopCondition& condition) {
    return condition.reached && condition.of(stop);
  });
}

bool meets(const Evaluation& evaluation, const Stop& stop) {
  return std::ranges::any_of(stop_conditions(), [&](const StopCondition& condition) {
    const auto limit = condition.of(stop);
    return limit && condition.found && evaluation.*condition.found <= *limit;
  });
}

double progress(const Reached& reached, const Stop& stop) {
  double done = 0;
  for (const auto& condition : stop_conditions()) {
    const auto limit = condition.of(stop);
    if (limit && condition.reached) done = std::max(done, reached.*condition.reached / *limit);
  }
  return std::min(done, 1.0);
}

}  // namespace gradrace
