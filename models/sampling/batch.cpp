#include "models/sampling/batch.h"

#include <algorithm>

namespace gradrace {

template <class Real>
void Batch<Real>::gather(const Dataset& data, const Rows& split,
                         std::span<const std::uint32_t> rows) {
  const std::size_t n = rows.size(), d = data.features;
  x.resize(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(d));
  classes.resize(split.classes.empty() ? 0 : n);
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = split.classes[rows[i]];
  targets.resize(split.targets.empty() ? 0 : n);
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = static_cast<Real>(split.targets[rows[i]]);
  const auto scale = static_cast<Real>(data.byte_scale);
  for (std::size_t i = 0; i < n; ++i) {
    Real* to = x.data() + i * d;
    if (!split.listed.empty()) {
      std::fill_n(to, d, Real(0));
      split.listed.each_of(rows[i], [&](std::uint32_t place, float number) {
        to[place] = static_cast<Real>(number);
      });
    } else if (split.bytes.empty()) {
      const float* from = split.floats.data() + rows[i] * d;
      for (std::size_t j = 0; j < d; ++j) to[j] = static_cast<Real>(from[j]);
    } else {
      const std::uint8_t* from = split.bytes.data() + rows[i] * d;
      for (std::size_t j = 0; j < d; ++j) to[j] = static_cast<Real>(from[j]) * scale;
    }
  }
}

template struct Batch<float>;
template struct Batch<double>;

}  // namespace gradrace
