#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "analysis/theory/error_curve.h"
#include "tests/support/iteration_time.h"
#include "tests/support/schedule.h"

namespace gradrace::peer_theory_test {

namespace {

const std::string one = R"({"distribution": "deterministic", "value": 1})";

/// A mesh on which a collective of 8 learners takes 14 latencies and 1.75 times S / bandwidth.
PeerNetwork mesh(double latency, double bandwidth) {
  PeerNetwork network;
  network.inside = {latency, bandwidth};
  network.model_bytes = 7;
  return network;
}

/// Nodes of four, whose NICs nobody shares.
PeerNetwork nodes() {
  PeerNetwork network = mesh(0.03125, 56);
  network.per_node = 4;
  network.between = {0.125, 14};
  network.shared = false;
  return network;
}

Race race_on(std::uint32_t learners, const std::string& protocol,
             const std::optional<PeerNetwork>& network, const std::string& runtime,
             std::uint64_t updates) {
  Race race =
      race_of(learners, protocol, R"({"updates": )" + std::to_string(updates) + "}", runtime);
  race.peers = network;
  return race;
}

Estimate predicted(const Race& race) {
  const Theory theory = theory_of(race);
  REQUIRE(theory.iteration_time);
  return *theory.iteration_time;
}

/// Between two numbers of updates, whole rounds of all protocols apart.
double long_run(std::uint32_t learners, const std::string& protocol,
                const std::optional<PeerNetwork>& network, const std::string& runtime = one) {
  const auto time = [&](std::uint64_t updates) {
    return run_timing(race_on(learners, protocol, network, runtime, updates))
        .totals.last_update_time;
  };
  const std::uint64_t rounds = 4 * 5 * 12 * learners;
  return (time(2 * rounds) - time(rounds)) / static_cast<double>(rounds);
}

void check_exact(std::uint32_t learners, const std::string& protocol,
                 const std::optional<PeerNetwork>& network, double expected) {
  CAPTURE(protocol);
  CAPTURE(learners);
  const auto [value, basis] = predicted(race_on(learners, protocol, network, one, 1));
  CHECK(basis == Basis::exact);
  CHECK(value == doctest::Approx(expected).epsilon(1e-12));
  CHECK(long_run(learners, protocol, network) == doctest::Approx(expected).epsilon(1e-12));
}

void check_bound(std::uint32_t learners, const std::string& protocol,
                 const std::optional<PeerNetwork>& network, const std::string& runtime,
                 Basis basis) {
  CAPTURE(protocol);
  CAPTURE(runtime);
  const Estimate bound = predicted(race_on(learners, protocol, network, runtime, 1));
  const double measured =
      iteration_time(run_timing(race_on(learners, protocol, network, runtime, 20000)));
  CAPTURE(bound.value);
  CAPTURE(measured);
  CHECK(bound.basis == basis);
  if (basis == Basis::upper) CHECK(measured <= 1.005 * bound.value);
  if (basis == Basis::lower) CHECK(measured >= 0.995 * bound.value);
}

std::string local_sgd(int tau, const std::string& more = "") {
  return R"({"kind": "local-sgd", "tau": )" + std::to_string(tau) + more + "}";
}
std::string dasgd(int tau, int delay) {
  return R"({"kind": "dasgd", "tau": )" + std::to_string(tau) + R"(, "delay": )" +
         std::to_string(delay) + "}";
}
std::string d_psgd(const std::string& graph, const std::string& order) {
  return R"({"kind": "d-psgd", "graph": ")" + graph + R"(", "order": ")" + order + R"("})";
}
std::string ripples(const std::string& schedule, const std::string& more = "") {
  return R"({"kind": "ripples", "schedule": ")" + schedule + '"' + more + "}";
}
std::string partial_reduce(int group) {
  return R"({"kind": "partial-reduce", "group": )" + std::to_string(group) + "}";
}
std::string all_reduce(int buckets = 1, const std::string& backward = "0.5") {
  return R"({"kind": "all-reduce", "buckets": )" + std::to_string(buckets) + R"(, "backward": )" +
         backward + "}";
}

}  // namespace

