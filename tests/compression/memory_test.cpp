#include <doctest/doctest.h>

#include "models/cpu/cpu_device.h"
#include "models/cpu/message_maker.h"
#include "tests/compression/kinds.h"
#include "tests/support/compressors.h"
#include "tests/support/race_text.h"

namespace gradrace::compression_memory_test {

namespace {

/// f(x) = 1/2 (a_1 x)^2 + 1/2 (a_2 x)^2 over two rows, a_1 = (1 + e, e - 1) and a_2 = (e - 1, 1 +
/// e): a gradient is that of one row, in turn, and every sign of it is that of (1, -1) or (-1, 1).
class TwoRows final : public Model<double> {
 public:
  static constexpr double e = 0.5;

  std::size_t parameters() const override { return 2; }
  void initialise(std::uint64_t, std::uint32_t, std::span<double> x) override {
    std::ranges::fill(x, 1.0);
  }
  void gradient(std::span<const double> x, const MinibatchName& name,
                std::span<double> g) override {
    const Row a = row(name.draw % 2);
    const double error = a[0] * x[0] + a[1] * x[1];
    g[0] = 2 * error * a[0], g[1] = 2 * error * a[1];
  }
  void evaluate(std::span<const double* const> values, std::span<Evaluation> results) override {
    for (std::size_t v = 0; v < values.size(); ++v)
      for (const Row& a : {row(0), row(1)})
        results[v].loss = (std::isnan(results[v].loss) ? 0 : results[v].loss) +
                          std::pow(a[0] * values[v][0] + a[1] * values[v][1], 2) / 2;
  }

 private:
  using Row = std::array<double, 2>;
  static Row row(std::uint32_t number) {
    return number == 0 ? Row{1 + e, e - 1} : Row{e - 1, 1 + e};
  }
};

double last_loss(const std::string& compression, double eta) {
  const Point point = point_from(
      R"({"cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 1}},
          "protocol": {"kind": "async"}, "model": {"kind": "quadratic", "dimensions": 2},
          "learning_rate": {"kind": "constant", "eta": )" +
      std::to_string(eta) + R"(}, "stop": {"updates": 4000}})");
  Race race = point.race();
  for (Plan& plan : race.plans) plan.message = message_from(compression);
  const auto device = make_cpu_device<double>(std::make_unique<TwoRows>());
  return run_race({race}, device.get()).curve.back().evaluation.loss;
}

/// Of each kind that may have a memory, with numbers of three tensors.
template <class Real>
void check_conservation(const std::string& kind, double decay, double bound) {
  const Message message = [&] {
    Message made = message_from(kind);
    made.memory->decay = decay;
    made.compressor = made.compressor->of_tensors({{300}, {20}, {7}});
    return made;
  }();
  constexpr std::size_t d = 327;
  MessageMaker<Real> maker{Packing(d), {}};
  std::vector<Real> before(d), after(d);
  std::vector<double> put_in(d), sent(d);
  std::uint64_t bits = 0;
  for (std::uint32_t step = 0; step < 200; ++step) {
    std::vector<Real> row = normal_numbers<Real>(d, step);
    for (std::size_t i = 0; i < d; ++i) put_in[i] += row[i] - (1 - decay) * before[i];
    maker.make(message, 1, false, words_of(step), row,
               {step > 0 ? before.data() : nullptr, after.data(), &bits});
    std::swap(before, after);
    for (std::size_t i = 0; i < d; ++i) {
      sent[i] += row[i];
      CHECK(std::abs(put_in[i] - sent[i] - before[i]) <= bound);
    }
  }
}

}  // namespace

TEST_CASE("compression: what is sent and remembered is what was put in, at every step") {
  for (const std::string kind :
       {R"({"kind": "sign", "memory": {}})", R"({"kind": "sign", "scale": "norm", "memory": {}})",
        R"({"kind": "top-k", "k": 20, "memory": {}})",
        R"({"kind": "uniform", "bits": 3, "memory": {}})",
        R"({"kind": "random-k", "k": 20, "scaled": false, "memory": {}})"}) {
    CAPTURE(kind);
    for (const double decay : {1.0, 0.5, 0.0}) {
      check_conservation<double>(kind, decay, 1e-11);
      check_conservation<float>(kind, decay, 1e-3);
    }
  }
}

TEST_CASE("compression: what leaves nothing out has a memory of 0") {
  for (const std::string kind : {R"({"kind": "top-k", "share": 1, "memory": {}})",
                                 R"({"kind": "uniform", "bits": 32, "memory": {}})"}) {
    MessageMaker<float> maker{Packing(50), {}};
    std::vector<float> row = normal_numbers<float>(50), after(50, 1);
    std::uint64_t bits = 1;
    maker.make(message_from(kind), 1, false, words_of(0), row, {nullptr, after.data(), &bits});
    CHECK(bits == 0);
    CHECK(after == std::vector<float>(50, 0));
    CHECK(row == normal_numbers<float>(50));
  }
}

// Karimireddy, Rebjock, Stich, Jaggi, ICML 2019, counterexample 3.
TEST_CASE("compression: signs leave x_1 + x_2 as it was, and a memory reaches the minimum") {
  const double least = 2 * TwoRows::e * TwoRows::e * 2;  // where x_1 + x_2 = 2: at (1, 1)
  CHECK(last_loss(R"({"kind": "sign"})", 0.01) >= least * (1 - 1e-12));
  CHECK(last_loss(R"({"kind": "sign", "memory": {}})", 0.01) < 1e-12);
}

}  // namespace gradrace::compression_memory_test
