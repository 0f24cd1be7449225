// tau of protocols with a server: gradients that are the sum of a learner's own steps.

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/make_device.h"
#include "tests/support/race_text.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::local_steps_test {

namespace {

const std::vector<std::string> kinds{
    R"("kind": "sync")",
    R"("kind": "hardsync", "clients": 3)",
    R"("kind": "k-sync", "k": 3)",
    R"("kind": "async")",
    R"("kind": "async", "max_staleness": {"bound": 4})",
    R"("kind": "k-async", "k": 2)",
    R"("kind": "k-batch-async", "k": 3)",
};

const std::string quadratic = R"({"kind": "quadratic", "dimensions": 5, "curvatures": [1, 0.3],
    "noise": 0.5, "start": 1, "precision": "float64", "minibatch": )";
const std::string softmax = R"({"kind": "softmax", "dataset": {"kind": "synthetic", "rows": 100},
    "precision": "float64", "minibatch": )";

constexpr std::uint32_t tau = 4;
constexpr double eta = 0.05;

Point point_of(const std::string& kind, const std::string& rest, const std::string& steps = "4",
               const std::string& cluster = "") {
  return point_from(
      R"({"cluster": {"learners": 6, "runtime": {"distribution": "exponential",
      "mean": 1})" +
      cluster + R"(}, "stop": {"updates": 120}, "record": {"every_updates": 20}, "protocol": {)" +
      kind + R"(, "tau": )" + steps + "}, " + rest + "}");
}

/// What a server's optimiser makes of x and the sum of rate times gradient, whose rates sum to
/// rate.
using Move = std::function<void(double& x, std::size_t i, double step, double rate)>;

Move with_momentum(double momentum) {
  return [momentum, v = std::vector<double>(1000)](double& x, std::size_t i, double step,
                                                   double) mutable {
    v[i] = momentum * v[i] + step;
    x -= v[i];
  };
}
Move rmsprop() {
  return [s = std::vector<double>(1000, 1.0)](double& x, std::size_t i, double step,
                                              double rate) mutable {
    const double g = step / rate;
    s[i] = 0.8 * s[i] + 0.2 * g * g;
    x -= rate * g / std::sqrt(s[i] + 1e-4);
  };
}
Move adam(double decay) {
  struct Moments {
    double m = 0, v = 0;
    int t = 0;
  };
  return [decay, of = std::vector<Moments>(1000)](double& x, std::size_t i, double step,
                                                  double rate) mutable {
    auto& [m, v, t] = of[i];
    const double g = step / rate;
    ++t;
    m = 0.8 * m + 0.2 * g;
    v = 0.9 * v + 0.1 * g * g;
    x -= rate * decay * x;
    x -= rate * (m / (1 - std::pow(0.8, t))) / (std::sqrt(v / (1 - std::pow(0.9, t))) + 1e-4);
  };
}

const std::pair<std::string, std::function<Move()>> optimisers[] = {
    {R"({})", [] { return with_momentum(0); }},
    {R"({"momentum": 0.7})", [] { return with_momentum(0.7); }},
    {R"({"rmsprop": {"decay": 0.8, "epsilon": 1e-4}})", rmsprop},
    {R"({"kind": "adam", "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-4})", [] { return adam(0); }},
    {R"({"kind": "adamw", "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-4, "weight_decay": 0.3})",
     [] { return adam(0.3); }},
};

/// FedBuff as it is written, with adam FedAdam (Reddi et al., ICLR 2021): a learner makes its steps
/// when it reads the model, and sends the sum of their gradients.
class Written final : public Observer {
 public:
  Written(const Point& point, Move move)
      : race_(point.race()),
        move_(std::move(move)),
        model_(point.model->make_float64()),
        x_(model_->parameters()) {
    model_->initialise(race_.seed, 0, x_);
  }

