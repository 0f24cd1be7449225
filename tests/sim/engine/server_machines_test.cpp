// Servers in shards, links and cards on random clusters, with messages that may overlap with
// computing and failures, against a loop that follows every part of every message by itself.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/compressors.h"
#include "tests/support/race_text.h"

namespace gradrace::server_machines_test {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double rate = 0.1;

struct Machines {
  std::uint32_t learners = 4;
  double bandwidth = never, bytes = 0;  // of a shard's link; of a model. No bytes: no links
  std::vector<double> cards, latencies{0};
  bool apart = false;                             // each way
  std::vector<double> up_cards, up_latencies{0};  // then, of what is pushed
  double pull = 0, push = 0, per_gradient = 0, per_update = 0;
  std::vector<double> parts{1};
  bool sends_messages = false;  // of half a gradient's bytes
  double encoding = 0, decoding = 0;
  bool overlap = false;
  double up = 0, down = 0;            // means, exponential; 0: nobody fails
  std::vector<std::uint32_t> rows{};  // of the learners' minibatches; empty: 1
  std::uint32_t steps = 1;            // of a gradient that is sent

  std::uint32_t rows_of(std::uint32_t learner) const { return rows.empty() ? 1 : rows[learner]; }
  double bytes_up() const { return sends_messages ? bytes / 2 : bytes; }
  double work() const { return per_gradient + decoding; }
  double card(std::uint32_t l, bool is_up) const {
    const auto& of_way = is_up && apart ? up_cards : cards;
    return of_way.empty() ? never : of_way[l % of_way.size()];
  }
  double latency(std::uint32_t l, bool is_up) const {
    const auto& of_way = is_up && apart ? up_latencies : latencies;
    return of_way[l % of_way.size()];
  }
};

double runtime(std::uint32_t learner, std::uint32_t draw, std::uint32_t rows) {
  std::mt19937_64 random(1000 * learner + draw);
  return (0.1 + 2 * static_cast<double>(random() >> 11) * 0x1p-53) * (0.75 + rows / 4.0);
}

class Hashed final : public Runtimes {
 public:
  double duration(std::uint32_t learner, std::uint32_t draw, double, std::uint32_t rows) override {
    return runtime(learner, draw, rows);
  }
};

/// What evaluations find, for protocols that listen.
double loss_at(double time) { return 1 / (1 + time); }

struct Weighed {
  std::uint32_t learner;
  double weight;
  auto operator<=>(const Weighed&) const = default;
};

struct Update {
  double time;
  std::vector<std::array<std::uint32_t, 2>> gradients;  // learner, staleness; in order of these
  std::vector<Weighed> minibatches = {};                // likewise, where they are on a tape
};

class Updates : public Observer {
 public:
  void on_update(const UpdateFacts& update) override {
    made.push_back({update.time, {}});
    for (const auto& gradient : update.gradients)
      made.back().gradients.push_back({gradient.learner, gradient.staleness});
    std::ranges::sort(made.back().gradients);
  }
  std::vector<Update> made;
};

/// One event after the other, each looked for among all that there is.
class Loop final : public Server {
 public:
  Loop(const Machines& machines, const Race& race, ServerProtocol& protocol)
      : machines_(machines),
        race_(race),
        protocol_(protocol),
        learners_(machines.learners),
        shards_(machines.parts.size()) {
    for (std::uint32_t l = 0; l < machines.learners; ++l) {
      learners_[l].parts.resize(shards_.size());
      if (race_.transit.failures) set_change(l);
    }
  }

  std::vector<Update> run(std::size_t updates) {
    protocol_.start(*this);
    while (made_.size() < updates) {
      step();
      const auto is_due = [this](const Shard& shard) { return shard.ends <= now_; };
      if (std::ranges::any_of(shards_, is_due)) continue;
      for (std::size_t s = 0; s < shards_.size(); ++s) take_next(s);
    }
    made_.resize(updates);
    return made_;
  }

