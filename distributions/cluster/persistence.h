#pragma once

#include <memory>

#include "sim/catalog.h"
#include "sim/random.h"

namespace gradrace {

/// What a learner's times remember: a Markov chain, a step a minibatch, whose state multiplies
/// them. The chains of different learners are independent.
///
/// Immutable and shared by threads.
class Persistence {
 public:
  virtual ~Persistence() = default;

  /// The state at draw 0, from the stationary law.
  virtual double first(Stream& words) const = 0;

  /// The state at the draw after that of `state`.
  virtual double next(double state, Stream& words) const = 0;

  /// What multiplies the time of a minibatch.
  virtual double factor(double state) const = 0;
};

using PersistenceProduct = std::shared_ptr<const Persistence>;
using PersistenceEntry = Entry<PersistenceProduct>;
using PersistenceCatalog = Catalog<PersistenceProduct>;

}  // namespace gradrace
