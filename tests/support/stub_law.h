#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/distribution.h"
#include "sim/runtimes.h"

namespace gradrace {

/// A law for tests of who draws what: it says how it samples, and nothing true of the rest.
class StubLaw : public Distribution {
 public:
  double mean() const override { return 1; }
  double variance() const override { return 1; }
  double survival(double) const override { return 0; }
  double quantile(double) const override { return 0; }
  double inverse_survival(double) const override { return 0; }
  double expected_order_statistic(std::uint32_t, std::uint32_t) const override { return 1; }
  double sample_order_statistic(std::uint32_t, std::uint32_t, Stream&) const override { return 0; }
  double expected_capped_order_statistic(std::uint32_t, std::uint32_t, double) const override {
    return 1;
  }
  Ageing ageing() const override { return Ageing::neither; }
};

/// Gives minibatches the times of a list, in the order in which they begin.
class Listed final : public Runtimes {
 public:
  explicit Listed(std::vector<double> times) : times_(std::move(times)) {}
  double duration(std::uint32_t, std::uint32_t, double, std::uint32_t) override {
    if (next_ == times_.size())
      throw std::out_of_range("minibatch " + std::to_string(next_ + 1) +
                              " has no runtime: dispatches after the last update take one, too");
    return times_[next_++];
  }

 private:
  std::vector<double> times_;
  std::size_t next_ = 0;
};

inline MakeRuntimes listed(std::vector<double> times) {
  return [times](std::uint64_t, std::uint32_t) { return std::make_unique<Listed>(times); };
}

}  // namespace gradrace