  void on_dispatch(const GradientFacts& begun, double) override {
    std::vector<double> y = x_, g(x_.size()), sum(x_.size());
    for (std::uint32_t step = 0; step < tau; ++step) {
      model_->gradient(y, {race_.seed, 0, begun.learner, begun.draw + step, rows(begun)}, g);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] -= eta * g[i], sum[i] += g[i];
    }
    sent_[begun.gradient] = std::move(sum);
  }
  void on_update(const UpdateFacts& update) override {
    double all = 0, sum = 0;
    for (const auto& sent : update.gradients) all += rows(sent);
    std::vector<double> step(x_.size());
    for (const auto& sent : update.gradients) {
      const double rate = eta / std::fmax(1, sent.staleness) * rows(sent) / all;
      sum += rate;
      for (std::size_t i = 0; i < x_.size(); ++i) step[i] += rate * sent_.at(sent.gradient)[i];
    }
    for (std::size_t i = 0; i < x_.size(); ++i) move_(x_[i], i, step[i], sum);
    const double* value = x_.data();
    losses.emplace_back();
    model_->evaluate({&value, 1}, {&losses.back(), 1});
  }

  std::vector<Evaluation> losses;

 private:
  std::uint32_t rows(const GradientFacts& gradient) const {
    return race_.plans[0].minibatch[gradient.learner];
  }

  const Race race_;
  const Move move_;
  const std::unique_ptr<Model<double>> model_;
  std::vector<double> x_;
  std::map<GradientId, std::vector<double>> sent_;
};

}  // namespace

TEST_CASE("local steps: every protocol is that of a loop that makes the steps at once") {
  for (const std::string& model : {quadratic, softmax}) {
    for (const std::string& kind : kinds) {
      for (const std::string minibatch : {"4", "[4, 1, 9, 2, 5, 3]"}) {
        for (const auto& [optimiser, move] : optimisers) {
          CAPTURE(model);
          CAPTURE(kind);
          CAPTURE(minibatch);
          CAPTURE(optimiser);
          const Point point = point_of(
              kind, R"("model": )" + model + minibatch +
                        R"(}, "learning_rate": {"kind": "staleness", "eta": 0.05}, "optimiser": )" +
                        optimiser);
          const auto device = make_device(*point.model, {});
          const Race race = point.race();
          for (const std::uint32_t limit : {1u, 7u, 4096u}) {
            Written written(point, move());
            const auto curve = run_race({race, 0, limit, &written}, device.get()).curve;
            REQUIRE(curve.size() == 7);
            for (std::size_t i = 1; i < curve.size(); ++i)
              CHECK(std::abs(curve[i].evaluation.loss - written.losses[20 * i - 1].loss) <=
                    1e-12 * written.losses[20 * i - 1].loss);
          }
        }
      }
    }
  }
}

TEST_CASE("local steps: one step is the protocol without it, to the bit") {
  for (const std::string& kind : kinds) {
    CAPTURE(kind);
    const std::string rest =
        R"("model": )" + softmax + R"(8}, "learning_rate": {"kind": "constant", "eta": 0.05})";
    const Point without = point_from(R"({"cluster": {"learners": 6, "runtime": {"distribution":
        "exponential", "mean": 1}}, "stop": {"updates": 120}, "record": {"every_updates": 20},
        "protocol": {)" + kind + "}, " +
                                     rest + "}");
    const std::uint64_t hash = run_training(without).hash;
    CHECK(run_training(point_of(kind, rest, "1")).hash == hash);
    CHECK(run_training(point_of(kind, rest, "2")).hash != hash);
  }
}

