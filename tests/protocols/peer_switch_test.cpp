#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/make_device.h"
#include "sim/reading/problem.h"
#include "tests/support/race_text.h"
#include "tests/support/recorded_peers.h"
#include "tests/support/schedule.h"

namespace gradrace::peer_switch_test {

namespace {

using Lines = std::vector<std::string>;

std::string phase(const std::string& protocol, const std::string& rest = "") {
  return R"({"protocol": )" + protocol + rest + "}";
}

std::string until(const std::string& updates) { return R"(, "end": {"updates": )" + updates + "}"; }

std::string switching(const std::string& phases) {
  return R"({"kind": "switch", "phases": [)" + phases + "]}";
}

const std::string in_step = R"({"kind": "all-reduce"})",
                  local = R"({"kind": "local-sgd", "tau": 3})",
                  often = R"({"kind": "local-sgd", "tau": 1})",
                  ring = R"({"kind": "d-psgd", "graph": "ring"})",
                  combined = R"({"kind": "d-psgd", "graph": "ring", "order": "combine-first"})",
                  groups = R"({"kind": "ripples", "schedule": "group-division"})";

const std::string one = R"({"distribution": "deterministic", "value": 1})";
const std::string exponential = R"({"distribution": "exponential", "mean": 1})";
const std::string softmax = R"({"kind": "softmax", "minibatch": 4, "precision": "float64",
                                "dataset": {"kind": "synthetic", "rows": 100}})";
// F(w) = w^2 / 2 in each of two dimensions, from w = 1, without noise.
const std::string still = R"({"kind": "quadratic", "dimensions": 2, "curvatures": [1], "noise": 0,
                              "start": 1, "precision": "float64"})";

RaceRecord trained(const std::string& protocol, const std::string& model, const std::string& rest,
                   const std::string& cluster = R"("learners": 4, "runtime": )" + exponential) {
  return run_training(point_from(
      R"({"cluster": {)" + cluster + R"(}, "protocol": )" + protocol + R"(, "model": )" + model +
      R"(, "learning_rate": {"kind": "constant", "eta": 0.1}, "record": {"every_updates": 1}, )" +
      rest + "}"));
}

void check_equal(const RaceRecord& a, const RaceRecord& b) {
  CHECK(a.hash == b.hash);
  CHECK(a.totals.time == b.totals.time);
  CHECK(a.totals.applied == b.totals.applied);
  CHECK(a.staleness_counts == b.staleness_counts);
  REQUIRE(a.curve.size() == b.curve.size());
  for (std::size_t i = 0; i < a.curve.size(); ++i) {
    CHECK(a.curve[i].point.time == b.curve[i].point.time);
    CHECK(a.curve[i].evaluation.loss == b.curve[i].evaluation.loss);
  }
}

PeerNetwork mesh(double latency) {
  PeerNetwork network;
  network.inside.latency = latency;
  return network;
}

