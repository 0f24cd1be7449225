#include <doctest/doctest.h>

#include <cmath>

#include "models/make_device.h"
#include "protocols/policies/switch_policy.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::switch_test {

namespace {

using Lines = std::vector<std::string>;

/// `first` for one update, then `second`.
std::string two_phases(const std::string& first, const std::string& second,
                       const std::string& in_flight = "cancel") {
  return R"({"kind": "switch", "phases": [{"protocol": )" + first +
         R"(, "end": {"updates": 1}}, {"protocol": )" + second + R"(, "in_flight": ")" + in_flight +
         R"("}]})";
}

const std::string in_step = R"({"kind": "sync"})", at_will = R"({"kind": "async"})";

/// A run of a one-dimensional quadratic of curvature 1 without noise, from w = 1, one learner
/// whose minibatches take a unit of time.
std::vector<CurvePoint> descent(const std::string& protocol, const std::string& rest) {
  const Point point = point_from(
      R"({"cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 1}},
          "model": {"kind": "quadratic", "noise": 0, "precision": "float64"},
          "learning_rate": {"kind": "constant", "eta": 0.1}, "record": {"every_updates": 1},
          "protocol": )" +
      protocol + ", " + rest + "}");
  const Race race = point.race();
  const auto device = make_device(*point.model, {});
  return run_race({race}, device.get()).curve;
}

double w(const CurvePoint& at) { return std::sqrt(2 * at.evaluation.loss); }

}  // namespace

TEST_CASE("switch: sync, then async: nobody is in flight, all go on at the version of the switch") {
  CHECK(schedule(two_phases(in_step, at_will), 2, {1, 2, 3, 4, 9, 9}, 3) ==
        Lines{"0 dispatch 0@0", "0 dispatch 1@0", "1 arrive 0@0", "2 arrive 1@0",
              "2 update 1: 0@0+0 1@0+0", "2 dispatch 0@1", "2 dispatch 1@1", "5 arrive 0@1",
              "5 update 2: 0@1+0", "5 dispatch 0@2", "6 arrive 1@1", "6 update 3: 1@1+1",
              "6 dispatch 1@3"});
}

TEST_CASE("switch: async, then sync: what is in flight is cancelled, dropped or used") {
  CHECK(schedule(two_phases(at_will, in_step, "cancel"), 2, {1, 4, 2, 3, 9, 9}, 2) ==
        Lines{"0 dispatch 0@0", "0 dispatch 1@0", "1 arrive 0@0", "1 update 1: 0@0+0",
              "1 cancel 1@0", "1 dispatch 0@1", "1 dispatch 1@1", "3 arrive 0@1", "4 arrive 1@1",
              "4 update 2: 0@1+0 1@1+0", "4 dispatch 0@2", "4 dispatch 1@2"});
  CHECK(schedule(two_phases(at_will, in_step, "drop"), 2, {1, 4, 2, 3, 9, 9}, 2) ==
        Lines{"0 dispatch 0@0", "0 dispatch 1@0", "1 arrive 0@0", "1 update 1: 0@0+0",
              "1 dispatch 0@1", "3 arrive 0@1", "4 drop 1@0", "4 dispatch 1@1", "7 arrive 1@1",
              "7 update 2: 0@1+0 1@1+0", "7 dispatch 0@2", "7 dispatch 1@2"});
  CHECK(schedule(two_phases(at_will, in_step, "use"), 2, {1, 4, 2, 9, 9}, 2) ==
        Lines{"0 dispatch 0@0", "0 dispatch 1@0", "1 arrive 0@0", "1 update 1: 0@0+0",
              "1 dispatch 0@1", "3 arrive 0@1", "4 arrive 1@0", "4 update 2: 0@1+0 1@0+1",
              "4 dispatch 0@2", "4 dispatch 1@2"});
}

