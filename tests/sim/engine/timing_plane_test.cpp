#include "sim/engine/timing_plane.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "sim/check.h"
#include "sim/message_text.h"
#include "tests/support/race_text.h"

namespace gradrace::timing_plane_test {

namespace {

/// A whole run's tape, whatever its segments.
struct WholeTape {
  std::vector<Gradient> gradients;
  std::vector<Use> uses;
  std::vector<Op> ops;
  std::size_t segments = 0;
};

/// A segment names values that it makes or that were left `live` before it, which become those that
/// it leaves.
void check_names(const Segment& segment, std::set<ValueId>& live) {
  for (const Op& op : segment.ops) {
    REQUIRE(live.contains(op.base));
    if (op.kind == Op::Kind::update) REQUIRE(live.insert(op.out).second);
  }
  for (const Gradient& gradient : segment.gradients) REQUIRE(live.contains(gradient.at));
  for (const ValueId value : segment.live) REQUIRE(live.contains(value));
  live = {segment.live.begin(), segment.live.end()};
}

WholeTape whole_tape(const Race& race, std::uint32_t limit) {
  TimingPlane plane(race, 0, true, nullptr, limit);
  WholeTape tape;
  std::set<ValueId> live{0};
  for (End end = End::limit; end != End::finished;) {
    const Segment& segment = plane.next_segment();
    end = segment.end;
    ++tape.segments;
    REQUIRE(segment.first_gradient == tape.gradients.size());
    for (const GradientId dead : segment.dead) {
      REQUIRE(dead < segment.first_gradient);
      REQUIRE(tape.gradients[dead].fate == Fate::open);
      tape.gradients[dead].fate = Fate::dead;
    }
    tape.gradients.insert(tape.gradients.end(), segment.gradients.begin(), segment.gradients.end());
    for (Op op : segment.ops) {
      op.first += static_cast<std::uint32_t>(tape.uses.size());
      if (op.kind == Op::Kind::evaluate) op.first = 0;
      tape.ops.push_back(op);
    }
    for (const Use& use : segment.uses) {
      Gradient& gradient = tape.gradients.at(use.gradient);
      if (use.gradient < segment.first_gradient) {
        REQUIRE(gradient.fate == Fate::open);
        gradient.fate = Fate::used;
      }
      tape.uses.push_back(use);
    }
    check_names(segment, live);
  }
  return tape;
}

bool operator==(const WholeTape& a, const WholeTape& b) {
  const auto same_gradient = [](const Gradient& x, const Gradient& y) {
    return x.at == y.at && x.learner == y.learner && x.draw == y.draw && x.fate == y.fate;
  };
  const auto same_use = [](const Use& x, const Use& y) {
    return x.gradient == y.gradient && x.staleness == y.staleness;
  };
  const auto same_op = [](const Op& x, const Op& y) {
    return x.kind == y.kind && x.out == y.out && x.base == y.base && x.first == y.first &&
           x.count == y.count;
  };
  return std::equal(a.gradients.begin(), a.gradients.end(), b.gradients.begin(), b.gradients.end(),
                    same_gradient) &&
         std::equal(a.uses.begin(), a.uses.end(), b.uses.begin(), b.uses.end(), same_use) &&
         std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), same_op);
}

/// Durations of the minibatches that were finished, by (learner, draw); each is the time drawn for
/// that dispatch.
class Durations : public Observer {
 public:
  explicit Durations(const Race& race) : race_(race) {}
  void on_end(const GradientFacts& gradient, double begin, double time, Ending ending) override {
    if (ending == Ending::cancelled) return;
    Stream words = stream({race_.seed, 0, Purpose::runtime, gradient.learner, gradient.draw});
    const double drawn = race_.runtime->sample(words);
    REQUIRE(drawn > 0);
    REQUIRE(time == begin + drawn);
    of[{gradient.learner, gradient.draw}] = drawn;
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> of;

 private:
  const Race& race_;
};

/// Takes 1, 2, 3, ... in the order in which it is asked, and checks how it is.
class Counting : public Runtimes {
 public:
  double duration(std::uint32_t learner, std::uint32_t draw, double begin,
                  std::uint32_t samples) override {
    CHECK(draw == draws_[learner]++);
    CHECK(begin >= begin_);
    CHECK(samples == 32);
    begin_ = begin;
    return ++asked_;
  }

