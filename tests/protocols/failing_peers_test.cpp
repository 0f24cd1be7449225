#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/make_device.h"
#include "models/quadratic.h"
#include "sim/engine/timing_plane.h"
#include "sim/message_text.h"
#include "tests/support/mean.h"
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

using Checkpoint = Failures::Checkpoint;

std::shared_ptr<const Failures> failures(Lists up, Lists down, double reform, double notice = 0,
                                         std::optional<Checkpoint> checkpoint = {}) {
  Failures made{.up = std::make_shared<OfLearners>(std::move(up)),
                .down = std::make_shared<OfLearners>(std::move(down)),
                .reform = reform,
                .notice = notice,
                .checkpoint = checkpoint};
  return std::make_shared<const Failures>(std::move(made));
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

TEST_CASE("failing peers: partial-reduce makes groups of those who are left, by hand") {
  CHECK(log_of(three(R"({"kind": "partial-reduce", "group": 2})", 1.5, 8)) ==
        Lines{"1 update 1: 0", "1 update 2: 1", "1 update 3: 2", "1-1.5 collective 0 1",
              "1.5-1.75 collective 0", "2.75 update 4: 0", "2.75-3.75 collective 0 2",
              "3.5-4 copy 1 of 0", "4.75 update 5: 0", "4.75 update 6: 2", "5 update 7: 1",
              "4.75-5.75 collective 0 2", "6.75 update 8: 0", "6.75-6.75 collective 0 1"});
}

// Everybody hears everybody: 1 is at step 3 when it is back, as 0 has begun the exchange of step 1.
TEST_CASE("failing peers: d-psgd adds weights of absent neighbours to the own, by hand") {
  const Race race = three(R"({"kind": "d-psgd", "graph": "ring"})", 1.25, 4);
  CHECK(log_of(race) == Lines{"1 update 1: 0 1 2", "1-1.25 gossip 1 of 0 2",
                              "1-1.25 gossip 0 of 1 2", "1-1.25 gossip 2 of 0 1",
                              "1.25-2 gossip 0 of 2", "1.25-2 gossip 2 of 0", "3 update 2: 0 2",
                              "3-3.5 gossip 0 of 2", "3-3.5 gossip 2 of 0", "3.25-3.75 copy 1 of 0",
                              "4.5 update 3: 0 2", "4.5-5 gossip 0 of 2", "4.5-5 gossip 2 of 0",
                              "6 update 4: 1 0 2", "6-6 gossip 0 of 1 2", "6-6 gossip 1 of 0 2",
                              "6-6 gossip 2 of 0 1"});
  const Noisy F;
  std::vector<std::vector<double>> x(3, {1, 1});
  std::vector<std::uint32_t> draws(3, 0);
  const auto step = [&](std::uint32_t i) { x[i] = F.step(x[i], i, draws[i]), ++draws[i]; };
  const auto mix = [&] {  // without 1
    const auto x0 = mean_of({x[0], x[0], x[2]});
    x[2] = mean_of({x[0], x[2], x[2]});
    x[0] = x0;
  };
  std::vector<double> expected{F.loss(x[0])};
  step(0), step(1), step(2);
  expected.push_back(F.loss(mean_of(x)));
  mix(), step(0), step(2);
  expected.push_back(F.loss(mean_of({x[0], x[2]})));
  mix();
  x[1] = x[0];
  step(0), step(2);
  expected.push_back(F.loss(mean_of(x)));
  mix(), step(1), step(0), step(2);
  expected.push_back(F.loss(mean_of(x)));
  check_close(losses_of(race), expected);
}

// 1 is back while 0 makes its fifth step, and has a part from the sixth on.
TEST_CASE("failing peers: d-psgd takes who is back in at the next step") {
  for (const std::string order : {"adapt-first", "combine-first"}) {
    CAPTURE(order);
    Race race = by_hand(R"({"kind": "d-psgd", "graph": "complete", "order": ")" + order + "\"}", 2,
                        std::vector<double>(100, 1.0), 7);
    race.peers.reset();
    race.transit.failures = failures({{}, {0.25}}, {{}, {4}}, 0);
    Lines updates;
    for (const std::string& line : log_of(race))
      if (line.find("update") != std::string::npos) updates.push_back(line);
    REQUIRE(updates.size() == 7);
    CHECK(updates[4] == "5 update 5: 0");
    CHECK(updates[5] == "6 update 6: 1 0");
    CHECK(updates[6].substr(0, 12) == "7 update 7: ");
    CHECK(updates[6].size() == 15);
  }
}

