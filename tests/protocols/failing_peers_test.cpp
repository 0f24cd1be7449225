#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/make_device.h"
#include "models/quadratic.h"
#include "sim/message_text.h"
#include "tests/support/race_text.h"
#include "tests/support/recorded_peers.h"
#include "tests/support/stub_law.h"

namespace gradrace::failing_peers_test {

namespace {

using Lines = std::vector<std::string>;
using Lists = std::vector<std::vector<double>>;  // [learner]

/// Of each learner the times of a list, and then one without end.
class OfLearners final : public StubLaw {
 public:
  explicit OfLearners(Lists times) : times_(std::move(times)) {}
  double sample(Stream&) const override { return 0; }
  double draw(const StreamName& name) const override {
    const auto& its = times_.at(name.learner);
    return name.draw < its.size() ? its[name.draw] : std::numeric_limits<double>::infinity();
  }

 private:
  Lists times_;
};

Failures failures(Lists up, Lists down, double reform) {
  return {std::make_shared<OfLearners>(std::move(up)),
          std::make_shared<OfLearners>(std::move(down)), reform};
}

/// What happens, a line an event: "2.75 update 1: 0 2", "1.5 lose 1" (a minibatch) and "1-1.5
/// collective 0 1 2", "3.5-4 copy 1 of 0" (exchanges).
class Log final : public Observer {
 public:
  void on_end(const GradientFacts& gradient, double, double time, Ending ending) override {
    if (ending == Ending::lost)
      lines.push_back(number_text(time) + " lose " + std::to_string(gradient.learner));
  }
  void on_update(const UpdateFacts& update) override {
    lines.push_back(number_text(update.time) + " update " + std::to_string(update.update) + ":");
    for (const GradientFacts& gradient : update.gradients)
      lines.back() += " " + std::to_string(gradient.learner);
  }
  void on_exchange(const ExchangeFacts& exchange) override {
    constexpr const char* words[] = {" collective", " pair", " gossip", " copy"};
    lines.push_back(number_text(exchange.begin) + "-" + number_text(exchange.end) +
                    words[static_cast<std::size_t>(exchange.kind)]);
    for (const std::uint32_t learner : exchange.members)
      lines.back() += " " + std::to_string(learner);
    if (!exchange.heard.empty()) lines.back() += " of";
    for (const std::uint32_t learner : exchange.heard)
      lines.back() += " " + std::to_string(learner);
  }

  Lines lines;
};

/// Three learners whose minibatches take 1 and whose messages half a unit of time; learner 1 fails
/// then and is back 2 later.
Race three(const std::string& protocol, double fails_at, std::uint64_t updates) {
  Race race = by_hand(protocol, 3, std::vector<double>(100, 1.0), updates);
  race.transit.failures = failures({{}, {fails_at}, {}}, {{}, {2}, {}}, 0.25);
  return race;
}

Lines log_of(const Race& race) {
  Log log;
  const RaceRecord record = run_timing(race, 0, &log);
  CHECK(record.status == Status::finished);
  return log.lines;
}

/// F(w) = (w_0^2 + .3 w_1^2) / 2, with noise.
struct Noisy {
  std::unique_ptr<Model<double>> model =
      make_quadratic<double>({.dimensions = 2, .curvatures = {1, 0.3}, .noise = 0.5});
  std::vector<double> gradient(const std::vector<double>& w, std::uint32_t learner,
                               std::uint32_t draw) const {
    std::vector<double> g(w.size());
    model->gradient(w, {1, 0, learner, draw, 1}, g);
    return g;
  }
  /// w - .1 times that.
  std::vector<double> step(std::vector<double> w, std::uint32_t learner, std::uint32_t draw) const {
    const auto g = gradient(w, learner, draw);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.1 * g[i];
    return w;
  }
  double loss(const std::vector<double>& w) const { return (w[0] * w[0] + 0.3 * w[1] * w[1]) / 2; }
};

std::vector<double> mean_of(const std::vector<std::vector<double>>& values) {
  std::vector<double> mean(values[0].size());
  for (const auto& value : values)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += value[i] / static_cast<double>(values.size());
  return mean;
}

/// That race with a model, evaluated after every update: the losses.
std::vector<double> losses_of(const Race& timed) {
  Point point = point_from(R"({"cluster": {"learners": 3, "runtime": {"distribution":
      "deterministic", "value": 1}}, "protocol": {"kind": "all-reduce"}, "stop": {"updates": 1},
      "model": {"kind": "quadratic", "dimensions": 2, "curvatures": [1, 0.3], "noise": 0.5,
                "start": 1, "precision": "float64"},
      "learning_rate": {"kind": "constant", "eta": 0.1}, "record": {"every_updates": 1}})");
  Race race = point.race();
  race.make_runtimes = timed.make_runtimes;
  race.make_protocol = timed.make_protocol;
  race.transit = timed.transit;
  race.peers = timed.peers;
  race.stop = timed.stop;
  const auto device = make_device(*point.model, {point.device, point.rows});
  std::vector<double> losses;
  for (const CurvePoint& seen : run_race({.race = race}, device.get()).curve)
    losses.push_back(seen.evaluation.loss);
  return losses;
}

