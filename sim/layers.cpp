#include "sim/layers.h"

#include <ranges>

namespace gradrace {

double Layers::parameter_bytes() const {
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.parameter_bytes;
  return sum;
}

std::uint32_t best_groups(const Layer& layer, std::uint32_t minibatch, std::uint32_t learners) {
  const double P = learners;
  std::uint32_t best = 0;
  double least = 0;
  const auto consider = [&](std::uint32_t G) {
    const double activations = G < learners ? layer.activation_bytes * minibatch * P / G : 0;
    const double bytes = activations + (G > 1 ? layer.parameter_bytes * G / P : 0);
    if (best > 0 && (bytes > least || (bytes == least && G < best))) return;
    best = G;
    least = bytes;
  };
  for (std::uint32_t G = 1; std::uint64_t{G} * G <= learners; ++G) {
    if (learners % G != 0) continue;
    consider(G);
    consider(learners / G);
  }
  return best;
}

namespace {

std::uint32_t groups_of(const Layer& layer, const Layers& of, std::uint32_t learners) {
  if (of.parallelism == Parallelism::data) return learners;
  if (of.parallelism == Parallelism::model) return 1;
  return best_groups(layer, of.minibatch, learners);
}

}  // namespace

std::vector<StepExchange> pulls_of(const Layers& of) {
  std::vector<StepExchange> pulls;
  double work = 0, done = 0;
  for (const Layer& layer : of.layers) work += layer.flop;
  for (const Layer& layer : of.layers) {
    if (layer.parameter_bytes > 0)
      pulls.push_back({done / work, 0, layer.parameter_bytes / of.parameter_bytes()});
    done += layer.flop;
  }
  return pulls;
}

std::vector<StepExchange> exchanges_of(const Layers& of, std::uint32_t learners) {
  const double P = learners, bytes = of.parameter_bytes();
  double work = 0;
  for (const Layer& layer : std::views::reverse(of.layers)) work += layer.flop;
  std::vector<StepExchange> exchanges;
  const auto exchange_activations = [&](const Layer& layer, double forward, double backward) {
    const std::uint32_t G = groups_of(layer, of, learners);
    if (G == learners || layer.activation_bytes == 0) return;
    const double taken_in = layer.activation_bytes * of.minibatch * P / G;
    exchanges.push_back({forward, backward, taken_in / bytes, learners / G, true});
  };
  const auto exchange_gradient = [&](const Layer& layer, double backward) {
    const std::uint32_t G = groups_of(layer, of, learners);
    const bool all = G == learners;
    if ((G == 1 && !all) || layer.parameter_bytes == 0) return;
    exchanges.push_back({1, backward, layer.parameter_bytes * (G / P) / bytes, all ? 0 : G});
  };
  double done = 0;
  for (const Layer& layer : of.layers) {
    exchange_activations(layer, done / work, 0);
    done += layer.flop;
  }
  done = 0;
  for (const Layer& layer : std::views::reverse(of.layers)) {
    const double half = (done + layer.flop / 2) / work;
    done += layer.flop;
    if (of.weights_first) exchange_gradient(layer, half);
    exchange_activations(layer, 1, of.weights_first ? done / work : half);
    if (!of.weights_first) exchange_gradient(layer, done / work);
  }
  return exchanges;
}

}  // namespace gradrace