// Minibatches of 1; a collective of eight takes 14 / 64 + 1.75 * 7 / 12.25 = 1.21875.
TEST_CASE("theory of peers: constant runtimes on a mesh, by hand and as simulated") {
  const PeerNetwork network = mesh(1 / 64.0, 12.25);
  const double T = 1.21875;
  check_exact(8, all_reduce(), network, 1 + T);
  for (const int tau : {1, 4, 5}) check_exact(8, local_sgd(tau), network, 1 + T / tau);
  check_exact(8, dasgd(4, 0), network, 1 + T / 4);
  check_exact(8, dasgd(4, 1), network, 1 + (T - 1) / 4);
  for (const int delay : {2, 3, 4}) check_exact(8, dasgd(4, delay), network, 1);
  check_exact(8, dasgd(1, 1), network, T);
  for (const auto& [graph, degree] : {std::pair("ring", 2), {"exponential", 3}, {"complete", 7}}) {
    const double G = 1 / 64.0 + degree * 7 / 12.25;
    check_exact(8, d_psgd(graph, "adapt-first"), network, 1 + G);
    check_exact(8, d_psgd(graph, "combine-first"), network, std::max(1.0, G));
  }
  // A ring of four of 7 bytes and one of two: pairs and nodes; two learners of place 0.
  const double four = 6 / 64.0 + 1.5 * 7 / 12.25, two = 2 / 64.0 + 7 / 12.25;
  check_exact(8, ripples("static"), network, (1 + (two + four) / 2) / 8);
  check_exact(8, ripples("group-division", R"(, "group": 4)"), network, (1 + four) / 8);
  check_exact(8, ripples("group-division", R"(, "group": 8)"), network, (1 + T) / 8);
  check_exact(8, ripples("group-buffer", R"(, "group": 8)"), network, (1 + T) / 8);
  for (const auto* schedule : {"random", "group-buffer", "group-division"})
    check_exact(8, ripples(schedule, R"(, "group": 1)"), network, 1 / 8.0);
  check_exact(8, partial_reduce(1), network, 1 / 8.0);
  check_exact(8, partial_reduce(4), network, (1 + four) / 8);
  check_exact(8, partial_reduce(8), network, (1 + T) / 8);
}

TEST_CASE("theory of peers: constant runtimes in nodes, as simulated") {
  PeerNetwork network = nodes();
  const auto check = [&](const std::string& protocol) {
    check_exact(8, protocol, network, predicted(race_on(8, protocol, network, one, 1)).value);
  };
  for (const bool shared : {false, true}) {
    network.shared = shared;
    for (const auto collective :
         {Collective::ring, Collective::halving_doubling, Collective::tree, Collective::server}) {
      network.collective = collective;
      check(all_reduce());
      check(local_sgd(3));
      check(dasgd(4, 1));
      check(ripples("static"));
      check(partial_reduce(8));
    }
  }
  network.shared = false;
  check(d_psgd("ring", "adapt-first"));
  check(d_psgd("ring", "combine-first"));
  for (const std::uint32_t learners : {8u, 9u, 10u}) {  // the last node has four, one or two
    const std::string all = d_psgd("complete", "adapt-first");
    check_exact(learners, all, network, predicted(race_on(learners, all, network, one, 1)).value);
  }
  // The slowest exchange of a ring is one across nodes.
  CHECK(predicted(race_on(8, d_psgd("ring", "adapt-first"), network, one, 1)).value ==
        doctest::Approx(1 + 0.125 + 2 * 7 / 14.0).epsilon(1e-12));
}

// Two regions of four; the slower way between them has a latency of 1 / 8 and 14 bytes a unit.
TEST_CASE("theory of peers: constant runtimes in regions, as simulated") {
  PeerNetwork network = mesh(0, 1);
  network.per_node = 4;
  network.regions = {{{0, 56}, {0.125, 14}}, {{0.0625, 28}, {0, 56}}};
  const double T = 14 * 0.125 + 1.75 / 2;
  check_exact(8, all_reduce(), network, 1 + T);
  check_exact(8, local_sgd(4), network, 1 + T / 4);
  check_exact(8, dasgd(4, 0), network, 1 + T / 4);
  check_exact(8, d_psgd("complete", "adapt-first"), network, 1 + 0.125 + 3.5);
  check_exact(8, d_psgd("ring", "adapt-first"), network, 1 + 0.125 + 1);
  check_exact(8, partial_reduce(8), network, (1 + T) / 8);
  const std::string ad_psgd = R"({"kind": "ad-psgd", "graph": "bipartite-exponential"})";
  for (const auto& protocol :
       {partial_reduce(4), ripples("static"), ripples("group-division"), ad_psgd})
    check_bound(8, protocol, network, one, Basis::lower);
}

