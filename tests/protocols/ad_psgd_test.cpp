#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "models/make_device.h"
#include "models/quadratic.h"
#include "protocols/groups/graph.h"
#include "sim/engine/timing_plane.h"
#include "sim/message_text.h"
#include "sim/reading/problem.h"
#include "tests/support/race_text.h"
#include "tests/support/recorded_peers.h"
#include "tests/support/stub_law.h"

namespace gradrace::ad_psgd_test {

namespace {

using Lines = std::vector<std::string>;
using Kind = PeerOrder::Kind;

const char* const bipartite = "bipartite-exponential";
const char* const graphs[] = {"ring", "exponential", "complete", bipartite};

std::string ad_psgd(const std::string& graph, bool overlap = true, const std::string& more = "") {
  return R"({"kind": "ad-psgd", "graph": ")" + graph + R"(", "overlap": )" +
         (overlap ? "true" : "false") + more + "}";
}

const std::string cost_2 = R"(, "pair_cost": 2)";

Race race_of_seed(std::uint64_t seed, std::uint32_t learners, const std::string& protocol,
                  std::uint64_t updates) {
  Race race = race_of(learners, protocol, R"({"updates": )" + std::to_string(updates) + "}");
  race.seed = seed;
  return race;
}

/// Whom the learner asks the n-th time, from 0 on.
std::uint32_t partner(std::uint64_t seed, const Graph& graph, std::uint32_t learner,
                      std::uint32_t n) {
  Stream random = stream({seed, 0, Purpose::peers, learner, n});
  const auto neighbours = graph.hears(learner);
  return neighbours[uniform_below(random, static_cast<std::uint32_t>(neighbours.size()))];
}

Lines partners(std::uint64_t seed, const std::string& graph, std::uint32_t learners,
               std::uint32_t count) {
  const Graph of(graph, learners);
  Lines lines;
  for (std::uint32_t learner = 0; learner < learners; ++learner) {
    if (graph == bipartite && learner % 2 == 0) continue;
    std::string line = std::to_string(learner) + ":";
    for (std::uint32_t n = 0; n < count; ++n)
      line += " " + std::to_string(partner(seed, of, learner, n));
    lines.push_back(line);
  }
  return lines;
}

/// "2@1+3": a gradient of learner 2 at its value of age 1, used three changes later.
class Uses : public Observer {
 public:
  void on_update(const UpdateFacts& update) override {
    for (const GradientFacts& used : update.gradients) {
      lines.push_back(std::to_string(used.learner) + "@" + std::to_string(used.version) + "+" +
                      std::to_string(used.staleness));
    }
  }
  Lines lines;
};

struct Followed {
  std::vector<PeerOrder> orders;
  Lines lines, uses;
  RaceRecord record;
};

Followed follow(Race race) {
  Followed found;
  Uses uses;
  found.record = run_timing(recorded(std::move(race), found.orders), 0, &uses);
  for (const PeerOrder& order : found.orders) found.lines.push_back(text(order));
  found.uses = uses.lines;
  return found;
}

Followed follow(Race race, const std::vector<double>& runtimes) {
  race.make_runtimes = listed(runtimes);
  return follow(std::move(race));
}

/// The numbers behind the colon of a deadlock's reason.
std::vector<std::uint32_t> circle_of(const std::string& reason) {
  std::istringstream words(reason.substr(reason.find(':') + 1));
  return {std::istream_iterator<std::uint32_t>(words), {}};
}

/// What a run orders, from the protocol's definition: the earliest event is looked for among all,
/// and after each of them every chain of waiting learners is followed.
class Definition {
 public:
  Definition(std::uint64_t seed, const std::string& graph, std::uint32_t learners, bool overlap,
             double cost, const std::vector<double>& runtimes)
      : seed_(seed),
        graph_(graph, learners),
        some_answer_(graph == bipartite),
        overlap_(overlap),
        cost_(cost),
        runtimes_(runtimes.begin(), runtimes.end()),
        learners_(learners) {}

  void run(std::uint64_t updates) {
    for (std::uint32_t i = 0; i < learners_.size(); ++i) compute(i);
    while (updates_ < updates && circle.empty()) step();
  }

  Lines lines, uses;
  std::vector<std::uint32_t> circle;

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  struct Event {
    double time = never;
    std::uint64_t number = 0;
  };
  struct Read {
    int age, changes;
  };
  struct Learner {
    Event due;
    int age = 0, computed_at = 0;
    std::deque<int> ready;             // ages read, of gradients not applied
    std::deque<std::uint32_t> askers;  // of it; itself, where it waits for its turn
    bool engaged = false;              // in an exchange
    int waits_for = -1;
    std::uint32_t asked = 0;
  };
  struct Exchange {
    Event end;
    std::uint32_t asker, other;
  };