TEST_CASE("switch: updates, checkpoints and the change of protocol keep the server busy") {
  // The update at 2 takes 1 more; that at 4 takes 1, a checkpoint of 5 and a switch of 10.
  CHECK(schedule(R"({"kind": "switch", "per_switch": 10, "phases": [
          {"protocol": {"kind": "sync"}, "per_update": 0.5, "per_gradient": 0.25, "checkpoint": {"time": 5, "every": 2},
           "end": {"updates": 2}}, {"protocol": {"kind": "async"}}]})",
                 2, {1, 2, 1, 1, 3, 4, 9, 9}, 4) ==
        Lines{"0 dispatch 0@0", "0 dispatch 1@0", "1 arrive 0@0", "2 arrive 1@0",
              "2 update 1: 0@0+0 1@0+0", "2 dispatch 0@1", "2 dispatch 1@1", "4 arrive 0@1",
              "4 arrive 1@1", "4 update 2: 0@1+0 1@1+0", "4 dispatch 0@2", "4 dispatch 1@2",
              "23 arrive 0@2", "23 update 3: 0@2+0", "23 dispatch 0@3", "24 arrive 1@2",
              "24 update 4: 1@2+1", "24 dispatch 1@4"});
}

TEST_CASE("switch: gradients that meet a busy server wait") {
  CHECK(schedule(R"({"kind": "switch", "phases": [
          {"protocol": {"kind": "async"}, "checkpoint": {"time": 5, "every": 1}}]})",
                 2, {1, 2, 1, 1, 9}, 3) ==
        Lines{"0 dispatch 0@0", "0 dispatch 1@0", "1 arrive 0@0", "1 update 1: 0@0+0",
              "1 dispatch 0@1", "6 arrive 1@0", "6 update 2: 1@0+1", "6 dispatch 1@2",
              "11 arrive 0@1", "11 update 3: 0@1+1", "11 dispatch 0@3"});
}

TEST_CASE("switch: a list of one phase is that protocol, event for event") {
  for (const auto& protocol : every_server_protocol()) {
    if (protocol.find("switch") != std::string::npos) continue;
    CAPTURE(protocol);
    const auto alone = run_timing(race_of(8, protocol, R"({"updates": 500})"));
    const auto listed =
        run_timing(race_of(8, R"({"kind": "switch", "phases": [{"protocol": )" + protocol + "}]}",
                           R"({"updates": 500})"));
    CHECK(alone.totals.time == listed.totals.time);
    CHECK(alone.staleness_counts == listed.staleness_counts);
    CHECK(alone.totals.cancelled == listed.totals.cancelled);
    CHECK(alone.totals.dropped == listed.totals.dropped);
  }
}

TEST_CASE("switch: every protocol can follow every other, whatever becomes of what is in flight") {
  std::vector<std::string> protocols = every_server_protocol();
  for (const char* other :
       {R"({"kind": "backup", "backups": 2, "late": "wait"})",
        R"({"kind": "backup", "backups": 2, "late": "cancel"})",
        R"({"kind": "backup", "backups": 2, "tokens": "shared"})",
        R"({"kind": "softsync", "n": 4, "pull": "before"})", R"({"kind": "ssp", "bound": 0})",
        R"({"kind": "adasync", "variant": "k-sync", "interval": 3})",
        R"({"kind": "adasync", "variant": "k-batch-sync", "interval": 3})",
        R"({"kind": "adasync", "variant": "k-batch-async", "interval": 3})"}) {
    protocols.emplace_back(other);
  }
  for (const auto& first : protocols) {
    for (const auto& second : protocols) {
      for (const auto* in_flight : {"cancel", "drop", "use"}) {
        if ((first + second).find("switch") != std::string::npos) continue;
        CAPTURE(first);
        CAPTURE(second);
        CAPTURE(in_flight);
        const auto record = run_timing(race_of(
            8,
            R"({"kind": "switch", "phases": [{"protocol": )" + first +
                R"(, "end": {"updates": 50}}, {"protocol": )" + second + R"(, "in_flight": ")" +
                in_flight + R"(", "end": {"updates": 100}}, {"protocol": )" + first + "}]}",
            R"({"updates": 200})"));
        CHECK(record.totals.updates == 200);
      }
    }
  }
}

