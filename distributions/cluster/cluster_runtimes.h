#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "distributions/catalog.h"
#include "distributions/cluster/outliers.h"
#include "distributions/cluster/persistence.h"
#include "distributions/cluster/windows.h"
#include "sim/per_learner.h"
#include "sim/runtimes.h"

namespace gradrace {

/// Why minibatches are not independent draws of one law, and the key of `cluster` that says so.
struct Difference {
  std::string_view key, why;
};

/// How long the minibatches of a cluster take.  The time of a learner's minibatch of m samples is
///
///     (X + m / rate) * persistence / speed + after,  and longer inside windows,
///
/// X a draw of the learner's law, or of the outliers' law in its place.
struct ClusterRuntimes {
  std::vector<DistributionProduct> laws;  // learner l draws from laws[l mod size]
  std::vector<double> speeds{1};          // learner l has speeds[l mod size]
  bool slow = false;                      // some of them come from the key `slow`
  std::optional<double> rate;             // samples per unit of time; no such part without one
  PersistenceProduct persistence;         // null: times do not remember
  std::optional<Outliers> outliers;
  std::vector<Window> windows;
  double after = 0;  // in laws and means alone; who draws adds it

  /// The law of all minibatches of so many samples if they are independent draws of one law, with
  /// outliers of fixed probability and no cap among them; else null.
  DistributionProduct common_law(std::uint32_t learners, const PerLearner& samples) const;
  /// Why they are not; empty if they are.
  std::vector<Difference> differences(std::uint32_t learners, const PerLearner& samples) const;
  /// The first of those.
  std::string_view why_no_common_law(std::uint32_t learners, const PerLearner& samples) const;

  /// The mean times of such minibatches [learner], if each learner's are independent draws of a law
  /// of its own, and independent of others'; else empty.
  std::vector<double> means(std::uint32_t learners, const PerLearner& samples) const;
  /// Whether they are such draws, and every learner's law is exponential.
  bool memoryless(std::uint32_t learners, const PerLearner& samples) const;
  /// E[min(M, cap)] of the time M of the slowest learner for so many minibatches of those; nothing
  /// where they are no such draws, or where the law of a sum of them is not known.
  std::optional<double> slowest(std::uint32_t learners, const PerLearner& samples,
                                std::uint32_t minibatches, double cap) const;
  /// E[X_{K:P}] of a minibatch of each of those; nothing where they are no such draws, or K times P
  /// is more than most_integrated, which takes too long.
  std::optional<double> kth_smallest(std::uint32_t learners, const PerLearner& samples,
                                     std::uint32_t k) const;
  static constexpr std::uint64_t most_integrated = 50'000;
  /// The mean time of a minibatch of the fastest learner, without outliers, persistence and
  /// windows; 0 where no law was read.
  double fastest(std::uint32_t learners, const PerLearner& samples) const;
  /// Whether two minibatches may take the same time.
  bool ties() const;

 private:
  std::string_view why_not_independent() const;
  /// What a learner's law is made of.
  struct Make {
    std::size_t law;
    double speed;
    std::uint32_t samples;  // 0 where they take no time
    auto operator<=>(const Make&) const = default;
  };
  Make make_of(std::size_t learner, const PerLearner& samples) const {
    return {learner % laws.size(), speeds[learner % speeds.size()],
            rate ? samples[static_cast<std::uint32_t>(learner)] : 0};
  }
  /// After so many learners laws come again.
  std::size_t period(const PerLearner& samples) const {
    const std::size_t kinds = std::lcm(laws.size(), speeds.size());
    return kinds > 0 && rate && samples.differs() ? *samples.listed() : kinds;
  }
  DistributionProduct law_of(const Make& make) const;
  struct LawOfSome {
    DistributionProduct law;
    std::uint32_t learners;
  };
  std::vector<LawOfSome> laws_of(std::uint32_t learners, const PerLearner& samples) const;
};

/// A list, of which learners take values in turn, is idle if it has values that no learner takes.
void examine_length(Fields& fields, std::string_view key, std::size_t length,
                    std::uint32_t learners);

/// Visits the fields of `cluster` that are about the times of minibatches.
void visit_cluster_runtimes(Fields& fields, ClusterRuntimes& cluster, std::uint32_t learners);

/// Empty where minibatches are independent draws of laws[0] and nothing else.
MakeRuntimes make_cluster_runtimes(std::shared_ptr<const ClusterRuntimes> cluster,
                                   std::uint32_t learners);

}  // namespace gradrace
