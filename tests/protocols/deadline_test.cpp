#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

#include "sim/cli/results/run_recorders.h"
#include "tests/support/iteration_time.h"
#include "tests/support/schedule.h"
#include "tests/support/spool_text.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::deadline_test {

namespace {

std::string deadline(int k, const std::string& time) {
  return R"({"kind": "deadline", "k": )" + std::to_string(k) + R"(, "time": )" + time + "}";
}

double theory(int k, const std::string& time, std::uint32_t learners, const std::string& runtime) {
  const Race race = race_of(learners, deadline(k, time), R"({"updates": 1})", runtime);
  const Theory theory = theory_of(race);
  REQUIRE(theory.iteration_time);
  CHECK(theory.iteration_time->basis == Basis::exact);
  CHECK(theory.staleness == 0.0);
  return theory.iteration_time->value;
}

/// What the files of a run say of it, but its protocol's name.
struct Files {
  std::vector<std::string> records;  // updates.csv, trace.json
  std::vector<double> curve;
  std::uint64_t hash;

  bool operator==(const Files&) const = default;
};

Files files_of(const std::string& protocol, const std::string& cluster) {
  const Point point = point_from(
      R"({"cluster": {"learners": 6, "runtime": {"distribution": "exponential", "mean": 1})" +
      cluster + R"(}, "protocol": )" + protocol + R"(, "stop": {"updates": 500},
      "model": {"kind": "quadratic"}, "learning_rate": {"kind": "constant", "eta": 0.1},
      "record": {"every_time": 5, "updates": true, "trace": true}})");
  const TemporaryFolder folder;
  SpoolFile spool_file(folder.path() / "spool");
  RunRecorders recorders(0, point, spool_file);
  const RaceRecord record = run_training(point, 0, recorders.observer());
  Files files{{}, {}, record.hash};
  for (const char* file : {"updates.csv", "trace.json"})
    files.records.push_back(text_of(recorders.rows().at(file)));
  for (const auto& [at, found] : record.curve) {
    files.curve.insert(files.curve.end(), {at.time, at.learning_rate, at.k + 0.0, found.loss});
  }
  return files;
}

const std::string everything =
    R"(, "network": {"pull": {"distribution": "gamma", "shape": 2, "scale": 0.02},
                     "push": {"distribution": "exponential", "mean": 0.05},
                     "bandwidth": 100, "model_bytes": 3},
         "server": {"per_gradient": 0.01, "per_update": 0.02},
         "failures": {"up": {"distribution": "exponential", "mean": 20},
                      "down": {"distribution": "uniform", "low": 0, "high": 4}})";

}  // namespace

TEST_CASE("deadline: K in, the deadline, or the first after it make the update, worked by hand") {
  // Deadlines at 2 (two are in), at 4 (none is) and at 6.5 (the second and the third arrive then).
  CHECK(schedule(deadline(3, "2"), 3, {1, 1.5, 4, 3, 5, 2.5, 1, 2, 2, 9, 9, 9}, 3) ==
        std::vector<std::string>{
            "0 dispatch 0@0",   "0 dispatch 1@0",   "0 dispatch 2@0",
            "1 arrive 0@0",     "1.5 arrive 1@0",   "2 update 1: 0@0+0 1@0+0",
            "2 cancel 2@0",     "2 dispatch 0@1",   "2 dispatch 1@1",
            "2 dispatch 2@1",   "4.5 arrive 2@1",   "4.5 update 2: 2@1+0",
            "4.5 cancel 0@1",   "4.5 cancel 1@1",   "4.5 dispatch 0@2",
            "4.5 dispatch 1@2", "4.5 dispatch 2@2", "5.5 arrive 0@2",
            "6.5 arrive 1@2",   "6.5 arrive 2@2",   "6.5 update 3: 0@2+0 1@2+0 2@2+0",
            "6.5 dispatch 0@3", "6.5 dispatch 1@3", "6.5 dispatch 2@3"});
}

TEST_CASE("deadline: a gradient that arrives at the very deadline is in") {
  CHECK(schedule(deadline(4, "1"), 4, {3, 1, 3, 1, 9, 9, 9, 9}, 1)[6] == "1 update 1: 1@0+0 3@0+0");
}

TEST_CASE("deadline: an evaluation at the deadline sees its update") {
  Race race = race_of(2, deadline(2, "2"), R"({"time": 6})");
  race.make_runtimes = [](std::uint64_t, std::uint32_t) {
    class OneSlow : public Runtimes {
      double duration(std::uint32_t learner, std::uint32_t, double, std::uint32_t) override {
        return learner == 0 ? 1 : 5;
      }
    };
    return std::make_unique<OneSlow>();
  };
  race.evaluations.every_time = 2;
  std::vector<std::uint64_t> updates;
  for (const auto& [point, evaluation] : run_timing(race).curve) updates.push_back(point.update);
  CHECK(updates == std::vector<std::uint64_t>{0, 1, 2, 3});
}

