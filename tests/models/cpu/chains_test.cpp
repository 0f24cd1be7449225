#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "models/cpu/cpu_device.h"
#include "models/linear.h"
#include "models/optimiser/optimiser.h"
#include "models/quadratic.h"
#include "models/replay/replay_results.h"
#include "sim/engine/tape_writer.h"
#include "tests/support/model_checks.h"
#include "tests/support/whole_tape.h"

namespace gradrace::chains_test {

namespace {

constexpr std::uint64_t seed = 5;
constexpr std::uint32_t replica = 2;
constexpr std::size_t limits[] = {1, 3, 4096};

/// A model state of the loops below, which do at once what a tape says.
template <class Real>
struct Learner {
  std::vector<Real> w, velocity, average;

  explicit Learner(std::vector<Real> start) : w(start), velocity(w.size()), average(start) {}

  void step(const std::vector<Real>& sum, double momentum, double ema) {
    for (std::size_t j = 0; j < w.size(); ++j) {
      velocity[j] = static_cast<Real>(momentum) * velocity[j] + sum[j];
      w[j] -= velocity[j];
      average[j] += static_cast<Real>(1 - ema) * (w[j] - average[j]);
    }
  }
};

template <class Real>
std::vector<Real> start_of(Model<Real>& model) {
  std::vector<Real> w(model.parameters());
  model.initialise(seed, replica, w);
  return w;
}

template <class Real>
std::vector<Real> gradient_at(Model<Real>& model, const std::vector<Real>& w, std::uint32_t learner,
                              std::uint32_t draw, std::uint32_t minibatch) {
  std::vector<Real> g(w.size());
  model.gradient(w, {seed, replica, learner, draw, minibatch}, g);
  return g;
}

template <class Real>
double loss_at(Model<Real>& model, const std::vector<Real>& w) {
  const Real* const value = w.data();
  Evaluation result;
  model.evaluate({&value, 1}, {&result, 1});
  return result.loss;
}

/// The mean, and the sum over the learners of 1/P ||w - mean||^2, in their order number by number.
template <class Real>
std::pair<std::vector<Real>, double> mean_and_disagreement(
    const std::vector<Learner<Real>>& learners) {
  const double share = 1.0 / static_cast<double>(learners.size());
  std::vector<Real> mean;
  double all = 0;
  for (std::size_t j = 0; j < learners[0].w.size(); ++j) {
    double sum = 0, apart = 0;
    for (const auto& learner : learners) sum += share * learner.w[j];
    mean.push_back(static_cast<Real>(sum));
    for (const auto& learner : learners) {
      const double from_mean = static_cast<double>(learner.w[j]) - mean[j];
      apart += share * (from_mean * from_mean);
    }
    all += apart;
  }
  return {mean, all};
}

/// What a replay of the whole tape found: losses, disagreements of those evaluations that have one,
/// and live values with their hash.
struct Found {
  std::vector<double> losses, disagreements, parameters;
  std::uint64_t hash = 0, computed = 0;
};

template <class Real>
Found replay(std::unique_ptr<Model<Real>> model, Order order, const Rule& rule,
             std::uint32_t minibatch, const std::vector<Segment>& segments, double clip = 0) {
  const auto device = make_cpu_device(std::move(model), order);
  const Tape tape{seed, replica, {{minibatch, clip}}, {rule}};
  device->start({&tape, 1});
  Found found;
  for (const Segment& segment : segments) {
    const Segment* const wave = &segment;
    Results results;
    device->replay({&wave, 1}, {&results, 1});
    for (const Evaluation& each : results.evaluations) {
      found.losses.push_back(each.loss);
      if (!std::isnan(each.disagreement)) found.disagreements.push_back(each.disagreement);
    }
    found.computed += results.gradients_computed;
    found.hash = results.hash;
  }
  found.parameters = device->parameters(0);
  return found;
}

template <class Real>
void check_equal(const Found& found, const std::vector<double>& losses,
                 const std::vector<double>& disagreements,
                 const std::vector<Learner<Real>>& learners) {
  REQUIRE(found.losses == losses);
  REQUIRE(found.disagreements == disagreements);
  std::vector<double> parameters;
  Hash hash;
  for (const auto& learner : learners) {
    parameters.insert(parameters.end(), learner.w.begin(), learner.w.end());
    add_bits<Real>(hash, learner.w);
  }
  REQUIRE(found.parameters == parameters);
  CHECK(found.hash == hash.value());
}

/// Terms of the mean of the learners' values.
std::vector<Term> mean_of(const std::vector<ValueId>& values) {
  std::vector<Term> terms;
  for (const ValueId value : values) terms.push_back({value, 1.0 / double(values.size())});
  return terms;
}

/// A tape of the same, as the engine writes one: so many steps in each segment.
std::vector<Segment> written(const std::vector<std::vector<double>>& mixing, double eta, bool whole,
                             std::uint32_t steps, std::uint32_t limit) {
  const auto P = static_cast<std::uint32_t>(mixing.size());
  TapeWriter writer(true);
  std::vector<Segment> segments;
  std::vector<ValueId> values(P, 0);
  for (std::uint32_t n = 0; n < steps; ++n) {
    if (n % limit == 0) writer.begin();
    std::vector<Term> terms;
    for (std::uint32_t l = 0; l < P; ++l) {
      const Use use{writer.gradient(values[l], l, n, 0), 0, eta};
      values[l] = writer.update(values[l], 0, {&use, 1});
      terms.push_back({values[l], 0});
    }
    writer.evaluate(values[0]);
    const std::vector<Term> mean = mean_of(values);
    writer.evaluate(writer.average(values[0], mean), mean);
    for (std::uint32_t l = 0; l < P; ++l) {
      for (std::uint32_t i = 0; i < P; ++i) terms[i].weight = mixing[l][i];
      values[l] = writer.average(values[l], terms, whole ? Summed::whole : Summed::parameters);
    }
    writer.evaluate(values[P - 1]);
    const bool last = n + 1 == steps;
    if (last || (n + 1) % limit == 0)
      segments.push_back(writer.cut(values, last ? End::finished : End::limit));
  }
  return segments;
}

double momentum_of(const Rule& rule) { return std::get<Sgd>(optimiser_of(rule)).momentum; }
std::shared_ptr<const Optimiser> sgd(double momentum) {
  return make_optimiser(Sgd{.momentum = momentum});
}

/// Each learner makes a step of its own and takes the mean of all that the weights say: row i of
/// the mixing matrix makes its next state.
template <class Real, class Make>
void check_peers(const Make& make, std::uint32_t minibatch, double eta, const Rule& rule,
                 bool whole, const std::vector<std::vector<double>>& mixing) {
  CAPTURE(whole);
  CAPTURE(sizeof(Real));
  constexpr std::uint32_t steps = 12;
  const auto P = static_cast<std::uint32_t>(mixing.size());

  std::vector<double> losses, disagreements;
  const std::unique_ptr<Model<Real>> model = make();
  std::vector<Learner<Real>> learners(P, Learner<Real>(start_of(*model)));
  for (std::uint32_t n = 0; n < steps; ++n) {
    for (std::uint32_t l = 0; l < P; ++l) {
      std::vector<Real> step = gradient_at(*model, learners[l].w, l, n, minibatch);
      for (Real& x : step) x *= static_cast<Real>(eta);
      learners[l].step(step, momentum_of(rule), rule.ema);
    }
    losses.push_back(loss_at(*model, rule.ema > 0 ? learners[0].average : learners[0].w));
    const auto [mean, apart] = mean_and_disagreement(learners);
    losses.push_back(loss_at(*model, rule.ema > 0 ? learners[0].average : mean));
    disagreements.push_back(apart);
    const std::vector<Learner<Real>> before = learners;
    for (std::uint32_t l = 0; l < P; ++l) {
      const auto mix = [&](auto part) {
        for (std::size_t j = 0; j < (learners[l].*part).size(); ++j) {
          double sum = mixing[l][0] * (before[0].*part)[j];
          for (std::uint32_t i = 1; i < P; ++i) sum += mixing[l][i] * (before[i].*part)[j];
          (learners[l].*part)[j] = static_cast<Real>(sum);
        }
      };
      mix(&Learner<Real>::w);
      if (whole) mix(&Learner<Real>::velocity), mix(&Learner<Real>::average);
    }
    losses.push_back(loss_at(*model, rule.ema > 0 ? learners[P - 1].average : learners[P - 1].w));
  }

  WholeTape tape;
  std::vector<ValueId> values(P, 0);
  for (std::uint32_t n = 0; n < steps; ++n) {
    std::vector<GradientId> gradients;
    for (std::uint32_t l = 0; l < P; ++l) gradients.push_back(tape.gradient(values[l], l, n));
    std::vector<Term> terms;
    for (std::uint32_t l = 0; l < P; ++l) {
      values[l] = tape.update(values[l], {{gradients[l], 0, eta}});
      terms.push_back({values[l], 0});
    }
    tape.evaluate(values[0]);
    const std::vector<Term> mean = mean_of(values);
    tape.evaluate(tape.average(values[0], mean), mean);
    for (std::uint32_t l = 0; l < P; ++l) {
      for (std::uint32_t i = 0; i < P; ++i) terms[i].weight = mixing[l][i];
      values[l] = tape.average(values[l], terms, whole ? Summed::whole : Summed::parameters);
    }
    tape.evaluate(values[P - 1]);
  }
  for (const std::size_t limit : limits) {
    for (const Order order : {Order::late, Order::early}) {
      CAPTURE(limit);
      const Found found = replay<Real>(make(), order, rule, minibatch, tape.cut(limit, values));
      check_equal(found, losses, disagreements, learners);
      CHECK(found.computed == steps * P);
      const auto steps_cut = static_cast<std::uint32_t>(limit);
      check_equal(replay<Real>(make(), order, rule, minibatch,
                               written(mixing, eta, whole, steps, steps_cut)),
                  losses, disagreements, learners);
    }
  }
}

template <class Real>
std::unique_ptr<Model<Real>> made(const SoftmaxConfig& config) {
  if constexpr (sizeof(Real) == 4)
    return make_softmax(config)->make_float32();
  else
    return make_softmax(config)->make_float64();
}

template <class Real>
void check_peers_on_models(const std::vector<std::vector<double>>& mixing) {
  SoftmaxConfig softmax =
      on<SoftmaxConfig>(synthetic(R"("rows": 60, "test_rows": 41, "features": 13, "classes": 5)"));
  softmax.init_sd = 0.01;
  softmax.l2 = 0.01;
  QuadraticConfig quadratic;
  quadratic.dimensions = 700;  // more than what is summed at once
  quadratic.curvatures = {1, 0.3, 2};
  for (const bool whole : {false, true}) {
    for (const Rule& rule : {Rule{}, Rule{sgd(0.9)}, Rule{sgd(0.5), 0.8}}) {
      check_peers<Real>([&] { return made<Real>(softmax); }, 30, 0.1, rule, whole, mixing);
      check_peers<Real>([&] { return make_quadratic<Real>(quadratic); }, 4, 0.05, rule, whole,
                        mixing);
    }
  }
}

}  // namespace

TEST_CASE("chains: two learners that average every step are the direct loop, bit for bit") {
  const std::vector<std::vector<double>> mean{{0.5, 0.5}, {0.5, 0.5}};
  check_peers_on_models<float>(mean);
  check_peers_on_models<double>(mean);
}

TEST_CASE("chains: terms are summed in double in their order, whoever's value comes of them") {
  const std::vector<std::vector<double>> mixing{{0.6, 0.3, 0.1}, {0.2, 0.7, 0.1}, {0.3, 0.3, 0.4}};
  check_peers_on_models<float>(mixing);
  check_peers_on_models<double>(mixing);
}

/// Two chains; all gradients of the first are used by the second one again, some updates later.
static void check_used_again(const Rule& rule, double clip) {
  CAPTURE(rule.distance);
  QuadraticConfig config;
  config.dimensions = 3;
  config.curvatures = {1, 0.3, 2};
  config.noise = 0.5;
  const auto model = make_quadratic<double>(config);
  constexpr std::uint32_t steps = 20, lag = 4;

  struct Made {
    std::vector<double> g, at;
  };
  std::vector<Made> made;
  const auto step = [&](Learner<double>& learner, std::initializer_list<Made> gradients) {
    std::vector<double> sum(3, 0.0);
    for (const auto& [g, at] : gradients) {
      double norm = 0, distance = 0;
      for (std::size_t j = 0; j < 3; ++j) norm += g[j] * g[j];
      for (std::size_t j = 0; j < 3; ++j)
        distance += (learner.w[j] - at[j]) * (learner.w[j] - at[j]);
      double weight = 0.05;
      if (rule.distance > 0) weight *= std::min(1.0, rule.distance / distance);
      if (clip > 0 && std::sqrt(norm) > clip) weight *= clip / std::sqrt(norm);
      for (std::size_t j = 0; j < 3; ++j) sum[j] += weight * g[j];
    }
    learner.step(sum, momentum_of(rule), 0);
  };
  std::vector<Learner<double>> learners(2, Learner<double>(start_of(*model)));
  std::vector<double> losses;
  WholeTape tape;
  std::vector<ValueId> values{0, 0};
  for (std::uint32_t n = 0; n < steps; ++n) {
    made.push_back({gradient_at(*model, learners[0].w, 0, n, 1), learners[0].w});
    const GradientId id = tape.gradient(values[0], 0, n);
    tape.gradient(values[1], 1, n);  // is never used
    step(learners[0], {made[n]});
    values[0] = tape.update(values[0], {{id, 0, 0.05}});
    if (n >= lag) {
      // Twice in one update as well.
      step(learners[1], {made[n - lag], made[n], made[n - lag]});
      const GradientId old = 2 * (n - lag);
      values[1] = tape.update(values[1], {{old, 0, 0.05}, {id, 0, 0.05}, {old, 0, 0.05}});
    }
    tape.evaluate(values[1]);
    losses.push_back(loss_at(*model, learners[1].w));
  }
  for (const std::size_t limit : limits) {
    for (const Order order : {Order::late, Order::early}) {
      CAPTURE(limit);
      const Found found = replay<double>(make_quadratic<double>(config), order, rule, 1,
                                         tape.cut(limit, values), clip);
      check_equal(found, losses, {}, learners);
      CHECK(found.computed == steps);  // once each
    }
  }
}

TEST_CASE("chains: a gradient used again is computed once, at its value of then") {
  check_used_again({}, 0);
  check_used_again({sgd(0.9)}, 0);
  check_used_again({}, 0.3);
  check_used_again({.distance = 1e-3}, 0);
}

}  // namespace gradrace::chains_test
