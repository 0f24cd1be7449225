#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/step_exchange.h"

namespace gradrace {

struct Layer {
  double flop = 0;              // of a sample's forward pass
  double parameter_bytes = 0;   // and of their gradient
  double activation_bytes = 0;  // of what it takes in of a sample
};

/// How P learners share a layer: in G groups, between which it is data-parallel, and inside which
/// each of P / G learners has a part of it (model-parallel).  data: G = P; model: G = 1; hybrid: of
/// each layer what best_groups() says.
enum class Parallelism : std::uint8_t { data, model, hybrid };

/// The layers of a model, from the first to the last, and how learners that make steps together
/// exchange them.
struct Layers {
  std::vector<Layer> layers;
  Parallelism parallelism = Parallelism::data;
  std::uint32_t minibatch = 0;  // samples of a learner, where layers are divided
  bool weights_first = false;   // the gradient of a layer's weights is computed before what the
                                // layer below needs
  std::string hash;             // of the table's bytes

  double parameter_bytes() const;
};

/// The G, a divisor of P, with the fewest bytes that a learner has to send and to receive,
///
///     2 activation_bytes minibatch P / G  (0 if G = P)  +  2 parameter_bytes G / P  (0 if G = 1),
///
/// the largest of several.  Source: Das et al., arXiv 1602.06709, hybrid parallelism.
std::uint32_t best_groups(const Layer& layer, std::uint32_t minibatch, std::uint32_t learners);

/// What they exchange in a step: gradients of layers in the backward pass, from the last layer on,
/// and what goes into layers that are divided: gathered before a layer's forward pass, and its
/// gradient, reduced and scattered, after the backward one.
std::vector<StepExchange> exchanges_of(const Layers& layers, std::uint32_t learners);

/// The layers that have parameters, from the first on, as a model comes to one learner: `forward`
/// is done before it computes such a one.
std::vector<StepExchange> pulls_of(const Layers& layers);

}  // namespace gradrace