TEST_CASE("deadline: beyond any runtime it is k-sync, and sync with K = P, to the last byte") {
  for (const auto& cluster : {std::string(), everything}) {
    CHECK(files_of(deadline(4, "1e6"), cluster) ==
          files_of(R"({"kind": "k-sync", "k": 4})", cluster));
    CHECK(files_of(deadline(6, "1e6"), cluster) == files_of(R"({"kind": "sync"})", cluster));
    CHECK(files_of(deadline(6, "1"), cluster) != files_of(R"({"kind": "sync"})", cluster));
  }
}

TEST_CASE("deadline: a gradient weighs one over the gradients in its update") {
  const Race race = race_of(8, deadline(6, "0.5"), R"({"updates": 2000})");
  TimingPlane plane(race, 0, true, nullptr, 1'000'000);
  const Segment& segment = plane.next_segment();
  std::map<std::uint32_t, std::size_t> sizes;
  for (const Op& op : segment.ops) {
    if (op.kind != Op::Kind::update) continue;
    ++sizes[op.count];
    for (std::uint32_t use = op.first; use < op.first + op.count; ++use) {
      REQUIRE(segment.uses[use].weight == 0.1 / op.count);
      REQUIRE(segment.uses[use].staleness == 0);
    }
  }
  for (std::uint32_t size = 1; size <= 6; ++size) CHECK(sizes[size] > 20);
  CHECK(sizes.size() == 6);
}

TEST_CASE("deadline: the closed forms of five laws") {
  const auto near = [](double expected) { return doctest::Approx(expected).epsilon(1e-9); };
  for (const double d : {0.2, 1.0, 3.0}) {
    // P(X_{2:2} > t) = 2 exp(-t) - exp(-2t), then P(X_{1:2} > t) = exp(-2t).
    CHECK(theory(2, std::to_string(d), 2, exponential_1) ==
          near(1.5 - 2 * std::exp(-d) + std::exp(-2 * d)));
    CHECK(theory(1, std::to_string(d), 8, exponential_1) == near(0.125));
    CHECK(theory(8, std::to_string(d), 8, R"({"distribution": "deterministic", "value": 2})") ==
          near(2));
  }
  for (const double d : {0.25, 0.5, 1.0}) {
    CHECK(theory(2, std::to_string(d), 2, R"({"distribution": "uniform", "low": 0, "high": 1})") ==
          near(d - d * d * d / 3 + std::pow(1 - d, 3) / 3));
  }
  for (const double d : {1.0, 2.0, 5.0}) {
    CHECK(theory(2, std::to_string(d), 2, pareto_2_1) ==
          near(1 + 2 * (1 - 1 / d) - (1 - std::pow(d, -3)) / 3 + std::pow(d, -3) / 3));
  }
  // Both high: 10.  One high: at the deadline, or when the low one comes if that is later.
  const auto* steps = R"({"distribution": "two-point", "low": 1, "high": 10, "probability": 0.1})";
  for (const double d : {0.5, 1.0, 5.0, 10.0, 11.0}) {
    const double one_high = std::clamp(d, 1.0, 10.0);
    CHECK(theory(2, std::to_string(d), 2, steps) == near(0.81 + 0.18 * one_high + 0.01 * 10));
  }
}

TEST_CASE("deadline: theory holds for six laws, atoms at the deadline too") {
  for (const auto& [runtime, time] : std::map<std::string, std::string>{
           {exponential_1, "0.3"},
           {pareto_2_1, "1.2"},
           {hyperexponential_mean_1, "0.4"},
           {R"({"distribution": "uniform", "low": 0, "high": 1})", "0.4"},
           {R"({"distribution": "deterministic", "value": 2})", "2"},
           {R"({"distribution": "two-point", "low": 1, "high": 3, "probability": 0.7})", "1"}}) {
    CAPTURE(runtime);
    check_iteration_time(race_of(8, deadline(5, time), R"({"updates": 20000})", runtime),
                         theory(5, time, 8, runtime));
  }
}

TEST_CASE("deadline: no gradient is ever stale") { check_theory(deadline(4, "0.5")); }

TEST_CASE("deadline: as a phase it starts its own clock, and its timer ends with it") {
  const auto phases = [](const std::string& first, const std::string& second) {
    return R"({"kind": "switch", "phases": [{"protocol": )" + first +
           R"(, "end": {"updates": 5}}, {"protocol": )" + second + R"(, "in_flight": "cancel"}]})";
  };
  const std::string k_sync = R"({"kind": "k-sync", "k": 4})";
  CHECK(events(phases(deadline(4, "1e6"), k_sync), 8, 40) == events(phases(k_sync, k_sync), 8, 40));
  CHECK(events(phases(deadline(4, "1e6"), deadline(4, "1e6")), 8, 40) ==
        events(phases(k_sync, k_sync), 8, 40));
  const auto mixed = events(phases(k_sync, deadline(8, "0.2")), 8, 40);
  CHECK(mixed != events(phases(k_sync, R"({"kind": "sync"})"), 8, 40));
}

}  // namespace gradrace::deadline_test