TEST_CASE("theory of peers: buckets hide what the backward pass covers") {
  const PeerNetwork network = mesh(1 / 64.0, 12.25);
  for (const int buckets : {1, 2, 4}) {
    const double part = 14 / 64.0 + 1.75 * 7 / 12.25 / buckets;  // each has all latencies
    for (const double backward : {0.0, 0.25, 0.5, 1.0}) {
      const double first = 1 - backward * (1 - 1.0 / buckets);
      check_exact(8, all_reduce(buckets, std::to_string(backward)), network,
                  std::max(first + buckets * part, 1 + part));
      const std::string parts = R"(, "buckets": )" + std::to_string(buckets) + R"(, "backward": )" +
                                std::to_string(backward);
      check_exact(8, local_sgd(4, parts), network,
                  (3 + std::max(first + buckets * part, 1 + part)) / 4);
    }
  }
}

TEST_CASE("theory of peers: no network, constant runtimes") {
  for (const std::uint32_t learners : {4u, 8u, 12u}) {
    check_exact(learners, all_reduce(4), {}, 1);
    check_exact(learners, local_sgd(4), {}, 1);
    check_exact(learners, dasgd(4, 1), {}, 1);
    check_exact(learners, ripples("static"), {}, 1.0 / learners);
    for (const auto* order : {"adapt-first", "combine-first"})
      check_exact(learners, d_psgd("ring", order), {}, 1);
  }
}

TEST_CASE("theory of peers: random runtimes, exact") {
  const std::string gamma = R"({"distribution": "gamma", "shape": 4, "scale": 0.25})";
  for (const std::string& runtime :
       {std::string(exponential_1), std::string(shifted_exponential_1_1), gamma}) {
    CAPTURE(runtime);
    for (const std::string& protocol :
         {all_reduce(), all_reduce(4), all_reduce(4, "0"), local_sgd(1), local_sgd(5), dasgd(5, 0),
          d_psgd("complete", "adapt-first"), ripples("group-division", R"(, "group": 8)"),
          partial_reduce(8)}) {
      CAPTURE(protocol);
      const Race race = race_on(8, protocol, mesh(1 / 64.0, 12.25), runtime, 3000);
      const auto [value, basis] = predicted(race);
      CHECK(basis == Basis::exact);
      check_iteration_time(race, value);
    }
  }
}

// The slowest of eight learners' two minibatches: P(X > x) = (1 + x) e^-x, and E[max] is the
// integral of 1 - (1 - (1 + x) e^-x)^8.
TEST_CASE("theory of peers: a round of two exponential minibatches") {
  double sum = 0;
  constexpr double step = 1e-3;
  for (double x = step / 2; x < 60; x += step)
    sum += step * (1 - std::pow(1 - (1 + x) * std::exp(-x), 8));
  CHECK(predicted(race_on(8, local_sgd(2), {}, exponential_1, 1)).value ==
        doctest::Approx(sum / 2).epsilon(1e-6));
}

TEST_CASE("theory of peers: bounds hold") {
  const PeerNetwork network = mesh(1 / 64.0, 12.25);
  const std::string lognormal = R"({"distribution": "lognormal", "mu": 0, "sigma": 0.5})";
  for (const auto* runtime : {pareto_2_1, hyperexponential_mean_1, lognormal.c_str()})
    for (const int tau : {2, 20}) check_bound(8, local_sgd(tau), network, runtime, Basis::upper);
  PeerNetwork contended = nodes();
  contended.shared = true;
  for (const auto* graph : {"ring", "exponential", "complete"})
    check_bound(8, d_psgd(graph, "adapt-first"), contended, one, Basis::lower);
  for (const auto* runtime : {exponential_1, shifted_exponential_1_1, hyperexponential_mean_1}) {
    for (const int delay : {1, 2, 4})
      check_bound(8, dasgd(4, delay), network, runtime, Basis::lower);
    for (const auto* order : {"adapt-first", "combine-first"})
      check_bound(8, d_psgd("ring", order), network, runtime, Basis::lower);
    for (const auto* schedule : {"static", "random", "group-buffer", "group-division"})
      check_bound(8, ripples(schedule), network, runtime, Basis::lower);
    check_bound(8, ripples("inter-intra"), nodes(), runtime, Basis::lower);
    check_bound(8, partial_reduce(3), network, runtime, Basis::lower);
  }
}

