#include "models/layers/functions.h"

#include <Eigen/Core>
#include <algorithm>

#include "models/cpu/kernels/kernels.h"

namespace gradrace {

using kernels::lane_count;

static void of_each(std::span<float> x, void (*function)(float*, std::size_t)) {
  function(x.data(), x.size() / lane_count);
  const auto rest = x.last(x.size() % lane_count);
  if (rest.empty()) return;
  float lane[lane_count] = {};
  std::ranges::copy(rest, lane);
  function(lane, 1);
  std::copy_n(lane, rest.size(), rest.begin());
}

static Eigen::Map<Eigen::ArrayXd> array(std::span<double> x) {
  return {x.data(), static_cast<Eigen::Index>(x.size())};
}

void exponentials(std::span<float> x) { of_each(x, kernels::chosen_kernels().exponentials); }
void exponentials(std::span<double> x) { array(x) = array(x).exp(); }
void logarithms(std::span<float> x) { of_each(x, kernels::chosen_kernels().logarithms); }
void logarithms(std::span<double> x) { array(x) = array(x).log(); }
void tanhs(std::span<float> x) { of_each(x, kernels::chosen_kernels().tanhs); }
void tanhs(std::span<double> x) { array(x) = array(x).tanh(); }

}  // namespace gradrace