/// The scenario's complaints, or "none".
std::string complaints(const std::string& protocol) {
  try {
    race_of(4, protocol, R"({"updates": 100})");
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

// Update 2 is made at 7, when learner 1 has made its second step; the others compute until 9 and
// 11, and the ring of messages of half a unit takes three units.
TEST_CASE("switch without a server: local-sgd, then all-reduce") {
  CHECK(orders(switching(phase(local, until("2")) + "," + phase(in_step)), 4,
               {1, 2, 3, 4, 1, 5, 9, 1, 2, 1, 3, 1, 1, 1, 2, 9, 9, 9, 9}, 3) ==
        Lines{"0 compute 0",      "0 compute 1",        "0 compute 2",  "0 compute 3",   //
              "1 compute 0",                                                             //
              "2 compute 1",      "2 compute 0",                                         //
              "3 compute 2",                                                             //
              "4 compute 3",      "4 compute 2",                                         //
              "6 compute 3",                                                             //
              "11 begin 0 1 2 3", "14 average 0 1 2 3",                                  //
              "14 compute 0",     "14 compute 1",       "14 compute 2", "14 compute 3",  //
              "16 begin 0 1 2 3",                                                        //
              "19 compute 0",     "19 compute 1",       "19 compute 2", "19 compute 3"});
}

// The second step of all four comes at 2, and the last of them ends the phase: nobody begins
// another minibatch, though three came before it, and the average of all begins at once.
TEST_CASE("switch without a server: of one instant, nothing begins that an arrival ends") {
  const Lines lines = schedule(switching(phase(local, until("2")) + "," + phase(in_step)), 4,
                               mesh(0.5), {1, 1, 1, 1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 5, 5, 5}, 3);
  const auto begun_at = [&](const std::string& time) {
    return std::ranges::count_if(
        lines, [&](const std::string& line) { return line.starts_with(time + " dispatch"); });
  };
  CHECK(begun_at("0") == 4);
  CHECK(begun_at("1") == 4);
  CHECK(begun_at("2") == 0);
  CHECK(begun_at("5") == 4);  // a ring of six messages of half a unit
}

// Learner 1 has its neighbours' first values at 3 and hears them until 5, after the update at 4
// that ends the phase: its average is made, and it computes no more.
TEST_CASE("switch without a server: an exchange under way ends") {
  const Lines lines = schedule(switching(phase(ring, until("1")) + "," + phase(groups)), 4, mesh(2),
                               {1, 2, 3, 4, 1, 2, 3, 4}, 2);
  CHECK(lines == Lines{"0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0", "0 dispatch 3@0",
                       "1 arrive 0@0", "2 arrive 1@0", "3 arrive 2@0", "4 arrive 3@0",
                       "4 update 1: 0@0+0 1@0+0 2@0+0 3@0+0",
                       // 5: the exchange has ended; 6 messages of 2 later all are averaged.
                       "17 dispatch 0@2", "17 dispatch 1@3", "17 dispatch 2@2", "17 dispatch 3@2",
                       "18 arrive 0@2", "18 update 2: 0@2+0"});
}

// Exchanges of the second step of 0 and 2 need learner 3's first, which ends the phase at 10.
// Their gradients, there since 2 and 6, and that of 1, which comes at 26, are steps all the same.
TEST_CASE("switch without a server: no gradient is lost where its exchange cannot begin") {
  const std::string protocol = switching(phase(combined, until("1")) + "," + phase(groups));
  const Lines lines = schedule(protocol, 4, mesh(0.5), {1, 2, 3, 10, 1, 4, 3, 20, 1, 2, 3, 4}, 2);
  CHECK(lines == Lines{"0 dispatch 0@0",  "0 dispatch 1@0",
                       "0 dispatch 2@0",  "0 dispatch 3@0",
                       "1 arrive 0@0",    "1 dispatch 0@2",  // an average and a step
                       "2 arrive 1@0",    "2 arrive 0@2",
                       "2 dispatch 1@2",                     //
                       "3 arrive 2@0",    "3 dispatch 2@2",  //
                       "6 arrive 1@2",    "6 arrive 2@2",
                       "6 dispatch 1@4",  //
                       "10 arrive 3@0",   "10 update 1: 0@0+1 1@0+1 2@0+1 3@0+1",
                       "26 arrive 1@4",  // steps of 0, 1 and 2, then the average of all
                       "29 dispatch 0@4", "29 dispatch 1@6",
                       "29 dispatch 2@4", "29 dispatch 3@3",
                       "30 arrive 0@4",   "30 update 2: 0@4+0"});
  Race race = race_of(4, protocol, R"({"updates": 200})");
  race.peers = mesh(0.5);
  const RaceRecord record = run_timing(race);
  std::uint64_t arrived = 0;
  for (const LearnerTotals& learner : record.learners) arrived += learner.draws;
  CHECK(record.totals.applied == arrived);
}

TEST_CASE("switch without a server: one phase, or an end that never comes, is the plain protocol") {
  const std::string rest = R"("stop": {"updates": 40}, "optimiser": {"momentum": 0.9})";
  for (const std::string network :
       {"", R"(, "network": {"topology": "mesh", "latency": 0.3, "bandwidth": 9,
                             "model_bytes": 5})"}) {
    const std::string cluster = R"("learners": 4, "runtime": )" + exponential + network;
    for (const std::string& protocol :
         {in_step, std::string(R"({"kind": "all-reduce", "buckets": 3})"), local, ring, combined,
          groups, std::string(R"({"kind": "local-sgd", "tau": 2, "outer": {"momentum": 0.5}})"),
          std::string(R"({"kind": "local-sgd", "tau": 3, "buckets": 2})")}) {
      CAPTURE(protocol);
      const RaceRecord plain = trained(protocol, softmax, rest, cluster);
      check_equal(trained(switching(phase(protocol)), softmax, rest, cluster), plain);
      check_equal(trained(switching(phase(protocol, until("1000")) + "," + phase(groups)), softmax,
                          rest, cluster),
                  plain);
    }
  }
}

TEST_CASE("switch without a server: each of the four can follow each, and no gradient is lost") {
  const std::string all[] = {
      in_step, R"({"kind": "all-reduce", "buckets": 2})", local, ring, combined, groups};
  for (const std::string& first : all) {
    for (const std::string& second : all) {
      CAPTURE(first);
      CAPTURE(second);
      const RaceRecord record =
          trained(switching(phase(first, until("10")) + "," + phase(second, until("25")) + "," +
                            phase(first)),
                  softmax, R"("stop": {"updates": 60}, "optimiser": {"momentum": 0.5})",
                  R"("learners": 4, "runtime": )" + exponential +
                      R"(, "network": {"topology": "mesh", "latency": 0.2})");
      CHECK(record.totals.updates == 60);
      std::uint64_t arrived = 0;
      for (const LearnerTotals& learner : record.learners) arrived += learner.draws;
      // Those of the last phase may wait for their update.
      CHECK(record.totals.applied <= arrived);
      CHECK(record.totals.applied + 4 > arrived);
      CHECK(record.curve.back().evaluation.loss < record.curve.front().evaluation.loss);
    }
  }
}

// local-sgd with tau 1 is all-reduce to rounding, its state averaged at the switch back.
TEST_CASE("switch without a server: all-reduce, local-sgd with tau 1, all-reduce is all-reduce") {
  for (const std::string momentum : {"0", "0.9"}) {
    CAPTURE(momentum);
    const std::string rest =
        R"("stop": {"updates": 60}, "optimiser": {"momentum": )" + momentum + "}";
    const RaceRecord plain = trained(in_step, softmax, rest);
    const RaceRecord switched = trained(switching(phase(in_step, until("20")) + "," +
                                                  phase(often, until("40")) + "," + phase(in_step)),
                                        softmax, rest);
    REQUIRE(switched.curve.size() == plain.curve.size());
    for (std::size_t i = 0; i < plain.curve.size(); ++i) {
      CHECK(switched.curve[i].point.time ==
            doctest::Approx(plain.curve[i].point.time).epsilon(1e-12));
      CHECK(switched.curve[i].evaluation.loss ==
            doctest::Approx(plain.curve[i].evaluation.loss).epsilon(1e-12));
      const bool apart = switched.curve[i].evaluation.disagreement > 0;
      CHECK(apart == (i > 20 && i <= 40));
    }
  }
}

TEST_CASE("switch without a server: rate, momentum and minibatch of each phase, in a direct loop") {
  // All learners agree; momenta follow each other by the phase's gradients, four a step.
  const RaceRecord record = trained(
      switching(phase(in_step, until("10")) + "," +
                phase(often, R"(, "learning_rate": {"kind": "constant", "eta": 0.05}, "momentum":
                      [0.5, 0.9], "momentum_every": 20, "end": {"updates": 20})") +
                "," + phase(in_step, R"(, "momentum_state": "reset", "momentum": 0.3)")),
      still, R"("stop": {"updates": 30})", R"("learners": 4, "runtime": )" + one);
  double w = 1, v = 0;
  for (std::size_t update = 1; update <= 30; ++update) {
    const bool middle = update > 10 && update <= 20;
    if (update == 21) v = 0;
    const double momentum = update > 20 ? 0.3 : !middle ? 0 : update > 15 ? 0.9 : 0.5;
    v = momentum * v + (middle ? 0.05 : 0.1) * w, w -= v;
    CHECK(record.curve[update].evaluation.loss == doctest::Approx(w * w).epsilon(1e-12));
    CHECK(record.curve[update].point.learning_rate == (middle ? 0.05 : 0.1));
  }
  const RaceRecord sampled =
      trained(switching(phase(in_step, until("5")) + "," + phase(often, R"(, "minibatch": 10)")),
              softmax, R"("stop": {"updates": 10})", R"("learners": 4, "runtime": )" + one);
  CHECK(sampled.curve[5].point.epoch == doctest::Approx(5 * 16 / 100.0).epsilon(1e-12));
  CHECK(sampled.curve[10].point.epoch == doctest::Approx((5 * 16 + 5 * 40) / 100.0).epsilon(1e-12));
}

// Steps of the outer momentum go on from where the phase begins, not from the initial model.
TEST_CASE("switch without a server: an outer step begins with its phase") {
  const std::string outer =
      R"({"kind": "local-sgd", "tau": 3, "outer": {"eta": 0.7, "momentum": 0.9, "nesterov": true}})";
  const RaceRecord record =
      trained(switching(phase(in_step, until("5")) + "," + phase(outer)), still,
              R"("stop": {"updates": 36, "loss": 1e-9})", R"("learners": 4, "runtime": )" + one);
  double x = std::pow(0.9, 5), v = 0;
  for (std::size_t round = 0; round < 10; ++round) {
    CHECK(record.curve[5 + 3 * round + 1].evaluation.loss ==
          doctest::Approx(x * x * 0.81).epsilon(1e-12));
    const double delta = x - std::pow(0.9, 3) * x;
    v = 0.9 * v + delta;
    x -= 0.7 * (0.9 * v + delta);
  }
}

TEST_CASE("switch without a server: the optimiser's state at a switch is kept, reset or averaged") {
  const auto loss = [](const std::string& state) {
    return trained(switching(phase(often, until("5")) + "," +
                             phase(local, R"(, "momentum_state": ")" + state + "\"")),
                   still,
                   R"("stop": {"updates": 12, "loss": 1e-9}, "optimiser": {"momentum": 0.5})",
                   R"("learners": 4, "runtime": )" + one)
        .curve.back()
        .evaluation.loss;
  };
  double w = 1, v = 0, from_rest = 1, v_from_rest = 0;
  for (int step = 0; step < 12; ++step) {
    if (step == 5) v_from_rest = 0;
    v = 0.5 * v + w, w -= 0.1 * v;
    v_from_rest = 0.5 * v_from_rest + from_rest, from_rest -= 0.1 * v_from_rest;
  }
  CHECK(loss("kept") == doctest::Approx(w * w).epsilon(1e-12));
  CHECK(loss("averaged") == doctest::Approx(w * w).epsilon(1e-12));
  CHECK(loss("reset") == doctest::Approx(from_rest * from_rest).epsilon(1e-12));
}

