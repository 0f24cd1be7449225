#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/make_device.h"
#include "models/model/model.h"
#include "sim/message_text.h"
#include "sim/random.h"
#include "sim/runtimes.h"
#include "tests/support/iteration_time.h"
#include "tests/support/mean.h"
#include "tests/support/race_text.h"
#include "tests/support/recorded_peers.h"
#include "tests/support/schedule.h"

namespace gradrace::async_local_sgd_test {

namespace {

using Lines = std::vector<std::string>;
using Vector = std::vector<double>;

const std::string noisy = R"({"kind": "quadratic", "dimensions": 3, "curvatures": [1, 0.3, 2],
                              "noise": 0.5, "minibatch": 4, "precision": "float64"})";
const std::string softmax = R"({"kind": "softmax", "minibatch": 4, "precision": "float64",
                                "dataset": {"kind": "synthetic", "rows": 60, "features": 5}})";
// F(w) = w^2 / 2 without noise.
const std::string still = R"({"kind": "quadratic", "dimensions": 1, "curvatures": [1], "noise": 0,
                              "start": 1, "precision": "float64"})";
const std::string one = R"({"distribution": "deterministic", "value": 1})";

/// What an outer step and a round go by.
struct Keys {
  std::uint32_t tau = 3;
  double eta = 0.7, beta = 0.9;
  std::uint32_t period = 1;
  double activation = 0;
  bool dylu = false;
  double grace = 0;
};

std::string protocol_of(const Keys& keys) {
  return R"({"kind": "async-local-sgd", "tau": )" + std::to_string(keys.tau) +
         R"(, "outer": {"eta": )" + number_text(keys.eta) + R"(, "momentum": )" +
         number_text(keys.beta) + R"(, "period": )" + std::to_string(keys.period) +
         R"(, "activation": )" + number_text(keys.activation) + R"(}, "dylu": )" +
         (keys.dylu ? "true" : "false") + R"(, "grace": )" + number_text(keys.grace) + "}";
}

Point point_of(const std::string& cluster, const std::string& protocol, const std::string& model,
               int updates, const std::string& record) {
  return point_from(
      R"({"cluster": {)" + cluster + R"(}, "protocol": )" + protocol + R"(, "model": )" + model +
      R"(, "learning_rate": {"kind": "constant", "eta": 0.05}, "stop": {"updates": )" +
      std::to_string(updates) + R"(}, "record": {)" + record + "}}");
}

/// [learner][draw]
using Times = std::vector<Vector>;

class Tabled final : public Runtimes {
 public:
  explicit Tabled(const Times& times) : times_(times) {}
  double duration(std::uint32_t learner, std::uint32_t draw, double, std::uint32_t) override {
    return times_[learner][draw];
  }

 private:
  const Times& times_;
};

/// Of learners with those means, from half of it to its one and a half.
Times random_times(const Vector& means, std::uint32_t seed) {
  Times times(means.size());
  for (std::uint32_t l = 0; l < means.size(); ++l) {
    Stream words = stream({seed, 0, Purpose::peers, l, 0});
    for (int draw = 0; draw < 400; ++draw)
      times[l].push_back(means[l] * (0.5 + uniform_below(words, 1u << 30) / double(1u << 30)));
  }
  return times;
}

/// The algorithm as it is published, on a list of what will happen: learners, a coordinator with x,
/// m and b, and messages that take so long.
class Loop {
 public:
  Loop(const Keys& keys, std::vector<std::uint32_t> steps, const Times& times, double message,
       const Point& point)
      : keys_(keys),
        steps_(std::move(steps)),
        times_(times),
        message_(message),
        model_(point.model->make_float64()),
        minibatch_(point.model->minibatch()[0]),
        x_(model_->parameters()),
        m_(x_.size()),
        b_(x_.size()) {
    model_->initialise(1, 0, x_);
    learners_.resize(steps_.size());
    for (Learner& learner : learners_) learner.read = learner.y = x_;
    for (std::uint32_t l = 0; l < learners_.size(); ++l) compute(l);
  }