// Learner 1 of a ring of five is absent for a while, and fails in the midst of minibatches: what
// the others average keeps their mean, as the weights of each value add to 1, or for two learners
// that have the same one to 2.
TEST_CASE("failing peers: weights of d-psgd are doubly stochastic among those who are left") {
  for (const std::string order : {"adapt-first", "combine-first"}) {
    Race race = by_hand(R"({"kind": "d-psgd", "graph": "ring", "order": ")" + order + "\"}", 5,
                        std::vector<double>(400, 1.0), 40);
    race.peers.reset();
    race.transit.failures = failures({{}, {7.5}, {}, {}, {}}, {{}, {10}, {}, {}, {}}, 0);
    std::map<ValueId, double> sums;  // of the weights in rows, one for each value
    std::size_t averages = 0;
    TimingPlane plane(race, 0, true, nullptr);
    for (End end = End::limit; end != End::finished;) {
      const Segment& segment = plane.next_segment();
      for (const Op& op : segment.ops) {
        if (op.kind != Op::Kind::average || op.count == 5) continue;  // 5: an evaluation's
        ++averages;
        for (std::uint32_t i = op.first; i < op.first + op.count; ++i)
          sums[segment.terms[i].value] += segment.terms[i].weight;
      }
      end = segment.end;
    }
    CHECK(averages > 150);
    const auto uneven = std::ranges::count_if(sums, [](const auto& sum) {
      return std::abs(sum.second - std::round(sum.second)) > 1e-12;
    });
    CHECK(uneven == 0);
  }
}

// 1 can ask 0 alone once 2 has failed, and 2 again once it computes.
TEST_CASE("failing peers: ad-psgd asks those who are left, by hand") {
  const std::string protocol = R"({"kind": "ad-psgd", "graph": "bipartite-exponential"})";
  Race race = three(protocol, 0, 10);
  race.transit.failures = failures({{}, {}, {0.5}}, {{}, {}, {4}}, 0.25);
  CHECK(log_of(race) == Lines{"0.5 lose 2", "1 update 1: 0", "1-1.5 pair 0 1", "1.5 update 2: 1",
                              "2 update 3: 0", "2-2.5 pair 0 1", "2.5 update 4: 1", "3 update 5: 0",
                              "3-3.5 pair 0 1", "3.5 update 6: 1", "4 update 7: 0",
                              "4-4.5 pair 0 1", "4.5 update 8: 1", "5 update 9: 0",
                              "4.5-5 copy 2 of 1", "5-5.5 pair 0 1", "5.5 update 10: 1"});

  // Of two, the one asked fails in the exchange: the other applies its gradients alone.
  Race two = by_hand(protocol, 2, std::vector<double>(100, 1.0), 6);
  two.transit.failures = failures({{1.25}, {}}, {{2}, {}}, 0.25);
  CHECK(log_of(two) == Lines{"1 update 1: 0", "1.25 lose 0", "1-1.25 pair 0 1", "1.25-1.5 pair 1",
                             "1.5 update 2: 1", "2 update 3: 1", "3 update 4: 1",
                             "3.25-3.75 copy 0 of 1", "4-4.5 pair 0 1", "4.5 update 5: 1",
                             "4.75 update 6: 0"});
}

// Groups are of all: 0's, which 1 leaves in the exchange; 2's, made with 1 and begun without it;
// 0's next, made without it.
TEST_CASE("failing peers: ripples' groups go on without who fails, by hand") {
  const Race race = three(R"({"kind": "ripples", "schedule": "random", "group": 3})", 1.25, 6);
  CHECK(log_of(race) == Lines{"1 update 1: 0", "1 update 2: 1", "1 update 3: 2",
                              "1-1.25 collective 0 1 2", "1.25-2.5 collective 0 2",
                              "3.5 update 4: 0", "3.25-3.75 copy 1 of 0", "3.5-4.5 collective 0 2",
                              "4.75 update 5: 1", "5.5 update 6: 2", "5.5-5.5 collective 0 2"});
  const Noisy F;
  std::vector<std::vector<double>> x(3, {1, 1});
  std::vector<double> expected{F.loss(x[0])};
  const auto step = [&](std::uint32_t i, std::uint32_t draw, bool all) {
    x[i] = F.step(x[i], i, draw);
    expected.push_back(F.loss(all ? mean_of(x) : mean_of({x[0], x[2]})));
  };
  const auto average = [&] { x[0] = x[2] = mean_of({x[0], x[2]}); };
  step(0, 0, true), step(1, 0, true), step(2, 0, true);
  average();
  step(0, 1, false);
  x[1] = x[0];
  average();
  step(1, 1, true), step(2, 1, true);
  check_close(losses_of(race), expected);
}

