#include "models/device_choice.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "models/layers/layer_table.h"
#include "models/model/model.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

/// Gradients a second of async SGD on MNIST, P = 8, m = 32, plain SGD, in float32: of that many
/// runs or more side by side on an NVIDIA H200 (2026-11-27: bench/results, h200.csv), and of one
/// core of an AMD EPYC of generation Zen 5 (bench/results/README.md, "Beside peers").  Fewer runs
/// take as long: of dense layers two on each of 132 multiprocessors are at work at once.
struct Measured {
  double runs, on_gpu, on_core;
  double operations;  // of a gradient, as operations_of() counts
};
constexpr Measured softmax{264, 23.3e6, 226e3, 1.00e6};      // 784-10
constexpr Measured perceptron{264, 3.23e6, 24.8e3, 13.1e6};  // 784-128-10
constexpr Measured lenet{128, 0.273e6, 3.03e3, 48.5e6};

constexpr double cores = 16;        // that the CPU is taken to have: those beside the H200
constexpr double times_fast = 2;    // as they that the GPU has to be, as not all was measured
constexpr double gpu_bytes = 64e9;  // for values; the H200 has 141 GB

/// Multiplications and additions of the products of a gradient: forward, by the weights, and, but
/// for the first layer, by the inputs.
double operations_of(const std::vector<kernels::Layer>& layers, double minibatch) {
  double all = 0, first = 0;
  for (const kernels::Layer& layer : layers) {
    const double multiplied =
        static_cast<double>(layer.weights()) * layer.pixels() * (layer.pools ? 4 : 1);
    if (all == 0) first = multiplied;
    all += multiplied;
  }
  return 2 * minibatch * (3 * all - first);
}

bool is_dense(const NetworkBlueprint& network) {
  return std::ranges::all_of(network.layers, [](const kernels::Layer& layer) {
    return layer.kind == kernels::kind_of<kernels::DenseSteps>;
  });
}

/// Runs side by side from which on the GPU is fast enough.  A run of dense layers has a block of
/// threads of its own, so that more work in a gradient makes up for fewer runs only where there is
/// less of it than was measured; convolutions of all runs share the GPU.
double runs_needed(const NetworkBlueprint& network, double minibatch) {
  const bool dense = is_dense(network);
  const Measured& like = !dense ? lenet : network.layers.size() == 1 ? softmax : perceptron;
  const double more = operations_of(network.layers, minibatch) / like.operations;
  const double needed = times_fast * cores * like.on_core * like.runs / like.on_gpu;
  return std::ceil(needed / (dense ? std::min(more, 1.0) : more));
}

/// Of those values that a run has at least: of each learner, and of an update.
double runs_that_fit(const NetworkBlueprint& network, double learners) {
  return gpu_bytes / ((learners + 2) * network.parameters * sizeof(float));
}

}  // namespace

DeviceChoice choose_device(const SideBySide& work) {
  if (const auto* none = std::get_if<NoBlueprint>(&work.blueprint))
    return {false,
            none->reason.empty() ? "a GPU does not compute this model" : std::string(none->reason)};
  const auto* network = std::get_if<NetworkBlueprint>(&work.blueprint);
  if (!network) return {false, "no quadratic was measured on a GPU"};
  if (work.precision == only_gpu_precision) return {true, "only a GPU computes in tf32x3"};
  if (work.precision == "float64") return {false, "float64 was not measured on a GPU"};
  const double needed = runs_needed(*network, work.minibatch);
  const auto fit = static_cast<std::size_t>(runs_that_fit(*network, work.learners));
  return {
      static_cast<double>(std::min(work.runs, fit)) >= needed,
      "such networks are faster on a GPU from " +
          count_text(static_cast<std::size_t>(needed), "run") + " side by side on, and here " +
          (work.runs == 1 ? "is " : "are ") + std::to_string(work.runs) +
          (fit < work.runs ? ", of which " + std::to_string(fit) + " fit into its memory" : "")};
}

double most_numbers_a_second(const Blueprint& blueprint) {
  const auto* const network = std::get_if<NetworkBlueprint>(&blueprint);
  return network && is_dense(*network) ? 1.5e13 : 1e11;  // the others use a parameter many times
}

}  // namespace gradrace
