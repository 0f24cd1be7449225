#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sim/streams_of_draws.h"

namespace gradrace {

/// How the rest of a runtime compares with a new one (Dutta et al., AISTATS 2018, Definition 3):
/// new longer than used: P(X > u + t | X > t) <= P(X > u) for all t, u >= 0; new shorter: >=;
/// memoryless: both.
enum class Ageing { memoryless, new_longer, new_shorter, neither };

/// The law of the time X >= 0 that one learner takes for one minibatch, in the scenario's unit of
/// time.
///
/// Immutable and shared by threads.
class Distribution {
 public:
  virtual ~Distribution() = default;

  /// One draw.  May take any number of words from the stream.
  virtual double sample(Stream& words) const = 0;

  /// The draw of that name.  Differs from a sample of the stream of that name only where the law
  /// has a memory.
  virtual double draw(const StreamName& name) const {
    Stream words = stream(name);
    return sample(words);
  }

  /// times[i]: the draw of the name whose number is that of `first` plus i.
  virtual void draws(const StreamName& first, std::span<double, StreamsOfDraws::size> times) const;

  /// True where the draws of a run are not independent or not of one law for all learners; what
  /// follows are then those of one draw, taken by itself.
  virtual bool has_memory() const { return false; }

  virtual double mean() const = 0;

  /// Infinity where the second moment does not exist.
  virtual double variance() const = 0;

  /// P(X > x), for any x.
  virtual double survival(double x) const = 0;

  /// The smallest x with P(X <= x) >= p, 0 <= p < 1 (p = 0: the left end of the support).
  virtual double quantile(double p) const = 0;

  /// The smallest x with P(X > x) <= q, 0 < q <= 1: quantile(1 - q), without the rounding of 1 - q.
  virtual double inverse_survival(double q) const = 0;

  /// E[X_{k:n}]: mean of the k-th smallest of n independent draws, 1 <= k <= n.
  virtual double expected_order_statistic(std::uint32_t k, std::uint32_t n) const = 0;

  /// One draw of X_{k:n}.
  virtual double sample_order_statistic(std::uint32_t k, std::uint32_t n, Stream& words) const = 0;

  /// E[min(X_{k:n}, cap)], cap >= 0.
  virtual double expected_capped_order_statistic(std::uint32_t k, std::uint32_t n,
                                                 double cap) const = 0;

  virtual Ageing ageing() const = 0;

  /// Whether some time has a positive probability, so that two draws may be the same.
  virtual bool has_atoms() const { return false; }

  /// The law of the sum of so many independent draws, n >= 1; null where it has no closed form.
  virtual std::shared_ptr<const Distribution> sum(std::uint32_t /*n*/) const { return nullptr; }
};

/// Distribution::draws() of a law without memory.
template <class L>
void sample_each(const L& law, const StreamName& first,
                 std::span<double, StreamsOfDraws::size> times) {
  const StreamsOfDraws streams(first);
  for (std::uint32_t i = 0; i < times.size(); ++i) {
    Stream words = streams[i];
    times[i] = law.sample(words);
  }
}

inline void Distribution::draws(const StreamName& first,
                                std::span<double, StreamsOfDraws::size> times) const {
  if (!has_memory()) return sample_each(*this, first, times);
  StreamName name = first;
  for (double& time : times) {
    time = draw(name);
    ++name.draw;
  }
}

}  // namespace gradrace