  void note(const std::string& what, std::initializer_list<std::uint32_t> who) {
    std::string line = number_text(now_) + " " + what;
    for (const auto learner : who) line += " " + std::to_string(learner);
    lines.push_back(line);
  }
  bool asks(std::uint32_t i) const { return !some_answer_ || i % 2 != 0; }
  bool computes(std::uint32_t i) const { return learners_[i].due.time < never; }

  void compute(std::uint32_t i) {
    note("compute", {i});
    learners_[i].due = {now_ + runtimes_.front(), number_++};
    learners_[i].computed_at = learners_[i].age;
    runtimes_.pop_front();
  }
  void use(std::uint32_t i) {
    Learner& learner = learners_[i];
    note("step", {i});
    const int read = learner.ready.front();
    learner.ready.pop_front();
    uses.push_back(std::to_string(i) + "@" + std::to_string(read) + "+" +
                   std::to_string(learner.age++ - read));
    ++updates_;
    if (!learner.ready.empty()) begin_round(i);
  }
  /// The learner's oldest gradient is to be applied.
  void begin_round(std::uint32_t i) {
    if (overlap_) compute(i);
    if (asks(i)) learners_[i].askers.push_back(i);
  }

  void step() {
    const auto earlier = [](const Event& a, const Event& b) {
      return a.time < b.time || (a.time == b.time && a.number < b.number);
    };
    std::uint32_t first = 0;
    for (std::uint32_t i = 1; i < learners_.size(); ++i)
      if (earlier(learners_[i].due, learners_[first].due)) first = i;
    const auto end = std::ranges::min_element(exchanges_, earlier, &Exchange::end);
    if (end != exchanges_.end() && end->end.time < learners_[first].due.time) {
      const Exchange ended = *end;
      exchanges_.erase(end);
      now_ = ended.end.time;
      on_end(ended);
    } else {
      now_ = learners_[first].due.time;
      learners_[first].due = {};
      on_ready(first);
    }
    for (std::uint32_t i = 0; i < learners_.size() && circle.empty(); ++i) look_for_circle(i);
  }

  void on_ready(std::uint32_t i) {
    Learner& learner = learners_[i];
    learner.ready.push_back(learner.computed_at);
    if (learner.ready.size() > 1) return;
    begin_round(i);
    settle(i);
  }
  void on_end(const Exchange& ended) {
    const auto [low, high] = std::minmax(ended.asker, ended.other);
    note("average", {low, high});
    for (const auto i : {low, high}) learners_[i].engaged = false, ++learners_[i].age;
    use(ended.asker);
    if (!asks(ended.other))
      while (!learners_[ended.other].ready.empty()) use(ended.other);
    settle(ended.asker);
    settle(ended.other);
  }
  /// The learner's turns, while it is free.
  void settle(std::uint32_t i) {
    Learner& learner = learners_[i];
    if (learner.engaged || learner.waits_for >= 0 || (!overlap_ && computes(i))) return;
    if (learner.askers.empty()) {
      if (!learner.ready.empty()) use(i);
      if (!overlap_) compute(i);
      return;
    }
    const std::uint32_t asker = learner.askers.front();
    learner.askers.pop_front();
    if (asker == i) {
      const std::uint32_t other = partner(seed_, graph_, i, learner.asked++);
      learner.waits_for = static_cast<int>(other);
      learners_[other].askers.push_back(i);
      settle(other);
      return;
    }
    note("pair", {asker, i});
    learners_[asker].waits_for = -1;
    learners_[asker].engaged = learner.engaged = true;
    exchanges_.push_back({{now_ + cost_, number_++}, asker, i});
  }

  void look_for_circle(std::uint32_t start) {
    std::vector<std::uint32_t> chain;
    int at = static_cast<int>(start);
    while (at >= 0 && chain.size() <= learners_.size()) {
      chain.push_back(static_cast<std::uint32_t>(at));
      at = learners_[static_cast<std::uint32_t>(at)].waits_for;
      if (at == static_cast<int>(start)) circle = chain, at = -1;
    }
  }