  /// At x after each of so many steps of learners.
  Vector losses(int updates) {
    Vector found{loss()};
    while (static_cast<int>(found.size()) <= updates) {
      const auto [key, what] = *pending_.begin();
      pending_.erase(pending_.begin());
      time_ = key.first;
      if (what()) found.push_back(loss());
    }
    return found;
  }

 private:
  struct Learner {
    Vector read, y;
    std::uint32_t made = 0, draws = 0;
  };
  /// Whether a step was made.
  using What = std::function<bool()>;

  void at(double time, What what) { pending_[{time, number_++}] = std::move(what); }

  void compute(std::uint32_t l) {
    at(time_ + times_[l][learners_[l].draws], [this, l] {
      Learner& its = learners_[l];
      Vector g(x_.size());
      model_->gradient(its.y, {1, 0, l, its.draws++, minibatch_}, g);
      for (std::size_t k = 0; k < g.size(); ++k) its.y[k] -= 0.05 * g[k];
      if (++its.made < steps_[l])
        compute(l);
      else
        at(time_ + message_, [this, l] { return arrive(l), false; });
      return true;
    });
  }

  void arrive(std::uint32_t l) {
    const auto& [tau, e, beta, N, c, dylu, grace] = keys_;
    ++t_;
    for (std::size_t k = 0; k < x_.size(); ++k) {
      const double g = learners_[l].read[k] - learners_[l].y[k];
      b_[k] += g;
      if (t_ % N == 0) {
        m_[k] = beta * m_[k] + b_[k] / N;
        x_[k] -= e * ((1 - c * N + c) * beta * m_[k] + g / N);
        b_[k] = 0;
      } else {
        x_[k] -= e * (c * beta * m_[k] + g / N);
      }
    }
    if (waiting_.empty()) {
      at(time_ + grace, [this] {
        for (const std::uint32_t waits : std::exchange(waiting_, {})) answer(waits);
        return false;
      });
    }
    waiting_.push_back(l);
  }

  void answer(std::uint32_t l) {
    learners_[l].read = x_;
    at(time_ + message_, [this, l] {
      learners_[l].y = learners_[l].read;
      learners_[l].made = 0;
      compute(l);
      return false;
    });
  }

  double loss() {
    const double* const value = x_.data();
    Evaluation found;
    model_->evaluate({&value, 1}, {&found, 1});
    return found.loss;
  }

  const Keys keys_;
  const std::vector<std::uint32_t> steps_;
  const Times& times_;
  const double message_;
  std::unique_ptr<Model<double>> model_;
  const std::uint32_t minibatch_;
  Vector x_, m_, b_;
  std::vector<Learner> learners_;
  std::vector<std::uint32_t> waiting_;
  std::uint32_t t_ = 0;
  double time_ = 0;
  std::uint64_t number_ = 0;
  std::map<std::pair<double, std::uint64_t>, What> pending_;
};

Vector losses(const RaceRecord& record) {
  Vector result;
  for (const auto& [at, found] : record.curve) result.push_back(found.loss);
  return result;
}

void check_close(const Vector& found, const Vector& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(std::abs(found[i] - expected[i]) <= tolerance * std::abs(expected[i]));
}

const Vector means{1, 2.5, 1.2, 4};
const std::string cluster =
    R"("learners": 4, "runtimes": [{"distribution": "exponential", "mean": 1},
       {"distribution": "exponential", "mean": 2.5}, {"distribution": "exponential", "mean": 1.2},
       {"distribution": "exponential", "mean": 4}])";
const std::string on_mesh = cluster +
                            R"(, "network": {"topology": "mesh", "latency": 0.125, "bandwidth": 8,
                               "model_bytes": 5})";

