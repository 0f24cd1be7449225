#include "tests/support/schedule.h"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/message_text.h"
#include "tests/support/iteration_time.h"
#include "tests/support/race_text.h"
#include "tests/support/skip.h"
#include "tests/support/stub_law.h"

namespace gradrace {

const char* const exponential_1 = R"({"distribution": "exponential", "mean": 1})";
const char* const shifted_exponential_1_1 =
    R"({"distribution": "shifted-exponential", "shift": 1, "mean": 1})";
const char* const pareto_2_1 = R"({"distribution": "pareto", "scale": 1, "shape": 2})";
const char* const hyperexponential_mean_1 =
    R"({"distribution": "hyperexponential", "probabilities": [0.9, 0.1], "means": [0.5, 5.5]})";

namespace {

class Lines : public Observer {
 public:
  explicit Lines(bool server) : server_(server) {}

  void on_dispatch(const GradientFacts& gradient, double time) override {
    lines.push_back(number_text(time) + " dispatch " + name(gradient));
  }
  void on_end(const GradientFacts& gradient, double, double time, Ending ending) override {
    const char* what = ending == Ending::accepted  ? " arrive "
                       : ending == Ending::dropped ? " drop "
                                                   : " cancel ";
    lines.push_back(number_text(time) + what + name(gradient));
  }
  void on_update(const UpdateFacts& update) override {
    std::string line = number_text(update.time) + " update " + std::to_string(update.update) + ":";
    for (const auto& gradient : update.gradients) {
      const std::uint64_t staleness =
          server_ ? update.update - 1 - gradient.version : gradient.staleness;
      line += " " + name(gradient) + "+" + std::to_string(staleness);
    }
    lines.push_back(line);
  }
  std::vector<std::string> lines;

 private:
  static std::string name(const GradientFacts& gradient) {
    return std::to_string(gradient.learner) + "@" + std::to_string(gradient.version);
  }

  const bool server_;
};

std::vector<std::string> lines_of(const Race& race) {
  Lines lines(race.make_protocol().has_server());
  run_timing(race, 0, &lines);
  return lines.lines;
}

/// Follows every gradient by itself, and checks the sum of staleness whenever a new event begins.
class StalenessBooks : public Observer {
 public:
  StalenessBooks(std::uint32_t learners, std::uint32_t outstanding)
      : read_(learners, none), outstanding_(outstanding) {}

  void on_dispatch(const GradientFacts& gradient, double) override {
    REQUIRE(read_[gradient.learner] == none);  // no learner computes two at once
    REQUIRE(gradient.version == version_);
    read_[gradient.learner] = gradient.version;
  }
  void on_end(const GradientFacts& gradient, double begin, double time, Ending ending) override {
    REQUIRE(time >= begin);
    REQUIRE(time >= now_);  // the clock is monotone
    now_ = time;
    REQUIRE(read_[gradient.learner] == gradient.version);
    if (ending == Ending::accepted) {
      check_sum();
      accepted_.push_back(gradient.version);
    }
    read_[gradient.learner] = none;
  }
  void on_update(const UpdateFacts& update) override {
    REQUIRE(update.gradients.size() == accepted_.size());
    for (const auto& gradient : update.gradients) delivered_ += version_ - gradient.version;
    accepted_.clear();
    ++version_;
    REQUIRE(update.update == version_);
  }

 private:
  void check_sum() const {
    std::uint64_t not_applied = 0;
    for (const auto read : read_) not_applied += read == none ? 0 : version_ - read;
    for (const auto read : accepted_) not_applied += version_ - read;
    REQUIRE(delivered_ + not_applied == version_ * outstanding_);
  }

