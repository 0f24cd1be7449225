#pragma once

#include <cmath>

#include "models/gpu/kernels/channels.h"
#include "models/layers/base/steps.h"
#include "models/layers/network_spec.h"

namespace gradrace {

/// y = gamma u + b,  u = (x - mean) / sqrt(variance + 1e-5), channel by channel: in a gradient with
/// mean and variance of the channel's pixels in the whole batch (the variance divides by their
/// number), in an evaluation with those that the value carries.  Source: Ioffe, Szegedy, ICML 2015.
///
/// Parameters: b [channels], then gamma [channels]; statistics, which decay as said: mean
/// [channels], then variance [channels].
LayerSpec batch_normalisation(const ImageShape& images, double decay);

}  // namespace gradrace

namespace gradrace::kernels {

constexpr double batch_epsilon = 1e-5;

/// What the numbers of a channel have in common: u = (x - mean) scale, scale = 1 / sqrt(variance +
/// epsilon), with the mean and variance that stand in the gradient, or in an evaluation among w.
template <class Real>
struct NormalisedChannel {
  Real mean, scale, b, gamma;

  GRADRACE_HD NormalisedChannel(const LayerAt<Real>& at, std::uint32_t channel) {
    const Layer& layer = at.layer;
    const Real* const statistics = (at.g != nullptr ? at.g : at.w) + layer.statistics;
    mean = statistics[channel];
    scale = 1 / std::sqrt(statistics[layer.outputs + channel] + static_cast<Real>(batch_epsilon));
    b = at.w[layer.first + channel], gamma = at.w[layer.first + layer.outputs + channel];
  }
  GRADRACE_HD Real u(Real x) const { return (x - mean) * scale; }
};

/// The statistics of the minibatch, at their places in g: of x less the channel's first number the
/// sum and the sum of squares, in double.  Mean and variance are off by some 2^-53 (1 + (mean -
/// first)^2 / variance) of themselves.
///
/// x is read once; then, with what follows, once more for y, and on the way back twice for dx, dz
/// too; y and dx are written.
struct BatchStatistics {
  static constexpr std::uint32_t count = 2;

  template <class Real>
  struct At {
    const LayerAt<Real>& at;
    std::uint32_t channel;
    double first;

    GRADRACE_HD At(const LayerAt<Real>& layer_at, std::uint32_t of_channel)
        : at(layer_at),
          channel(of_channel),
          first(static_cast<double>(at.x[of_channel * at.layer.pixels()])) {}

    template <std::uint32_t together>
    GRADRACE_HD void add(std::uint32_t number, double (&sums)[count]) const {
      Real x[together];
      read<together, together>(at.x + number, x);
      for (const Real value : x) {
        const double difference = static_cast<double>(value) - first;
        sums[0] += difference;
        sums[1] += difference * difference;
      }
    }
    GRADRACE_HD void store(const double (&sums)[count]) const {
      const Layer& layer = at.layer;
      const double n = at.n * layer.pixels(), mean = sums[0] / n;
      const double variance = sums[1] / n - mean * mean;
      at.g[layer.statistics + channel] = static_cast<Real>(first + mean);
      at.g[layer.statistics + layer.outputs + channel] =
          static_cast<Real>(variance < 0 ? 0 : variance);
    }
  };
};

/// y [n, units] = f(gamma u + b), as BatchNormalisation has it.
struct BatchNormalisationForward {
  template <std::uint32_t together, class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t channel,
                              std::uint32_t number) const {
    const NormalisedChannel<Real> of(at, channel);
    Real x[together];
    read<together, together>(at.x + number, x);
    for (Real& value : x) value = activated(at.layer.f, of.u(value) * of.gamma + of.b);
    write(x, at.y + number);
  }
};

/// The layer's part of g, which has the statistics of the minibatch.
struct BatchNormalisationSums {
  static constexpr std::uint32_t count = 2;

  template <class Real>
  struct At {
    const LayerAt<Real>& at;
    std::uint32_t channel;
    NormalisedChannel<Real> of;

    GRADRACE_HD At(const LayerAt<Real>& layer_at, std::uint32_t of_channel)
        : at(layer_at), channel(of_channel), of(at, channel) {}

    template <std::uint32_t together>
    GRADRACE_HD void add(std::uint32_t number, double (&sums)[count]) const {
      Real x[together], by_y[together];
      read<together, together>(at.x + number, x);
      read<together, together>(at.by_y + number, by_y);
      for (std::uint32_t i = 0; i < together; ++i) {
        sums[0] += static_cast<double>(by_y[i]);
        sums[1] += static_cast<double>(by_y[i]) * static_cast<double>(of.u(x[i]));
      }
    }
    GRADRACE_HD void store(const double (&sums)[count]) const {
      at.g[at.layer.first + channel] = static_cast<Real>(sums[0]);
      at.g[at.layer.first + at.layer.outputs + channel] = static_cast<Real>(sums[1]);
    }
  };
};

/// After the layer's part of g.
struct BatchNormalisationPropagate {
  template <std::uint32_t together, class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t channel,
                              std::uint32_t number) const {
    const NormalisedChannel<Real> of(at, channel);
    const Real* const db = at.g + at.layer.first + channel;
    const Real share = 1 / static_cast<Real>(at.n * at.layer.pixels());
    const Real mean = share * db[0], with_u = share * db[at.layer.outputs];
    const Real factor = of.gamma * of.scale;
    Real x[together], by_y[together];
    read<together, together>(at.x + number, x);
    read<together, together>(at.by_y + number, by_y);
    for (std::uint32_t i = 0; i < together; ++i)
      at.store(number + i, factor * (by_y[i] - mean - with_u * of.u(x[i])));
  }
};

struct BatchNormalisationSteps {
  static std::uint32_t kept(const Layer&) { return 0; }
  template <class Real>
  static std::uint64_t parts(const Layer& layer, std::uint32_t n) {
    return channel_part_numbers<Real>(layer, n, 2);
  }

  template <class Jobs>
  static void forward(const Jobs& jobs, bool learning) {
    if (learning) jobs.template add_up_channels<BatchStatistics>();
    jobs.template each_of_channels<BatchNormalisationForward>();
  }
  template <class Jobs>
  static void backward(const Jobs& jobs) {
    jobs.template add_up_channels<BatchNormalisationSums>();
    jobs.template each_of_channels<BatchNormalisationPropagate>();
  }
};

}  // namespace gradrace::kernels