 private:
  std::map<std::uint32_t, std::uint32_t> draws_;
  double begin_ = 0;
  std::uint32_t asked_ = 0;
};

/// Breaks one rule of the contract.
class Careless : public ServerProtocol {
 public:
  enum class Mistake {
    loses_gradient,
    dispatches_twice,
    accepts_twice,
    drops_what_it_accepted,
    accepts_an_old_one,
    never_dispatches,
    updates_nothing,
    cancels_what_arrived
  };
  explicit Careless(Mistake mistake) : mistake_(mistake) {}
  void start(Server& server) override {
    if (mistake_ != Mistake::never_dispatches) server.dispatch_waiting();
  }
  void on_gradient(Server& server, const GradientFacts& arrival) override {
    if (mistake_ == Mistake::updates_nothing) server.update();
    if (mistake_ == Mistake::accepts_an_old_one) {
      GradientFacts other = arrival;
      ++other.gradient;
      server.accept(other);
    }
    if (mistake_ == Mistake::cancels_what_arrived) server.cancel(arrival);
    if (mistake_ != Mistake::loses_gradient) server.accept(arrival);
    if (mistake_ == Mistake::accepts_twice) server.accept(arrival);
    if (mistake_ == Mistake::drops_what_it_accepted) server.drop(arrival);
    server.dispatch(arrival.learner);
    if (mistake_ == Mistake::dispatches_twice) server.dispatch(arrival.learner);
  }
  std::uint32_t k() const override { return 1; }

 private:
  Mistake mistake_;
};

std::string always(const std::string& value) {
  return R"({"distribution": "deterministic", "value": )" + value + "}";
}

/// Sets timers when the clock shows given times, gathers gradients and makes an update of them when
/// a timer goes off.
class AlarmClock : public ServerProtocol {
 public:
  using Orders = std::map<double, double>;  // at that time, a timer at that time

  AlarmClock(Orders orders, std::vector<std::string>* log)
      : orders_(std::move(orders)), log_(log) {}
  void start(Server& server) override {
    server.dispatch_waiting();
    obey(server);
  }
  void on_gradient(Server& server, const GradientFacts& arrival) override {
    log_->push_back(number_text(server.time()) + " gradient");
    server.accept(arrival);
    server.dispatch(arrival.learner);
    obey(server);
  }
  void on_timer(Server& server) override {
    log_->push_back(number_text(server.time()) + " timer");
    if (server.accepted() > 0) server.update();
  }
  std::uint32_t k() const override { return 1; }

 private:
  void obey(Server& server) {
    const auto order = orders_.find(server.time());
    if (order != orders_.end()) server.timer(order->second);
  }

  Orders orders_;
  std::vector<std::string>* log_;
};

std::vector<std::string> run_alarm_clock(Race race, const AlarmClock::Orders& orders) {
  std::vector<std::string> log;
  race.make_protocol = [&] { return std::make_unique<AlarmClock>(orders, &log); };
  run_timing(race);
  return log;
}

std::vector<std::uint64_t> updates_at_evaluations(Race race, const AlarmClock::Orders& orders) {
  std::vector<std::string> log;
  race.make_protocol = [&] { return std::make_unique<AlarmClock>(orders, &log); };
  std::vector<std::uint64_t> updates;
  for (const auto& [point, evaluation] : run_timing(race).curve) updates.push_back(point.update);
  return updates;
}

}  // namespace

TEST_CASE("timing_plane: the race's runtimes are asked once for each minibatch, as it begins") {
  Race race = race_of(3, R"({"kind": "k-sync", "k": 2})", R"({"updates": 3})");
  race.plans[0].minibatch = 32;
  race.make_runtimes = [](std::uint64_t seed, std::uint32_t replica) {
    CHECK(seed == 1);
    CHECK(replica == 7);
    return std::make_unique<Counting>();
  };
  // Learners take 1 2 3, then 4 5 6, then 7 8 9; two are waited for.
  CHECK(run_timing(race, 7).totals.time == 2 + 5 + 8);
}

TEST_CASE(
    "timing_plane: a draw is a dispatch, so a learner's n-th minibatch takes the same time "
    "everywhere") {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> seen;
  std::size_t compared = 0;
  for (const auto& protocol : every_server_protocol()) {
    const Race race = race_of(6, protocol, R"({"updates": 2000})");
    Durations durations(race);
    run_timing(race, 0, &durations);
    for (const auto& [draw, duration] : durations.of) {
      const auto [found, is_new] = seen.emplace(draw, duration);
      if (is_new) continue;
      REQUIRE(found->second == duration);
      ++compared;
    }
  }
  CHECK(compared > 5000);
}