const std::vector<std::string> all_protocols{
    R"({"kind": "all-reduce"})",
    R"({"kind": "all-reduce", "accumulate": 2})",
    R"({"kind": "local-sgd", "tau": 3})",
    R"({"kind": "local-sgd", "tau": 2, "outer": {"momentum": 0.5, "nesterov": true}})",
    R"({"kind": "d-psgd", "graph": "ring"})",
    R"({"kind": "d-psgd", "graph": "complete", "order": "combine-first"})",
    R"({"kind": "d-psgd", "graph": "ring", "order": "combine-first"})",
    R"({"kind": "ad-psgd", "graph": "bipartite-exponential"})",
    R"({"kind": "ad-psgd", "graph": "bipartite-exponential", "overlap": false})",
    R"({"kind": "partial-reduce", "group": 3})",
    R"({"kind": "ripples", "schedule": "random"})",
    R"({"kind": "ripples", "schedule": "random", "filter": 3})",
    R"({"kind": "ripples", "schedule": "group-buffer"})",
    R"({"kind": "ripples", "schedule": "group-division"})",
    R"({"kind": "ripples", "schedule": "inter-intra"})",
    R"({"kind": "local-sgd", "tau": [1, 4, 2, 3]})"};

/// As many numbers of its list as there are learners.
std::string protocol_of(std::string protocol, int learners) {
  const std::size_t last = protocol.rfind("]}");
  for (int more = 4; last != std::string::npos && more < learners; ++more)
    protocol.insert(last, ", " + std::to_string(1 + more % 3));
  return protocol;
}

// The engine checks that times add up to the clock, and every average's weights to 1.
/// Those that nobody has made are none.
class MadeUpdates final : public Observer {
 public:
  void on_start() override { count = empty = 0; }
  void on_update(const UpdateFacts& update) override {
    ++count;
    empty += update.gradients.empty();
  }

  std::uint64_t count = 0, empty = 0;
};

// Learner 1 begins no step once it knows, leaves when nobody is in an exchange with it, and is back
// as if it had failed when it was to.
TEST_CASE("failing peers: who is told leaves between two steps, by hand") {
  const auto told = [](const std::string& protocol) {
    Race race = three(protocol, 0, 6);
    race.transit.failures = failures({{}, {2.75}, {}}, {{}, {2}, {}}, 0.25, 1.5);
    return log_of(race);
  };
  CHECK(told(R"({"kind": "partial-reduce", "group": 2})") ==
        Lines{"1 update 1: 0", "1 update 2: 1", "1 update 3: 2", "1-2 collective 0 1",
              "3 update 4: 0", "3-4 collective 0 2", "5 update 5: 0", "5 update 6: 2",
              "4.75-5 copy 1 of 0", "5-5 collective 0 2"});
  CHECK(told(R"({"kind": "d-psgd", "graph": "ring"})") ==
        Lines{"1 update 1: 0 1 2",      "1-1.5 gossip 0 of 1 2",   "1-1.5 gossip 1 of 0 2",
              "1-1.5 gossip 2 of 0 1",  "2.5 update 2: 0 2",       "2.5-3 gossip 0 of 2",
              "2.5-3 gossip 2 of 0",    "4 update 3: 0 2",         "4-4.5 gossip 0 of 2",
              "4-4.5 gossip 2 of 0",    "4.75-5.25 copy 1 of 0",   "5.5 update 4: 0 2",
              "5.5-6 gossip 0 of 2",    "5.5-6 gossip 2 of 0",     "7 update 5: 1 0 2",
              "7-7.5 gossip 0 of 1 2",  "7-7.5 gossip 1 of 0 2",   "7-7.5 gossip 2 of 0 1",
              "8.5 update 6: 0 1 2",    "8.5-8.5 gossip 0 of 1 2", "8.5-8.5 gossip 2 of 0 1",
              "8.5-8.5 gossip 1 of 0 2"});

  Race two = by_hand(R"({"kind": "ad-psgd", "graph": "bipartite-exponential"})", 2,
                     std::vector<double>(100, 1.0), 6);
  two.transit.failures = failures({{}, {2.75}}, {{}, {2}}, 0.25, 1.5);
  CHECK(log_of(two) == Lines{"1 update 1: 0", "1-1.5 pair 0 1", "1.5 update 2: 1", "2 update 3: 0",
                             "2-2.5 pair 0 1", "2.5 update 4: 1", "3 update 5: 0",
                             "4 update 6: 0"});
}