// Learner 0 takes one unit, learner 1 two.  Where learners step together, an update is made of the
// steps of one number; learner 0 has made one more than learner 1 when ripples begins, where every
// gradient is an update, and that waits for learner 1's second when local-sgd goes on.
TEST_CASE("switch without a server: updates count on where learners step together again") {
  const std::string local = R"({"kind": "local-sgd", "tau": 4})";
  const std::string protocol = switching(
      phase(local, until("1")) + "," +
      phase(R"({"kind": "ripples", "schedule": "group-division", "group": 2})", until("5")) + "," +
      phase(local));
  Lines updates;
  for (const std::string& line :
       schedule(protocol, 2, {1, 2, 1, 1, 2, 1, 2, 1, 2, 1, 2, 1, 1, 2, 9}, 8))
    if (line.find("update") != std::string::npos) updates.push_back(line);
  CHECK(updates == Lines{"2 update 1: 0@0+0 1@0+0", "3 update 2: 0@3+0", "4 update 3: 1@2+0",
                         "5 update 4: 0@5+0", "6 update 5: 1@4+0", "8 update 6: 0@1+0 1@6+0",
                         "10 update 7: 0@7+0 1@7+0", "12 update 8: 0@8+0 1@8+0"});
  const RaceRecord record = trained(protocol, still, R"("stop": {"updates": 8})",
                                    R"("learners": 2, "speeds": [1, 0.5], "runtime": )" + one);
  // Of learner 0: 2, 2 and 4; of learner 1: 1, 2 and 3.
  CHECK(record.learners[0].gradients == 8);
  CHECK(record.learners[1].gradients == 6);
}

