#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/cnn.h"
#include "models/cpu/kernels/kernels.h"
#include "models/replay/replay_results.h"
#include "models/resnet.h"
#include "tests/support/forced_kernels.h"
#include "tests/support/model_checks.h"

namespace gradrace::deep_networks_test {

namespace {

/// The hash of what some updates leave, and of its evaluation.
std::uint64_t trained(const ModelProduct& product, std::uint32_t minibatch) {
  const auto model = product->make_float32();
  std::vector<float> w(model->parameters());
  model->initialise(1, 0, w);
  for (std::uint32_t update = 0; update < 3; ++update) {
    const std::vector<float> g = gradient(*model, w, {1, 0, 0, update, minibatch});
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.01f * g[i];
  }
  Hash hash;
  add_bits<float>(hash, w);
  const Evaluation end = evaluate(*model, w);
  const double numbers[] = {end.loss, end.test_loss, end.test_error};
  add_bits<double>(hash, numbers);
  return hash.value();
}

std::vector<ModelProduct> deep_networks() {
  const auto images =
      synthetic(R"("rows": 60, "test_rows": 40, "features": 3072, "height": 32, "width": 32)");
  auto full = on<CnnConfig>(images);
  full.net = "cifar10-full";
  auto residual = on<ResnetConfig>(images);
  residual.depth = 8;
  auto grouped = residual;
  grouped.normalisation = "group";
  return {make_cnn(on<CnnConfig>(images)), make_cnn(full), make_resnet(residual),
          make_resnet(grouped)};
}

}  // namespace

TEST_CASE("deep networks: every instruction set with fused multiply-adds trains to the same bits") {
  const auto& best = *kernels::runnable_kernels().front();
  for (const ModelProduct& product : deep_networks()) {
    for (const std::uint32_t m : {21u, 32u}) {
      const std::uint64_t expected = trained(product, m);
      for (const kernels::Kernels* const kernels : kernels::runnable_kernels()) {
        if (kernels == &best || kernels->fused != best.fused) continue;
        const std::string name(kernels->name);
        CAPTURE(name);
        const Forced forced(name);
        CHECK(trained(product, m) == expected);
      }
    }
  }
}

}  // namespace gradrace::deep_networks_test