TEST_CASE("switch: backup workers use no gradient from before their phase") {
  for (const std::string more : {"", R"(, "late": "wait")", R"(, "tokens": "shared")"}) {
    CAPTURE(more);
    const auto staleness = [&](std::uint64_t updates) {
      return run_timing(race_of(8,
                                R"({"kind": "switch", "phases": [
          {"protocol": {"kind": "async"}, "end": {"updates": 300}}, {"in_flight": "use",
          "protocol": {"kind": "backup", "backups": 2)" +
                                    more + "}}]}",
                                R"({"updates": )" + std::to_string(updates) + "}"))
          .totals.staleness_sum;
    };
    CHECK(staleness(300) > 1000);
    CHECK(staleness(600) == staleness(300));
  }
}

TEST_CASE("switch: tokens begin anew with their phase") {
  const std::string tokens = R"({"kind": "backup", "backups": 2, "tokens": "shared"})";
  const auto record = run_timing(race_of(
      8,
      R"({"kind": "switch", "phases": [{"protocol": {"kind": "async"}, "end": {"updates": 300}},
          {"protocol": )" +
          tokens + "}]}",
      R"({"updates": 600})"));
  // b = 2 a step are dropped in the steady state, and N = 6 more for the tokens of the start.
  const auto alone = run_timing(race_of(8, tokens, R"({"updates": 300})"));
  CHECK(record.totals.dropped <= alone.totals.dropped + 8);
  CHECK(alone.totals.dropped <= 300 * 2 + 6 + 8);
}

TEST_CASE("switch: ends by work, time and updates come with the first update that meets them") {
  const auto k_from = [](const std::string& end, const std::string& stop) {
    // One learner, a unit of time an update: k = 1, then k = 2 (k-batch-sync).
    const auto curve = descent(R"({"kind": "switch", "phases": [
        {"protocol": {"kind": "async"}, "end": )" +
                                   end + R"(}, {"protocol": {"kind": "k-batch-sync", "k": 2}}]})",
                               R"("stop": )" + stop);
    for (const auto& [point, evaluation] : curve)
      if (point.k == 2) return point.time;
    return -1.0;
  };
  CHECK(k_from(R"({"updates": 4})", R"({"updates": 9})") == 4);
  CHECK(k_from(R"({"time": 2.5})", R"({"updates": 9})") == 3);
  CHECK(k_from(R"({"time": 3})", R"({"updates": 9})") == 3);
  CHECK(k_from(R"({"work": 0.25})", R"({"gradients": 20})") == 5);
  CHECK(k_from(R"({"work": 0.25, "updates": 2})", R"({"gradients": 20})") == 2);
  for (int percent = 1; percent < 100; ++percent) {  // 0.07 * 100 is above 7
    const std::string share = (percent < 10 ? "0.0" : "0.") + std::to_string(percent);
    CHECK(k_from(R"({"work": )" + share + "}", R"({"gradients": 100})") == percent);
  }
}

TEST_CASE("switch: ends by loss and by plateau, looked at every interval") {
  const auto k_from = [](const std::string& end, const std::string& rate) {
    const auto curve = descent(R"({"kind": "switch", "phases": [
        {"protocol": {"kind": "async"}, "learning_rate": {"kind": "constant", "eta": )" +
                                   rate + R"(}, "end": )" + end +
                                   R"(}, {"protocol": {"kind": "k-batch-sync", "k": 2}}]})",
                               R"("stop": {"updates": 40})");
    for (const auto& [point, evaluation] : curve)
      if (point.k == 2) return point.time;
    return -1.0;
  };
  // w = 0.9^n: loss 0.5 * 0.81^n <= 0.1 at n >= 7.64; looks at 5 and 10 see updates 5 and 10, and
  // the phase ends with the update after the look.
  CHECK(k_from(R"({"loss": 0.1, "interval": 5})", "0.1") == 11);
  CHECK(k_from(R"({"loss": 0.1, "interval": 4})", "0.1") == 9);
  // eta = 1 reaches the minimum at once: looks at 3, 6, 9 find 0, nothing better, nothing better.
  CHECK(k_from(R"({"policy": {"kind": "plateau", "patience": 2}, "interval": 3})", "1") == 10);
}

TEST_CASE("switch: a phase has its own learning rate, momentum and minibatch, worked by hand") {
  const auto curve = descent(R"({"kind": "switch", "phases": [
      {"protocol": {"kind": "async"}, "end": {"updates": 2}},
      {"protocol": {"kind": "async"}, "learning_rate": {"kind": "constant", "eta": 0.5},
       "minibatch": 8, "end": {"updates": 3}},
      {"protocol": {"kind": "async"}, "momentum": 0.5}]})",
                             R"("stop": {"updates": 5})");
  REQUIRE(curve.size() == 6);
  // 1, 0.9, 0.81, 0.405 (v = 0.405); then v' = 0.5 v + 0.1 w.
  const double by_hand[] = {1, 0.9, 0.81, 0.405, 0.162, 0.0243};
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(w(curve[i]) == doctest::Approx(by_hand[i]).epsilon(1e-12));
  const double rates[] = {0.1, 0.1, 0.5, 0.1, 0.1, 0.1};
  for (std::size_t i = 0; i < 6; ++i) CHECK(curve[i].point.learning_rate == rates[i]);
}

