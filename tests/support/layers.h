#pragma once

#include <cmath>
#include <functional>
#include <memory>

#include "models/layers/cpu_layer.h"
#include "models/sampling/batch.h"

namespace gradrace {

/// n images of so many numbers each, of no pattern that a layer would see.
inline Units<double> some_images(Eigen::Index n, std::size_t numbers, double phase = 1) {
  Units<double> x(n, static_cast<Eigen::Index>(numbers));
  for (Eigen::Index i = 0; i < x.size(); ++i)
    x.data()[i] = std::sin(phase + 1.7 * static_cast<double>(i));
  return x;
}

/// The layer in float64, its parameters from `first` on and its statistics from `statistics` on.
inline std::unique_ptr<CpuLayer<double>> computed(LayerSpec spec, std::uint32_t first = 0,
                                                  std::uint32_t statistics = 0) {
  spec.kernel.first = first;
  spec.kernel.statistics = statistics;
  return spec.make_float64(spec);
}

/// A number that depends on all of y, and its derivative by y.
inline double probe(const Units<double>& y) {
  return (some_images(y.rows(), static_cast<std::size_t>(y.cols()), 5).array() * y.array()).sum();
}
inline Units<double> by_probe(const Units<double>& y) {
  return some_images(y.rows(), static_cast<std::size_t>(y.cols()), 5);
}

/// The derivative of probe(f(x)) by central differences of step 1e-6.
inline Units<double> differences(const std::function<Units<double>(const Units<double>& x)>& f,
                                 Units<double> x) {
  constexpr double h = 1e-6;
  Units<double> dx(x.rows(), x.cols());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const double at = x.data()[i];
    x.data()[i] = at + h;
    const double above = probe(f(x));
    x.data()[i] = at - h;
    dx.data()[i] = (above - probe(f(x))) / (2 * h);
    x.data()[i] = at;
  }
  return dx;
}

/// |a - b| / |b|.
inline double relative_distance(const Units<double>& a, const Units<double>& b) {
  return (a - b).norm() / b.norm();
}

}  // namespace gradrace
