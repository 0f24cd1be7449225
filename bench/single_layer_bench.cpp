#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "models/cpu/aligned.h"
#include "models/cpu/dense_model.h"
#include "models/layers/dense.h"

namespace gradrace {

namespace {

constexpr std::uint32_t minibatch = 32;
constexpr std::size_t learners = 8;

/// Rows of bytes, of which so many, at random places, are not 0.
std::shared_ptr<const Dataset> rows_of(std::size_t features, std::size_t outputs, double density) {
  std::mt19937 random(1);
  auto data = std::make_shared<Dataset>();
  data->features = features;
  data->classes = std::max<std::size_t>(2, outputs);
  data->byte_scale = 1.0f / 255;
  for (Rows* rows : {&data->train, &data->test}) {
    rows->count = rows == &data->train ? 12'000'000 / features : 1;
    rows->bytes.assign(rows->count * features, 0);
    for (std::uint8_t& byte : rows->bytes)
      if (static_cast<double>(random() % 100'000) < 100'000 * density)
        byte = static_cast<std::uint8_t>(1 + random() % 255);
    rows->classes.resize(rows->count);
    for (std::uint8_t& c : rows->classes) c = static_cast<std::uint8_t>(random() % data->classes);
  }
  return data;
}

SupervisedParts parts_of(const std::shared_ptr<const Dataset>& data, std::size_t outputs) {
  SupervisedConfig config;
  config.dataset = [data] { return data; };
  config.minibatch = minibatch;
  return {config, outputs == 1 ? LossKind::logistic : LossKind::cross_entropy,
          [](const Dataset& rows, std::size_t numbers) {
            NetworkSpec network({rows.features, 1, 1});
            network.add(dense(network.output(), numbers, 0));
            return network;
          }};
}

/// A gradient of a single layer with its update, as in async with learners in turn: at the value
/// that the learner has, of the latest value, into the memory of one that nobody has.  By outputs,
/// features and the share of numbers that are not 0, in thousandths.
void BM_SingleLayer(benchmark::State& state, bool few_outputs) {
  const auto outputs = static_cast<std::size_t>(state.range(0));
  const auto features = static_cast<std::size_t>(state.range(1));
  const auto data = rows_of(features, outputs, static_cast<double>(state.range(2)) / 1000);
  const auto model = make_dense_model(parts_of(data, outputs), few_outputs);
  model->prepare();
  const Aligned<float> start(model->packing().numbers(), 0.0f);
  std::vector<Aligned<float>> of_learner(learners, start);
  Aligned<float> free = start;
  const float* latest = start.data();
  std::uint32_t n = 0;
  const auto next = [&](std::uint32_t i) {
    return MinibatchName{1, 0, static_cast<std::uint32_t>(i % learners), i, minibatch};
  };
  for (auto _ : state) {
    Aligned<float>& w = of_learner[n % learners];
    const MinibatchName now = next(n++);
    model->expect(next(n));
    model->gradient_of_packed(w.data(), now, {0.01f, nullptr, latest, free.data()});
    latest = free.data();
    std::swap(w, free);
  }
  state.SetItemsProcessed(state.iterations());
}

template <bool with_one_output>
void shapes(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMicrosecond)->ArgNames({"outputs", "features", "thousandths"});
  for (const std::int64_t outputs : {1, 2, 5, 10, 11, 12, 16})
    if (outputs > 1 || with_one_output)
      for (const std::int64_t features : {64, 784, 4096, 16384})
        for (const std::int64_t thousandths : {3, 20, 100, 200, 300, 500, 1000})
          bench->Args({outputs, features, thousandths});
}
BENCHMARK_CAPTURE(BM_SingleLayer, groups, true)->Apply(shapes<true>);
BENCHMARK_CAPTURE(BM_SingleLayer, otherwise, false)->Apply(shapes<false>);

}  // namespace

}  // namespace gradrace
