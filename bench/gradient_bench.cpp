#include <benchmark/benchmark.h>

#include "models/make_device.h"
#include "models/optimiser/optimiser.h"
#include "tests/support/race_text.h"

namespace gradrace {

namespace {

/// One gradient, from the minibatch's name to the vector: through the device, one update of one
/// learner at a time.
void replay_updates(benchmark::State& state, const std::string& model, const Rule& rule = {},
                    double clip = 0) {
  const Point point = point_from(
      R"({"cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 1}}, "model": )" +
      model +
      R"(, "protocol": {"kind": "async"}, "learning_rate": {"kind": "constant", "eta": 0.01}, "stop": {"updates": 1}})");
  const auto device = make_device(*point.model, {});
  const Tape tape{1, 0, {{point.model->minibatch()[0], clip}}, {rule}};
  device->start({&tape, 1});
  Results results;
  std::uint32_t n = 0;
  Segment segment;
  for (auto _ : state) {
    segment.clear();
    segment.first_gradient = n;
    segment.gradients = {{n, 0, n, 0, Fate::used}};
    segment.uses = {{n, 0, 1e-4}};
    segment.ops = {{Op::Kind::update, 0, n + 1, n, 0, 1}};
    segment.live = {n + 1};
    const Segment* wave = &segment;
    device->replay({&wave, 1}, {&results, 1});
    ++n;
  }
  state.SetItemsProcessed(state.iterations());
}

/// The size of MNIST, without its pixels: 784 features, 10 classes.
std::string softmax784x10(std::int64_t minibatch) {
  return R"({"kind": "softmax", "minibatch": )" + std::to_string(minibatch) +
         R"(, "dataset": {"kind": "synthetic", "features": 784, "rows": 10000, "test_rows": 10}})";
}

void BM_Gradient_Softmax784x10(benchmark::State& state) {
  replay_updates(state, softmax784x10(state.range(0)));
}
BENCHMARK(BM_Gradient_Softmax784x10)->Arg(1)->Arg(32)->Arg(128)->Unit(benchmark::kMicrosecond);

void BM_Gradient_Mlp784x128x10(benchmark::State& state) {
  replay_updates(state, R"({"kind": "mlp", "widths": [128], "minibatch": )" +
                            std::to_string(state.range(0)) +
                            R"(, "dataset": {"kind": "synthetic", "features": 784, "rows": 10000,
                               "test_rows": 10}})");
}
BENCHMARK(BM_Gradient_Mlp784x128x10)->Arg(1)->Arg(32)->Arg(128)->Unit(benchmark::kMicrosecond);

/// LeNet with the size of CIFAR-10's images.
void BM_Gradient_Cnn32x32x3(benchmark::State& state) {
  replay_updates(state, R"({"kind": "cnn", "minibatch": )" + std::to_string(state.range(0)) +
                            R"(, "dataset": {"kind": "synthetic", "features": 3072, "height": 32,
                               "width": 32, "rows": 1000, "test_rows": 10}})");
}
BENCHMARK(BM_Gradient_Cnn32x32x3)->Arg(1)->Arg(32)->Arg(128)->Unit(benchmark::kMicrosecond);

void replay_images(benchmark::State& state, const std::string& model, std::int64_t minibatch,
                   int side) {
  const std::string length = std::to_string(side);
  replay_updates(state, "{" + model + R"(, "minibatch": )" + std::to_string(minibatch) +
                            R"(, "dataset": {"kind": "synthetic", "features": )" +
                            std::to_string(3 * side * side) + R"(, "height": )" + length +
                            R"(, "width": )" + length + R"(, "rows": 1000, "test_rows": 10}})");
}

/// Caffe's net for CIFAR-10.
void BM_Gradient_Cifar10Full(benchmark::State& state) {
  replay_images(state, R"("kind": "cnn", "net": "cifar10-full")", state.range(0), 32);
}
BENCHMARK(BM_Gradient_Cifar10Full)->Arg(4)->Arg(32)->Arg(128)->Unit(benchmark::kMillisecond);

/// By depth, width, side of the images and m.
void BM_Gradient_Resnet(benchmark::State& state) {
  replay_images(state,
                R"("kind": "resnet", "depth": )" + std::to_string(state.range(0)) +
                    R"(, "width": )" + std::to_string(state.range(1)),
                state.range(3), static_cast<int>(state.range(2)));
}
BENCHMARK(BM_Gradient_Resnet)
    ->Args({8, 4, 8, 32})
    ->Args({8, 16, 32, 32})
    ->Args({32, 16, 32, 32})
    ->Args({32, 16, 32, 128})
    ->Unit(benchmark::kMillisecond);

/// Softmax with one sample, by what acts once per update or gradient.
void BM_Optimiser_Softmax784x10(benchmark::State& state, const Rule& rule, double clip) {
  replay_updates(state, softmax784x10(1), rule, clip);
}
BENCHMARK_CAPTURE(BM_Optimiser_Softmax784x10, plain, Rule{}, 0.0);
BENCHMARK_CAPTURE(BM_Optimiser_Softmax784x10, clip, Rule{}, 1.0);
BENCHMARK_CAPTURE(BM_Optimiser_Softmax784x10, momentum, Rule{make_optimiser(Sgd{.momentum = 0.9})},
                  0.0);
BENCHMARK_CAPTURE(BM_Optimiser_Softmax784x10, rmsprop,
                  Rule{make_optimiser(Sgd{.rmsprop = RmsProp{}})}, 0.0);
BENCHMARK_CAPTURE(BM_Optimiser_Softmax784x10, adam, Rule{make_optimiser(Adam{})}, 0.0);
BENCHMARK_CAPTURE(BM_Optimiser_Softmax784x10, ema, Rule{.ema = 0.999}, 0.0);
BENCHMARK_CAPTURE(BM_Optimiser_Softmax784x10, distance, Rule{.distance = 1e-3}, 0.0);

void BM_Gradient_Quadratic(benchmark::State& state) {
  replay_updates(state,
                 R"({"kind": "quadratic", "dimensions": )" + std::to_string(state.range(0)) + "}");
}
BENCHMARK(BM_Gradient_Quadratic)->Arg(1)->Arg(1000)->Arg(1000000)->Unit(benchmark::kMicrosecond);

}  // namespace

}  // namespace gradrace