// The phases differ in their learning rates.
TEST_CASE("switch without a server: every end comes with the first update that meets it") {
  const auto ended_at = [](const std::string& end, const std::string& stop,
                           const std::string& rate = "0.1") {
    const RaceRecord record = trained(
        switching(phase(in_step, R"(, "learning_rate": {"kind": "constant", "eta": )" + rate +
                                     R"(}, "end": )" + end) +
                  "," + phase(often, R"(, "learning_rate": {"kind": "constant", "eta": 0.05})")),
        still, R"("stop": )" + stop, R"("learners": 4, "runtime": )" + one);
    double last = -1;
    for (const auto& [point, evaluation] : record.curve)
      if (point.learning_rate != 0.05) last = point.time;
    CHECK(record.curve.back().point.learning_rate == 0.05);
    return last;
  };
  CHECK(ended_at(R"({"updates": 4})", R"({"updates": 9})") == 4);
  CHECK(ended_at(R"({"time": 2.5})", R"({"updates": 9})") == 3);
  CHECK(ended_at(R"({"time": 3})", R"({"updates": 9})") == 3);
  CHECK(ended_at(R"({"work": 0.25})", R"({"gradients": 80})") == 5);
  // The loss .81^n is at most .3 from n = 6 on; looks at 4 and 8, and the update after that.
  CHECK(ended_at(R"({"loss": 0.3, "interval": 4})", R"({"updates": 20})") == 9);
  // eta = 1 reaches the minimum at once: looks at 3, 6, 9 find 0, nothing better, nothing better.
  CHECK(ended_at(R"({"policy": {"kind": "plateau", "patience": 2}, "interval": 3})",
                 R"({"updates": 20})", "1") == 10);
}