  const std::uint64_t seed_;
  const Graph graph_;
  const bool some_answer_, overlap_;
  const double cost_;
  std::deque<double> runtimes_;
  std::vector<Learner> learners_;
  std::vector<Exchange> exchanges_;
  double now_ = 0;
  std::uint64_t number_ = 0, updates_ = 0;
};

std::vector<double> exponential_times(std::uint64_t seed, std::size_t count) {
  std::vector<double> times;
  Stream words = stream({seed, 0, Purpose::dataset, 0, 0});
  for (std::size_t i = 0; i < count; ++i) times.push_back(-std::log((words() + 0.5) / 0x1p32));
  return times;
}

Point training(const std::string& protocol, std::uint32_t learners, const std::string& rest) {
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) +
                    R"(, "runtime": {"distribution": "exponential", "mean": 1}}, "protocol": )" +
                    protocol + R"(, "model": {"kind": "quadratic", "dimensions": 3,
                    "curvatures": [1, 0.3, 2], "noise": 0.5, "minibatch": 4,
                    "precision": "float64"}, )" +
                    rest + "}");
}

/// Values that learners have after the orders, by the written definition of SGD with momentum;
/// every gradient is computed at its dispatch.
class DirectLoop {
 public:
  DirectLoop(std::uint32_t learners, double eta, double momentum)
      : eta_(eta), momentum_(momentum), learners_(learners) {
    QuadraticConfig config;
    config.dimensions = 3;
    config.curvatures = {1, 0.3, 2};
    config.noise = 0.5;
    config.minibatch = 4;
    model_ = make_quadratic<double>(config);
  }

  void follow(const PeerOrder& order) {
    Learner& learner = learners_[order.learners[0]];
    if (order.kind == Kind::compute) {
      std::vector<double> g(3);
      model_->gradient(learner.x, {1, 0, order.learners[0], learner.draws++, 4}, g);
      learner.gradients.push_back(g);
    } else if (order.kind == Kind::step) {
      for (std::size_t i = 0; i < 3; ++i) {
        learner.v[i] = momentum_ * learner.v[i] + eta_ * learner.gradients.front()[i];
        learner.x[i] -= learner.v[i];
      }
      learner.gradients.pop_front();
    } else if (order.kind == Kind::average) {
      Learner& other = learners_[order.learners[1]];
      for (std::size_t i = 0; i < 3; ++i)
        learner.x[i] = other.x[i] = 0.5 * learner.x[i] + 0.5 * other.x[i];
    }
  }

  std::vector<double> mean() const {
    std::vector<double> mean(3);
    for (const Learner& learner : learners_)
      for (std::size_t i = 0; i < 3; ++i)
        mean[i] += learner.x[i] / static_cast<double>(learners_.size());
    return mean;
  }
  double loss() const {
    const std::vector<double> x = mean();
    return (x[0] * x[0] + 0.3 * x[1] * x[1] + 2 * x[2] * x[2]) / 2;
  }
  /// The mean of ||x - mean||^2.
  double disagreement() const {
    const std::vector<double> centre = mean();
    double sum = 0;
    for (const Learner& learner : learners_)
      for (std::size_t i = 0; i < 3; ++i) sum += std::pow(learner.x[i] - centre[i], 2);
    return sum / static_cast<double>(learners_.size());
  }

 private:
  struct Learner {
    std::vector<double> x = {1, 1, 1}, v = {0, 0, 0};
    std::deque<std::vector<double>> gradients;  // not applied
    std::uint32_t draws = 0;
  };

  const double eta_, momentum_;
  std::unique_ptr<Model<double>> model_;
  std::vector<Learner> learners_;
};

/// Updates in a unit of time with eight learners, of which one may be slow.
struct Speed {
  double all, others;
};
Speed speed(const std::string& protocol, int slow) {
  std::string speeds = slow == 0 ? "0.01" : "1";
  for (int i = 1; i < 8; ++i) speeds += i == slow ? ", 0.01" : ", 1";
  const RaceRecord record = run_timing(
      point_from(R"({"cluster": {"learners": 8, "runtime": {"distribution": "gamma", "shape": 25,
                     "scale": 0.04}, "speeds": [)" +
                 speeds + R"(], "network": {"topology": "mesh", "latency": 0.05}}, "protocol": )" +
                 protocol + R"(, "stop": {"time": 2000}})")
          .race());
  const double applied = static_cast<double>(record.totals.applied), time = record.totals.time;
  const double of_slow =
      slow < 0 ? applied / 8 : record.learners[static_cast<unsigned>(slow)].gradients;
  return {applied / time, (applied - of_slow) / time};
}

}  // namespace

