#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sim/message_text.h"
#include "tests/claims/claim.h"
#include "tests/claims/delayed.h"
#include "tests/support/mean.h"
#include "tests/support/race_text.h"

namespace gradrace::staleness_rates_claims {

namespace {

const char* const derived = "derived";
const char* const zhang = "Zhang et al., IJCAI 2016, Fig. 3";
const char* const zhang_2 = "Zhang et al., IJCAI 2016, sec. 2.4";
const char* const own_bounds =
    "Zhang et al., IJCAI 2016, Fig. 3 (the curves coincide); bounds set by this project: 15 %, n = "
    "2 "
    "35 %";
const char* const chan = "Chan, Lane, Interspeech 2014";
const char* const zhang_on_chan = "Zhang et al., IJCAI 2016, of Chan, Lane, Interspeech 2014";

struct Trial {
  std::string protocol;
  std::string learning_rate;
  std::uint32_t learners = 30;
  double noise = 0;  // without it the run starts at w = 1, with it at the minimum
  double momentum = 0;
  std::uint64_t gradients = 60000;
  std::string runtime = R"({"distribution": "normal", "mean": 1, "sd": 0.1})";
};

/// Of a quadratic of curvature 1 in 25 dimensions, which are as many independent repetitions.
Point point_of(const Trial& trial) {
  return point_from(
      R"({"cluster": {"learners": )" + std::to_string(trial.learners) + R"(, "runtime": )" +
      trial.runtime + R"(}, "protocol": )" + trial.protocol +
      R"(, "model": {"kind": "quadratic", "precision": "float64", "dimensions": 25, "noise": )" +
      number_text(trial.noise) + R"(, "start": )" + (trial.noise > 0 ? "0" : "1") +
      R"(}, "optimiser": {"momentum": )" + number_text(trial.momentum) + R"(}, "learning_rate": )" +
      trial.learning_rate + R"(, "stop": {"gradients": )" + std::to_string(trial.gradients) +
      R"(}, "record": {"every_time": 0.25}})");
}

/// The final loss over the first; infinity if the run diverged.
double remainder(const Trial& trial) {
  const RaceRecord record = run_training(point_of(trial));
  if (record.status == Status::diverged) return std::numeric_limits<double>::infinity();
  return record.curve.back().evaluation.loss / record.curve.front().evaluation.loss;
}

/// Mean loss over the last four fifths of a run, of 8 replicas.
Mean floor_of(const Trial& trial) {
  const Point point = point_of(trial);
  Mean floor;
  for (std::uint32_t replica = 0; replica < 8; ++replica) {
    const auto curve = run_training(point, replica).curve;
    const std::size_t end = curve.size() - 1;
    Mean late;
    for (std::size_t i = end / 5; i < end; ++i) late.add(curve[i].evaluation.loss);
    floor.add(late.value());
  }
  return floor;
}

std::string softsync(std::uint32_t n) {
  return R"({"kind": "softsync", "n": )" + std::to_string(n) + "}";
}

std::string constant(double eta) {
  return R"({"kind": "constant", "eta": )" + number_text(eta) + "}";
}
std::string divided(double eta) {
  return R"({"kind": "staleness", "eta": )" + number_text(eta) + "}";
}
std::string penalised(double eta, double rho) {
  return R"({"kind": "staleness-exponential", "eta": )" + number_text(eta) + R"(, "rho": )" +
         number_text(rho) + "}";
}

/// What is left of the loss where a run converges and where it diverges.
Expected left_over(bool converges) { return converges ? no_more_than(1e-6) : no_less_than(1e6); }

/// Of a learning rate.
std::string kind_of(const std::string& rate) {
  return id_part(rate.substr(0, rate.find(',')).substr(std::string(R"({"kind": )").size()));
}

std::string at_n(std::uint32_t n) { return "n = " + std::to_string(n) + ": "; }

const std::string async = R"({"kind": "async"})";
const std::string same_runtimes = R"({"distribution": "deterministic", "value": 1})";

}  // namespace

// The setting of Zhang et al., IJCAI 2016, Figs. 3 and 4, on a quadratic: curvature 1, eta 0.012,
// momentum 0.9, 30 learners, runtimes of coefficient of variation 0.1, 60,000 gradients.

TEST_CASE("staleness rates: at one learning rate n-softsync learns for n = 1, 2, 6, not 15, 30") {
  for (const std::uint32_t n : {1u, 2u, 6u, 15u, 30u}) {
    const std::string id = ".n-" + std::to_string(n);
    claim(
        {"rates-2.constant" + id, zhang, at_n(n) + "one eta: final loss over the first",
         left_over(n <= 6),
         remainder({.protocol = softsync(n), .learning_rate = constant(0.012), .momentum = 0.9})});
    claim({"rates-2.divided" + id, zhang, at_n(n) + "eta / tau: final loss over the first",
           left_over(true),
           remainder({.protocol = softsync(n), .learning_rate = divided(0.012), .momentum = 0.9})});
  }
}

/// Whose standard error is 2 % or less.
Mean floor_with(const std::string& protocol, const std::string& learning_rate) {
  const Mean floor =
      floor_of({.protocol = protocol, .learning_rate = learning_rate, .noise = 1, .momentum = 0.9});
  CAPTURE(protocol);
  CHECK(floor.error() <= 0.02 * floor.value());
  return floor;
}

/// The floor of n-softsync with eta / tau if its gradients, as stale as they are, were all as stale
/// as their weighted mean: with g = 1 / max(1, tau) the mean step is eta E[g], and the noise of an
/// update has the variance eta^2 E[g^2] / c.
double predicted_floor(std::uint32_t n, double eta, double momentum) {
  const auto counts =
      run_timing(
          point_of({.protocol = softsync(n), .learning_rate = divided(eta), .momentum = momentum})
              .race())
          .staleness_counts;
  double all = 0, g = 0, g_squares = 0, weighted = 0;
  for (std::size_t tau = 0; tau < counts.size(); ++tau) {
    const auto count = static_cast<double>(counts[tau]);
    const double share = 1 / std::max(1.0, static_cast<double>(tau));
    all += count;
    g += count * share;
    g_squares += count * share * share;
    weighted += count * share * static_cast<double>(tau);
  }
  const double delay = weighted / g, part = delay - std::floor(delay);
  const auto whole = static_cast<std::size_t>(delay);
  const double step = eta * g / all;
  const double floor = (1 - part) * delayed_floor(step, whole, momentum) +
                       part * delayed_floor(step, whole + 1, momentum);
  const std::uint32_t c = 30 / n;
  return floor * (g_squares / all) / (g / all * (g / all)) / c;
}

TEST_CASE("staleness rates: with eta / tau the floors of n-softsync nearly coincide") {
  const double hardsync = floor_with(R"({"kind": "hardsync"})", divided(0.012)).value();
  std::vector<double> floors;
  for (const std::uint32_t n : {1u, 2u, 6u, 15u, 30u}) {
    const Mean floor = floor_with(softsync(n), divided(0.012));
    const double expected = predicted_floor(n, 0.012, 0.9) / delayed_floor(0.012, 0, 0.9) * 30;
    claim({"softsync-5.floor.n-" + std::to_string(n), derived,
           at_n(n) +
               "eta / tau: floor over hardsync's; expected of a constant delay and the mean of "
               "1 / tau^2, to 5 %, for at this eta no n comes down to hardsync",
           about(expected, 0.05 * expected), floor.value() / hardsync});
    floors.push_back(floor.value());
  }
  const double two = floors[1];
  floors.erase(floors.begin() + 1);
  const auto [low, high] = std::ranges::minmax(floors);
  claim({"softsync-5.floors", own_bounds,
         "eta / tau, n = 1, 6, 15, 30: largest floor over the smallest", from_to(1, 1.15),
         high / low});
  claim({"softsync-5.floors.n-2", own_bounds, "eta / tau, n = 2: floor over the smallest of those",
         from_to(1, 1.35), two / low});
}

TEST_CASE("staleness rates: a fresh gradient has all of eta") {
  const auto eta = [](const std::string& rate) {
    return point_of({.protocol = async, .learning_rate = rate}).learning_rate->eta({}, 0, 1);
  };
  claim({"softsync-6.eta", zhang_2, "eta / tau: eta at tau = 0, of 0.012", exactly(0.012),
         eta(divided(0.012))});
  claim({"penalty-3.eta", chan, "eta rho^tau: eta at tau = 0, of 0.012", exactly(0.012),
         eta(penalised(0.012, 0.9))});
}

TEST_CASE("staleness rates: with 5 learners eta / tau and eta rho^tau, rho^4 = 1/4, do the same") {
  const double rho = std::sqrt(0.5);
  for (const auto& rate : {divided(0.1), penalised(0.1, rho)}) {
    claim(
        {"penalty-1.learns." + kind_of(rate), chan,
         "5 learners, " + rate + ": final loss over the first", left_over(true),
         remainder({.protocol = async, .learning_rate = rate, .learners = 5, .gradients = 2000})});
  }
  const auto floor = [](const std::string& rate) {
    return floor_of({.protocol = async, .learning_rate = rate, .learners = 5, .noise = 1});
  };
  const Mean one = floor(divided(0.1)), other = floor(penalised(0.1, rho));
  claim({"penalty-1.floors", chan, "5 learners: floor of eta / tau over that of eta rho^tau",
         about(1, 0.1), one.value() / other.value()});
  CHECK(one.error() <= 0.02 * one.value());
}

TEST_CASE("staleness rates: eta rho^tau made for 5 learners stalls with 30, eta / tau does not") {
  const auto left = [](const std::string& rate) {
    return remainder({.protocol = async, .learning_rate = rate, .gradients = 30000});
  };
  claim({"penalty-2.stalls", zhang_on_chan,
         "30 learners, eta rho^tau, rho^29 = 4e-5: final loss over the first", no_less_than(0.1),
         left(penalised(0.1, std::sqrt(0.5)))});
  claim({"penalty-2.divided", zhang, "30 learners, eta / tau: final loss over the first",
         left_over(true), left(divided(0.1))});
  // 0.1 x 0.99^29 = 0.075 is above the limit 0.053 of a delay of 29 updates.
  claim({"penalty-2.weak", derived,
         "30 learners, eta rho^tau, rho = 0.99: final loss over the first", left_over(false),
         left(penalised(0.1, 0.99))});
  claim({"penalty-2.constant", derived, "30 learners, one eta: final loss over the first",
         left_over(false), left(constant(0.1))});
}

TEST_CASE("staleness rates: the work of an epoch shrinks by rho^29 and by 29 with 30 learners") {
  for (const auto& [rate, expected] : {std::pair{penalised(1, 0.9), std::pow(0.9, 29)},
                                       {divided(1), 1.0 / 29},
                                       {constant(1), 1.0}}) {
    const Race race =
        point_of(
            {.protocol = async, .learning_rate = rate, .gradients = 3000, .runtime = same_runtimes})
            .race();
    TimingPlane plane(race, 0, true, nullptr, 1'000'000);
    const Segment& segment = plane.next_segment();
    double sum = 0;  // after the start, whose gradients are fresher
    for (std::size_t i = 30; i < segment.uses.size(); ++i) sum += segment.uses[i].weight;
    claim({"penalty-2.work." + kind_of(rate), derived,
           "30 learners, " + rate + ": mean eta of the gradients over 1",
           about(expected, 1e-12 * expected), sum / static_cast<double>(segment.uses.size() - 30)});
  }
}

TEST_CASE("staleness rates: where nothing is stale every rule is the constant rate, bit for bit") {
  for (const std::string protocol : {R"({"kind": "sync"})", R"({"kind": "k-sync", "k": 2})"}) {
    const auto hash = [&](const std::string& rate) {
      return run_training(point_of({.protocol = protocol,
                                    .learning_rate = rate,
                                    .learners = 4,
                                    .noise = 1,
                                    .momentum = 0.9,
                                    .gradients = 400}))
          .hash;
    };
    const auto expected = hash(constant(0.01));
    CHECK(hash(constant(0.02)) != expected);
    const auto check = [&](const std::string& item, const std::string& rate) {
      claim({item + "." + id_part(protocol), derived,
             protocol + ", " + rate + ": 1 if the parameters are those of one eta, bit for bit",
             exactly(1), hash(rate) == expected ? 1.0 : 0.0});
    };
    check("softsync-6.run", divided(0.01));
    check("penalty-3.run", penalised(0.01, 0.5));
    check("dutta-15.fresh", R"({"kind": "distance", "c": 1e-9, "eta_max": 0.01})");
  }
}

}  // namespace gradrace::staleness_rates_claims
