#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/catalog.h"

namespace gradrace {

/// How much work a run has done: what schedules are indexed by.
struct Work {
  std::uint64_t gradients = 0;  // applied
  std::uint64_t samples = 0;    // applied
  double epochs = 0;            // samples over the size of the training set; 0 without one
};

/// The learning rate of one gradient.
class LearningRate {
 public:
  virtual ~LearningRate() = default;

  /// eta for a gradient of that staleness, one of `gradients` in the update made after `work`.
  /// Their average is taken elsewhere.
  virtual double eta(const Work& work, std::uint32_t staleness, std::uint32_t gradients) const = 0;

  /// What is left to the device, which has the parameters: eta times min(1, distance / squared
  /// distance between the update's base and the value the gradient was computed at).  0: all of eta
  /// at any distance.
  virtual double distance() const { return 0; }

  /// Whether the rates of an update's gradients are multiplied by one factor, so that their mean is
  /// the rate of a fresh one.
  virtual bool normalised() const { return false; }

  /// Whether gradients of one update may differ in it: of work in which a warm-up has ended.
  bool differs() const {
    constexpr std::uint64_t late = std::uint64_t{1} << 52;
    const Work begin, end{late, late, static_cast<double>(late)};
    return distance() > 0 || eta(begin, 0, 1) != eta(begin, 9, 1) ||
           eta(end, 0, 1) != eta(end, 9, 1);
  }
};

/// What a schedule may measure its work against.
struct WorkBudget {
  std::optional<double> epochs;            // limit of the run
  std::optional<std::uint64_t> gradients;  // limit of the run
  bool has_epochs = false;                 // the model has a training set
};

using LearningRateProduct = std::shared_ptr<const LearningRate>;
using LearningRateEntry = Entry<LearningRateProduct, const WorkBudget&>;
using LearningRateCatalog = Catalog<LearningRateProduct, const WorkBudget&>;

}  // namespace gradrace
