#include <doctest/doctest.h>

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>

#include "protocols/policies/straggler_detector.h"
#include "sim/cli/results/observers.h"
#include "sim/random.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::straggler_policies_test {

namespace {

using Lines = std::vector<std::string>;

/// `rounds` minibatches of each of 8 learners, of which the last `slow` take twice as long.
void show(StragglerDetector& detector, std::uint32_t rounds, std::uint32_t slow) {
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::uint32_t learner = 0; learner < 8; ++learner) {
      detector.saw(learner, learner >= 8 - slow ? 2 : 1);
    }
  }
}

/// Judged at each minibatch, by half a standard deviation.
std::string switching(const std::string& policy, const std::string& end) {
  return R"({"kind": "switch", "phases": [{"protocol": {"kind": "sync"}, "stragglers":
    {"kind": ")" +
         policy + R"(", "window": 1, "windows": 1, "deviations": 0.5}, "end": )" + end +
         R"(}, {"protocol": {"kind": "async"}}]})";
}

/// How many gradients were applied in updates of one and of several.
class Shares : public Observer {
 public:
  void on_update(const UpdateFacts& update) override {
    (update.gradients.size() == 1 ? alone : together) += update.gradients.size();
  }
  std::uint64_t alone = 0, together = 0;
};

/// The plans that gradients are dispatched under, each until the next other one.
class Plans : public Observer {
 public:
  void on_dispatch(const GradientFacts& gradient, double) override {
    if (seen.empty() || seen.back() != gradient.plan) seen.push_back(gradient.plan);
  }
  std::vector<std::uint16_t> seen;
};

/// What became of each learner's minibatches.
class Ledger : public Observer {
 public:
  struct Page {
    std::uint64_t dispatched = 0, accepted = 0, dropped = 0, cancelled = 0, lost = 0, in_flight = 0;
    std::uint64_t ended() const { return accepted + dropped + cancelled + lost + in_flight; }
  };

  explicit Ledger(std::uint32_t learners) : pages(learners) {}
  void on_dispatch(const GradientFacts& gradient, double) override {
    ++pages[gradient.learner].dispatched;
  }
  void on_end(const GradientFacts& gradient, double, double, Ending ending) override {
    constexpr std::uint64_t Page::*columns[] = {&Page::accepted, &Page::dropped, &Page::cancelled,
                                                &Page::lost};
    ++(pages[gradient.learner].*columns[static_cast<std::size_t>(ending)]);
  }
  void on_in_flight(const GradientFacts& gradient, double, double) override {
    ++pages[gradient.learner].in_flight;
  }

  std::uint64_t all(std::uint64_t Page::*column) const {
    std::uint64_t sum = 0;
    for (const auto& page : pages) sum += page.*column;
    return sum;
  }

  std::vector<Page> pages;  // [learner]
};

struct Endings {
  std::uint64_t dropped = 0, cancelled = 0, lost = 0;
};

/// Sync for a quarter of the work, then async, on learners that become slow at times and may fail.
Race uneven_race(const std::string& policy, const std::string& fate, bool fail) {
  const std::string stragglers = policy == "none" ? ""
                                                  : R"("stragglers": {"kind": ")" + policy +
                                                        R"(", "windows": 1, "floor": 0.7}, )";
  const std::string failures =
      fail ? R"(, "failures": {"up": {"distribution": "exponential", "mean": 200},
                               "down": {"distribution": "exponential", "mean": 3}})"
           : "";
  return point_from(
             R"({"cluster": {"learners": 8, "runtime": {"distribution": "normal", "mean": 1, "sd": 0.1},
             "persistence": {"kind": "markov", "factor": 3, "enter": 0.003, "leave": 0.1})" +
             failures + R"(}, "protocol": {"kind": "switch", "per_switch": 1, "phases": [
               {"protocol": {"kind": "sync"}, "in_flight": ")" +
             fate + R"(", )" + stragglers + R"("end": {"work": 0.25}},
               {"protocol": {"kind": "async"}, "in_flight": ")" +
             fate + R"("}]}, "stop": {"gradients": 4000}})")
      .race();
}

}  // namespace