// 1 and 3 both ask 0, which is in one exchange at a time: 3 waits until 3.  The second gradient of
// 1 comes at 2.25, before its first is applied at 3, and the third of 0 at 4.5 before its second at
// 5: both wait.  Gradient 2@0 of 2.5 is applied at once, 0@0 of 2.75 at the end of the exchange.
// At 8 the gradient of 1 is ready before the exchange of 3 and 0 ends, so that 1 is answered after.
TEST_CASE("ad-psgd: four learners by hand, with overlap") {
  const std::uint64_t seed = 3;
  CHECK(partners(seed, bipartite, 4, 3) == Lines{"1: 0 2 0", "3: 0 0 2"});
  const Followed found = follow(race_of_seed(seed, 4, ad_psgd(bipartite, true, cost_2), 10),
                                {2.75, 1, 2.5, 2, 1.25, 4, 3, 0.75, 5, 1, 10, 1, 1, 10, 10, 10});
  CHECK(found.lines == Lines{"0 compute 0",    "0 compute 1", "0 compute 2", "0 compute 3",  //
                             "1 compute 1",    "1 pair 1 0",                                 //
                             "2 compute 3",                                                  //
                             "2.5 compute 2",  "2.5 step 2",                                 //
                             "2.75 compute 0",                                               //
                             "3 average 0 1",  "3 step 1",    "3 compute 1", "3 step 0",     //
                             "3 pair 1 2",     "3 pair 3 0",                                 //
                             "3.5 compute 0",                                                //
                             "5 average 1 2",  "5 step 1",                                   //
                             "5 average 0 3",  "5 step 3",                                   //
                             "5 step 0",       "5 compute 0", "5 step 0",                    //
                             "5.5 compute 2",  "5.5 step 2",                                 //
                             "6 compute 3",    "6 pair 3 0",                                 //
                             "6.5 compute 2",  "6.5 step 2",                                 //
                             "8 compute 1",                                                  //
                             "8 average 0 3",  "8 step 3",    "8 compute 3",                 //
                             "8 pair 3 2",     "8 pair 1 0"});
  // 1@0 of 2.25: an average and a step at 3, an average at 5.  0@2: an average and a step at 5.
  CHECK(found.uses == Lines{"2@0+0", "1@0+1", "0@0+1", "1@0+3", "3@0+1",  //
                            "0@0+3", "0@2+2", "2@0+2", "2@2+1", "3@0+3"});
}

// 1 and 3 wait for 0 until its minibatch ends at 4; it exchanges with 1, steps, exchanges with 3,
// and goes on at 8.  3 asks 2 at 15, while that exchanges with 1 between two minibatches: it is
// answered before 2 goes on.  The average alone comes between a value's reading and its use.
TEST_CASE("ad-psgd: four learners by hand, without overlap") {
  const Followed found = follow(race_of_seed(3, 4, ad_psgd(bipartite, false, cost_2), 10),
                                {4, 1, 2.5, 2, 1.5, 10, 1, 1, 4, 1, 10, 10, 10, 10});
  CHECK(found.lines == Lines{"0 compute 0",    "0 compute 1",   "0 compute 2",  "0 compute 3",  //
                             "2.5 step 2",     "2.5 compute 2",                                 //
                             "4 pair 1 0",     "4 step 2",      "4 compute 2",                  //
                             "6 average 0 1",  "6 step 1",      "6 step 0",     "6 compute 1",  //
                             "6 pair 3 0",                                                      //
                             "8 average 0 3",  "8 step 3",      "8 compute 3",  "8 compute 0",  //
                             "12 pair 3 0",                                                     //
                             "14 pair 1 2",                                                     //
                             "14 average 0 3", "14 step 3",     "14 step 0",    "14 compute 3",
                             "14 compute 0",  //
                             "16 average 1 2", "16 step 1",     "16 step 2",    "16 compute 1",
                             "16 pair 3 2",  //
                             "18 average 2 3", "18 step 3",     "18 compute 3", "18 compute 2"});
  CHECK(found.uses == Lines{"2@0+0", "2@1+0", "1@0+1", "0@0+1", "3@0+1",  //
                            "3@2+1", "0@3+1", "1@2+1", "2@2+1", "3@4+1"});
}

