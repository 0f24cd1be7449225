#pragma once

#include <memory>
#include <span>

#include "sim/compressor.h"
#include "sim/engine/race.h"

namespace gradrace {

/// What is sent arrives.
struct Identity final : CompressorOf<Identity> {
  double bytes(double numbers) const override { return 4 * numbers; }
  template <class Real>
  void make(std::span<Real>, Stream&) const {}
};

/// Half of every number arrives, in half of the bytes.
struct Halving final : CompressorOf<Halving> {
  double bytes(double numbers) const override { return 2 * numbers; }
  bool adds(double) const override { return true; }
  template <class Real>
  void make(std::span<Real> row, Stream&) const {
    for (Real& x : row) x /= 2;
  }
};

/// The same, of which that is known when a message leaves.
struct HalvingByContent final : CompressorOf<HalvingByContent> {
  double bytes(double numbers) const override { return 2 * numbers; }
  bool bytes_vary() const override { return true; }
  bool adds(double) const override { return true; }
  template <class Real>
  double make(std::span<Real> row, Stream&) const {
    for (Real& x : row) x /= 2;
    return 2 * static_cast<double>(row.size());
  }
};

/// The race, all of whose plans make messages so.
template <class Kind>
Race with_messages(Race race, Kind kind, std::optional<Memory> memory) {
  const auto compressor = std::make_shared<const Kind>(std::move(kind));
  for (Plan& plan : race.plans) plan.message = {compressor, memory};
  return race;
}

}  // namespace gradrace