TEST_CASE("failing peers: who is told holds nobody up, by hand") {
  // 0 has a copy at 1.75 and is told at 2.45; 1 fails at 2.5, and is back at 3.
  Race anew = by_hand(R"({"kind": "all-reduce"})", 2, {1, 10, 1, 1, 1}, 1);
  anew.transit.failures = failures({{0.25, 2.7}, {2.5}}, {{1}, {0.5}}, 0, 1.5);
  CHECK(run_timing(anew).totals.time == 4);

  // 0 would leave at 2, but for 1, which copies it from 1.75 on and fails at 2.1, to be back
  // at 2.5.
  Race copied =
      by_hand(R"({"kind": "partial-reduce", "group": 2})", 2, std::vector<double>(100, 1.0), 3);
  copied.transit.failures = failures({{3.2}, {0.25, 0.35}}, {{}, {1.5, 0.4}}, 0, 1.5);
  CHECK(run_timing(copied).totals.time == 3.5);

  // 0 is told at 0.5: at 1 it shows no value for a step that it does not make.
  Race combined = by_hand(R"({"kind": "d-psgd", "graph": "complete", "order": "combine-first"})", 2,
                          std::vector<double>(100, 1.0), 2);
  combined.transit.failures = failures({{2}, {}}, {{}, {}}, 0, 1.5);
  CHECK(log_of(combined) == Lines{"0-0.5 gossip 0 of 1", "0-0.5 gossip 1 of 0", "1 update 1: 0 1",
                                  "1-1 gossip 1", "2 update 2: 1", "2-2 gossip 1"});
}

TEST_CASE("failing peers: who is told in time loses nothing") {
  for (const std::string& any : all_protocols) {
    const std::string protocol = protocol_of(any, 8);
    CAPTURE(protocol);
    const RaceRecord record =
        run_timing(point_from(R"({"cluster": {"learners": 8, "runtime": {"distribution": "uniform",
            "low": 0.5, "high": 1}, "network": {"topology": "mesh", "latency": 0.01}, "failures":
            {"up": {"distribution": "uniform", "low": 12, "high": 30}, "down": {"distribution":
            "uniform", "low": 0, "high": 20}, "notice": 12}}, "protocol": )" +
                              protocol + R"(, "stop": {"time": 1000}})")
                       .race());
    CHECK(record.status == Status::finished);
    CHECK(record.totals.lost == 0);
    CHECK(record.totals.updates > 100);
  }
}

TEST_CASE("failing peers: on random clusters every run comes to its end") {
  std::mt19937 random(1);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
  };
  for (int cluster = 0; cluster < 40; ++cluster) {
    const auto law = [](double mean) {
      return R"({"distribution": "exponential", "mean": )" + std::to_string(mean) + "}";
    };
    const int learners = 4 + static_cast<int>(between(0, 6));
    const std::string network =
        cluster % 4 == 0
            ? ""
            : std::string(R"("network": {"topology": ")") +
                  (cluster % 4 == 1
                       ? R"(mesh", "latency": 0.1, "bandwidth": 10)"
                       : R"(nodes", "per_node": 2, "inside": {}, "between": {"bandwidth": 5})") +
                  R"(, "model_bytes": 1}, )";
    for (const std::string& any : all_protocols) {
      const std::string protocol = protocol_of(any, learners);
      CAPTURE(cluster);
      CAPTURE(protocol);
      const Point point = point_from(
          R"({"cluster": {"learners": )" + std::to_string(learners) + R"(, "runtime": )" + law(1) +
          ", " + network + R"("failures": {"up": )" + law(between(1, 20)) + R"(, "down": )" +
          law(between(0.1, 10)) + R"(, "reform": )" + std::to_string(cluster % 3 * 0.3) +
          R"(, "notice": )" + std::to_string(cluster % 5 == 0 ? 1.0 : 0.0) + R"(}}, "protocol": )" +
          protocol + R"(, "stop": {"updates": 200}, "model": {"kind": "quadratic", "dimensions": 2},
             "learning_rate": {"kind": "constant", "eta": 0.1}, "record": {"every_updates": 20}})");
      const RaceRecord record = run_training(point);
      CHECK(record.reason == "");
      CHECK(record.status == Status::finished);
      CHECK(record.totals.updates >= 200);
      CHECK(record.totals.dispatched >= record.totals.applied + record.totals.lost);
      CHECK(record.totals.dispatched <= record.totals.applied + record.totals.lost + 3u * 10 * 2);
      double down = 0;
      for (const LearnerTotals& learner : record.learners) {
        const ExchangeTotals& its = learner.exchanged;
        down += its.down;
        CHECK(std::abs(learner.busy + its.communicating + its.waiting + its.down -
                       record.totals.time) <= 1e-9 * record.totals.time);
      }
      CHECK(down > 0);
      MadeUpdates made;
      RunRecord small = run_race({.race = point.race(), .segment_limit = 1, .observer = &made},
                                 make_device(*point.model, {point.device, point.rows}).get());
      CHECK(small.hash == record.hash);
      CHECK(made.count == record.totals.updates);
      CHECK(made.empty == 0);
    }
  }
}