  static constexpr std::uint64_t none = ~0ull;
  std::vector<std::uint64_t> read_;      // by learner, of what it computes
  std::vector<std::uint64_t> accepted_;  // versions read, for the next update
  std::uint64_t outstanding_, version_ = 0, delivered_ = 0;
  double now_ = 0;
};

}  // namespace

std::vector<std::string> schedule(const std::string& protocol, std::uint32_t learners,
                                  const std::vector<double>& runtimes, std::uint64_t updates) {
  Race race = race_of(learners, protocol, R"({"updates": )" + std::to_string(updates) + "}");
  race.make_runtimes = listed(runtimes);
  return lines_of(race);
}

std::vector<std::string> schedule(const std::string& protocol, std::uint32_t learners,
                                  const PeerNetwork& network, const std::vector<double>& runtimes,
                                  std::uint64_t updates) {
  Race race = race_of(learners, protocol, R"({"updates": )" + std::to_string(updates) + "}");
  race.make_runtimes = listed(runtimes);
  race.peers = network;
  return lines_of(race);
}

std::vector<std::string> events(const std::string& protocol, std::uint32_t learners,
                                std::uint64_t updates) {
  return lines_of(race_of(learners, protocol, R"({"updates": )" + std::to_string(updates) + "}"));
}

void check_iteration_time(const std::string& protocol, double expected) {
  check_iteration_time(race_of(8, protocol, R"({"updates": 20000})"), expected);
}

void check_table(const std::string& kind, const std::vector<TableRow>& rows) {
  constexpr std::uint32_t ks[] = {1, 2, 4, 6, 8};
  std::size_t cell = 0;  // in the short form every second one, as on a chessboard
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.expected.size(); ++i) {
      if (cell++ % 2 != 0 && !is_long_form()) continue;
      CAPTURE(row.runtime);
      CAPTURE(ks[i]);
      const std::string protocol =
          R"({"kind": ")" + kind + R"(", "k": )" + std::to_string(ks[i]) + "}";
      const double measured =
          iteration_time(run_timing(race_of(8, protocol, R"({"updates": 1000000})", row.runtime)));
      CAPTURE(measured);
      CHECK(std::abs(measured - row.expected[i]) <= row.tolerance[i] * row.expected[i]);
    }
  }
}

void check_staleness(const std::string& protocol, std::uint32_t learners, std::uint32_t k,
                     std::uint32_t outstanding, const std::string& runtime) {
  const Race race = race_of(learners, protocol, R"({"updates": 20000})", runtime);
  StalenessBooks books(learners, outstanding);
  const RunRecord record = run_timing(race, 0, &books);
  std::uint64_t sum = 0, count = 0;
  for (std::size_t staleness = 0; staleness < record.staleness_counts.size(); ++staleness) {
    sum += staleness * record.staleness_counts[staleness];
    count += record.staleness_counts[staleness];
  }
  CHECK(count == record.totals.applied);
  CHECK(sum == record.totals.staleness_sum);
  const double expected = static_cast<double>(outstanding) / k;
  CHECK(std::abs(static_cast<double>(sum) / static_cast<double>(count) - expected) <=
        0.005 * expected);
}

Theory theory_of(const Race& race) {
  return race.make_protocol()->theory({race.learners, race.runtime.get(),
                                       race.peers ? &*race.peers : nullptr, race.transit.any(),
                                       race.runtime->has_atoms()});
}

void check_theory(const std::string& protocol) {
  for (const auto* runtime : {exponential_1, shifted_exponential_1_1, hyperexponential_mean_1}) {
    CAPTURE(runtime);
    const Race race = race_of(8, protocol, R"({"updates": 100000})", runtime);
    const Theory theory = theory_of(race);
    const RunRecord record = run_timing(race);
    const double measured = iteration_time(record);
    REQUIRE(theory.iteration_time);
    const double predicted = theory.iteration_time->value;
    CAPTURE(measured);
    CAPTURE(predicted);
    switch (theory.iteration_time->basis) {
      case Basis::exact:
        CHECK(std::abs(measured - predicted) <= 0.01 * predicted);
        break;
      case Basis::upper:
        CHECK(measured <= 1.01 * predicted);
        break;
      case Basis::lower:
        CHECK(measured >= 0.99 * predicted);
        break;
      case Basis::approximate:
        CHECK(std::abs(measured - predicted) <= 0.1 * predicted);
        break;
    }
    REQUIRE(theory.staleness);
    const double staleness = static_cast<double>(record.totals.staleness_sum) /
                             static_cast<double>(record.totals.applied);
    CHECK(std::abs(staleness - *theory.staleness) <= 0.01 * *theory.staleness);
  }
}

}  // namespace gradrace