 private:
  enum class Where { nowhere, pulling, computing, pushing, queued };
  struct Part {
    double leaves = never;  // of a model, until then
    double left = 0, rate = 0;
    bool flows = false;
  };
  struct Learner {
    GradientFacts gradient{};
    Where where = Where::nowhere;
    bool idle = true;
    std::uint32_t draws = 0, to_come = 0, untaken = 0;
    double computed = never;  // and on its way for its latency; with overlap when it begins that
    double pulls = never;     // from then on
    double ready = never;     // with overlap: no part of the gradient is there before
    std::vector<std::size_t> held = {};  // shards that have one
    double changes = never;              // from up to down, or back
    bool down = false, due = false;
    std::uint32_t failures = 0;  // that are over
    std::vector<Part> parts;
  };
  struct Shard {
    std::deque<std::uint32_t> queue;
    double free_at = 0, begins = 0, ends = never;  // never: it takes nothing up
    /// What it is at, or has been told to do since it was told to take the next one up.
    double busy(double now) const {
      return now < begins && free_at == ends ? begins : std::max(now, free_at);
    }
  };
  static constexpr std::uint32_t timer_ = 1000, nobody_ = 1001;

  // What it orders.
  void hold(const GradientFacts&) override {}
  void release(const GradientFacts&) override {}
  Stream random(std::uint32_t number) const override { return stream({.draw = number}); }
  std::uint32_t learners() const override { return machines_.learners; }
  std::uint32_t version() const override { return static_cast<std::uint32_t>(made_.size()); }
  std::uint32_t accepted() const override { return static_cast<std::uint32_t>(accepted_.size()); }
  double time() const override { return now_; }
  const Work& work() const override { return work_; }
  void dispatch(std::uint32_t l) override {
    REQUIRE(learners_[l].idle);
    learners_[l].idle = false;
    learners_[l].due = learners_[l].down;
    if (!learners_[l].down) begin(l);
  }
  void begin(std::uint32_t l) {
    Learner& learner = learners_[l];
    learner.gradient = {0, l, version(), learner.draws, 0};
    learner.draws += machines_.steps;
    double last = now_;
    learner.where = Where::pulling;
    learner.pulls = never;
    learner.to_come = static_cast<std::uint32_t>(shards_.size());
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      const double leaves = shards_[s].busy(now_);
      last = std::max(last, leaves);
      if (machines_.bytes > 0) learner.parts[s] = {leaves, machines_.bytes * machines_.parts[s]};
    }
    if (machines_.bytes == 0) compute(l, last);
  }
  void dispatch_waiting() override {
    for (std::uint32_t l = 0; l < machines_.learners; ++l) {
      if (learners_[l].idle) dispatch(l);
    }
  }
  void accept(const GradientFacts& gradient) override { accepted_.push_back(gradient); }
  void drop(const GradientFacts&) override {}
  const GradientFacts* computing(std::uint32_t l) const override {
    return learners_[l].idle || learners_[l].due ? nullptr : &learners_[l].gradient;
  }
  void cancel(const GradientFacts& gradient) override {
    learners_[gradient.learner].idle = true;
    stop(gradient);
  }
  void stop(const GradientFacts& gradient) {
    Learner& learner = learners_[gradient.learner];
    learner.where = Where::nowhere;
    learner.computed = learner.ready = never;
    learner.held.clear();
    std::ranges::fill(learner.parts, Part{});
    for (Shard& shard : shards_) {
      const bool taking = shard.ends < never && shard.queue.front() == gradient.learner;
      if (taking) shard.queue.front() = nobody_;
      std::erase(shard.queue, gradient.learner);
    }
  }
  void cancel_all() override {
    for (Learner& learner : learners_) {
      if (learner.due) {
        learner.due = false;
        learner.idle = true;
      }
      if (!learner.idle) cancel(learner.gradient);
    }
  }
  void update() override {
    made_.push_back({now_, {}});
    for (const GradientFacts& gradient : accepted_)
      made_.back().gradients.push_back({gradient.learner, version() - 1 - gradient.version});
    std::ranges::sort(made_.back().gradients);
    double rows = 0;
    for (const GradientFacts& gradient : accepted_) rows += machines_.rows_of(gradient.learner);
    for (const GradientFacts& gradient : accepted_)
      made_.back().minibatches.insert(
          made_.back().minibatches.end(), machines_.steps,
          {gradient.learner, rate * machines_.rows_of(gradient.learner) / rows});
    std::ranges::sort(made_.back().minibatches);
    accepted_.clear();
    for (std::size_t s = 0; s < shards_.size(); ++s) keep_busy(s, machines_.per_update * part(s));
  }
  void pause(double length) override {
    for (std::size_t s = 0; s < shards_.size(); ++s) keep_busy(s, length);
  }
  void timer(double time) override {
    rings_ = time;
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      auto& [queue, free_at, begins, ends] = shards_[s];
      if (!queue.empty() && queue.front() == timer_) ends = never;
      std::erase(queue, timer_);
    }
  }
  void evaluate_at(double time) override { looks_ = time; }
  void follow(std::uint16_t) override {}

  double part(std::size_t s) const { return machines_.parts[s]; }
  void keep_busy(std::size_t s, double length) {
    shards_[s].free_at = std::max(now_, shards_[s].free_at) + length;
  }

  double length_of(const GradientFacts& gradient) const {
    double length = 0;
    for (std::uint32_t step = 0; step < machines_.steps; ++step)
      length +=
          runtime(gradient.learner, gradient.draw + step, machines_.rows_of(gradient.learner));
    return length;
  }

  void compute(std::uint32_t l, double from) {
    Learner& learner = learners_[l];
    learner.where = Where::computing;
    if (machines_.overlap) {
      const double all = length_of(learner.gradient), way = machines_.latency(l, false);
      const double forward = learner.pulls + machines_.pull + way + all / 3;
      const double backward = std::max(forward, from + machines_.pull + way);
      learner.computed = backward + machines_.push + machines_.latency(l, true);
      learner.ready = learner.computed + 2 * all / 3;
      return;
    }
    learner.computed = from + machines_.pull + length_of(learner.gradient) + machines_.encoding +
                       machines_.push + machines_.latency(l, false) + machines_.latency(l, true);
  }

  void set_change(std::uint32_t l) {
    Learner& learner = learners_[l];
    const Failures& laws = *race_.transit.failures;
    const Purpose purpose = learner.down ? Purpose::repair : Purpose::failure;
    const double length =
        (learner.down ? laws.down : laws.up)->draw({race_.seed, 0, purpose, l, learner.failures});
    learner.failures += learner.down;
    learner.changes = now_ + length;
  }

  void change(std::uint32_t l) {
    Learner& learner = learners_[l];
    learner.down = !learner.down;
    set_change(l);
    if (learner.down) {
      if (learner.where == Where::nowhere || learner.where == Where::queued) return;
      stop(learner.gradient);
      learner.due = true;
      return protocol_.on_loss(*this, l);
    }
    if (!learner.due) return;
    learner.due = false;
    begin(l);
    protocol_.on_return(*this, l);
  }

  void set_rates() {
    for (const Where way : {Where::pulling, Where::pushing}) {
      for (std::size_t s = 0; s < shards_.size(); ++s) {
        std::vector<std::pair<double, Part*>> flows;  // with what the card allows
        for (std::uint32_t l = 0; l < machines_.learners; ++l) {
          Learner& learner = learners_[l];
          if (learner.where != way || !learner.parts[s].flows) continue;
          const auto of_card = std::ranges::count_if(learner.parts, &Part::flows);
          flows.push_back({machines_.card(l, way == Where::pushing) / static_cast<double>(of_card),
                           &learner.parts[s]});
        }
        std::ranges::sort(flows, {}, &std::pair<double, Part*>::first);
        double left = machines_.bandwidth;
        for (std::size_t i = 0; i < flows.size(); ++i) {
          flows[i].second->rate =
              std::min(flows[i].first, left / static_cast<double>(flows.size() - i));
          left -= flows[i].second->rate;
        }
      }
    }
  }

  void step() {
    set_rates();
    double next = std::min(rings_, looks_);
    for (const Learner& learner : learners_) {
      next = std::min({next, learner.computed, learner.changes, learner.ready});
      for (const Part& one : learner.parts) {
        next = std::min(next, one.leaves);
        if (one.flows) next = std::min(next, now_ + one.left / one.rate);
      }
    }
    for (const Shard& shard : shards_) next = std::min(next, shard.ends);
    REQUIRE(next < never);
    for (Learner& learner : learners_) {
      for (Part& one : learner.parts) {
        if (one.flows) one.left -= (next - now_) * one.rate;
      }
    }
    now_ = next;
    happen();
  }

  /// One thing that is due.
  void happen() {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      if (shards_[s].ends > now_) continue;
      const std::uint32_t who = shards_[s].queue.front();
      shards_[s].queue.pop_front();
      shards_[s].ends = never;
      return taken(who);
    }
    for (std::uint32_t l = 0; l < machines_.learners; ++l) {
      Learner& learner = learners_[l];
      for (std::size_t s = 0; s < shards_.size(); ++s) {
        Part& one = learner.parts[s];
        if (one.leaves <= now_) {
          one.leaves = never;
          one.flows = true;
          learner.pulls = std::min(learner.pulls, now_);
          return;
        }
        if (!one.flows || one.left > 1e-12 * machines_.bytes) continue;
        one.flows = false;
        if (learner.where == Where::pushing && learner.ready < never)
          return learner.held.push_back(s);
        if (learner.where == Where::pushing) return reach(s, l);
        if (--learner.to_come == 0) compute(l, now_);
        return;
      }
      if (learner.ready <= now_) {
        learner.ready = never;
        for (const std::size_t s : std::exchange(learner.held, {})) reach(s, l);
        return;
      }
      if (learner.computed > now_) continue;
      learner.computed = never;
      learner.where = Where::pushing;
      learner.untaken = learner.to_come = static_cast<std::uint32_t>(shards_.size());
      for (std::size_t s = 0; s < shards_.size(); ++s) {
        if (machines_.bytes > 0) {
          learner.parts[s] = {never, machines_.bytes_up() * part(s), 0, true};
        } else {
          reach(s, l);
        }
      }
      return;
    }
    for (std::uint32_t l = 0; l < machines_.learners; ++l) {
      if (learners_[l].changes <= now_) return change(l);
    }
    if (rings_ > now_ && looks_ > now_) return;
    if (rings_ > now_) {
      looks_ = never;
      return protocol_.on_evaluation(*this, {.loss = loss_at(now_)});
    }
    rings_ = never;
    timer_untaken_ = static_cast<std::uint32_t>(shards_.size());
    for (std::size_t s = 0; s < shards_.size(); ++s) reach(s, timer_);
  }

  void reach(std::size_t s, std::uint32_t who) {
    if (who != timer_ && --learners_[who].to_come == 0) learners_[who].where = Where::queued;
    const bool takes_time = who != timer_ && machines_.work() > 0;
    const bool free = shards_[s].queue.empty() && shards_[s].free_at <= now_;
    if (!takes_time && free) return taken(who);
    shards_[s].queue.push_back(who);
    take_next(s);
  }

  void take_next(std::size_t s) {
    Shard& shard = shards_[s];
    if (shard.ends < never || shard.queue.empty()) return;
    shard.begins = std::max(now_, shard.free_at);
    keep_busy(s, shard.queue.front() == timer_ ? 0 : machines_.work() * part(s));
    shard.ends = shard.free_at;
  }

  void taken(std::uint32_t who) {
    if (who == nobody_) return;
    if (who == timer_) {
      if (--timer_untaken_ == 0) protocol_.on_timer(*this);
      return;
    }
    Learner& learner = learners_[who];
    if (--learner.untaken > 0) return;
    learner.where = Where::nowhere;
    learner.idle = true;
    const GradientFacts arrival = learner.gradient;
    protocol_.on_gradient(*this, arrival);
  }

  const Machines& machines_;
  const Race& race_;
  ServerProtocol& protocol_;
  std::vector<Learner> learners_;
  std::vector<Shard> shards_;
  std::vector<GradientFacts> accepted_;
  std::vector<Update> made_;
  Work work_{};
  double now_ = 0, rings_ = never, looks_ = never;
  std::uint32_t timer_untaken_ = 0;
};