// 3 and 0 exchange until 3.  The gradient of 0 comes meanwhile and waits for its turn; 1 waits for
// 0 and 2 for 1.  At 3 it is the turn of 0, which asks 2.
TEST_CASE("ad-psgd: a circle closes, by hand") {
  CHECK(partners(41, "complete", 4, 1) == Lines{"0: 2", "1: 0", "2: 1", "3: 0"});
  const Followed found = follow(race_of_seed(41, 4, ad_psgd("complete", true, cost_2), 10),
                                {1.5, 2, 2.5, 1, 9, 9, 9, 9});
  CHECK(found.lines == Lines{"0 compute 0", "0 compute 1", "0 compute 2", "0 compute 3",  //
                             "1 compute 3", "1 pair 3 0",                                 //
                             "1.5 compute 0", "2 compute 1", "2.5 compute 2",             //
                             "3 average 0 3", "3 step 3"});
  CHECK(found.record.status == Status::deadlocked);
  CHECK(found.record.reason == "at time 3 learners wait for each other in a circle: 0 2 1");
  CHECK(found.record.totals.time == 3);
  CHECK(found.record.totals.updates == 1);
}

// The same, but that 0 answers 3 when its minibatch ends, at 1.5.
TEST_CASE("ad-psgd: a circle closes without overlap, by hand") {
  const Followed found =
      follow(race_of_seed(41, 4, ad_psgd("complete", false, cost_2), 10), {1.5, 2, 2.5, 1, 9});
  CHECK(found.lines == Lines{"0 compute 0", "0 compute 1", "0 compute 2", "0 compute 3",  //
                             "1.5 pair 3 0",                                              //
                             "3.5 average 0 3", "3.5 step 3", "3.5 compute 3"});
  CHECK(found.record.reason == "at time 3.5 learners wait for each other in a circle: 0 2 1");
}

TEST_CASE("ad-psgd: runs are those of its definition, event by event") {
  std::size_t deadlocks = 0, longest = 0;
  for (const auto* graph : graphs) {
    for (const bool overlap : {true, false}) {
      for (const std::uint32_t learners : {2u, 3u, 4u, 5u, 8u, 11u}) {
        for (const double cost : {0.03, 0.3, 2.0}) {
          for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            CAPTURE(graph);
            CAPTURE(overlap);
            CAPTURE(learners);
            CAPTURE(cost);
            CAPTURE(seed);
            const auto runtimes = exponential_times(seed, 400);
            Definition definition(seed, graph, learners, overlap, cost, runtimes);
            definition.run(150);
            const std::string more = R"(, "pair_cost": )" + number_text(cost);
            const Followed found =
                follow(race_of_seed(seed, learners, ad_psgd(graph, overlap, more), 150), runtimes);
            REQUIRE(found.lines == definition.lines);
            REQUIRE(found.uses == definition.uses);
            REQUIRE((found.record.status == Status::deadlocked) == !definition.circle.empty());
            if (definition.circle.empty()) continue;
            const std::set<std::uint32_t> expected(definition.circle.begin(),
                                                   definition.circle.end());
            const auto circle = circle_of(found.record.reason);
            REQUIRE(std::set<std::uint32_t>(circle.begin(), circle.end()) == expected);
            REQUIRE(circle.size() == expected.size());
            ++deadlocks;
            longest = std::max(longest, circle.size());
          }
        }
      }
    }
  }
  CHECK(deadlocks > 500);
  CHECK(longest > 4);
}

TEST_CASE("ad-psgd: who stands in a circle waits for the next") {
  for (const auto* graph : {"ring", "torus", "exponential", "complete"}) {
    for (const bool overlap : {true, false}) {
      for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        CAPTURE(graph);
        CAPTURE(overlap);
        CAPTURE(seed);
        const std::uint32_t learners = 16;
        const Followed found = follow(race_of_seed(
            seed, learners, ad_psgd(graph, overlap, R"(, "pair_cost": 0.5)"), 1'000'000));
        REQUIRE(found.record.status == Status::deadlocked);
        std::vector<std::uint32_t> asked(learners), exchanges(learners);
        for (const PeerOrder& order : found.orders) {
          if (order.kind == Kind::pair) ++asked[order.learners[0]];
          for (const auto member : order.learners) {
            if (order.kind == Kind::pair) ++exchanges[member];
            if (order.kind == Kind::average) --exchanges[member];
          }
        }
        const auto circle = circle_of(found.record.reason);
        const Graph of(graph, learners);
        REQUIRE(circle.size() >= 2);
        for (std::size_t i = 0; i < circle.size(); ++i) {
          REQUIRE(exchanges[circle[i]] == 0);
          REQUIRE(partner(seed, of, circle[i], asked[circle[i]]) ==
                  circle[(i + 1) % circle.size()]);
        }
        const std::string when = "at time ";
        REQUIRE(found.record.reason.starts_with(when));
        REQUIRE(std::stod(found.record.reason.substr(when.size())) == found.record.totals.time);
      }
    }
  }
}