void check_loop(const Keys& keys, const std::string& model, bool has_network, std::uint32_t seed) {
  CAPTURE(protocol_of(keys));
  CAPTURE(has_network);
  constexpr int updates = 200;
  const Point point = point_of(has_network ? on_mesh : cluster, protocol_of(keys), model, updates,
                               R"("every_updates": 1)");
  const Times times = random_times(means, seed);
  Race race = point.race();
  race.make_runtimes = [&](std::uint64_t, std::uint32_t) {
    return std::make_unique<Tabled>(times);
  };
  const auto device = make_device(*point.model, {});
  const RaceRecord record = run_race({race}, device.get());
  // floor(tau v / max v): 3, 3 / 2.5, 3 / 1.2, 3 / 4 and 7, 7 / 2.5, ...
  const std::vector<std::uint32_t> steps = !keys.dylu      ? std::vector(4, keys.tau)
                                           : keys.tau == 3 ? std::vector<std::uint32_t>{3, 1, 2, 1}
                                                           : std::vector<std::uint32_t>{7, 2, 5, 1};
  Loop loop(keys, steps, times, has_network ? 0.125 + 5 / 8.0 : 0, point);
  check_close(losses(record), loop.losses(updates), 1e-12);
}

}  // namespace

TEST_CASE("async-local-sgd: the published algorithm, step by step on a list of events") {
  std::uint32_t seed = 1;
  for (const std::string& model : {noisy, softmax}) {
    for (const bool has_network : {false, true}) {
      for (const double grace : {0.0, 1.5}) {
        for (const bool dylu : {false, true}) {
          check_loop({.dylu = dylu, .grace = grace}, model, has_network, seed++);
          for (const double activation : {0.0, 0.125, 0.25})
            check_loop({.period = 4, .activation = activation, .dylu = dylu, .grace = grace}, model,
                       has_network, seed++);
        }
      }
    }
  }
  check_loop({.tau = 7, .beta = 0.5, .period = 3, .dylu = true}, noisy, true, seed++);
  check_loop({.tau = 1, .eta = 1, .beta = 0}, noisy, true, seed++);
  check_loop({.tau = 7, .eta = 0.3, .beta = 0, .period = 2, .grace = 1}, noisy, false, seed++);
}

namespace {

/// x after each window, in which four equal learners come with one pseudo-gradient.
Vector after_windows(const std::string& outer) {
  const RaceRecord record = run_training(
      point_of(R"("learners": 4, "runtime": )" + one,
               R"({"kind": "async-local-sgd", "tau": 2, "grace": 0.25, "outer": )" + outer + "}",
               still, 48, R"("every_time": 2.25)"));
  Vector x;
  for (const double loss : losses(record)) x.push_back(std::sqrt(2 * loss));
  x.pop_back();  // the end
  return x;
}

}  // namespace

// From rest first; then with the momentum of the first window.
TEST_CASE("async-local-sgd: four equal pseudo-gradients by Nesterov move x as the paper says") {
  constexpr double e = 0.1, b = 0.5;
  const Vector x = after_windows(R"({"eta": 0.1, "momentum": 0.5})");
  REQUIRE(x.size() == 6);
  double m = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double g = x[i] * (1 - 0.95 * 0.95);
    const double moved = e * (4 + 4 * b + 3 * b * b + 2 * b * b * b + b * b * b * b) * g +
                         e * b * b * (1 + b + b * b + b * b * b) * m;
    CHECK(x[i] - x[i + 1] == doctest::Approx(moved).epsilon(1e-12));
    m = b * b * b * b * m + (1 + b + b * b + b * b * b) * g;
  }
}

TEST_CASE("async-local-sgd: delayed until all four are there they move x as one on their mean") {
  constexpr double e = 0.7, b = 0.9;
  for (const std::string activation : {"0", "0.25"}) {
    const Vector x = after_windows(R"({"eta": 0.7, "momentum": 0.9, "period": 4, "activation": )" +
                                   activation + "}");
    double m = 0;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      const double g = x[i] * (1 - 0.95 * 0.95), before = m;
      m = b * m + g;
      // A quarter of the step along the momentum is made by each, three by that of before.
      const double ahead = activation == "0" ? b * m : b * (3 * before + m) / 4;
      CHECK(x[i] - x[i + 1] == doctest::Approx(e * (g + ahead)).epsilon(1e-12));
    }
  }
}