TEST_CASE("stragglers: so many windows in a row make one, and so many end it") {
  StragglerDetector detector({.window = 4, .windows = 3}, 8);
  show(detector, 11, 1);
  CHECK_FALSE(detector.any());
  show(detector, 1, 1);
  CHECK(detector.is_straggler(7));
  for (std::uint32_t learner = 0; learner < 7; ++learner)
    CHECK_FALSE(detector.is_straggler(learner));
  show(detector, 8, 0);
  show(detector, 4, 1);  // one slow window, and it takes three good ones again
  show(detector, 11, 0);
  CHECK(detector.is_straggler(7));
  show(detector, 1, 0);
  CHECK_FALSE(detector.any());
}

// s slow learners of 8 are sqrt((8 - s) / s) standard deviations below the mean.
TEST_CASE("stragglers: how many of eight can be told from the rest") {
  for (const double deviations : {0.5, 1.0, 1.5, 2.0, 2.5}) {
    for (std::uint32_t slow = 1; slow < 8; ++slow) {
      const double distance = std::sqrt((8.0 - slow) / slow);
      if (distance == deviations) continue;  // a matter of rounding
      CAPTURE(deviations);
      CAPTURE(slow);
      StragglerDetector detector({.deviations = deviations, .floor = 1}, 8);
      show(detector, 15, slow);
      CHECK(detector.any() == (distance > deviations));
      CHECK(detector.is_straggler(8 - slow) == detector.any());
      CHECK_FALSE(detector.is_straggler(7 - slow));
    }
  }
}

TEST_CASE("stragglers: none where all are equally fast, or not slow enough") {
  StragglerDetector equal({.deviations = 0}, 8), near({.floor = 0.45}, 8);
  show(equal, 1000, 8);
  show(near, 1000, 1);  // half of the others' throughput is 8/15 of the mean
  CHECK_FALSE(equal.any());
  CHECK_FALSE(near.any());
}

TEST_CASE("greedy: async while a learner is slow, and sync's own updates end its phase") {
  // Learner 1 takes 4 from update 1 on: async from 5 to 10, where it has taken 1; its updates 3 to
  // 6 are none of the four of the phase.
  CHECK(schedule(switching("greedy", R"({"updates": 4})"), 2,
                 {1, 1, 1, 4, 1, 4, 2, 9, 1, 1, 1, 1, 1, 1, 9, 9},
                 9) == Lines{"0 dispatch 0@0",
                             "0 dispatch 1@0",
                             "1 arrive 0@0",
                             "1 arrive 1@0",
                             "1 update 1: 0@0+0 1@0+0",
                             "1 dispatch 0@1",
                             "1 dispatch 1@1",
                             "2 arrive 0@1",
                             "5 arrive 1@1",
                             "5 update 2: 0@1+0 1@1+0",
                             "5 dispatch 0@2",
                             "5 dispatch 1@2",
                             "6 arrive 0@2",
                             "6 update 3: 0@2+0",
                             "6 dispatch 0@3",
                             "8 arrive 0@3",
                             "8 update 4: 0@3+0",
                             "8 dispatch 0@4",
                             "9 arrive 1@2",
                             "9 update 5: 1@2+2",
                             "9 dispatch 1@5",
                             "10 arrive 1@5",
                             "10 update 6: 1@5+0",
                             "10 cancel 0@4",
                             "10 dispatch 0@6",
                             "10 dispatch 1@6",
                             "11 arrive 0@6",
                             "11 arrive 1@6",
                             "11 update 7: 0@6+0 1@6+0",
                             "11 dispatch 0@7",
                             "11 dispatch 1@7",
                             "12 arrive 0@7",
                             "12 arrive 1@7",
                             "12 update 8: 0@7+0 1@7+0",
                             "12 dispatch 0@8",
                             "12 dispatch 1@8",
                             "13 arrive 0@8",
                             "13 update 9: 0@8+0",
                             "13 dispatch 0@9"});
}

TEST_CASE("greedy: the next phase's momenta begin anew when its own turn comes") {
  const Race race = point_from(R"({
      "cluster": {"learners": 4, "runtime": {"distribution": "deterministic", "value": 1},
                  "windows": [{"start": 4, "length": 10, "factor": 3, "learners": [0]}]},
      "protocol": {"kind": "switch", "phases": [
        {"protocol": {"kind": "sync"}, "end": {"work": 0.5},
         "stragglers": {"kind": "greedy", "window": 1, "windows": 1, "deviations": 0.5}},
        {"protocol": {"kind": "async"}, "momentum": [0.1, 0.2, 0.9], "momentum_every": 8}]},
      "stop": {"gradients": 400}})")
                        .race();
  Plans plans;
  run_timing(race, 0, &plans);
  // 1: sync; 2, 3, 4: async by its momenta, in the place of sync and then in its own.
  CHECK(plans.seen == std::vector<std::uint16_t>{1, 2, 3, 4, 1, 2, 3, 4});
}

