#include "sim/cli/scenario/one_rate.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/message_text.h"

namespace gradrace {

namespace {

/// Gradients that move a value at once.
std::uint32_t gradients_of_step(const Point* point) {
  return point->make_protocol()->gradients_of_step();
}

/// The points whose learning rate is used: passes of dual ascent have none.
std::vector<const Point*> rated(const Scenario& scenario) {
  std::vector<const Point*> points;
  for (const Point& point : scenario.points)
    if (!point.dual()) points.push_back(&point);
  return points;
}

/// "an update of sync averages 8 gradients, one of async 1"; empty where they are as many.
std::string difference_in_gradients(const std::vector<const Point*>& points) {
  const auto [first, last] = std::ranges::minmax_element(points, {}, gradients_of_step);
  const Point *least = *first, *most = *last;
  if (gradients_of_step(least) == gradients_of_step(most)) return {};
  const bool one = most->protocol_name == least->protocol_name;
  return " (an update of " + (one ? most->label.text() : most->protocol_name) + " averages " +
         count_text(gradients_of_step(most), "gradient") + ", one of " +
         (one ? least->label.text() : least->protocol_name) + " " +
         std::to_string(gradients_of_step(least)) + ")";
}

}  // namespace

std::string one_rate_warning(const Scenario& scenario) {
  const auto points = rated(scenario);
  if (points.empty()) return {};
  const Point& first = *points.front();
  const bool one_protocol = std::ranges::all_of(
      points, [&](const Point* point) { return point->protocol_name == first.protocol_name; });
  const bool rates_swept = std::ranges::any_of(scenario.swept_paths, [](const std::string& path) {
    return path.starts_with("learning_rate");
  });
  const auto& rate = first.learning_rate;
  if (rates_swept || !first.with_model() || !rate) return {};
  if (rate->eta({}, 0, 1) != rate->eta({}, 0, 2)) return {};
  const std::string differ = difference_in_gradients(points);
  if (one_protocol && differ.empty()) return {};
  return (one_protocol ? "all points" : "all protocols") +
         (" have one learning rate, and the best one may differ" + differ) +
         "; sweep learning_rate too, such as learning_rate.eta, before you choose";
}

}  // namespace gradrace
