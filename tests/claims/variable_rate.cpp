#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/claims/claim.h"
#include "tests/support/mean.h"
#include "tests/support/race_text.h"
#include "tests/support/skip.h"

using namespace gradrace;

namespace {

const char* const figure_9 = "Dutta et al., AISTATS 2018, fig. 9, values read off the figure";

/// GRADRACE_FULL=1: three replicas instead of one, evaluated every 10 updates on all 50,000
/// training rows instead of every 20 on 5,000; 38 s instead of 5.
bool full() { return std::getenv("GRADRACE_FULL") != nullptr; }

struct LogLoss {
  std::uint64_t update;
  double value;
};

/// ln of the training objective: softmax regression on grey CIFAR-10, async with 40 learners.
std::vector<LogLoss> log_losses(const std::string& learning_rate, std::uint32_t replica) {
  const std::string data = data_folder("cifar10").string();
  const std::string record =
      full() ? R"({"every_updates": 10})" : R"({"every_updates": 20, "train_rows": 5000})";
  const Point point = point_from(
      R"({"cluster": {"learners": 40, "runtime": {"distribution": "exponential", "mean": 1}},
      "protocol": {"kind": "async"}, "model": {"kind": "softmax", "minibatch": 250, "l2": 0.05,
      "init_sd": 0.01, "dataset": {"kind": "cifar10", "grey": true, "path": ")" +
      data + R"(", "test_file": "test_batch_9980.bin"}}, "learning_rate": )" + learning_rate +
      R"(, "stop": {"updates": 2000}, "record": )" + record + "}");
  std::vector<LogLoss> result;
  for (const CurvePoint& at : run_training(point, replica).curve)
    result.push_back({at.point.update, std::log(at.evaluation.loss)});
  return result;
}

/// Of the losses after more than `from` and up to `to` updates.
Mean between(const std::vector<LogLoss>& curve, std::uint64_t from, std::uint64_t to) {
  Mean mean;
  for (const LogLoss& loss : curve)
    if (loss.update > from && loss.update <= to) mean.add(loss.value);
  return mean;
}

void compare(std::uint32_t replica) {
  const auto fixed = log_losses(R"({"kind": "constant", "eta": 0.01})", replica);
  const auto variable = log_losses(R"({"kind": "distance", "c": 5e-5, "eta_max": 0.01})", replica);
  const std::string at = "grey CIFAR-10 softmax, async, P = 40, replica " +
                         std::to_string(replica) + (full() ? ", all rows" : ", 5,000 rows") + ": ";

  const std::string id = ".replica-" + std::to_string(replica);
  struct Window {
    std::uint64_t from, to;
    double level;
  };
  double last = variable.front().value;
  bool falls = true;
  for (const Window& window : {Window{0, 100, .841},
                               {100, 300, .811},
                               {300, 600, .790},
                               {600, 1000, .777},
                               {1000, 1500, .769},
                               {1500, 2000, .765}}) {
    const double level = between(variable, window.from, window.to).value();
    claim({"dutta-15.level.to-" + std::to_string(window.to) + id, figure_9,
           at + "variable rate, mean ln loss of iterations " + std::to_string(window.from) +
               " to " + std::to_string(window.to),
           about(window.level, 0.01), level});
    falls = falls && level < last;
    last = level;
  }
  claim({"dutta-15.falls" + id, figure_9, at + "1 if these means fall", exactly(1),
         falls ? 1.0 : 0.0});
  claim({"dutta-15.variable" + id, figure_9,
         at + "variable rate, standard deviation of ln loss over the last 1,000 iterations",
         no_more_than(0.015), between(variable, 1000, 2000).deviation()});
  claim({"dutta-15.fixed" + id, figure_9, at + "fixed rate, the same", no_less_than(0.02),
         between(fixed, 1000, 2000).deviation()});
  double burst = 0;
  for (std::size_t i = 0; i < fixed.size(); ++i)
    burst = std::max(burst, fixed[i].value - variable[i].value);
  claim({"dutta-15.burst" + id, figure_9,
         at + "most that ln loss at the fixed rate is above that at the variable rate",
         no_less_than(0.1), burst});
}

}  // namespace

TEST_CASE("variable rate: C / ||w - w_tau||^2 smooths the curve that a fixed rate makes burst") {
  if (cannot_claim({"dutta-15"}, figure_9, "the variable rate on grey CIFAR-10", "cifar10")) return;
  for (std::uint32_t replica = 0; replica < (full() ? 3 : 1); ++replica) compare(replica);
}