// The draws are those of the learner alone, with a server or without one.
TEST_CASE("failing peers: those alone fail that are named, when they would among all") {
  const auto down = [](const std::string& protocol, const std::string& named) {
    const Race race =
        point_from(R"({"cluster": {"learners": 4, "runtime": {"distribution":
        "exponential", "mean": 1}, "failures": {"up": {"distribution": "exponential", "mean": 5},
        "down": {"distribution": "exponential", "mean": 2})" +
                   named + R"(}}, "protocol": )" + protocol + R"(, "stop": {"time": 50}})")
            .race();
    std::vector<double> times;
    for (const LearnerTotals& learner : run_timing(race).learners)
      times.push_back(learner.exchanged.down);
    return times;
  };
  const auto all = down(R"({"kind": "all-reduce"})", "");
  CHECK(down(R"({"kind": "partial-reduce", "group": 2})", "") == all);
  CHECK(down(R"({"kind": "async"})", "") == all);
  const std::vector<double> some{0, all[1], 0, all[3]};
  CHECK(down(R"({"kind": "all-reduce"})", R"(, "learners": [1, 3])") == some);
  CHECK(down(R"({"kind": "async"})", R"(, "learners": [3, 1])") == some);
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

// 1 is back at 5.125 and waits for the step of 0, which fails at 5.5, when 2 has copied half of it:
// 1 begins alone, and 2 copies that.
TEST_CASE("failing peers: who loses the source of a copy copies one who has a value, by hand") {
  const auto race_with = [](const std::string& protocol) {
    Race race = three(protocol, 0, 8);
    race.transit.failures = failures({{5.5}, {0.5}, {0.625}}, {{}, {4.125}, {4.625}}, 0);
    return race;
  };
  const Race race = race_with(R"({"kind": "local-sgd", "tau": 1})");
  CHECK(log_of(race) == Lines{"0.5 lose 1",
                              "0.625 lose 2",
                              "1 update 1: 0",
                              "1-1 collective 0",
                              "2 update 2: 0",
                              "2-2 collective 0",
                              "3 update 3: 0",
                              "3-3 collective 0",
                              "4 update 4: 0",
                              "4-4 collective 0",
                              "5 update 5: 0",
                              "5-5 collective 0",
                              "4.625-5.125 copy 1 of 0",
                              "5.5 lose 0",
                              "5.25-5.5 copy 2 of 0",
                              "5.5-6 copy 2 of 1",
                              "6.5 update 6: 1",
                              "6.5-6.5 collective 1",
                              "7.5 update 7: 1 2",
                              "7.5-8.5 collective 1 2",
                              "9.5 update 8: 1 2",
                              "9.5-9.5 collective 1 2"});
  const Noisy F;
  std::vector<double> w{1, 1}, expected{F.loss(w)};
  for (const auto& [learner, draw] :
       {std::pair(0u, 0u), {0u, 1u}, {0u, 2u}, {0u, 3u}, {0u, 4u}, {1u, 1u}}) {
    w = F.step(w, learner, draw);
    expected.push_back(F.loss(w));
  }
  for (std::uint32_t draw = 1; draw <= 2; ++draw) {
    w = mean_of({F.step(w, 1, draw + 1), F.step(w, 2, draw)});
    expected.push_back(F.loss(w));
  }
  check_close(losses_of(race), expected);
  // Its last two updates take an exchange of two each.
  const Race all_reduce = race_with(R"({"kind": "all-reduce"})");
  CHECK(run_timing(all_reduce).totals.time == 10.5);
  check_close(losses_of(all_reduce), expected);
}

// 1 copies 2, while 0 is back at a value that 2 has left behind.
TEST_CASE("failing peers: a copy is of the learner with which it began, by hand") {
  Race race = three(R"({"kind": "partial-reduce", "group": 1})", 0, 5);
  race.transit.failures = failures({{0.125}, {0.5}, {}}, {{1.25}, {1.25}, {}}, 0);
  const Noisy F;
  const std::vector<double> start{1, 1};
  const auto x2 = F.step(start, 2, 0), after = F.step(x2, 2, 1), x0 = F.step(x2, 0, 1),
             last = F.step(after, 2, 2), x1 = F.step(after, 1, 1);
  check_close(
      losses_of(race),
      {F.loss(start), F.loss(x2), F.loss(mean_of({x2, after})), F.loss(mean_of({x0, after, after})),
       F.loss(mean_of({x0, after, last})), F.loss(mean_of({x0, x1, last}))});
}

