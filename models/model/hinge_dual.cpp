#include "models/model/hinge_dual.h"

#include <algorithm>
#include <span>

#include "models/sampling/minibatch.h"
#include "sim/lane_sum.h"

namespace gradrace {

template <class Real>
double HingeDual<Real>::ascend(const DualPass& pass, const MinibatchName& name, const Real* w,
                               const Real* before, Real* after, Real* g) {
  const auto shard = parts_.shards->of(name.learner);
  const std::size_t d = parts_.data->features;
  places_.resize(name.size);
  minibatch_rows(parts_.sampling, name, static_cast<std::uint32_t>(shard.size()), places_);
  rows_.clear();
  for (const std::uint32_t place : places_) rows_.push_back(shard[place]);
  const std::vector<Real> zeros(before ? 0 : shard.size());
  if (!before) before = zeros.data();
  std::copy_n(before, shard.size(), after);
  std::fill_n(g, d, Real{0});
  const double scale = 2 * parts_.l2 * static_cast<double>(parts_.data->train.count);
  constexpr std::size_t block_rows = 256;
  for (std::size_t first = 0; first < rows_.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows_.size() - first);
    block_.gather(*parts_.data, parts_.data->train, std::span(rows_).subspan(first, count));
    for (std::size_t i = 0; i < count; ++i) {
      const Real* const x = block_.x.data() + i * d;
      const double y = block_.classes[i] == parts_.positive ? 1 : -1;
      const double score =
          lane_sum(d, [&](std::size_t j) { return double{x[j]} * (w[j] - pass.sigma * g[j]); });
      const double square = lane_sum(d, [&](std::size_t j) { return double{x[j]} * x[j]; });
      Real& alpha = after[places_[first + i]];
      const auto next = static_cast<Real>(
          std::clamp(alpha - (y * score - 1) * scale / (pass.sigma * square), 0.0, 1.0));
      const double moved = y * (double{next} - alpha) / scale;
      for (std::size_t j = 0; moved != 0 && j < d; ++j) g[j] -= static_cast<Real>(moved * x[j]);
      alpha = next;
    }
  }
  for (std::size_t i = 0; i < shard.size(); ++i)
    after[i] = before[i] + static_cast<Real>(pass.step) * (after[i] - before[i]);
  return lane_sum(shard.size(), [&](std::size_t i) { return double{after[i]} - before[i]; });
}

template <class Real>
double HingeDual<Real>::gap(const Real* w, double loss, double sum) const {
  const double square =
      lane_sum(parts_.data->features, [&](std::size_t j) { return double{w[j]} * w[j]; });
  return loss + parts_.l2 * square - sum / static_cast<double>(parts_.data->train.count);
}

template class HingeDual<float>;
template class HingeDual<double>;

}  // namespace gradrace