TEST_CASE(
    "timing_plane: segments of any limit join to the same tape, and each gradient meets one fate") {
  for (const auto& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    const Race race = race_of(8, protocol, R"({"updates": 500})");
    const WholeTape whole = whole_tape(race, 1'000'000);
    const bool told =
        race.make_protocol()->traits().needs_evaluations;  // a segment ends at each answer
    CHECK((told || whole.segments == 1));
    for (const std::uint32_t limit : {1u, 7u, 100u}) {
      const WholeTape parts = whole_tape(race, limit);
      CHECK(parts.segments > 500 * 2 / limit / 10);
      CHECK(parts == whole);
    }
    std::vector<std::size_t> times_used(whole.gradients.size());
    for (const auto& use : whole.uses) ++times_used[use.gradient];
    for (std::size_t i = 0; i < whole.gradients.size(); ++i) {
      REQUIRE(times_used[i] == (whole.gradients[i].fate == Fate::used ? 1 : 0));
    }
  }
}

TEST_CASE("timing_plane: a segment never ends inside a protocol's call") {
  // k-sync: after each update all others are cancelled and all P dispatched at that instant.
  const Race race = race_of(5, R"({"kind": "k-sync", "k": 2})", R"({"updates": 200})");
  TimingPlane plane(race, 0, true, nullptr, 1);
  for (End end = End::limit; end != End::finished;) {
    const Segment& segment = plane.next_segment();
    end = segment.end;
    const auto updates = std::count_if(segment.ops.begin(), segment.ops.end(),
                                       [](const Op& op) { return op.kind == Op::Kind::update; });
    REQUIRE(updates <= 1);
    if (updates == 1) {
      CHECK(segment.gradients.size() == 5);
      CHECK(segment.dead.size() == 3);
    }
  }
}

TEST_CASE("timing_plane: a segment's limit counts gradients and uses, not updates") {
  const Race race = race_of(1000, R"({"kind": "sync"})", R"({"updates": 20})");
  TimingPlane plane(race, 0, true, nullptr, 500);
  std::size_t segments = 0;
  for (End end = End::limit; end != End::finished; ++segments) {
    const Segment& segment = plane.next_segment();
    end = segment.end;
    CHECK(segment.gradients.size() + segment.uses.size() <= 2500);
  }
  CHECK(segments >= 19);
}

TEST_CASE(
    "timing_plane: ties come in the order of dispatch, and an evaluation or the end sees all of "
    "its time") {
  const std::string two = R"({"distribution": "deterministic", "value": 2})";
  Race race = race_of(3, R"({"kind": "async"})", R"({"time": 6})", two);
  race.evaluations.every_time = 2.0;
  TimingPlane plane(race, 0, true, nullptr);
  const Segment& segment = plane.next_segment();
  REQUIRE(segment.end == End::finished);
  std::vector<std::uint32_t> learners;
  for (const Use& use : segment.uses) learners.push_back(segment.gradients[use.gradient].learner);
  CHECK(learners == std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2});
  std::vector<std::uint64_t> updates;
  for (const auto& point : plane.evaluations()) updates.push_back(point.update);
  CHECK(updates == std::vector<std::uint64_t>{0, 3, 6, 9});
  CHECK(plane.totals().time == 6);
}

TEST_CASE("timing_plane: an evaluation a little before an event does not see it") {
  Race race = race_of(1, R"({"kind": "async"})", R"({"time": 2})",
                      R"({"distribution": "deterministic", "value": 1})");
  race.evaluations.every_time = std::nextafter(1.0, 0.0);
  TimingPlane plane(race, 0, true, nullptr);
  plane.next_segment();
  REQUIRE(plane.evaluations().size() == 4);
  CHECK(plane.evaluations()[1].update == 0);
  CHECK(plane.evaluations()[2].update == 1);
  CHECK(plane.evaluations()[3].update == 2);
}

TEST_CASE("timing_plane: evaluations come at multiples of every_time, not at a running sum") {
  Race race = race_of(2, R"({"kind": "async"})", R"({"time": 100})");
  race.evaluations.every_time = 0.1;
  const RaceRecord record = run_timing(race);
  REQUIRE(record.curve.size() >= 1000);
  double sum = 0;
  for (int n = 1; n <= 1000; ++n) sum += 0.1;
  CHECK(sum != 1000 * 0.1);
  for (int n = 0; n < 1000; ++n)
    REQUIRE(record.curve[static_cast<std::size_t>(n)].point.time == n * 0.1);
}