// All but 1 have made their step, and 1 fails.
TEST_CASE("failing peers: an update that a failure completes is evaluated, and may be the last") {
  for (const std::string protocol :
       {R"({"kind": "local-sgd", "tau": 1})", R"({"kind": "d-psgd", "graph": "ring"})"}) {
    CAPTURE(protocol);
    Race race = by_hand(protocol, 3, {1, 3, 1, 1, 1}, 1);
    race.transit.failures = failures({{}, {1.5}, {}}, {{}, {2}, {}}, 0);
    CHECK(run_timing(race).totals.time == 1.5);
    const Noisy F;
    const std::vector<double> start{1, 1};
    check_close(losses_of(race),
                {F.loss(start), F.loss(mean_of({F.step(start, 0, 0), F.step(start, 2, 0)}))});
  }
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

/// The same where all go back to a checkpoint.
Race restarting(const std::string& protocol, double fails_at, std::uint64_t updates,
                double notice = 0) {
  Race race = three(protocol, fails_at, updates);
  race.transit.failures =
      failures({{}, {fails_at}, {}}, {{}, {2}, {}}, 0.25, notice, Checkpoint{5, 0.5});
  return race;
}

// Steps take 3.  What was made from 6.5 on is lost at 10, and made again from 12.25 on.
TEST_CASE("restarting peers: all go back to the last checkpoint, by hand") {
  const Race race = restarting(R"({"kind": "all-reduce"})", 10, 4);
  CHECK(log_of(race) == Lines{"1-3 collective 0 1 2", "3 update 1: 0 1 2", "4-6 collective 0 1 2",
                              "6 update 2: 0 1 2", "7.5-9.5 collective 0 1 2",
                              "9.5 update 3: 0 1 2", "10 lose 0", "10 lose 1", "10 lose 2",
                              "13.25-15.25 collective 0 1 2", "15.25 update 3: 0 1 2",
                              "16.25-18.25 collective 0 1 2", "18.25 update 4: 0 1 2"});
  Race counted = race;
  counted.stop.updates.reset();
  counted.stop.gradients = 12;  // of which those are none that were taken back
  CHECK(run_timing(counted).totals.time == 18.25);
  const RaceRecord record = run_timing(race);
  CHECK(record.totals.applied == 12);
  CHECK(record.totals.lost == 6);
  CHECK(record.losses.computing == 3);
  CHECK(record.losses.taken_back == 3);
  CHECK(record.staleness_counts == std::vector<std::uint64_t>{12});
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.busy == 5.5);
    CHECK(learner.wasted == 1.5);
    CHECK(learner.gradients == 4);
  }
}

TEST_CASE(
    "restarting peers: an exchange ends where one fails, and a checkpoint that is not there") {
  CHECK(log_of(restarting(R"({"kind": "all-reduce"})", 5, 2)) ==
        Lines{"1-3 collective 0 1 2", "3 update 1: 0 1 2", "4-5 collective 0 1 2",
              "8.25-10.25 collective 0 1 2", "10.25 update 1: 0 1 2",
              "11.25-13.25 collective 0 1 2", "13.25 update 2: 0 1 2"});
  CHECK(run_timing(restarting(R"({"kind": "all-reduce"})", 6.25, 3)).totals.lost == 6);
}

TEST_CASE(
    "restarting peers: values are those of the checkpoint, the velocity of an outer step too") {
  const Noisy F;
  const auto of_all = [&](const std::vector<double>& w, std::uint32_t draw) {
    return mean_of({F.step(w, 0, draw), F.step(w, 1, draw), F.step(w, 2, draw)});
  };
  const std::vector<double> w1 = of_all({1, 1}, 0), w2 = of_all(w1, 1);
  check_close(losses_of(restarting(R"({"kind": "all-reduce"})", 10, 4)),
              {F.loss({1, 1}), F.loss(w1), F.loss(w2), F.loss(of_all(w2, 2)),
               F.loss(of_all(of_all(w2, 4), 5))});

  // Rounds of two steps take 4: one to 4, one to 8 and a checkpoint, one to 12.5.
  const std::string outer = R"({"kind": "local-sgd", "tau": 2, "outer": {"momentum": 0.5}})";
  std::vector<double> x{1, 1}, v{0, 0}, saved_x, saved_v, mean;
  const auto round = [&](std::uint32_t draw) {
    std::vector<std::vector<double>> ends;
    for (std::uint32_t i = 0; i < 3; ++i) ends.push_back(F.step(F.step(x, i, draw), i, draw + 1));
    mean = mean_of(ends);
    for (std::size_t i = 0; i < 2; ++i) v[i] = 0.5 * v[i] + x[i] - mean[i], x[i] -= v[i];
  };
  round(0), round(2);
  saved_x = x, saved_v = v;
  round(4);
  x = saved_x, v = saved_v;
  round(7), round(9);
  const Race race = restarting(outer, 13, 8);
  CHECK(run_timing(race).losses.taken_back == 6);
  const double last = losses_of(race).back();
  CHECK(std::abs(last - F.loss(mean)) <= 1e-12 * last);
}