TEST_CASE("elastic: the others go on, and who is no longer slow takes part again") {
  // Learner 2 takes 4, twice, and is left out from update 1 on; its minibatch of 1, begun at 9, is
  // in at 10, when update 5 is made already: it takes part in update 7.
  CHECK(schedule(switching("elastic", R"({"updates": 20})"), 3,
                 {1, 1, 4, 1, 1, 4, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1},
                 7) == Lines{"0 dispatch 0@0",
                             "0 dispatch 1@0",
                             "0 dispatch 2@0",
                             "1 arrive 0@0",
                             "1 arrive 1@0",
                             "4 arrive 2@0",
                             "4 update 1: 0@0+0 1@0+0 2@0+0",
                             "4 dispatch 0@1",
                             "4 dispatch 1@1",
                             "4 dispatch 2@1",
                             "5 arrive 0@1",
                             "5 arrive 1@1",
                             "5 update 2: 0@1+0 1@1+0",
                             "5 dispatch 0@2",
                             "5 dispatch 1@2",
                             "6 arrive 0@2",
                             "7 arrive 1@2",
                             "7 update 3: 0@2+0 1@2+0",
                             "7 dispatch 0@3",
                             "7 dispatch 1@3",
                             "8 drop 2@1",
                             "9 arrive 0@3",
                             "9 arrive 1@3",
                             "9 update 4: 0@3+0 1@3+0",
                             "9 dispatch 0@4",
                             "9 dispatch 1@4",
                             "9 dispatch 2@4",
                             "10 arrive 0@4",
                             "10 arrive 1@4",
                             "10 update 5: 0@4+0 1@4+0",
                             "10 dispatch 0@5",
                             "10 dispatch 1@5",
                             "10 drop 2@4",
                             "11 arrive 0@5",
                             "11 arrive 1@5",
                             "11 update 6: 0@5+0 1@5+0",
                             "11 dispatch 0@6",
                             "11 dispatch 1@6",
                             "11 dispatch 2@6",
                             "12 arrive 0@6",
                             "12 arrive 1@6",
                             "13 arrive 2@6",
                             "13 update 7: 0@6+0 1@6+0 2@6+0",
                             "13 dispatch 0@7",
                             "13 dispatch 1@7",
                             "13 dispatch 2@7"});
}

TEST_CASE("elastic: the next phase has all learners") {
  const Race race = point_from(
                        R"({"cluster": {"learners": 8, "speeds": [1, 1, 1, 1, 1, 1, 1, 0.25],
          "runtime": {"distribution": "deterministic", "value": 1}},
          "protocol": {"kind": "switch", "phases": [
            {"protocol": {"kind": "sync"}, "stragglers": {"kind": "elastic"}, "end": {"work": 0.5}},
            {"protocol": {"kind": "sync"}}]}, "stop": {"gradients": 1600}})")
                        .race();
  const RaceRecord record = run_timing(race);
  // 15 steps of 8 until it is found, then 97 of 7 to 799 and one more to 806, then of 8 again.
  CHECK(record.totals.updates == 15 + 98 + 100);
  CHECK(record.totals.time == 15 * 4 + 98 * 1 + 100 * 4);
  CHECK(record.totals.applied == 120 + 686 + 800);
}

TEST_CASE("greedy: once the phase's time is up, the next one has begun for good") {
  // As above; the end at 7.5 is met by update 4, and learner 1's recovery at 10 changes nothing.
  const Lines lines =
      schedule(switching("greedy", R"({"time": 7.5})"), 2, {1, 1, 1, 4, 1, 4, 2, 9, 1, 1, 1, 1}, 6);
  CHECK(Lines(lines.end() - 11, lines.end()) ==
        Lines{"6 update 3: 0@2+0", "6 dispatch 0@3", "8 arrive 0@3", "8 update 4: 0@3+0",
              "8 dispatch 0@4", "9 arrive 1@2", "9 update 5: 1@2+2", "9 dispatch 1@5",
              "10 arrive 1@5", "10 update 6: 1@5+0", "10 dispatch 1@6"});
}