// Their rounds take as long: 2 (1 + 1/8) and 2 + 1/4.
TEST_CASE("async-local-sgd: with a window that takes all in it is local-sgd with its outer step") {
  const auto of = [](const std::string& time, const std::string& protocol, const std::string& model,
                     int updates) {
    return losses(run_training(point_of(
        R"("learners": 4, "runtime": {"distribution": "deterministic", "value": )" + time + "}",
        protocol, model, updates, R"("every_time": 2.25)")));
  };
  for (const std::string& model : {noisy, softmax}) {
    for (const std::string momentum : {"0", "0.9"}) {
      const std::string step = R"("eta": 0.7, "momentum": )" + momentum;
      Vector local = of("1.125",
                        R"({"kind": "local-sgd", "tau": 2, "outer": {)" + step +
                            (momentum == "0" ? "" : R"(, "nesterov": true)") + "}}",
                        model, 21);
      Vector async = of("1",
                        R"({"kind": "async-local-sgd", "tau": 2, "grace": 0.25, "outer": {)" +
                            step + R"(, "period": 4}})",
                        model, 84);
      local.pop_back(), async.pop_back();  // the ends of the runs
      REQUIRE(async.size() == 11);
      check_close(async, local, 1e-12);
    }
  }
}

TEST_CASE("async-local-sgd: one learner's rounds are those of local-sgd") {
  const auto of = [](const std::string& kind, const std::string& outer, const std::string& every) {
    return losses(run_training(
        point_of(R"("learners": 1, "runtime": )" + one,
                 R"({"kind": ")" + kind + R"(", "tau": 3, "outer": {"eta": 0.7, "momentum": 0.9)" +
                     outer + "}}",
                 noisy, 61, every)));
  };
  const Vector rounds = of("async-local-sgd", "", R"("every_time": 3)");
  const Vector local = of("local-sgd", R"(, "nesterov": true)", R"("every_time": 3)");
  REQUIRE(rounds.size() == 22);  // the last one is of a step, which evaluations of x do not see
  check_close({rounds.begin(), rounds.end() - 1}, {local.begin(), local.end() - 1}, 1e-12);
  CHECK(rounds[21] == rounds[20]);
  const Vector steps = of("async-local-sgd", "", R"("every_updates": 1)");
  for (std::size_t i = 1; i < steps.size(); ++i)
    CHECK((steps[i] == steps[i - 1]) == (i == 1 || i % 3 != 1));
}

// A message takes half a unit.  1 comes at 3.5, and waits for nobody until 4.5.
TEST_CASE("async-local-sgd: two learners by hand, with a window and without one") {
  const Vector runtimes{2, 1, 2, 3, 1, 1, 9, 9};
  CHECK(orders(R"({"kind": "async-local-sgd", "tau": 2, "grace": 1})", 2, runtimes, 6) ==
        Lines{"0 compute 0", "0 compute 1", "1 compute 1", "2 compute 0", "3 push 1", "4.5 pull 1",
              "5 push 0", "5 average 1", "5 compute 1", "6 compute 1", "6.5 pull 0", "7 push 1"});
  CHECK(orders(R"({"kind": "async-local-sgd", "tau": 2})", 2, runtimes, 6) ==
        Lines{"0 compute 0", "0 compute 1", "1 compute 1", "2 compute 0", "3 push 1", "3.5 pull 1",
              "4 average 1", "4 compute 1", "5 push 0", "5 compute 1", "5.5 pull 0", "6 push 1"});
}

