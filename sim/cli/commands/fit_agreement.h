#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "distributions/fit/iteration_times.h"
#include "distributions/fit/trace_fit.h"

namespace gradrace {

/// A number that was found, and where it may lie.
struct FoundNumber {
  std::string name;  // "runtime.mu", "iteration of sync, as measured"
  double value;
  Interval interval;  // 95 %
};

/// How far what was fitted is what was measured.
struct FitAgreement {
  std::uint32_t draws = 0;           // of the bootstrap; 0: too many times for one
  std::vector<FoundNumber> numbers;  // of the cluster as fitted, and times of iterations
  std::vector<std::string>
      doubts;  // sentences: no law fits, laws alike that differ, clusters that do
};

/// Draws rounds again for intervals, simulates the cluster as fitted and compares it with the one
/// as measured: both in the mean time of a round's slowest minibatch (sync) and of the k-th fastest
/// of P (k-sync), k half of P.
FitAgreement agreement_of(const TraceFit& fit);

/// A table and the doubts.
std::string agreement_text(const FitAgreement& agreement);

}  // namespace gradrace
