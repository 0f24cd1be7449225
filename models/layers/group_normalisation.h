#pragma once

#include <cmath>
#include <cstddef>

#include "models/gpu/kernels/pass.h"
#include "models/layers/base/steps.h"
#include "models/layers/network_spec.h"

namespace gradrace {

/// y = gamma u + b,  u = (x - mean) / sqrt(variance + 1e-5), image by image and group by group,
/// with mean and variance of the pixels of the group's channels (the variance divides by their
/// number), in a gradient and in an evaluation alike.  A group is of channels beside each other;
/// there are as many as the greatest divisor of the channels that is at most `groups`.  Source: Wu,
/// He, ECCV 2018.
///
/// Parameters: b [channels], then gamma [channels].
LayerSpec group_normalisation(const ImageShape& images, std::size_t groups);

}  // namespace gradrace

namespace gradrace::kernels {

constexpr double group_epsilon = 1e-5;

GRADRACE_HD inline std::uint32_t groups(const Layer& layer) { return layer.own[0]; }

/// Group `number` of all images': its numbers stand beside each other.  Kept: of each row and group
/// mean, 1 / sqrt(variance + epsilon) and, on the way back, the means of dz = gamma dy and dz u.
template <class Real>
struct GroupAt {
  std::uint32_t count, first;  // numbers of the group, and where they begin
  Real* kept;                  // [4]

  GRADRACE_HD GroupAt(const LayerAt<Real>& at, std::uint32_t number)
      : count(at.layer.units() / groups(at.layer)),
        first(number * count),
        kept(at.kept + 4 * number) {}

  /// The group that has a number.
  GRADRACE_HD static GroupAt of(const LayerAt<Real>& at, std::uint32_t number) {
    return {at, number / (at.layer.units() / groups(at.layer))};
  }
  GRADRACE_HD Real u(const LayerAt<Real>& at, std::uint32_t number) const {
    return (at.x[number] - kept[0]) * kept[1];
  }
};

/// gamma of the channel of a number.
template <class Real>
GRADRACE_HD Real gamma_of(const LayerAt<Real>& at, std::uint32_t number) {
  return at.b()[at.layer.outputs + number / at.layer.pixels() % at.layer.outputs];
}

/// x is read twice; then, with what follows, once more for y, and on the way back three times, dz
/// too; y and dx are written.
struct GroupStatistics {
  template <class Block, class Real>
  GRADRACE_HD void operator()(const Block& block, const LayerAt<Real>& at,
                              std::uint32_t number) const {
    const GroupAt<Real> group(at, number);
    const auto x = [&](std::uint32_t i) { return static_cast<double>(at.x[group.first + i]); };
    const double mean = sum(block, group.count, x) / group.count;
    const double variance = sum(block, group.count,
                                [&](std::uint32_t i) {
                                  const double difference = x(i) - mean;
                                  return difference * difference;
                                }) /
                            group.count;
    if (block.thread() > 0) return;
    group.kept[0] = static_cast<Real>(mean);
    group.kept[1] = static_cast<Real>(1 / std::sqrt(variance + group_epsilon));
  }
};

/// y [n, units] = f(gamma u + b).
struct GroupNormalisationForward {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const Real b = at.b()[number / at.layer.pixels() % at.layer.outputs];
    const Real u = GroupAt<Real>::of(at, number).u(at, number);
    at.y[number] = activated(at.layer.f, u * gamma_of(at, number) + b);
  }
};

/// The layer's part of g, channel by channel.
struct GroupNormalisationSums {
  template <class Block, class Real>
  GRADRACE_HD void operator()(const Block& block, const LayerAt<Real>& at,
                              std::uint32_t channel) const {
    const Layer& layer = at.layer;
    const std::uint32_t count = at.n * layer.pixels();
    const auto by_y = [&](std::uint32_t number) { return static_cast<double>(at.by_y[number]); };
    const double db =
        sum(block, count, [&](std::uint32_t p) { return by_y(of_channel(layer, channel, p)); });
    const double dgamma = sum(block, count, [&](std::uint32_t p) {
      const std::uint32_t number = of_channel(layer, channel, p);
      return by_y(number) * static_cast<double>(GroupAt<Real>::of(at, number).u(at, number));
    });
    if (block.thread() > 0) return;
    at.g[layer.first + channel] = static_cast<Real>(db);
    at.g[layer.first + layer.outputs + channel] = static_cast<Real>(dgamma);
  }
};

/// The means of dz and dz u.
struct GroupMeans {
  template <class Block, class Real>
  GRADRACE_HD void operator()(const Block& block, const LayerAt<Real>& at,
                              std::uint32_t number) const {
    const GroupAt<Real> group(at, number);
    const auto dz = [&](std::uint32_t i) {
      const std::uint32_t own = group.first + i;
      return static_cast<double>(gamma_of(at, own)) * static_cast<double>(at.by_y[own]);
    };
    const double total = sum(block, group.count, dz);
    const double with_u = sum(block, group.count, [&](std::uint32_t i) {
      return dz(i) * static_cast<double>(group.u(at, group.first + i));
    });
    if (block.thread() > 0) return;
    group.kept[2] = static_cast<Real>(total / group.count);
    group.kept[3] = static_cast<Real>(with_u / group.count);
  }
};

struct GroupNormalisationPropagate {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const auto group = GroupAt<Real>::of(at, number);
    const Real dz = gamma_of(at, number) * at.by_y[number];
    at.store(number, group.kept[1] * (dz - group.kept[2] - group.u(at, number) * group.kept[3]));
  }
};

struct GroupNormalisationSteps {
  static std::uint32_t kept(const Layer& layer) { return 4 * groups(layer); }

  template <class Jobs>
  static void forward(const Jobs& jobs, bool) {
    jobs.template add_up<GroupStatistics>(jobs.pass.n * groups(jobs.layer));
    jobs.template each<GroupNormalisationForward>(jobs.units());
  }
  template <class Jobs>
  static void backward(const Jobs& jobs) {
    jobs.template add_up<GroupNormalisationSums>(jobs.layer.outputs);
    jobs.template add_up<GroupMeans>(jobs.pass.n * groups(jobs.layer));
    jobs.template propagate<GroupNormalisationPropagate>();
  }
};

}  // namespace gradrace::kernels