TEST_CASE("switch: momenta follow each other by the gradients of the phase, worked by hand") {
  const auto curve = descent(R"({"kind": "switch", "phases": [
      {"protocol": {"kind": "async"}, "end": {"updates": 2}},
      {"protocol": {"kind": "async"}, "momentum": [0.5, 0.25], "momentum_every": 2}]})",
                             R"("stop": {"updates": 6})");
  // v: 0.1, 0.09; then 0.5 v + 0.1 w twice, 0.25 v + 0.1 w from then on.
  const double by_hand[] = {1, 0.9, 0.81, 0.684, 0.5526, 0.46449, 0.3960135};
  REQUIRE(curve.size() == 7);
  for (std::size_t i = 0; i < 7; ++i)
    CHECK(w(curve[i]) == doctest::Approx(by_hand[i]).epsilon(1e-12));
}

TEST_CASE("switch: momentum of gradients follows the rate at a switch, worked by hand") {
  const auto curve = descent(R"({"kind": "switch", "phases": [
      {"protocol": {"kind": "async"}, "end": {"updates": 2}},
      {"protocol": {"kind": "async"}, "learning_rate": {"kind": "constant", "eta": 0.01}}]})",
                             R"("stop": {"updates": 3},
                                "optimiser": {"momentum": 0.5, "momentum_of": "gradients"})");
  REQUIRE(curve.size() == 4);
  // v = 1, 0.5 + 0.9, 0.7 + 0.76; w = 1 - 0.1, 0.9 - 0.14, 0.76 - 0.0146: of steps it were 0.6824.
  const double by_hand[] = {1, 0.9, 0.76, 0.7454};
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(w(curve[i]) == doctest::Approx(by_hand[i]).epsilon(1e-12));
}

TEST_CASE("switch: a phase can begin from rest, worked by hand") {
  const auto after = [](const std::string& optimiser, const std::string& velocity) {
    return descent(R"({"kind": "switch", "phases": [
        {"protocol": {"kind": "async"}, "end": {"updates": 1}},
        {"protocol": {"kind": "async"}, "velocity": ")" +
                       velocity + R"("}]})",
                   R"("stop": {"updates": 3}, "optimiser": )" + optimiser);
  };
  const auto kept = after(R"({"momentum": 0.5})", "keep"),
             reset = after(R"({"momentum": 0.5})", "reset"),
             ahead = after(R"({"momentum": 0.5, "nesterov": true})", "reset");
  CHECK(w(kept[2]) == doctest::Approx(0.76).epsilon(1e-12));    // 0.9 - (0.05 + 0.09)
  CHECK(w(reset[2]) == doctest::Approx(0.81).epsilon(1e-12));   // 0.9 - 0.09
  CHECK(w(reset[3]) == doctest::Approx(0.684).epsilon(1e-12));  // 0.81 - (0.045 + 0.081)
  CHECK(w(ahead[1]) == doctest::Approx(0.85).epsilon(1e-12));   // 1 - (0.5 * 0.1 + 0.1)
  CHECK(w(ahead[2]) == doctest::Approx(0.7225).epsilon(1e-12));
  CHECK(w(ahead[3]) == doctest::Approx(0.592875).epsilon(1e-12));
}