TEST_CASE("restarting peers: who is told in time leaves behind a checkpoint, and loses nothing") {
  const Race told = restarting(R"({"kind": "all-reduce"})", 8, 3, 4);
  CHECK(log_of(told) == Lines{"1-3 collective 0 1 2", "3 update 1: 0 1 2", "4-6 collective 0 1 2",
                              "6 update 2: 0 1 2", "11.25-13.25 collective 0 1 2",
                              "13.25 update 3: 0 1 2"});
  CHECK(run_timing(told).totals.lost == 0);
  CHECK(run_timing(told).learners[1].exchanged.down == 3.5);
  CHECK(run_timing(restarting(R"({"kind": "all-reduce"})", 8, 3, 0.5)).totals.lost == 3);

  Race shrinking = three(R"({"kind": "all-reduce"})", 8, 3);
  shrinking.transit.failures = failures({{}, {8}, {}}, {{}, {2}, {}}, 0.25, 4);
  CHECK(log_of(shrinking) == Lines{"1-3 collective 0 1 2", "3 update 1: 0 1 2",
                                   "4-6 collective 0 1 2", "6 update 2: 0 1 2",
                                   "7-8 collective 0 2", "8 update 3: 0 2"});
  CHECK(run_timing(shrinking).totals.lost == 0);
}

TEST_CASE("restarting peers: without failures nothing is other than it was") {
  for (const std::string protocol :
       {R"({"kind": "all-reduce", "accumulate": 2})", R"({"kind": "local-sgd", "tau": 3})"}) {
    const Race plain = by_hand(protocol, 3, std::vector<double>(400, 1.0), 30);
    Race race = plain;
    race.transit.failures = failures({{}, {}, {}}, {{}, {}, {}}, 1, 1, Checkpoint{5, 0});
    CHECK(losses_of(race) == losses_of(plain));
    CHECK(run_timing(race).totals.time == run_timing(plain).totals.time);
  }
}

TEST_CASE("restarting peers: a run ends as deadlocked where one does not come back") {
  Race race = restarting(R"({"kind": "all-reduce"})", 10, 100);
  race.transit.failures = failures({{}, {10}, {}}, {{}, {}, {}}, 0, 0, Checkpoint{5, 0.5});
  const RaceRecord record = run_timing(race);
  CHECK(record.status == Status::deadlocked);
  CHECK(record.reason ==
        "at time 10 learner 1 fails and does not come back, and the others wait for it");
}

// The engine checks that times add up to the clock; what is read later must be kept, however short
// segments of the tape are.
TEST_CASE("restarting peers: on random clusters every minibatch is used or lost, by one cause") {
  std::mt19937 random(2);
  const auto between = [&](double low, double high) {
    return number_text(std::uniform_real_distribution<>(low, high)(random));
  };
  std::uint64_t computing = 0, unused = 0, taken_back = 0;
  for (int cluster = 0; cluster < 24; ++cluster) {
    const std::string& protocol = all_protocols[static_cast<std::size_t>(cluster) % 4];
    CAPTURE(cluster);
    const Point point = point_from(
        R"({"cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1},
        "network": {"topology": "mesh", "latency": 0.1, "bandwidth": 10, "model_bytes": 1},
        "failures": {"up": {"distribution": "exponential", "mean": )" +
        between(60, 200) + R"(}, "down": {"distribution": "exponential", "mean": )" +
        between(0.1, 30) + R"(}, "reform": 0.3, "notice": )" + between(0, 15) +
        R"(, "on_failure": )" +
        (cluster % 8 < 6 ? R"("restart", "checkpoint": {"every": )" + between(1, 10) +
                               R"(, "cost": 0.3}}}, "protocol": )"
                         : R"("shrink"}}, "protocol": )") +
        protocol + R"(, "stop": {"updates": 200}, "record": {"every_updates": 20},
        "model": {"kind": "quadratic", "dimensions": 2}, "optimiser": {"momentum": 0.5},
        "learning_rate": {"kind": "constant", "eta": 0.1}})");
    const RaceRecord record = run_training(point);
    CHECK(record.reason == "");
    CHECK(record.totals.updates == 200);
    const Losses& lost = record.losses;
    computing += lost.computing, unused += lost.unused, taken_back += lost.taken_back;
    CHECK(record.totals.lost == lost.computing + lost.unused + lost.taken_back);
    if (cluster % 8 >= 6) CHECK(lost.taken_back == 0);
    CHECK(record.totals.dispatched >= record.totals.applied + record.totals.lost);
    CHECK(record.totals.dispatched <= record.totals.applied + record.totals.lost + 4 * 2);
    std::uint64_t of_learners = 0;
    for (const LearnerTotals& learner : record.learners) {
      of_learners += learner.gradients;
      CHECK(learner.wasted < learner.busy);
    }
    CHECK(of_learners == record.totals.applied);
    RunRecord small = run_race({.race = point.race(), .segment_limit = 1},
                               make_device(*point.model, {point.device, point.rows}).get());
    CHECK(small.hash == record.hash);
  }
  CHECK(computing > 20);
  CHECK(unused > 20);
  CHECK(taken_back > 100);
}

