#pragma once

#include "models/layers/base/layer.h"

/// What a pass (gpu/network_pass.h) does at a layer of some kind, for all its jobs at once:
/// forward, backward, and how many numbers of a row are kept from one for the other; a kind that
/// has parts<Real>(layer, n) needs so many numbers of work memory for n rows.
namespace gradrace::kernels {

/// Where each number is made on its own, there and back; keeps: one for each that it gives.
template <class Forward, class Propagate, bool keeps = false>
struct EachSteps {
  static std::uint32_t kept(const Layer& layer) { return keeps ? layer.units() : 0; }

  template <class Jobs>
  static void forward(const Jobs& jobs, bool) {
    jobs.template each<Forward>(jobs.units());
  }
  template <class Jobs>
  static void backward(const Jobs& jobs) {
    jobs.template propagate<Propagate>();
  }
};

}  // namespace gradrace::kernels
