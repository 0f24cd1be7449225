#include <benchmark/benchmark.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "models/gpu/block_device.h"
#include "models/linear.h"
#include "tests/support/race_text.h"

namespace gradrace {

namespace {

/// A Launcher of BlockDevice that computes nothing: what is left is the host's part.
class NoBlocks {
 public:
  explicit NoBlocks(std::size_t shared_memory) : shared_memory_(shared_memory) {}

  static constexpr std::uint64_t pass_bytes = std::uint64_t{1} << 30;
  static constexpr std::uint64_t patch_numbers = std::uint64_t{1} << 23;

  template <class T>
  class Memory {
   public:
    Memory() = default;
    explicit Memory(std::size_t size) : data_(size) {}
    explicit Memory(std::vector<T> from) : data_(std::move(from)) {}
    T* data() const { return const_cast<T*>(data_.data()); }
    std::size_t size() const { return data_.size(); }

   private:
    std::vector<T> data_;
  };
  template <class T>
  void copy_in(const T* from, std::size_t count, T* to) {
    std::copy_n(from, count, to);
  }
  template <class T>
  void copy_out(const T* from, std::size_t count, T* to) {
    std::copy_n(from, count, to);
  }
  template <class T>
  void copy_within(const T*, std::size_t, T*) {}
  template <class Body>
  void repeat(const std::vector<std::uint32_t>&, const Body&) {}
  void forget() {}
  template <class Kernel>
  void launch(const Kernel&, std::uint32_t, std::uint32_t) {}
  void wait() {}
  std::size_t blocks() const { return 1056; }
  std::size_t shared_memory() const { return shared_memory_; }
  std::uint64_t free_memory() const { return std::uint64_t{1} << 33; }
  std::string name() const { return "none"; }
  std::optional<double> kernel_seconds() const { return {}; }

 private:
  std::size_t shared_memory_;
};

/// How runs are replayed.
enum Way { in_place, by_gradients };

/// Timing plane, lowering and lists of 64 runs, P = 8, whose gradients nobody computes; items are
/// gradients.
void BM_HostSide(benchmark::State& state, const char* protocol, Way way) {
  constexpr std::uint32_t runs = 64;
  const Point point = point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
          "model": {"kind": "softmax", "minibatch": 32, "dataset": {"kind": "synthetic"}},
          "learning_rate": {"kind": "constant", "eta": 0.01},
          "stop": {"gradients": 8000}, "protocol": )" +
      std::string(protocol) + (way == by_gradients ? R"(, "optimiser": {"clip": 1}})" : "}"));
  const Race race = point.race();
  const auto device =
      make_block_device(point.model->make_float32(), NoBlocks(way == in_place ? 200 << 10 : 0), {});
  for (auto _ : state) {
    std::vector<Run> cohort;
    for (std::uint32_t r = 0; r < runs; ++r) cohort.emplace_back(race, r, true, nullptr);
    drive(cohort, device.get(), [] { return true; });
  }
  state.SetItemsProcessed(state.iterations() * runs * 8000);
}

constexpr const char* async = R"({"kind": "async"})";
constexpr const char* k_sync = R"({"kind": "k-sync", "k": 4})";
BENCHMARK_CAPTURE(BM_HostSide, async_in_place, async, in_place)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_HostSide, async_by_gradients, async, by_gradients)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_HostSide, k_sync_in_place, k_sync, in_place)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_HostSide, k_sync_by_gradients, k_sync, by_gradients)
    ->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace gradrace
