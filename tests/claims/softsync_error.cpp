#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sim/cli/results/csv.h"
#include "tests/claims/claim.h"
#include "tests/support/mean.h"
#include "tests/support/race_text.h"

using namespace gradrace;

namespace {

const char* const fixed_rate = "Zhang et al., IJCAI 2016, figs. 3 and 4, top (ordering)";
const char* const divided_rate = "Zhang et al., IJCAI 2016, figs. 3 and 4, bottom (ordering)";
const char* const tradeoff = "Gupta et al., ICDM 2016 (ordering, from memory)";

const char* const hardsync = R"({"kind": "hardsync"})";
std::string softsync(std::uint32_t n) {
  return R"({"kind": "softsync", "n": )" + std::to_string(n) + "}";
}

/// eta for every gradient, or eta over its staleness.
std::string rate(double eta, bool divided) {
  return std::string(R"({"kind": ")") + (divided ? "staleness" : "constant") + R"(", "eta": )" +
         number_text(eta) + "}";
}

struct Training {
  std::uint32_t learners = 30;
  std::string protocol;
  std::string model;
  std::string learning_rate;
  std::string stop;
  double momentum = 0.9;
  double minibatch_time = 1;  // its coefficient of variation is 0.1
};

/// Of some replicas: final test errors, times, and losses over those at the start, infinite where
/// the run diverged.
struct Outcome {
  Mean error, loss, time;
  double least_loss = std::numeric_limits<double>::infinity(), most_loss = 0;
};

Outcome train(const Training& training, std::uint32_t replicas) {
  const Point point = point_from(
      R"({"cluster": {"learners": )" + std::to_string(training.learners) +
      R"(, "runtime": {"distribution": "normal", "mean": )" + number_text(training.minibatch_time) +
      R"(, "sd": )" + number_text(training.minibatch_time / 10) + R"(}}, "protocol": )" +
      training.protocol + R"(, "model": )" + training.model + R"(, "optimiser": {"momentum": )" +
      number_text(training.momentum) + R"(}, "learning_rate": )" + training.learning_rate +
      R"(, "stop": )" + training.stop + "}");
  Outcome outcome;
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    const RunRecord record = run_training(point, replica);
    const Evaluation &first = record.curve.front().evaluation,
                     &last = record.curve.back().evaluation;
    outcome.error.add(last.test_error);
    const double loss = record.status == Status::diverged ? std::numeric_limits<double>::infinity()
                                                          : last.loss / first.loss;
    outcome.loss.add(loss);
    outcome.least_loss = std::min(outcome.least_loss, loss);
    outcome.most_loss = std::max(outcome.most_loss, loss);
    outcome.time.add(record.totals.last_update_time);
  }
  return outcome;
}

/// 4,000 rows in 10 classes.
std::string softmax(std::uint32_t minibatch) {
  return R"({"kind": "softmax", "dataset": {"kind": "synthetic"}, "minibatch": )" +
         std::to_string(minibatch) + "}";
}

/// Of the curvature, rate and momentum with which a constant staleness of 15 or 30 is unstable, of
/// 6 stable: 30 learners, 60,000 gradients.
Outcome train_quadratic(const std::string& protocol, bool divided) {
  return train({.protocol = protocol,
                .model = R"({"kind": "quadratic", "dimensions": 25, "precision": "float64"})",
                .learning_rate = rate(0.012, divided),
                .stop = R"({"gradients": 60000})"},
               8);
}

/// 30 learners with minibatches of 4, 20 epochs.
Outcome train_softmax(const std::string& protocol, bool divided) {
  return train({.protocol = protocol,
                .model = softmax(4),
                .learning_rate = rate(0.1, divided),
                .stop = R"({"epochs": 20})"},
               8);
}

const std::string quadratic_task = "quadratic, eta 0.012, momentum 0.9, lambda = 30: ";
const std::string softmax_task = "synthetic softmax, eta 0.1, momentum 0.9, lambda = 30: ";

}  // namespace