/// Adds what the segment's updates by the race's plans use.  learners: of all gradients so far.
void weigh(const Segment& segment, std::size_t plans, std::vector<std::uint32_t>& learners,
           std::vector<std::vector<Weighed>>& updates) {
  for (const Gradient& gradient : segment.gradients) learners.push_back(gradient.learner);
  for (const Op& op : segment.ops) {
    if (op.kind != Op::Kind::update || op.rule >= plans) continue;  // or a learner's own step
    updates.emplace_back();
    for (const Use& use : std::span(segment.uses).subspan(op.first, op.count))
      updates.back().push_back({learners[use.gradient], use.weight});
    std::ranges::sort(updates.back());
  }
}

/// Of the engine, with a tape where there are no messages.
std::vector<Update> updates_of(const Race& race) {
  Updates seen;
  TimingPlane plane(race, 0, !race.has_messages(), &seen);
  std::vector<std::uint32_t> learners;
  std::vector<std::vector<Weighed>> weighed;
  for (End end = End::limit; end != End::finished;) {
    const Segment& segment = plane.next_segment();
    end = segment.end;
    if (!race.has_messages()) weigh(segment, race.plans.size(), learners, weighed);
    if (!plane.evaluations().empty())
      plane.tell({.loss = loss_at(plane.evaluations().back().time)});
  }
  for (std::size_t u = 0; u < weighed.size(); ++u) seen.made[u].minibatches = weighed[u];
  return seen.made;
}

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

