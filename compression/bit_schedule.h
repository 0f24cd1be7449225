#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "compression/parts.h"
#include "sim/compressor.h"

namespace gradrace {

/// What a scenario says of the bits of DQ-SGD.
struct BitSchedule {
  std::optional<std::uint64_t> horizon = {};
  std::optional<double> alpha = {}, nu = {}, L = {}, error = {}, mean_bits = {};
  std::uint64_t min_bits = 2, max_bits = whole_bits;

  void visit(Fields& fields);

  double alpha_at(double eta) const {
    return alpha.value_or(1 - 2 * nu.value_or(0) * eta +
                          L.value_or(0) * nu.value_or(0) * eta * eta);
  }
  std::uint64_t most_of_packed() const { return std::min(max_bits, most_packed); }
};

/// Of mean_bits, as `gradrace theory` shows them.
PlannedBits planned_bits(const BitSchedule& schedule, const Training& training);

/// Of a run, as the page of dq-sgd says: code n is of min_bits + n, the one after the most that are
/// packed of 32.
std::unique_ptr<CodeChooser> make_chooser(const BitSchedule& schedule, const Training& training);

}  // namespace gradrace
