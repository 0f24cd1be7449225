#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/claims/claim.h"
#include "tests/claims/steps.h"
#include "tests/claims/stragglers.h"
#include "tests/support/race_text.h"

using namespace gradrace;

namespace {

const char* const derived = "derived";
const char* const osdi = "Abadi et al. 2016, Fig. 8";
const char* const gupta = "Gupta et al. 2016";

Race race_on(const std::string& cluster, const std::string& protocol, const std::string& stop,
             std::uint32_t minibatch = 1) {
  return point_from(R"({"cluster": {)" + cluster + R"(}, "protocol": )" + protocol +
                    R"(, "stop": )" + stop + R"(, "model": {"kind": "quadratic", "minibatch": )" +
                    std::to_string(minibatch) +
                    R"(}, "learning_rate": {"kind": "constant", "eta": 0.1}})")
      .race();
}

/// The mean step with 50 gradients an update and b backups, measured latencies and transfers that
/// take so long alone, each way.
double mean_step(std::uint32_t b, double transfer) {
  const std::string network = transfer > 0 ? R"(, "network": {"model_bytes": 1, "bandwidth": )" +
                                                 std::to_string(1 / transfer) + "}"
                                           : "";
  const Race race = race_on(
      R"("learners": )" + std::to_string(50 + b) + ", " + crowds_of_stragglers + network,
      R"({"kind": "backup", "backups": )" + std::to_string(b) + "}", R"({"updates": 20000})");
  Steps steps;
  run_timing(race, 0, &steps);
  return steps.mean();
}

/// Time per gradient of n-softsync, 30 learners; a minibatch of m samples takes m / 128 + 0.01 or
/// so, an update 0.005.
double time_per_gradient(std::uint32_t n, std::uint32_t m) {
  const RunRecord record = run_timing(race_on(
      R"("learners": 30, "rate": 128, "server": {"per_update": 0.005},
                 "runtime": {"distribution": "gamma", "shape": 25, "scale": 0.0004})",
      R"({"kind": "softsync", "n": )" + std::to_string(n) + "}", R"({"gradients": 300000})", m));
  return record.totals.time / static_cast<double>(record.totals.applied);
}

}  // namespace

TEST_CASE("backup: late gradients take the server's time") {
  const auto step = [](const std::string& protocol) {
    const RunRecord record = run_timing(
        race_on(R"("learners": 4, "runtime": {"distribution": "deterministic", "value": 1},
                   "server": {"per_gradient": 0.5})",
                protocol, R"({"updates": 2000})"));
    return record.totals.time / 2000;
  };
  const std::string text =
      "N = 1, runtimes of 1, the server takes 0.5 for a gradient: step where late gradients ";
  claim({"backup-2.received", derived, text + "are received and dropped (b = 3)", about(2, 0.001),
         step(R"({"kind": "backup", "backups": 3})")});
  claim({"backup-2.cancelled-step", derived, text + "are cancelled", about(1.5, 0.001),
         step(R"({"kind": "k-sync", "k": 1})")});
}

TEST_CASE("backup: the fifth backup worker slows the step down only where the network is shared") {
  const std::string text = "N = 50, latencies of Pan et al. 2017, fit with crowds of stragglers, ";
  claim({"backup-8.free.fifth", osdi, text + "no network: step with b = 5 over that with b = 4",
         no_more_than(0.99), mean_step(5, 0) / mean_step(4, 0)});
  std::vector<double> steps;
  for (std::uint32_t b = 0; b <= 8; ++b) steps.push_back(mean_step(b, 0.01));
  const std::string shared = text + "transfers of 10 ms share the server's link: ";
  claim({"backup-8.shared.fifth", osdi, shared + "step with b = 5 over that with b = 4",
         no_less_than(1.002), steps[5] / steps[4]});
  const auto best = std::min_element(steps.begin(), steps.end()) - steps.begin();
  claim({"backup-8.shared.best", osdi, shared + "b of the shortest mean step (paper: 4)",
         from_to(3, 5), static_cast<double>(best)});
}

TEST_CASE(
    "softsync: updates that take time slow lambda-softsync down where minibatches are small") {
  const std::string text = "lambda = 30, runtime mu / 128 + 0.01, an update takes 0.005: ";
  claim({"softsync-9.small", gupta,
         text + "mu = 4: time per gradient of 30-softsync over that of 1-softsync",
         no_less_than(1.5), time_per_gradient(30, 4) / time_per_gradient(1, 4)});
  claim({"softsync-9.saturated", derived,
         text + "mu = 4: time per gradient of 30-softsync is the server's for an update",
         about(0.005, 0.00001), time_per_gradient(30, 4)});
  claim({"softsync-9.large", gupta,
         text + "mu = 128: time per gradient of 30-softsync over that of 1-softsync",
         about(1, 0.02), time_per_gradient(30, 128) / time_per_gradient(1, 128)});
}