std::string list(const std::vector<double>& numbers) {
  std::string text;
  for (const double x : numbers) text += (text.empty() ? "[" : ", ") + number(x);
  return text + "]";
}

std::string law(double value) {
  return R"({"distribution": "deterministic", "value": )" + number(value) + "}";
}

std::string exponential(double mean) {
  return R"({"distribution": "exponential", "mean": )" + number(mean) + "}";
}

Race race_of(const Machines& machines, const std::string& protocol, std::size_t updates) {
  std::string network;
  if (machines.pull > 0)
    network = R"("pull": )" + law(machines.pull) + R"(, "push": )" + law(machines.push) + ", ";
  if (machines.bytes > 0) network += R"("model_bytes": )" + number(machines.bytes) + ", ";
  if (machines.bandwidth < never) network += R"("bandwidth": )" + number(machines.bandwidth) + ", ";
  const auto card = [](const std::vector<double>& latencies, const std::vector<double>& cards) {
    const std::string latency = R"({"latency": )" + list(latencies);
    return latency + (cards.empty() ? "" : R"(, "bandwidth": )" + list(cards)) + "}";
  };
  const std::string down = card(machines.latencies, machines.cards);
  const std::string up = card(machines.up_latencies, machines.up_cards);
  network +=
      R"("card": )" + (machines.apart ? R"({"down": )" + down + R"(, "up": )" + up + "}" : down);
  if (machines.overlap) network += R"(, "overlap": true)";
  std::string failures;
  if (machines.up > 0)
    failures = R"(, "failures": {"up": )" + exponential(machines.up) + R"(, "down": )" +
               exponential(machines.down) + "}";
  Race race = point_from(R"({"cluster": {"learners": )" + std::to_string(machines.learners) +
                         R"(, "runtime": )" + law(1) + R"(, "network": {)" + network +
                         R"(}, "server": {"per_gradient": )" + number(machines.per_gradient) +
                         R"(, "per_update": )" + number(machines.per_update) + R"(, "shards": )" +
                         list(machines.parts) + "}" + failures +
                         R"(}, "model": {"kind": "quadratic", "dimensions": 8},
                 "learning_rate": {"kind": "constant", "eta": 0.1}, "protocol": )" +
                         protocol + R"(, "stop": {"updates": )" + std::to_string(updates) + "}}")
                  .race();
  race.make_runtimes = [](std::uint64_t, std::uint32_t) { return std::make_unique<Hashed>(); };
  if (machines.sends_messages) race = with_messages(race, Halving(), {});
  for (Plan& plan : race.plans) {
    plan.encoding = machines.encoding;
    if (!machines.rows.empty()) plan.minibatch = PerLearner(machines.rows);
    plan.decoding = machines.decoding;
  }
  return race;
}