void check_close(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(std::abs(found[i] - expected[i]) <= 1e-12 * expected[i]);
}

}  // namespace

TEST_CASE("failing peers: all-reduce goes on with those who are left, by hand") {
  CHECK(log_of(three(R"({"kind": "all-reduce"})", 1.5, 4)) ==
        Lines{"1-1.5 collective 0 1 2", "1.5-2.75 collective 0 2", "2.75 update 1: 0 2",
              "3.5-4 copy 1 of 0", "3.75-4.75 collective 0 2", "4.75 update 2: 0 2",
              "5.75-7.75 collective 0 1 2", "7.75 update 3: 0 1 2", "8.75-10.75 collective 0 1 2",
              "10.75 update 4: 0 1 2"});
}

TEST_CASE("failing peers: a minibatch is lost, and nobody waits for it") {
  CHECK(log_of(three(R"({"kind": "all-reduce"})", 0.5, 2)) ==
        Lines{"0.5 lose 1", "1-2 collective 0 2", "2 update 1: 0 2", "2.5-3 copy 1 of 0",
              "3-4 collective 0 2", "4 update 2: 0 2"});
}

TEST_CASE("failing peers: all-reduce has the mean of the gradients of those who are left") {
  const Noisy F;
  std::vector<double> w{1, 1}, expected{F.loss(w)};
  // Of each update those who are in it, as learner and draw.
  const std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> updates{
      {{0, 0}, {2, 0}}, {{0, 1}, {2, 1}}, {{0, 2}, {1, 1}, {2, 2}}, {{0, 3}, {1, 2}, {2, 3}}};
  for (const auto& update : updates) {
    std::vector<std::vector<double>> moved;
    for (const auto& [learner, draw] : update) moved.push_back(F.step(w, learner, draw));
    w = mean_of(moved);
    expected.push_back(F.loss(w));
  }
  check_close(losses_of(three(R"({"kind": "all-reduce"})", 1.5, 4)), expected);
}

TEST_CASE("failing peers: local-sgd averages over those who are left, by hand") {
  const Race race = three(R"({"kind": "local-sgd", "tau": 2})", 2.5, 6);
  CHECK(log_of(race) == Lines{"1 update 1: 0 1 2", "2 update 2: 0 1 2", "2-2.5 collective 0 1 2",
                              "2.5-3.75 collective 0 2", "4.75 update 3: 0 2", "4.5-5 copy 1 of 0",
                              "5.75 update 4: 0 2", "5.75-6.75 collective 0 2",
                              "7.75 update 5: 0 1 2", "8.75 update 6: 0 1 2",
                              "8.75-8.75 collective 0 1 2"});
  const Noisy F;
  std::vector<std::vector<double>> x(3, {1, 1});
  std::vector<double> expected{F.loss(x[0])};
  std::vector<std::uint32_t> draws(3, 0);
  const auto step = [&](const std::vector<std::uint32_t>& learners) {
    std::vector<std::vector<double>> left;
    for (const std::uint32_t i : learners) {
      x[i] = F.step(x[i], i, draws[i]++);
      left.push_back(x[i]);
    }
    expected.push_back(F.loss(mean_of(left)));
    return mean_of(left);
  };
  step({0, 1, 2}), step({0, 1, 2});
  x[0] = x[2] = mean_of({x[0], x[2]});
  step({0, 2});
  x[0] = x[1] = x[2] = step({0, 2});
  step({0, 1, 2}), step({0, 1, 2});
  check_close(losses_of(race), expected);
}

// Learner 1 fails first and is back first, alone; 0 copies 1 then, and 2 stays away.
TEST_CASE("failing peers: where nobody is left the clock waits, and training begins anew") {
  const auto record_of = [](const std::string& protocol) {
    Race race = three(protocol, 0, 4);
    race.transit.failures = failures({{2.5}, {2.25}, {2.75}}, {{3}, {2.5}, {}}, 0);
    return run_timing(race);
  };
  const RaceRecord all_reduce = record_of(R"({"kind": "all-reduce"})");
  CHECK(all_reduce.totals.time == 8.75);
  CHECK(all_reduce.totals.lost == 3);
  CHECK(all_reduce.learners[2].exchanged.down == 6);
  const RaceRecord local_sgd = record_of(R"({"kind": "local-sgd", "tau": 1})");
  CHECK(local_sgd.totals.time == 7.75);
  CHECK(local_sgd.totals.lost == 1);
  CHECK(local_sgd.learners[0].exchanged.down == 3);
}

TEST_CASE("failing peers: a run ends as deadlocked where all are down and none comes back") {
  for (const std::string protocol :
       {R"({"kind": "all-reduce"})", R"({"kind": "local-sgd", "tau": 4})"}) {
    Race race = three(protocol, 0, 1000);
    race.transit.failures = failures({{2.5}, {2.25}, {2.75}}, {{}, {}, {}}, 0);
    const RaceRecord record = run_timing(race);
    CHECK(record.status == Status::deadlocked);
    CHECK(record.reason == "at time 2.75 all learners are down, and none of them comes back");
  }
}

}  // namespace gradrace::failing_peers_test