TEST_CASE("ad-psgd: who asks is answered in the order of asking") {
  // With overlap a learner asks when it begins its next minibatch.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Followed found =
        follow(race_of_seed(seed, 16, ad_psgd(bipartite, true, R"(, "pair_cost": 0.7)"), 5000));
    std::vector<std::vector<double>> began(16);
    std::vector<std::uint32_t> asked(16), answered(16);
    std::vector<double> last(16, -1);
    std::uint32_t waited = 0;
    for (const PeerOrder& order : found.orders) {
      const std::uint32_t learner = order.learners[0];
      if (order.kind == Kind::compute) began[learner].push_back(order.time);
      if (order.kind != Kind::pair) continue;
      const double since = began[learner].at(++asked[learner]);
      const std::uint32_t other = order.learners[1];
      CHECK(since >= last[other]);
      last[other] = since;
      waited += since < order.time;
      ++answered[other];
    }
    CHECK(waited > 500);
    double in_exchanges = 0;
    for (const LearnerTotals& learner : found.record.learners)
      in_exchanges += learner.exchanged.hidden + learner.exchanged.communicating;
    const auto ended = std::ranges::count(found.orders, Kind::average, &PeerOrder::kind);
    CHECK(in_exchanges >= 2 * 0.7 * static_cast<double>(ended) * (1 - 1e-12));
    CHECK(in_exchanges <= 2 * 0.7 * static_cast<double>(ended + 8));
    for (std::uint32_t learner = 0; learner < 16; ++learner)
      CHECK((answered[learner] > 100) == (learner % 2 == 0));
  }
}

TEST_CASE("ad-psgd: a bipartite graph never comes to a standstill") {
  for (const bool overlap : {true, false}) {
    for (const std::uint32_t learners : {2u, 3u, 4u, 5u, 8u, 9u, 16u}) {
      for (const double cost : {0.1, 3.0}) {
        CAPTURE(overlap);
        CAPTURE(learners);
        CAPTURE(cost);
        const std::string more = R"(, "pair_cost": )" + number_text(cost);
        Race race = race_of(learners, ad_psgd(bipartite, overlap, more), R"({"updates": 1000})");
        for (race.seed = 1; race.seed <= 100; ++race.seed) {
          const RaceRecord record = run_timing(race);
          REQUIRE(record.status == Status::finished);
          for (const LearnerTotals& learner : record.learners)
            REQUIRE(learner.gradients > 250 / learners);
        }
      }
    }
  }
}

TEST_CASE("ad-psgd: sixteen learners on the complete graph come to a standstill soon") {
  std::vector<std::uint64_t> exchanges;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Followed found =
        follow(race_of_seed(seed, 16, ad_psgd("complete", true, R"(, "pair_cost": 1)"), 1'000'000));
    REQUIRE(found.record.status == Status::deadlocked);
    exchanges.push_back(static_cast<std::uint64_t>(
        std::ranges::count(found.orders, Kind::average, &PeerOrder::kind)));
  }
  std::ranges::sort(exchanges);
  MESSAGE("exchanges before a standstill, median: ", exchanges[100]);
  CHECK(exchanges[100] < 50);
}

// Where exchanges take no time: an average and a step for its last gradient and an average for its
// own come between a value's reading and its use where a learner asks; where it answers, a step and
// the averages of those who asked it meanwhile, of whom there are as many as gradients of learners
// that ask.  Nobody waits.
TEST_CASE("ad-psgd: staleness and speed with overlap, where exchanges take no time") {
  for (const std::uint32_t learners : {2u, 8u, 9u}) {
    const RaceRecord record =
        run_timing(race_of(learners, ad_psgd(bipartite), R"({"updates": 200000})"));
    const double ask = learners / 2, answer = learners - ask;
    CHECK(static_cast<double>(record.totals.staleness_sum) / 200000 ==
          doctest::Approx((3 * ask + answer + ask) / learners).epsilon(0.01));
    CHECK(record.totals.time / 200000 == doctest::Approx(1.0 / learners).epsilon(0.01));
    for (const LearnerTotals& learner : record.learners) {
      CHECK(learner.exchanged.waiting <= 1e-9 * record.totals.time);
      CHECK(learner.exchanged.conflicts == 0);
    }
  }
}