TEST_CASE("timing_plane: evaluations by updates and the ends, each once") {
  Race race = race_of(4, R"({"kind": "k-async", "k": 2})", R"({"updates": 10})");
  race.evaluations.every_updates = 5;
  std::vector<std::uint64_t> updates;
  for (const auto& [point, evaluation] : run_timing(race).curve) updates.push_back(point.update);
  CHECK(updates == std::vector<std::uint64_t>{0, 5, 10});
}

TEST_CASE("timing_plane: limits on updates, gradients and time end a run where they are met") {
  CHECK(
      run_timing(race_of(4, R"({"kind": "k-sync", "k": 3})", R"({"updates": 7})")).totals.updates ==
      7);
  CHECK(run_timing(race_of(4, R"({"kind": "k-sync", "k": 3})", R"({"gradients": 10})"))
            .totals.applied == 12);
  CHECK(run_timing(race_of(4, R"({"kind": "async"})", R"({"time": 3.5})")).totals.time == 3.5);
  const RaceRecord first =
      run_timing(race_of(4, R"({"kind": "async"})", R"({"time": 1000, "updates": 3})"));
  CHECK(first.totals.updates == 3);
  CHECK(first.totals.time < 1000);
}

TEST_CASE("timing_plane: every broken rule of the contract is caught") {
  using Mistake = Careless::Mistake;
  Race race = race_of(3, R"({"kind": "async"})", R"({"updates": 10})");
  for (const auto mistake :
       {Mistake::loses_gradient, Mistake::dispatches_twice, Mistake::accepts_twice,
        Mistake::drops_what_it_accepted, Mistake::accepts_an_old_one, Mistake::never_dispatches,
        Mistake::updates_nothing, Mistake::cancels_what_arrived}) {
    race.make_protocol = [mistake] { return std::make_unique<Careless>(mistake); };
    CHECK_THROWS_AS(run_timing(race), BrokenInvariant);
  }
}