TEST_CASE("greedy: the phase goes on with the momentum that it had come to") {
  // Learner 1 is slow from 3.5 to 6.5: sync's update 4, at 5.5, is its last until 8.25.
  const Point point = point_from(R"({
    "cluster": {"learners": 2, "runtime": {"distribution": "deterministic", "value": 1},
                "windows": [{"start": 3.5, "length": 3, "factor": 4, "learners": [1]}]},
    "model": {"kind": "quadratic", "noise": 0, "precision": "float64"},
    "learning_rate": {"kind": "constant", "eta": 0.1}, "record": {"every_updates": 1},
    "protocol": {"kind": "switch", "phases": [
      {"protocol": {"kind": "sync"}, "momentum": [0, 0.5], "momentum_every": 8, "end": {"updates": 50},
       "stragglers": {"kind": "greedy", "window": 1, "windows": 1, "deviations": 0.5}},
      {"protocol": {"kind": "async"}}]},
    "stop": {"updates": 10}})");
  const auto curve = run_training(point).curve;
  REQUIRE(curve.size() == 11);
  const auto w = [&](std::size_t update) { return std::sqrt(2 * curve[update].evaluation.loss); };
  CHECK(curve[8].point.time == 8.25);
  CHECK(curve[9].point.time == 9.25);
  for (const std::size_t update : {1u, 2u, 3u, 4u})
    CHECK(w(update) == doctest::Approx(0.9 * w(update - 1)));
  for (const std::size_t update : {9u, 10u})
    CHECK(w(update) ==
          doctest::Approx(0.9 * w(update - 1) - 0.5 * (w(update - 2) - w(update - 1))));
}

// Learners become slow at times, for ten minibatches on average.
TEST_CASE("stragglers: work is conserved under each policy") {
  for (const std::string policy : {"none", "greedy", "elastic"}) {
    for (const std::string fate : {"cancel", "drop", "use"}) {
      for (const bool fail : {false, true}) {
        CAPTURE(policy);
        CAPTURE(fate);
        CAPTURE(fail);
        const Race race = uneven_race(policy, fate, fail);
        Endings endings;
        for (std::uint32_t replica = 0; replica < 5; ++replica) {
          Shares shares;
          Ledger ledger(8);
          Observers both;
          both.add(&shares);
          both.add(&ledger);
          const RaceRecord record = run_timing(race, replica, &both);
          for (const auto& page : ledger.pages) CHECK(page.dispatched == page.ended());
          CHECK(record.totals.applied == 4000);
          CHECK(ledger.all(&Ledger::Page::accepted) == 4000);
          CHECK(shares.together >= 1000);
          CHECK(shares.together <= (policy == "elastic" ? 1007 : 1000));
          endings.lost += ledger.all(&Ledger::Page::lost);
          endings.dropped += ledger.all(&Ledger::Page::dropped);
          endings.cancelled += ledger.all(&Ledger::Page::cancelled);
        }
        CHECK((endings.lost > 0) == fail);
        // Greedy goes from async back to sync with minibatches in flight; elastic drops those of
        // who is left out.
        if (policy != "elastic") {
          CHECK((endings.cancelled > 0) == (fate == "cancel" && policy == "greedy"));
        }
        CHECK((endings.dropped > 0) ==
              (policy == "elastic" || (fate == "drop" && policy == "greedy")));
      }
    }
  }
}

// Times that vary by 12 %; the rest of the detector as it is by default.
TEST_CASE("stragglers: how often healthy learners are held for slow") {
  const auto flags = [](double floor) {
    StragglerDetector detector({.floor = floor}, 8);
    Stream words = stream({1, 0, Purpose::runtime, 0, 0});
    boost::random::normal_distribution<double> times(1, 0.12);
    std::vector<bool> before(8);
    std::uint64_t count = 0;
    for (int minibatch = 0; minibatch < 250000; ++minibatch) {
      for (std::uint32_t learner = 0; learner < 8; ++learner) {
        detector.saw(learner, std::max(0.01, times(words)));
        count += detector.is_straggler(learner) && !before[learner];
        before[learner] = detector.is_straggler(learner);
      }
    }
    return count;
  };
  // Of 2,000,000 minibatches; of twenty times as many 868 and 2.05 each.
  CHECK(std::abs(static_cast<double>(flags(0.95)) - 868) <= 4 * std::sqrt(868));
  CHECK(flags(StragglerDetector::Config().floor) <= 8);
}

}  // namespace gradrace::straggler_policies_test