// The second window takes in 2, whose model comes at 4.5, and at its end, when 0 is on its way,
// lets 1 and 2 go; 0 opens a third.
TEST_CASE("async-local-sgd: three learners by hand, their times, bytes and staleness") {
  const std::string protocol = R"({"kind": "async-local-sgd", "tau": 1, "grace": 1})";
  const Vector runtimes{1, 1.5, 4, 2, 0.5, 1, 9, 9};
  CHECK(orders(protocol, 3, runtimes, 6) ==
        Lines{"0 compute 0", "0 compute 1",   "0 compute 2",   "1 push 0",      "1.5 push 1",
              "2.5 pull 0",  "2.5 pull 1",    "3 average 0",   "3 compute 0",   "3 average 1",
              "3 compute 1", "3.5 push 1",    "4 push 2",      "5 push 0",      "5 pull 1",
              "5 pull 2",    "5.5 average 1", "5.5 compute 1", "5.5 average 2", "5.5 compute 2",
              "6.5 push 1"});
  Race race = by_hand(protocol, 3, runtimes, 6);
  race.peers->inside = {0.25, 8};
  race.peers->model_bytes = 2;
  const RaceRecord record = run_timing(race);
  CHECK(record.totals.time == 6.5);
  // 0, 1 | 1, 2 | 0: versions read are 0, 0, 2, 0, 2.
  CHECK(record.outer.updates == 5);
  CHECK(record.outer.staleness_sum == 0 + 1 + 0 + 3 + 2);
  CHECK(record.outer.max_staleness == 3);
  const ExchangeTotals& first = record.learners[0].exchanged;
  CHECK(record.learners[0].busy == 1 + 2);
  CHECK(first.communicating == 3 * 0.5);
  CHECK(first.waiting == 1 + 1);
  CHECK(first.sent == 2 * 2);
  CHECK(first.received == 2);
  CHECK(first.messages == 2);
  CHECK(record.learners[1].exchanged.sent == 3 * 2);
  CHECK(record.learners[1].exchanged.received == 2 * 2);
}

// Three leave node 1 at once; each has a third of the card, there and at the coordinator.
TEST_CASE("async-local-sgd: messages share the coordinator's card") {
  const RaceRecord record = run_timing(
      point_of(R"("learners": 6, "runtime": )" + one +
                   R"(, "network": {"topology": "nodes", "per_node": 3, "model_bytes": 6,
                        "inside": {"latency": 0.5}, "between": {"latency": 0.25, "bandwidth": 12}})",
               R"({"kind": "async-local-sgd", "tau": 1})", still, 12, R"("every_updates": 100)")
          .race());
  // 1, then 0.5 up and 0.5 down, and 1 again; or 0.25 + 18 / 12 up and down.
  CHECK(record.learners[0].exchanged.communicating == 2);
  CHECK(record.learners[5].exchanged.communicating == doctest::Approx(2 * (0.25 + 1.5)));
}

// Between two reads of a learner every other's model comes once in the mean, whatever times are.
TEST_CASE("async-local-sgd: each outer step is stale once for every other learner under way") {
  const RaceRecord record =
      run_timing(race_of(7, R"({"kind": "async-local-sgd", "tau": 3})", R"({"updates": 90000})"));
  const auto n = static_cast<double>(record.outer.updates);
  CHECK(n > 29900);
  CHECK(static_cast<double>(record.outer.staleness_sum) <= 6 * n);
  CHECK(static_cast<double>(record.outer.staleness_sum) >= 6 * n - 6 * 100);
  CHECK(record.totals.max_staleness == 0);
}

