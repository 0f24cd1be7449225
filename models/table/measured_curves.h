#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gradrace {

/// A level against samples, measured: linear in the logarithm of the samples between two rows, and
/// in the samples themselves from 0 to the first row after it.
class LearningCurve {
 public:
  /// Of rows whose samples rise from 0.
  LearningCurve(std::vector<double> samples, std::vector<double> levels)
      : samples_(std::move(samples)), levels_(std::move(levels)) {}

  /// After so many samples; the last row's beyond it.
  double level(double samples) const;
  /// After how many samples a curve that falls is there: 0 where it begins lower, its end where it
  /// is never as low.
  double samples(double level) const;

  double end() const { return samples_.back(); }
  double last_level() const { return levels_.back(); }
  /// Of the last row but one.
  double before_end() const { return samples_[samples_.size() - 2]; }

 private:
  double between(std::size_t row, double samples) const;

  std::vector<double> samples_, levels_;
};

/// Some samples of a gradient that is so many updates late, in an update of `batch` samples.
struct MeasuredStep {
  double samples, staleness, batch;
};

/// Where measured curves do not go.
enum class Beyond : std::uint8_t { nothing, staleness, batch, samples, loss };

/// Learning curves measured at some stalenesses and batches, and what they say of the others.
///
/// A model is known by its effective samples n: its loss is L0(n), that of the base curve, which is
/// at staleness 0 and the smallest batch.  s more samples at a staleness t and batch b, whose own
/// curve is L, lead from n to n' with
///
///     L0(n') = L(S + s),  where L(S) = L0(n),
///
/// so that training at t and b alone has the curve L.  The efficiency (n' - n) / s is how many
/// samples the base curve needs for a fall of the loss to one of L; it is 1 on the base curve.
/// Between two measured stalenesses n' is linear in t, between two batches in ln b.  Beyond the end
/// of a curve its efficiency is that of its last two rows.
class MeasuredCurves {
 public:
  /// A CSV file with the columns samples and loss, and, as it has them, test_error, staleness and
  /// minibatch: the samples of an update, all its gradients together.  std::runtime_error with
  /// file, line and column where it is none.
  static MeasuredCurves read(const std::filesystem::path& file);

  /// n'; what it lies beyond, if it does, goes to `beyond`.
  double advanced(double effective, const MeasuredStep& step, Beyond& beyond) const;

  double loss(double effective) const { return base().level(effective); }
  bool has_test_error() const { return errors_.has_value(); }
  /// The base curve's; NaN where there is none.
  double test_error(double effective) const;

  /// "staleness above 8".
  std::string text(Beyond beyond) const;
  /// What a user should know of the file, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Of the file's content.
  const std::string& hash() const { return hash_; }

 private:
  friend class CurveReader;

  /// Two of the measured numbers, as places, and the share of the second.
  struct Between {
    std::size_t first = 0, second = 0;
    double share = 0;
  };

  const LearningCurve& base() const { return curves_.front(); }
  const LearningCurve& curve(std::size_t staleness, std::size_t batch) const {
    return curves_[staleness * batches_.size() + batch];
  }
  double advanced_on(const LearningCurve& curve, double effective, double samples,
                     Beyond& beyond) const;

  std::vector<double> stalenesses_, batches_;  // rising; one that is NaN: of all
  std::vector<LearningCurve> curves_;          // [staleness][batch]; losses
  std::optional<LearningCurve> errors_;        // of the base curve
  std::vector<std::string> notes_;
  std::string hash_;
};

}  // namespace gradrace