/// With steps of the learners' own, where it may have those.
std::string with_steps(std::string protocol, Machines& machines) {
  machines.steps = 1;
  for (const std::string kind : {"sync", "hardsync", "k-sync", "async", "k-async", "k-batch-async"})
    if (protocol.starts_with(R"({"kind": ")" + kind + '"')) machines.steps = 3;
  if (machines.steps > 1) protocol.insert(protocol.rfind('}'), R"(, "tau": 3)");
  return protocol;
}

class Clusters {
 public:
  Machines next() {
    Machines machines;
    machines.learners = 4 + static_cast<std::uint32_t>(random_() % 5);
    if (chance()) {
      machines.bytes = real(100, 200);
      if (chance()) machines.bandwidth = real(200, 2000);
      const bool needs_cards = machines.bandwidth == never;
      if (needs_cards || chance()) machines.cards = reals(100, 1000, machines.learners);
    }
    if (chance()) machines.latencies = reals(0, 0.2, machines.learners);
    if (machines.learners % 2 == 0) {
      machines.apart = true;
      if (!machines.cards.empty()) machines.up_cards = reals(100, 1000, machines.learners);
      machines.up_latencies = machines.latencies;
      machines.up_latencies.push_back(0.15);
    }
    if (chance()) machines.pull = real(0, 0.1), machines.push = real(0, 0.1);
    if (chance()) machines.per_gradient = real(0, 0.3);
    if (chance()) machines.per_update = real(0, 0.3);
    const bool takes_time = machines.per_gradient + machines.per_update + machines.bytes > 0;
    if (takes_time && chance()) machines.parts = reals(0.2, 1, 5);
    double whole = 0;
    for (const double part : machines.parts) whole += part;
    for (double& part : machines.parts) part /= whole;
    machines.sends_messages = chance();
    if (machines.sends_messages && chance()) {
      machines.encoding = real(0, 0.2);
      machines.decoding = real(0, 0.1);
    }
    if (chance()) machines.up = real(3, 20), machines.down = real(0.1, 2);
    return machines;
  }

 private:
  bool chance() { return random_() % 3 > 0; }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }
  std::vector<double> reals(double low, double high, std::size_t most) {
    std::vector<double> numbers(1 + random_() % most);
    for (double& x : numbers) x = real(low, high);
    return numbers;
  }

  std::mt19937_64 random_{50};
};

}  // namespace

