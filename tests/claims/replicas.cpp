#include "tests/claims/replicas.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/check.h"
#include "tests/support/race_text.h"

namespace gradrace {

Replicas::Replicas(const Point& point, std::uint32_t count) {
  for (std::uint32_t replica = 0; replica < count; ++replica) {
    curves_.push_back(run_training(point, replica).curve);
    const std::size_t size = curves_.back().size() - 1;
    size_ = replica == 0 ? size : std::min(size_, size);
  }
}

std::size_t Replicas::at_time(double time) const {
  for (std::size_t i = 0; i < size_; ++i)
    if (curves_.front()[i].point.time == time) return i;
  GRADRACE_CHECK(false, "an evaluation is at that time");
}

template <class Value>
Mean Replicas::mean(std::size_t evaluation, Value value) const {
  Mean result;
  for (const auto& curve : curves_) result.add(value(curve[evaluation]));
  return result;
}

Mean Replicas::time(std::size_t evaluation) const {
  return mean(evaluation, [](const CurvePoint& at) { return at.point.time; });
}
Mean Replicas::update(std::size_t evaluation) const {
  return mean(evaluation,
              [](const CurvePoint& at) { return static_cast<double>(at.point.update); });
}
Mean Replicas::loss(std::size_t evaluation) const {
  return mean(evaluation, [](const CurvePoint& at) { return at.evaluation.loss; });
}
Mean Replicas::k(std::size_t evaluation) const {
  return mean(evaluation, [](const CurvePoint& at) { return at.point.k; });
}

double Replicas::median_loss(std::size_t evaluation) const {
  std::vector<double> losses;
  for (const auto& curve : curves_) losses.push_back(curve[evaluation].evaluation.loss);
  const auto middle = losses.begin() + static_cast<std::ptrdiff_t>(losses.size() / 2);
  std::nth_element(losses.begin(), middle, losses.end());
  return *middle;
}

Mean Replicas::final_loss(double from) const {
  Mean result;
  for (const auto& curve : curves_) {
    Mean tail;
    for (auto i = static_cast<std::size_t>(from * static_cast<double>(size_)); i < size_; ++i)
      tail.add(curve[i].evaluation.loss);
    result.add(tail.value());
  }
  return result;
}

template <class At>
double Replicas::crossing(double level, At at) const {
  double before = loss(0).value();
  if (before <= level) return at(0);
  for (std::size_t i = 1; i < size_; ++i) {
    const double now = loss(i).value();
    if (now <= level) {
      const double share = std::log(before / level) / std::log(before / now);
      return at(i - 1) + share * (at(i) - at(i - 1));
    }
    before = now;
  }
  return std::numeric_limits<double>::infinity();
}

double Replicas::time_to(double level) const {
  return crossing(level, [&](std::size_t i) { return time(i).value(); });
}
double Replicas::loss_at(double when) const {
  std::size_t after = 1;
  while (after + 1 < size_ && time(after).value() < when) ++after;
  const double from = time(after - 1).value(), to = time(after).value();
  const double share = std::min((when - from) / (to - from), 1.0);
  const double before = loss(after - 1).value();
  return before * std::pow(loss(after).value() / before, share);
}
double Replicas::updates_to(double level) const {
  return crossing(level, [&](std::size_t i) { return update(i).value(); });
}

}  // namespace gradrace
