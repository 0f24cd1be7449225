#pragma once

#include <memory>
#include <vector>

#include "models/layers/cpu_layer.h"
#include "models/layers/network_spec.h"
#include "models/sampling/batch.h"
#include "sim/random.h"

namespace gradrace {

/// The layers of a network, one after the other on the CPU.  Keeps the maps of its last call.
template <class Real>
class Network {
 public:
  explicit Network(const NetworkSpec& spec);

  /// w [d]: layer after layer, from one stream.
  void initialise(Stream& words, Real* w) const;

  /// The scores [n, outputs] of the rows [n, features] at w; learning: of a gradient.
  Units<Real>& forward(const Real* w, const RowMajor<Real>& rows, bool learning);

  /// g [d] from the derivative by the scores, which stands in their place.  Comes after a learning
  /// forward() of the same w and rows.
  void backward(const Real* w, const RowMajor<Real>& rows, Real* g);

 private:
  struct Step {
    std::unique_ptr<CpuLayer<Real>> layer;
    Activation f;
    bool shortcut;     // adds map x to map y
    std::size_t x, y;  // numbers of maps; the first step looks at rows
  };

  /// A place for a derivative, neither of those two.
  Units<Real>& other_than(const Units<Real>* dy, const Units<Real>* kept);

  std::vector<Step> steps_;
  std::vector<Units<Real>> maps_;
  Units<Real> derivatives_[3];
};

}  // namespace gradrace