// 1 computes, which takes 1 in the mean, and waits until 0 ends a minibatch, 1 again; they exchange
// for c.  0 ends one in the mean while 1 computes, and then the one 1 waits for.  Of three
// gradients two have an average between reading and use.
TEST_CASE("ad-psgd: staleness and speed of two learners without overlap") {
  for (const double cost : {0.0, 0.5, 2.0}) {
    const std::string more = R"(, "pair_cost": )" + number_text(cost);
    const RaceRecord record =
        run_timing(race_of(2, ad_psgd(bipartite, false, more), R"({"updates": 300000})"));
    CHECK(record.totals.time / 300000 == doctest::Approx((2 + cost) / 3).epsilon(0.01));
    CHECK(static_cast<double>(record.totals.staleness_sum) / 300000 ==
          doctest::Approx(2.0 / 3).epsilon(0.01));
    CHECK(record.totals.max_staleness == 1);
    CHECK(record.learners[1].exchanged.communicating / record.totals.time ==
          doctest::Approx(cost / (2 + cost)).epsilon(0.01));
    CHECK(record.learners[1].exchanged.hidden == 0);
  }
}

TEST_CASE("ad-psgd: one learner a hundred times slower takes its own share of the speed") {
  const Speed equal = speed(ad_psgd(bipartite), -1);
  CHECK(equal.all == doctest::Approx(8).epsilon(0.02));
  for (const int slow : {0, 7}) {  // answers, asks
    CAPTURE(slow);
    const Speed one_slow = speed(ad_psgd(bipartite), slow);
    CHECK(one_slow.all >= (1 - 1.0 / 8 - 0.05) * equal.all);
    CHECK(one_slow.others >= 0.95 * equal.others);
  }
  // Without overlap those who ask the slow one wait for its minibatch.
  CHECK(speed(ad_psgd(bipartite, false), 0).others < 0.5 * equal.others);
}

TEST_CASE("ad-psgd: pair_cost is the time of an exchange, else the network's") {
  // Learner 1 computes for 1 and exchanges; the other one is never busy when it asks.
  const auto times = [](const std::string& more, bool network) {
    Race race = race_of(2, ad_psgd(bipartite, false, more), R"({"updates": 21})",
                        R"({"distribution": "deterministic", "value": 1})");
    if (network) {
      race.peers.emplace().inside = {0.25, 8};
      race.peers->model_bytes = 4;
    }
    const RaceRecord record = run_timing(race);
    const ExchangeTotals& asker = record.learners[1].exchanged;
    CHECK(asker.sent == (network ? 4.0 * static_cast<double>(asker.messages) : 0));
    CHECK(asker.received == asker.sent);
    CHECK(asker.communicating + asker.waiting + record.learners[1].busy ==
          doctest::Approx(record.totals.time).epsilon(1e-12));
    return asker.communicating / record.learners[1].gradients;
  };
  CHECK(times("", false) == 0);
  CHECK(times("", true) == doctest::Approx(0.75).epsilon(1e-12));  // 0.25 + 4 / 8
  CHECK(times(R"(, "pair_cost": 0.125)", true) == doctest::Approx(0.125).epsilon(1e-12));
  CHECK(times(R"(, "pair_cost": 0.125)", false) == doctest::Approx(0.125).epsilon(1e-12));
  CHECK(times(R"(, "pair_cost": 0)", true) == 0);
}