TEST_CASE("theory of peers: nothing is said of times where there is no law, but of staleness") {
  for (const auto& protocol : every_peer_protocol()) {
    const Race race = race_of(8, protocol, R"({"updates": 1})");
    const Theory theory = race.make_protocol()->theory({.learners = 8});
    CHECK_FALSE(theory.iteration_time);
    if (protocol.find("ad-psgd") == std::string::npos)  // whose gradients depend on the times
      CHECK(theory.staleness == theory_of(race).staleness);
  }
}

namespace {

/// Plain SGD with noise, evaluated at each update.
Point noisy(std::uint32_t learners, const std::string& protocol, const std::string& runtime,
            const std::string& network = "") {
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) + network +
                    R"(, "runtime": )" + runtime + R"(}, "protocol": )" + protocol +
                    R"(, "model": {"kind": "quadratic", "dimensions": 30, "curvatures": [1, 4],
                         "noise": 2, "minibatch": 4, "start": 0, "precision": "float64"},
                         "learning_rate": {"kind": "constant", "eta": 0.1},
                         "stop": {"updates": 2000}, "record": {"every_updates": 1}})");
}

Descent descent_of(const Point& point) { return point.descent(point.theory()).value(); }

/// The mean over updates after the first 200, of ten replicas, is within 4 standard errors, each of
/// which is at most 0.5 % of it.
void check_long_run(const Point& point, double expected, double (*what)(const Evaluation&)) {
  Mean mean;
  for (std::uint32_t replica = 0; replica < 10; ++replica) {
    const RaceRecord record = run_training(point, replica);
    REQUIRE(record.curve.size() == 2001);
    double sum = 0;
    for (std::size_t i = 201; i <= 2000; ++i) sum += what(record.curve[i].evaluation);
    mean.add(sum / 1800);
  }
  CAPTURE(mean.value());
  CAPTURE(mean.error());
  CAPTURE(expected);
  CHECK(mean.agrees(expected));
  CHECK(mean.error() <= 0.005 * expected);
}

}  // namespace

TEST_CASE("theory of peers: disagreement and loss of noisy quadratics in the long run") {
  std::vector<std::string> protocols{local_sgd(1), local_sgd(2), local_sgd(7)};
  for (const auto* graph : {"ring", "torus", "exponential", "complete"})
    for (const auto* order : {"adapt-first", "combine-first"})
      protocols.push_back(d_psgd(graph, order));
  for (const std::string& protocol : protocols) {
    CAPTURE(protocol);
    const Point point = noisy(9, protocol, one);
    const Descent descent = descent_of(point);
    const auto expected = disagreement(descent);
    REQUIRE(expected);
    check_long_run(point, *expected, [](const Evaluation& e) { return e.disagreement; });
    const auto floor = error_floor(descent);
    CHECK(floor.has_value() == (protocol.find("combine") == std::string::npos));
    if (floor) check_long_run(point, *floor, [](const Evaluation& e) { return e.loss; });
  }
}

TEST_CASE("theory of peers: with tau 1 learners are in step whatever their runtimes") {
  const Point point = noisy(8, local_sgd(1), exponential_1);
  check_long_run(point, disagreement(descent_of(point)).value(),
                 [](const Evaluation& e) { return e.disagreement; });
  CHECK_FALSE(disagreement(descent_of(noisy(8, local_sgd(2), exponential_1))));
  CHECK_FALSE(disagreement(descent_of(noisy(8, d_psgd("ring", "adapt-first"), exponential_1))));
}

// eta^2 v (1 - 1 / P) in each of 30 directions, v = 2^2 / (4 x 30).
TEST_CASE("theory of peers: disagreement of one step between averages of all, by hand") {
  CHECK(*disagreement(descent_of(noisy(8, local_sgd(1), one))) ==
        doctest::Approx(0.01 * (1 - 1.0 / 8)).epsilon(1e-12));
}

TEST_CASE(
    "theory of peers: no floor is told where the mean of the learners' values goes its own way") {
  for (const std::string& protocol :
       {dasgd(4, 1), ripples("random"), partial_reduce(3), local_sgd(2),
        std::string(R"({"kind": "local-sgd", "tau": 1, "outer": {"momentum": 0.5}})")}) {
    CAPTURE(protocol);
    const Descent descent = descent_of(noisy(8, protocol, exponential_1));
    CHECK_FALSE(error_floor(descent));
    CHECK_FALSE(error_floor_bound(descent));
    CHECK_FALSE(stable_eta(descent));
    CHECK(error_curves(descent).empty());
  }
}

}  // namespace gradrace::peer_theory_test
