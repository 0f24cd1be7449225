// What holds of every protocol on every cluster: random ones, of a fixed seed.

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/support/race_text.h"

namespace gradrace::properties_test {

namespace {

constexpr int clusters_each = 20;  // for every protocol

/// A cluster of 2 to 12 learners, all of whose times are in one unit.
class Clusters {
 public:
  explicit Clusters(std::uint64_t seed) : random_(seed) {}

  std::uint32_t learners() { return learners_ = 2 + static_cast<std::uint32_t>(random_() % 11); }

  /// Its keys but the learners; `unit`: how long that unit is.  Same numbers in every unit.
  struct Facts {
    std::string law;
    double mean, shape, slow, window, server, network;
    bool uneven, windows, with_server, with_network;
  };
  Facts facts() {
    const char* const laws[] = {"exponential", "gamma", "uniform", "pareto", "deterministic"};
    return {laws[random_() % 5], real(0.5, 2), real(2, 5), real(1, 4), real(1, 9), real(0, 0.1),
            real(0, 0.3),        chance(),     chance(),   chance(),   chance()};
  }

  bool chance() { return random_() % 2 == 0; }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }

 private:
  std::mt19937_64 random_;
  std::uint32_t learners_ = 2;
};

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

std::string law_text(const Clusters::Facts& facts, double unit) {
  const std::string mean = number(facts.mean * unit), twice = number(2 * facts.mean * unit);
  if (facts.law == "gamma")
    return R"({"distribution": "gamma", "shape": 3, "scale": )" + mean + "}";
  if (facts.law == "uniform")
    return R"({"distribution": "uniform", "low": )" + mean + R"(, "high": )" + twice + "}";
  if (facts.law == "pareto")
    return R"({"distribution": "pareto", "shape": )" + number(facts.shape) + R"(, "scale": )" +
           mean + "}";
  if (facts.law == "deterministic")
    return R"({"distribution": "deterministic", "value": )" + mean + "}";
  return R"({"distribution": "exponential", "mean": )" + mean + "}";
}

std::string cluster_text(const Clusters::Facts& facts, std::uint32_t learners, double unit,
                         bool may_have_roads) {
  std::string text =
      R"({"learners": )" + std::to_string(learners) + R"(, "runtime": )" + law_text(facts, unit);
  if (facts.uneven) text += R"(, "slow": {"learners": [0], "factor": )" + number(facts.slow) + "}";
  if (facts.windows)
    text += R"(, "windows": [{"start": )" + number(facts.window * unit) + R"(, "length": )" +
            number(3 * unit) + R"(, "factor": 3}])";
  if (may_have_roads && facts.with_server)
    text += R"(, "server": {"per_gradient": )" + number(facts.server * unit) + "}";
  if (may_have_roads && facts.with_network)
    text +=
        R"(, "network": {"topology": "star", "push": {"distribution": "exponential", "mean": )" +
        number(facts.network * unit + 0.01 * unit) + "}}";
  return text + "}";
}

Race race_on(const std::string& cluster, const std::string& protocol, const std::string& stop) {
  return point_from(R"({"cluster": )" + cluster + R"(, "protocol": )" + protocol + R"(, "stop": )" +
                    stop + "}")
      .race();
}

std::string k_of(const char* kind, std::uint32_t k) {
  return std::string(R"({"kind": ")") + kind + R"(", "k": )" + std::to_string(k) + "}";
}

void check_same(const RaceRecord& a, const RaceRecord& b) {
  CHECK(a.totals.time == b.totals.time);
  CHECK(a.totals.last_update_time == b.totals.last_update_time);
  CHECK(a.totals.updates == b.totals.updates);
  CHECK(a.totals.applied == b.totals.applied);
  CHECK(a.totals.dispatched == b.totals.dispatched);
  CHECK(a.totals.dropped == b.totals.dropped);
  CHECK(a.totals.cancelled == b.totals.cancelled);
  CHECK(a.staleness_counts == b.staleness_counts);
}

/// Times that stay as they are where those of the cluster change.
bool has_own_times(const std::string& protocol) {
  const auto has = [&](const char* word) { return protocol.find(word) != std::string::npos; };
  return has("deadline") || has("switch");
}

/// Every gradient ends once, staleness adds up, and no learner computes longer than the run takes.
void check_books(const RaceRecord& record) {
  const Totals& totals = record.totals;
  const std::uint64_t ended = totals.applied + totals.dropped + totals.cancelled + totals.lost;
  CHECK(ended <= totals.dispatched);
  std::uint64_t applied = 0, sum = 0;
  for (std::size_t s = 0; s < record.staleness_counts.size(); ++s) {
    applied += record.staleness_counts[s];
    sum += s * record.staleness_counts[s];
  }
  CHECK(applied == totals.applied);
  CHECK(sum == totals.staleness_sum);
  CHECK(totals.last_update_time <= totals.time);
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.wasted <= learner.busy * (1 + 1e-12));
    CHECK(learner.busy <= totals.time * (1 + 1e-12));
  }
}

}  // namespace