TEST_CASE("switch without a server: AdaComm looks from the begin of its phase") {
  std::vector<PeerOrder> found;
  const Point point = point_from(
      R"({"cluster": {"learners": 2, "runtime": )" + one + R"(}, "model": )" + still +
      R"(, "learning_rate": {"kind": "constant", "eta": 1e-9}, "stop": {"time": 40}, "protocol": )" +
      switching(phase(in_step, until("5")) + "," +
                phase(R"({"kind": "local-sgd", "tau": {"adacomm": 8, "interval": 6}})")) +
      "}");
  const Race race = recorded(point.race(), found);
  const auto device = make_device(*point.model, {});
  Run run(race, 0, true, nullptr);
  drive({&run, 1}, device.get(), [] { return true; });
  std::vector<double> times;
  for (const PeerOrder& order : found)
    if (order.kind == PeerOrder::Kind::average) times.push_back(order.time);
  // Looks at 5, 11, 17, 23: tau 8, 4, 2, 1.
  CHECK(times[0] == 5);
  CHECK(std::vector<double>(times.begin() + 1, times.begin() + 7) ==
        std::vector<double>{13, 17, 21, 23, 25, 26});
}

TEST_CASE("switch without a server: groups of a later phase are drawn anew") {
  const std::string drawn = R"({"kind": "ripples", "schedule": "random", "group": 2})";
  std::vector<PeerOrder> found;
  run_timing(recorded(race_of(16, switching(phase(drawn, until("400")) + "," + phase(drawn)),
                              R"({"updates": 800})", one),
                      found));
  std::vector<std::vector<std::uint32_t>> first, second;
  bool switched = false;
  for (const PeerOrder& order : found) {
    if (order.kind != PeerOrder::Kind::begin) continue;
    if (order.learners.size() == 16) {
      switched = true;
    } else {
      (switched ? second : first).push_back(order.learners);
    }
  }
  REQUIRE(switched);
  REQUIRE(first.size() > 50);
  REQUIRE(second.size() > 50);
  first.resize(50), second.resize(50);
  CHECK(first != second);
}