TEST_CASE("switch: clip, ema and rmsprop hold in every phase") {
  const std::string rest =
      R"("stop": {"updates": 6},
         "optimiser": {"momentum": 0.5, "clip": 0.7, "ema": 0.9, "rmsprop": {"decay": 0.8}})";
  const auto changing = descent(two_phases(at_will, at_will), rest), one = descent(at_will, rest);
  REQUIRE(changing.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(changing[i].evaluation.loss == one[i].evaluation.loss);
}

TEST_CASE("switch: the learning rate of an evaluation is known before and in a `distance` phase") {
  const auto curve = descent(R"({"kind": "switch", "phases": [
      {"protocol": {"kind": "async"}, "end": {"updates": 2}},
      {"protocol": {"kind": "async"}, "learning_rate": {"kind": "distance", "c": 1, "eta_max": 0.2}}]})",
                             R"("stop": {"updates": 4})");
  const double rates[] = {0.1, 0.1, 0.2, 0.2, 0.2};  // one learner: nothing has moved
  REQUIRE(curve.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(curve[i].point.learning_rate == rates[i]);
}

TEST_CASE("switch: the distance of a phase's learning rate holds in it, and in it alone") {
  const auto stale = [](const std::string& rates, std::uint64_t updates) {
    const Point point = point_from(
        R"({"cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
            "model": {"kind": "quadratic", "precision": "float64"},
            "learning_rate": {"kind": "constant", "eta": 0.2}, "record": {"every_updates": 20},
            "protocol": {"kind": "switch", "phases": [
              {"protocol": {"kind": "async"}, "end": {"updates": 20}},
              {"protocol": {"kind": "async"}, "in_flight": "use")" +
        rates + R"(}]}, "stop": {"updates": )" + std::to_string(updates) + "}}");
    const Race race = point.race();
    const auto device = make_device(*point.model, {});
    return run_race({race}, device.get()).curve;
  };
  const auto distance = [](const std::string& c) {
    return R"(, "learning_rate": {"kind": "distance", "eta_max": 0.2, "c": )" + c + "}";
  };
  const auto plain = stale("", 60), far = stale(distance("1e9"), 60),
             near = stale(distance("1e-3"), 60);
  REQUIRE(plain.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(far[i].evaluation.loss == plain[i].evaluation.loss);
    CHECK((near[i].evaluation.loss == plain[i].evaluation.loss) == (i < 2));
    CHECK((near[i].point.learning_rate == 0.2) == (i < 2));
  }
}

TEST_CASE("switch: work counts the samples of each phase's own minibatch") {
  Race race = race_of(2, R"({"kind": "switch", "phases": [
      {"protocol": {"kind": "async"}, "end": {"updates": 10}},
      {"protocol": {"kind": "async"}, "minibatch": 30}]})",
                      R"({"updates": 20})");
  race.training_rows = 10;
  const RaceRecord record = run_timing(race);
  // The minibatch in flight at the switch is cancelled: 10 x 1 + 10 x 30 samples of 10 rows.
  CHECK(record.curve.back().point.epoch == 31);
}

TEST_CASE("switch: a phase whose protocol asks for the loss is told it, its own looks beside") {
  const auto curve = descent(R"({"kind": "switch", "phases": [
      {"protocol": {"kind": "adasync", "variant": "k-batch-sync", "interval": 3},
       "end": {"loss": 0.2, "interval": 4}}, {"protocol": {"kind": "k-batch-sync", "k": 3}}]})",
                             R"("stop": {"updates": 20})");
  CHECK(curve.back().point.k == 3);
  for (const auto& [point, evaluation] : curve) {
    if (point.k == 3) CHECK(evaluation.loss <= 0.2);
  }
}

}  // namespace gradrace::switch_test