TEST_CASE("softsync error: at a fixed rate the error rises with n, and the largest n fail") {
  Mean last = train_softmax(hardsync, false).error;
  const Mean none = last;
  for (const std::uint32_t n : {1u, 2u, 6u, 15u, 30u}) {
    const std::string id = ".n-" + std::to_string(n);
    const std::string at = "n = " + std::to_string(n) + ": ";
    const Outcome quadratic = train_quadratic(softsync(n), false);
    if (n <= 6) {
      claim({"softsync-5.constant.learns" + id, fixed_rate,
             quadratic_task + at + "last loss over the first", no_more_than(0.1),
             quadratic.most_loss});
    } else {
      claim({"softsync-5.constant.fails" + id, fixed_rate,
             quadratic_task + at + "last loss over the first", no_less_than(1),
             quadratic.least_loss});
    }
    const Mean error = train_softmax(softsync(n), false).error;
    claim({"softsync-5.constant.rises" + id, fixed_rate,
           softmax_task + at + "test error less that of the n before, 8 replicas",
           no_less_than(-3 * std::hypot(error.error(), last.error())),
           error.value() - last.value()});
    last = error;
  }
  claim({"softsync-5.constant.most", fixed_rate,
         softmax_task + "test error of n = 30 less hardsync's",
         no_less_than(3 * std::hypot(last.error(), none.error())), last.value() - none.value()});
}

TEST_CASE("softsync error: with eta / tau every n learns as hardsync does") {
  const Mean none = train_softmax(hardsync, true).error;
  for (const std::uint32_t n : {1u, 2u, 6u, 15u, 30u}) {
    const std::string id = ".n-" + std::to_string(n);
    const std::string at = "n = " + std::to_string(n) + ", eta / tau: ";
    claim({"softsync-5.divided.learns" + id, divided_rate,
           quadratic_task + at + "last loss over the first", no_more_than(0.1),
           train_quadratic(softsync(n), true).most_loss});
    const Mean error = train_softmax(softsync(n), true).error;
    claim({"softsync-5.divided.error" + id, divided_rate,
           softmax_task + at + "test error less hardsync's, 8 replicas",
           about(0, 3 * std::hypot(error.error(), none.error())), error.value() - none.value()});
  }
}

TEST_CASE("softsync error: at fixed epochs it is a function of mu lambda") {
  double last_most = 0;
  Mean last_error;
  bool faster = true;
  const std::string task =
      "synthetic softmax, 4 epochs, eta 0.05 / tau, lambda = 4, 8, 16, 32, n = 1 and lambda, ";
  for (const std::uint32_t product : {128u, 256u, 512u, 1024u}) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    Mean error;
    for (const bool all : {false, true}) {
      double last_time = std::numeric_limits<double>::infinity();
      for (const std::uint32_t lambda : {4u, 8u, 16u, 32u}) {
        const std::uint32_t mu = product / lambda;
        const Outcome outcome = train({.learners = lambda,
                                       .protocol = softsync(all ? lambda : 1),
                                       .model = softmax(mu),
                                       .learning_rate = rate(0.05, true),
                                       .stop = R"({"epochs": 4})",
                                       .momentum = 0,
                                       .minibatch_time = static_cast<double>(mu)},
                                      8);
        least = std::min(least, outcome.loss.value());
        most = std::max(most, outcome.loss.value());
        error.add(outcome.error.value());
        faster = faster && outcome.time.value() < last_time;
        last_time = outcome.time.value();
      }
    }
    if (product > 128) {
      const std::string id = ".product-" + std::to_string(product);
      const std::string at = task + "mu lambda = " + std::to_string(product) + ": ";
      claim({"softsync-10.loss" + id, tradeoff,
             at + "least of the final losses over the most of those of half the product",
             no_less_than(1), least / last_most});
      claim({"softsync-10.error" + id, tradeoff,
             at + "mean test error less that of half the product",
             no_less_than(3 * std::hypot(error.error(), last_error.error())),
             error.value() - last_error.value()});
    }
    last_most = most, last_error = error;
  }
  claim({"softsync-10.time", tradeoff,
         "1 if the time of 4 epochs falls with lambda at each mu lambda and n, minibatch time ~ mu",
         exactly(1), faster ? 1.0 : 0.0});
}