TEST_CASE(
    "properties: times four times as long change nothing but the clock, with every protocol") {
  Clusters clusters(1);
  for (const std::string& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    if (protocol.find("adasync") != std::string::npos) continue;  // looks at the loss
    for (int i = 0; i < clusters_each; ++i) {
      const auto facts = clusters.facts();
      const std::uint32_t learners = 8;
      const auto run = [&](double unit) {
        const std::string cluster = cluster_text(facts, learners, unit, true);
        return run_timing(
            race_on(cluster, protocol, R"({"gradients": 300, "time": )" + number(40 * unit) + "}"));
      };
      const RaceRecord one = run(1);
      check_books(one);
      if (has_own_times(protocol)) continue;
      RaceRecord four = run(4);
      four.totals.time /= 4;
      four.totals.last_update_time /= 4;
      CAPTURE(cluster_text(facts, learners, 1, true));
      check_same(one, four);
    }
  }
}

TEST_CASE("properties: protocols that are one at an end of their range are one on every cluster") {
  Clusters clusters(2);
  for (int i = 0; i < 5 * clusters_each; ++i) {
    const std::uint32_t p = clusters.learners();
    const auto facts = clusters.facts();
    const std::string cluster = cluster_text(facts, p, 1, true);
    CAPTURE(cluster);
    const auto run = [&](const std::string& protocol) {
      return run_timing(race_on(cluster, protocol, R"({"updates": 60})"));
    };
    const RaceRecord sync = run(R"({"kind": "sync"})");
    check_same(sync, run(k_of("k-sync", p)));
    check_same(sync, run(k_of("k-async", p)));
    check_same(sync, run(R"({"kind": "backup", "backups": 0})"));
    const RaceRecord async = run(R"({"kind": "async"})");
    check_same(async, run(k_of("k-async", 1)));
    check_same(async, run(k_of("k-batch-async", 1)));
    check_books(sync);
    check_books(async);
    const std::string k_sync = k_of("k-sync", 1 + p / 2);
    check_same(run(k_sync), run(R"({"kind": "switch", "phases": [{"protocol": )" + k_sync +
                                R"(, "end": {"updates": 20}}, {"protocol": )" + k_sync + "}]}"));
  }
}

TEST_CASE("properties: a slower learner never makes an update of k-sync earlier") {
  Clusters clusters(3);
  for (int i = 0; i < 5 * clusters_each; ++i) {
    const std::uint32_t p = clusters.learners();
    auto facts = clusters.facts();
    facts.windows = false;  // what begins at another time meets another factor
    facts.uneven = true;
    const std::string protocol = k_of("k-sync", 1 + static_cast<std::uint32_t>(i) % p);
    CAPTURE(protocol);
    double before = 0;
    for (const double slow : {1.0, 1.5, 4.0}) {
      facts.slow = slow;
      const std::string cluster = cluster_text(facts, p, 1, false);
      const double time =
          run_timing(race_on(cluster, protocol, R"({"updates": 40})")).totals.last_update_time;
      CHECK(time >= before);
      before = time;
    }
  }
}

}  // namespace gradrace::properties_test