TEST_CASE("async-local-sgd: rates of rounds add up, and windows and shared cards slow them") {
  const auto point = [](const std::string& rest, const Keys& keys) {
    return point_of(cluster + rest, protocol_of(keys), noisy, 60000, R"("every_updates": 60000)");
  };
  const std::string mesh = R"(, "network": {"topology": "mesh", "latency": 0.125, "bandwidth": 8,
                              "model_bytes": 5})";
  const std::string nodes = R"(, "network": {"topology": "nodes", "per_node": 2, "model_bytes": 8,
                               "inside": {"latency": 0.25}, "between": {"bandwidth": 4}})";
  const auto check = [](const Point& of, Basis basis, std::optional<double> expected) {
    const Theory theory = of.theory();
    REQUIRE(theory.iteration_time);
    CHECK(theory.iteration_time->basis == basis);
    if (expected) CHECK(theory.iteration_time->value == doctest::Approx(*expected).epsilon(1e-12));
    const Race race = of.race();
    if (basis == Basis::exact) return check_iteration_time(race, theory.iteration_time->value);
    Mean time;
    for (std::uint32_t replica = 0; replica < 10; ++replica)
      time.add(iteration_time(run_timing(race, replica)));
    CHECK(theory.iteration_time->value < time.value());
    CHECK(theory.iteration_time->value > 0.5 * time.value());
  };
  check(point("", {.tau = 3}), Basis::exact, 1 / (1 + 1 / 2.5 + 1 / 1.2 + 1 / 4.0));
  check(point(mesh, {.tau = 3}), Basis::exact,
        1 / (3 / (3 + 1.5) + 3 / (7.5 + 1.5) + 3 / (3.6 + 1.5) + 3 / (12 + 1.5)));
  check(point(mesh, {.tau = 3, .dylu = true}), Basis::exact,
        1 / (3 / (3 + 1.5) + 1 / (2.5 + 1.5) + 2 / (2.4 + 1.5) + 1 / (4 + 1.5)));
  check(point(mesh, {.tau = 3, .grace = 2}), Basis::lower, {});
  check(point(nodes, {.tau = 3}), Basis::lower,
        1 / (3 / (3 + 0.5) + 3 / (7.5 + 0.5) + 3 / (3.6 + 4) + 3 / (12 + 4.0)));
}

TEST_CASE("async-local-sgd: values outlast segments of the tape") {
  const Point point = point_of(on_mesh, protocol_of({.period = 3, .dylu = true, .grace = 1}), noisy,
                               200, R"("every_updates": 5)");
  const Race race = point.race();
  const auto device = make_device(*point.model, {});
  const Vector whole = losses(run_race({race}, device.get()));
  for (const std::uint32_t limit : {1u, 7u}) {
    const auto other = make_device(*point.model, {});
    CHECK(losses(run_race({race, 0, limit}, other.get())) == whole);
  }
}

// A variance that is moved along the outer step becomes negative here, and the loss NaN.
TEST_CASE("async-local-sgd: an outer step leaves statistics of batch normalisation alone") {
  const RaceRecord record =
      run_training(point_of(cluster, protocol_of({.period = 1}),
                            R"({"kind": "resnet", "depth": 8, "width": 2, "minibatch": 4,
                   "dataset": {"kind": "synthetic", "rows": 64, "test_rows": 20, "features": 192,
                               "height": 8, "width": 8, "classes": 3}})",
                            120, R"("every_updates": 5)"));
  for (const double loss : losses(record)) REQUIRE(std::isfinite(loss));
}

// v = .5 v + g, and v stays where the model is read anew.
TEST_CASE("async-local-sgd: a learner keeps its optimiser's state, and its average is its own") {
  const auto trained = [](const std::string& optimiser) {
    return losses(run_training(
        point_from(R"({"cluster": {"learners": 1, "runtime": )" + one + R"(}, "model": )" + still +
                   R"(, "protocol": {"kind": "async-local-sgd", "tau": 2, "outer": {"eta": 0.5}},
          "optimiser": )" +
                   optimiser + R"(, "learning_rate": {"kind": "constant", "eta": 0.1},
          "stop": {"updates": 13}, "record": {"every_updates": 1}})")));
  };
  const Vector found = trained(R"({"momentum": 0.5})");
  double x = 1, w = 1, v = 0;
  for (std::size_t step = 1; step <= 13; ++step) {
    v = 0.5 * v + w, w -= 0.1 * v;
    CHECK(found[step] == doctest::Approx(x * x / 2).epsilon(1e-12));
    if (step % 2 == 0) w = x += 0.5 * (w - x);
  }
  const Vector averages = trained(R"({"ema": 0.75})");
  double a = 1;
  x = w = 1;
  for (std::size_t step = 1; step <= 13; ++step) {
    w -= 0.1 * w, a = 0.75 * a + 0.25 * w;
    CHECK(averages[step] == doctest::Approx(a * a / 2).epsilon(1e-12));
    if (step % 2 == 0) w = x += 0.5 * (w - x);
  }
}

}  // namespace gradrace::async_local_sgd_test