TEST_CASE("switch without a server: what it is not between is refused by name") {
  const auto told = [](const std::string& phases, const std::string& what) {
    CAPTURE(phases);
    const std::string found = complaints(switching(phases));
    CAPTURE(found);
    CHECK(found.find(what) != std::string::npos);
  };
  const std::string server = R"({"kind": "sync"})", end = until("5");
  told(phase(server, end) + "," + phase(in_step),
       "protocol.phases[1].protocol: has no server, and that of the first phase has one");
  told(phase(in_step, end) + "," + phase(server),
       "protocol.phases[1].protocol: has a server, and that of the first phase has none");
  for (const std::string other :
       {R"({"kind": "dasgd"})", R"({"kind": "partial-reduce", "group": 2})"})
    told(phase(in_step, end) + "," + phase(other),
         "protocol.phases[1].protocol: cannot be a phase");
  for (const std::string key :
       {R"("velocity": "reset")", R"("in_flight": "use")", R"("per_update": 1)",
        R"("per_gradient": 1)", R"("checkpoint": {"time": 1, "every": 2})",
        R"("stragglers": {"kind": "elastic"})"}) {
    const std::string name = key.substr(1, key.find('"', 1) - 1);
    told(phase(in_step, ", " + key + end) + "," + phase(often),
         "protocol.phases[0]." + name + ": is for protocols of a server, and this phase has none");
  }
  told(phase(in_step, end) + "," +
           phase(often, R"(, "learning_rate": {"kind": "staleness", "eta": 0.1})"),
       "protocol.phases[1].learning_rate: goes by staleness or distance");
  told(phase(often, end) + "," + phase(in_step, R"(, "momentum_state": "kept")"),
       "protocol.phases[1].momentum_state: the protocol has one state of the optimiser");
  told(phase(often, R"(, "momentum_state": "kept")" + end) + "," + phase(in_step),
       "protocol.phases[0].momentum_state: says nothing in the first phase");
  told(phase(server, end) + "," + phase(server, R"(, "momentum_state": "kept")"),
       "protocol.phases[1].momentum_state: is for protocols without a server");
  CHECK(complaints(R"({"kind": "switch", "per_switch": 1, "phases": [)" + phase(in_step) + "]}")
            .find("protocol.per_switch: is for protocols of a server") != std::string::npos);
  CHECK(complaints(switching(phase(in_step, end) + "," + phase(ring, until("9")) + "," +
                             phase(local, until("12")) + "," + phase(groups))) == "none");
}

}  // namespace gradrace::peer_switch_test