// Of n machines with exponential times up of mean M each, all are up for M / n at a time.  As each
// is up for M / (M + R) of the time, they wait for (M / n) ((1 + R / M)^n - 1) in between.  A
// segment of ten steps and its checkpoint takes, with those two as M' and R',
//
//     (M' + R') (exp((tau + C) / M') - 1).
//
// A step that begins in vain, of which there are as many as the failure's time has whole steps
// before it, and one more, is lost for all learners: sum over j < 10 of P(T > j, T < tau + C) in
// the mean of each try, of which there are exp((tau + C) / M').
//
// 40 runs of 60 segments each; bounds are 4 standard errors of their mean.
TEST_CASE("restarting peers: time and lost minibatches are what renewal theory says") {
  constexpr double M = 60, R = 3, tau = 10, C = 0.5;
  double before = 1;
  for (const int n : {1, 2, 4, 8}) {
    CAPTURE(n);
    const Point point = point_from(R"({"cluster": {"learners": )" + std::to_string(n) + R"(,
        "runtime": {"distribution": "deterministic", "value": 1}, "failures": {
        "up": {"distribution": "exponential", "mean": 60},
        "down": {"distribution": "deterministic", "value": 3}, "on_failure": "restart",
        "checkpoint": {"every": 10, "cost": 0.5}}}, "protocol": {"kind": "all-reduce"},
        "stop": {"updates": 600}})");
    const Race race = point.race();
    Mean time, lost;
    constexpr int runs = 40, segments = 60;
    for (std::uint32_t run = 0; run < runs; ++run) {
      const Totals totals = run_timing(race, run).totals;
      CHECK(totals.applied == 600 * static_cast<std::uint64_t>(n));
      time.add((totals.time + C) / segments);  // the last is not written
      lost.add(static_cast<double>(totals.lost) / n);
    }
    const double up = M / n, stand = up * (std::pow(1 + R / M, n) - 1);
    const double segment = (up + stand) * (std::exp((tau + C) / up) - 1);
    CHECK(time.agrees(segment));
    CHECK(time.error() < 0.03 * segment);
    const auto in_vain = [up](double length) {
      double steps = 0;
      for (int j = 0; j < 10; ++j) steps += std::exp((length - j) / up) - 1;
      return steps;
    };
    CHECK(lost.agrees((segments - 1) * in_vain(tau + C) + in_vain(tau)));
    const double goodput = 600 / (600 + lost.value());
    CHECK(goodput < before - 0.03);
    before = goodput;
    const Theory theory = point.theory();
    CHECK(theory.staleness == 0.0);
    REQUIRE(theory.iteration_time);
    CHECK(theory.iteration_time->basis == Basis::exact);
    CHECK(theory.iteration_time->value == doctest::Approx(segment / 10).epsilon(1e-12));
  }
}

// Rounds of three steps are a checkpoint's grid; all form again for 0.4 before they go on, in which
// time they may fail once more.  Random runtimes: a bound of 3 %, where neglecting failures is
// half of it off.
TEST_CASE("restarting peers: theory knows rounds, those that fail, and how long all form again") {
  const auto check = [](const std::string& protocol, const std::string& runtime, Basis basis) {
    const Point point = point_from(R"({"cluster": {"learners": 4, "runtime": )" + runtime + R"(,
        "failures": {"up": {"distribution": "exponential", "mean": 40}, "learners": [0, 2, 3],
        "down": {"distribution": "exponential", "mean": 2}, "reform": 0.4,
        "on_failure": "restart", "checkpoint": {"every": 10, "cost": 0.5}}},
        "protocol": )" + protocol + R"(, "stop": {"updates": 30000}})");
    const Theory theory = point.theory();
    REQUIRE(theory.iteration_time);
    CHECK(theory.iteration_time->basis == basis);
    Mean time;
    for (std::uint32_t run = 0; run < 4; ++run)
      time.add(run_timing(point.race(), run).totals.time / 30'000);
    CAPTURE(time.value());
    CAPTURE(theory.iteration_time->value);
    if (basis == Basis::exact) CHECK(time.agrees(theory.iteration_time->value));
    CHECK(std::abs(time.value() / theory.iteration_time->value - 1) < 0.03);
  };
  const std::string one = R"({"distribution": "deterministic", "value": 1})";
  const std::string random =
      R"({"distribution": "shifted-exponential", "shift": 0.5, "mean": 0.8})";
  check(R"({"kind": "local-sgd", "tau": 3})", one, Basis::exact);
  check(R"({"kind": "all-reduce"})", random, Basis::approximate);
}

}  // namespace gradrace::failing_peers_test