TEST_CASE("timing_plane: a timer sees the arrivals of its time, and its update is evaluated then") {
  Race race = race_of(2, R"({"kind": "async"})", R"({"time": 9})", always("2"));
  race.evaluations.every_time = 1;
  const auto log = run_alarm_clock(race, {{0, 4}});
  CHECK(log == std::vector<std::string>{"2 gradient", "2 gradient", "4 gradient", "4 gradient",
                                        "4 timer", "6 gradient", "6 gradient", "8 gradient",
                                        "8 gradient"});
  CHECK(updates_at_evaluations(race, {{0, 4}}) ==
        std::vector<std::uint64_t>{0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("timing_plane: another timer replaces the one before, and infinity calls it off") {
  constexpr double never = std::numeric_limits<double>::infinity();
  const Race race = race_of(1, R"({"kind": "async"})", R"({"time": 7})", always("2"));
  CHECK(run_alarm_clock(race, {{0, 5}, {2, 3}}) ==
        std::vector<std::string>{"2 gradient", "3 timer", "4 gradient", "6 gradient"});
  CHECK(run_alarm_clock(race, {{0, 5}, {4, never}}) ==
        std::vector<std::string>{"2 gradient", "4 gradient", "6 gradient"});
  CHECK(run_alarm_clock(race, {{0, 3}, {4, 4}}) ==
        std::vector<std::string>{"2 gradient", "3 timer", "4 gradient", "4 timer", "6 gradient"});
}

TEST_CASE("timing_plane: a learner may be dispatched before its own gradient is accepted") {
  // As in softsync with `pull: before`: the staleness is that of the gradient, not of what the
  // learner does now.
  class PullsFirst : public ServerProtocol {
    void on_gradient(Server& server, const GradientFacts& arrival) override {
      server.dispatch(arrival.learner);
      server.accept(arrival);
      server.update();
    }
    std::uint32_t k() const override { return 1; }
  };
  Race race = race_of(4, R"({"kind": "async"})", R"({"updates": 20000})");
  race.make_protocol = [] { return std::make_unique<PullsFirst>(); };
  const RaceRecord record = run_timing(race);
  // All 4 learners compute at every update: the mean is 4, whatever the law.
  CHECK(std::abs(static_cast<double>(record.totals.staleness_sum) / 20000 - 4) <= 0.02);
}

TEST_CASE("timing_plane: an evaluation is made once for a time and update, whoever asks for it") {
  Race race = race_of(1, R"({"kind": "async"})", R"({"time": 3, "updates": 3})",
                      R"({"distribution": "deterministic", "value": 1})");
  race.evaluations.every_time = 1;
  race.evaluations.every_updates = 1;
  std::vector<double> times;
  for (const auto& [point, evaluation] : run_timing(race).curve) times.push_back(point.time);
  CHECK(times == std::vector<double>{0, 1, 2, 3});
}

TEST_CASE("timing_plane: evaluations by epochs, also when many pass at once") {
  Race race = race_of(2, R"({"kind": "async"})", R"({"updates": 20})");
  race.training_rows = 100;
  race.plans[0].minibatch = 10;
  race.evaluations.every_epochs = 0.25;
  std::vector<double> epochs;
  for (const auto& [point, evaluation] : run_timing(race).curve) epochs.push_back(point.epoch);
  CHECK(epochs == std::vector<double>{0, 0.3, 0.5, 0.8, 1.0, 1.3, 1.5, 1.8, 2.0});
  race.evaluations.every_epochs = 1e-300;
  CHECK(run_timing(race).curve.size() == 21);
}

TEST_CASE("timing_plane: minibatches of learners have their own sizes") {
  Race race = race_of(3, R"({"kind": "k-sync", "k": 2})", R"({"updates": 3})");
  race.training_rows = 100;
  race.evaluations.every_updates = 1;
  race.plans[0].minibatch = PerLearner(std::vector<std::uint32_t>{10, 20, 70});
  race.make_runtimes = [](std::uint64_t, std::uint32_t) {
    class ByRows final : public Runtimes {
      double duration(std::uint32_t, std::uint32_t, double, std::uint32_t samples) override {
        return samples;
      }
    };
    return std::make_unique<ByRows>();
  };
  std::vector<double> times, epochs;
  for (const auto& [point, evaluation] : run_timing(race).curve) {
    times.push_back(point.time);
    epochs.push_back(point.epoch);
  }
  CHECK(times == std::vector<double>{0, 20, 40, 60});
  CHECK(epochs == std::vector<double>{0, 0.3, 0.6, 0.9});
}

TEST_CASE("timing_plane: epochs of a run without times of its own count the rows of learners") {
  // Alike but for the rows, so that learners make one update each in turn.
  Race race = race_of(2, R"({"kind": "async"})", R"({"updates": 1000})");
  race.training_rows = 100;
  race.plans[0].minibatch = PerLearner(std::vector<std::uint32_t>{1, 3});
  const RaceRecord record = run_timing(race);
  const double rows = static_cast<double>(record.learners[0].gradients) +
                      3.0 * static_cast<double>(record.learners[1].gradients);
  CHECK(record.curve.back().point.epoch == doctest::Approx(rows / 100).epsilon(1e-12));
  CHECK(rows > 1800);
}

TEST_CASE("timing_plane: evaluations end a segment when they are as many as its limit") {
  Race race = race_of(2, R"({"kind": "async"})", R"({"time": 100})");
  race.evaluations.every_time = 0.01;
  TimingPlane plane(race, 0, false, nullptr, 64);
  std::size_t evaluations = 0;
  for (End end = End::limit; end != End::finished;) {
    end = plane.next_segment().end;
    CHECK(plane.evaluations().size() <= 64);
    evaluations += plane.evaluations().size();
  }
  CHECK(evaluations == 10'001);
}

TEST_CASE("timing_plane: busy, idle and wasted time add up") {
  for (const auto& protocol : every_server_protocol()) {
    const RaceRecord record = run_timing(race_of(6, protocol, R"({"updates": 1000})"));
    std::uint64_t applied = 0;
    for (const auto& learner : record.learners) {
      CHECK(learner.busy <= record.totals.time * (1 + 1e-12));
      CHECK(learner.wasted <= learner.busy);
      applied += learner.gradients;
    }
    CHECK(applied == record.totals.applied);
  }
  const RaceRecord async = run_timing(race_of(6, R"({"kind": "async"})", R"({"updates": 1000})"));
  for (const auto& learner : async.learners) {
    CHECK(std::abs(learner.busy - async.totals.time) <= 1e-9);  // nobody is ever idle
    CHECK(learner.wasted == 0);
  }
}

TEST_CASE("timing_plane: one learner and one slot suffice") {
  for (const auto* protocol :
       {R"({"kind": "sync"})", R"({"kind": "k-sync", "k": 1})", R"({"kind": "async"})",
        R"({"kind": "k-async", "k": 1})", R"({"kind": "k-batch-sync", "k": 5})"}) {
    const RaceRecord record = run_timing(race_of(1, protocol, R"({"updates": 100})"));
    CHECK(record.totals.updates == 100);
    CHECK(record.totals.staleness_sum == 0);
    CHECK(record.totals.cancelled == 0);
  }
}

}  // namespace gradrace::timing_plane_test