TEST_CASE("ad-psgd: exchanges keep the mean of all values") {
  // After 80 gradients the rate is nothing, and exchanges alone are left.
  for (const bool overlap : {true, false}) {
    const RaceRecord record = run_training(
        training(ad_psgd(bipartite, overlap, R"(, "pair_cost": 0.2)"), 8,
                 R"("stop": {"updates": 400}, "record": {"every_updates": 1}, "learning_rate":
           {"kind": "step", "eta": 0.2, "factor": 1e-200, "at": [80], "unit": "gradients"})"));
    const auto from = std::ranges::find_if(
        record.curve, [](const CurvePoint& at) { return at.point.gradients >= 80; });
    REQUIRE(from != record.curve.end());
    const double loss = from->evaluation.loss, disagreement = from->evaluation.disagreement;
    CHECK(disagreement > 1e-4);
    for (auto at = from; at != record.curve.end(); ++at)
      CHECK(std::abs(at->evaluation.loss - loss) <= 1e-12 * loss);
    CHECK(record.curve.back().evaluation.disagreement < 1e-6 * disagreement);
  }
}

TEST_CASE("ad-psgd: both learners of an exchange take half of each, and values live while read") {
  for (const auto* graph : graphs) {
    for (const bool overlap : {true, false}) {
      for (const bool stateful : {true, false}) {
        CAPTURE(graph);
        CAPTURE(overlap);
        CAPTURE(stateful);
        Race race =
            race_of(8, ad_psgd(graph, overlap, R"(, "pair_cost": 0.01)"), R"({"updates": 800})");
        race.plans.front().stateful = stateful;
        TimingPlane plane(race, 0, true, nullptr, 3);
        std::set<ValueId> known = {0};
        std::map<std::pair<ValueId, ValueId>, std::multiset<ValueId>> bases;
        std::size_t averages = 0;
        while (plane.progress() < 1) {
          const Segment& segment = plane.next_segment();
          std::set<ValueId> made = known;
          for (std::size_t i = 0; i < segment.ops.size(); ++i) {
            const Op& op = segment.ops[i];
            REQUIRE(made.contains(op.base));
            made.insert(op.out);
            if (op.kind != Op::Kind::average || op.count != 2) continue;
            const Term one = segment.terms[op.first], other = segment.terms[op.first + 1];
            REQUIRE(made.contains(one.value));
            REQUIRE(made.contains(other.value));
            REQUIRE(one.weight == 0.5);
            REQUIRE(other.weight == 0.5);
            bases[{one.value, other.value}].insert(op.base);
            ++averages;
          }
          for (const Gradient& gradient : segment.gradients) REQUIRE(made.contains(gradient.at));
          known = {segment.live.begin(), segment.live.end()};
          REQUIRE(known.size() <= 8);
        }
        for (const auto& [terms, of] : bases) {
          REQUIRE(of.contains(terms.first));
          REQUIRE(of.contains(terms.second) == stateful);
          REQUIRE(of.size() == (stateful ? 2u : 1u));
        }
        CHECK(averages > 20);
      }
    }
  }
}

TEST_CASE("ad-psgd: values are those of a direct loop along the orders") {
  for (const auto* graph : graphs) {
    for (const bool overlap : {true, false}) {
      for (const double momentum : {0.0, 0.9}) {
        CAPTURE(graph);
        CAPTURE(overlap);
        CAPTURE(momentum);
        Point point = training(ad_psgd(graph, overlap, R"(, "pair_cost": 0.01)"), 6,
                               R"("stop": {"updates": 300}, "record": {"every_updates": 1},
            "learning_rate": {"kind": "constant", "eta": 0.02}, "optimiser": {"momentum": )" +
                                   number_text(momentum) + "}");
        const Race race = point.race();
        std::vector<PeerOrder> orders;
        const Race followed = recorded(race, orders);
        const auto device = make_device(*point.model, {});
        std::vector<RaceRecord> records;
        for (const Race* of : {&race, &followed}) {
          records.push_back(
              run_race({*of, 0, of == &race ? 1 : TimingPlane::default_limit}, device.get()));
        }
        CHECK(records[0].hash == records[1].hash);
        CHECK(records[1].curve.size() > 30);
        DirectLoop loop(6, 0.02, momentum);
        auto order = orders.begin();
        const auto& curve = records[1].curve;
        for (std::size_t i = 0; i < curve.size(); ++i) {
          const auto& [point_there, found] = curve[i];
          if (i + 1 < curve.size() && curve[i + 1].point.time == point_there.time) continue;
          while (order != orders.end() && order->time <= point_there.time) loop.follow(*order++);
          CHECK(std::abs(found.loss - loop.loss()) <= 1e-12 * loop.loss());
          CHECK(found.disagreement == doctest::Approx(loop.disagreement()).epsilon(1e-12));
        }
      }
    }
  }
}

TEST_CASE("ad-psgd: what cannot be is refused by name") {
  const auto refuses = [](std::uint32_t learners, const std::string& protocol, const char* what) {
    CHECK_THROWS_WITH_AS(race_of(learners, protocol, R"({"updates": 1})"), doctest::Contains(what),
                         ScenarioError);
  };
  refuses(1, ad_psgd("ring"), "exchange in pairs");
  refuses(1, ad_psgd(bipartite), "exchange in pairs");
  refuses(8, ad_psgd("torus"), "bipartite-exponential");  // is one of those allowed
  refuses(8, ad_psgd("star"), "bipartite-exponential");
  refuses(8, R"({"kind": "ad-psgd"})", "graph");
  refuses(8, ad_psgd("ring", true, R"(, "pair_cost": -1)"), "pair_cost");
  refuses(8, R"({"kind": "ad-psgd", "graph": "ring", "overlap": "yes"})", "overlap");
  refuses(8, ad_psgd("ring", true, R"(, "order": "adapt-first")"), "order");
  for (const std::uint32_t learners : {2u, 3u, 7u})
    for (const auto* graph : graphs)
      CHECK_NOTHROW(race_of(learners, ad_psgd(graph), R"({"updates": 1})"));
}

}  // namespace gradrace::ad_psgd_test