// Times of three minibatches, one after the other, on a machine that is slow for a while.
TEST_CASE("local steps: a gradient takes its minibatches one after the other") {
  const std::string slow =
      R"(, "windows": [{"learners": [0], "start": 4, "length": 6, "factor": 2}])";
  const auto time = [](const std::string& kind, const std::string& updates,
                       const std::string& more) {
    return run_timing(point_from(R"({"cluster": {"learners": 2, "runtime": {"distribution":
        "deterministic", "value": 1})" +
                                 more + R"(}, "protocol": {)" + kind +
                                 R"(, "tau": 3}, "stop": {"updates": )" + updates + "}}")
                          .race())
        .totals.time;
  };
  CHECK(time(R"("kind": "sync")", "4", "") == 12);
  CHECK(time(R"("kind": "async")", "8", "") == 12);
  // Learner 0 goes from 3 to 4 at once, and twice as slowly then: 3 to 8, 8 to 12.
  CHECK(time(R"("kind": "sync")", "2", slow) == 8);
  CHECK(time(R"("kind": "sync")", "3", slow) == 12);
  // A pull and a push for each three minibatches.
  const std::string roads =
      R"(, "network": {"pull": {"distribution": "deterministic", "value": 0.5},
                                "push": {"distribution": "deterministic", "value": 0.25}})";
  CHECK(time(R"("kind": "sync")", "4", roads) == 4 * 3.75);
}

// The n-th gradient of a learner has the n-th time of its series, whatever minibatches it is of.
TEST_CASE("local steps: series of pulls and pushes go on by gradients") {
  const TemporaryFolder folder;
  folder.write("road.csv", "pull,push\n10,.1\n30,.3\n20,.2\n50,.5\n");
  const auto series = [&](const std::string& column) {
    return R"({"distribution": "empirical", "path": ")" + (folder.path() / "road.csv").string() +
           R"(", "column": ")" + column + R"(", "mode": "replay"})";
  };
  const Race race = point_from(R"({"cluster": {"learners": 1, "runtime": {"distribution":
      "deterministic", "value": 1}, "network": {"topology": "star", "pull": )" +
                               series("pull") + R"(, "push": )" + series("push") +
                               R"(}}, "protocol": {"kind": "async", "tau": 3},
                                  "stop": {"updates": 3}})")
                        .race();
  CHECK(run_timing(race).totals.time == doctest::Approx(60 + 0.6 + 9).epsilon(1e-12));
}

TEST_CASE("local steps: what is sent is counted, and the samples of all steps") {
  const Point point =
      point_of(kinds[5], R"("model": )" + softmax +
                             R"(8}, "learning_rate": {"kind": "constant", "eta": 0.05})");
  const RaceRecord record = run_training(point);
  CHECK(record.totals.applied == 240);
  CHECK(record.curve.back().point.epoch == doctest::Approx(240 * 4 * 8 / 100.0).epsilon(1e-12));
  CHECK(record.gradients_computed == 240 * 4);
  std::uint64_t draws = 0;
  for (const LearnerTotals& learner : record.learners) draws += learner.draws;
  CHECK(draws % tau == 0);
  CHECK(draws >= 240 * tau);
}

TEST_CASE("local steps: theory is that of the sum of so many minibatches") {
  for (const std::string& kind : {kinds[0], kinds[2], kinds[3], kinds[6]}) {
    CAPTURE(kind);
    const Point point = point_from(R"({"cluster": {"learners": 6, "runtime": {"distribution":
        "exponential", "mean": 1}}, "stop": {"updates": 50000}, "protocol": {)" +
                                   kind + R"(, "tau": 3}})");
    const Theory theory = point.theory();
    const RaceRecord record = run_timing(point.race());
    REQUIRE(theory.iteration_time);
    CHECK(theory.iteration_time->basis == Basis::exact);
    const double measured = record.totals.last_update_time / 50000;
    CHECK(std::abs(measured - theory.iteration_time->value) <= 0.01 * measured);
    const double staleness = static_cast<double>(record.totals.staleness_sum) /
                             static_cast<double>(record.totals.applied);
    REQUIRE(theory.staleness);
    CHECK(std::abs(staleness - *theory.staleness) <= 0.01 * *theory.staleness);
  }
}

}  // namespace gradrace::local_steps_test