TEST_CASE("server machines: every update of 40 random clusters, against a loop written out") {
  // Where transfers share links, those who come a little early take from the others, so that a
  // difference of times grows: to 5e-9 within 50 updates of k-batch-async, and so does that of this
  // loop from itself where first minibatches take 1e-15 more.
  constexpr std::size_t updates = 40;
  Clusters clusters;
  int compared = 0, unlike = 0, summed = 0;
  for (int i = 0; i < 40; ++i) {
    Machines machines = clusters.next();
    machines.overlap = i % 3 == 0 && machines.bytes > 0 && machines.encoding == 0;
    if (machines.overlap) {  // models that have come at once are sent apart
      machines.latencies.clear();
      for (std::uint32_t l = 0; l < machines.learners; ++l)
        machines.latencies.push_back(0.013 * (l + 1));
    }
    if (i % 4 == 1)
      for (std::uint32_t l = 0; l < machines.learners; ++l)
        machines.rows.push_back(1 + (7 * l + static_cast<std::uint32_t>(i)) % 5);
    for (const auto& any : every_server_protocol()) {
      const std::string protocol = i % 4 < 2 && !machines.sends_messages && !machines.overlap
                                       ? with_steps(any, machines)
                                       : any;
      CAPTURE(i);
      CAPTURE(machines.learners);
      CAPTURE(list(machines.parts));
      CAPTURE(list(machines.cards));
      CAPTURE(machines.bytes);
      CAPTURE(machines.bandwidth);
      CAPTURE(machines.per_gradient);
      CAPTURE(machines.per_update);
      CAPTURE(machines.sends_messages);
      CAPTURE(machines.up);
      CAPTURE(machines.overlap);
      CAPTURE(protocol);
      const Race race = race_of(machines, protocol, updates);
      const auto made = race.make_protocol();
      const auto seen = updates_of(race);
      const auto expected = Loop(machines, race, *std::get<0>(made)).run(updates);
      REQUIRE(seen.size() == updates);
      for (std::size_t u = 0; u < updates; ++u) {
        CAPTURE(u);
        REQUIRE(seen[u].gradients == expected[u].gradients);
        REQUIRE(seen[u].time == doctest::Approx(expected[u].time).epsilon(1e-9));
        if (machines.sends_messages) continue;
        REQUIRE(seen[u].minibatches.size() == expected[u].minibatches.size());
        for (std::size_t m = 0; m < seen[u].minibatches.size(); ++m) {
          REQUIRE(seen[u].minibatches[m].learner == expected[u].minibatches[m].learner);
          REQUIRE(seen[u].minibatches[m].weight ==
                  doctest::Approx(expected[u].minibatches[m].weight).epsilon(1e-14));
        }
        unlike += !machines.rows.empty() && expected[u].gradients.size() > 1;
        summed += machines.steps > 1;
      }
      ++compared;
    }
  }
  CHECK(compared > 400);
  CHECK(unlike > 1000);
  CHECK(summed > 1000);
}

}  // namespace gradrace::server_machines_test
