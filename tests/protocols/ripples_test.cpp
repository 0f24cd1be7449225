#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "protocols/groups/group_schedule.h"
#include "sim/reading/problem.h"
#include "tests/support/mean.h"
#include "tests/support/race_text.h"
#include "tests/support/recorded_peers.h"

namespace gradrace::ripples_test {

namespace {

using Lines = std::vector<std::string>;
using Group = std::vector<std::uint32_t>;

const char* const schedules[] = {"static", "random", "group-buffer", "group-division",
                                 "inter-intra"};

std::string ripples(const std::string& schedule, const std::string& more = "") {
  return R"({"kind": "ripples", "schedule": ")" + schedule + "\"" + more + "}";
}

/// Who averages in a phase of the static schedule, as its table says; those alone stand by
/// themselves.
std::set<Group> table(std::uint32_t phase, std::uint32_t learners) {
  std::set<Group> groups;
  Group likes;
  for (std::uint32_t n = 0; n < learners; n += 4) {
    if (phase == 0) {
      likes.push_back(n);
      groups.insert({n + 1});
      groups.insert({n + 2, n + 3});
    } else if (phase == 2) {
      groups.insert({n, n + 3});
      likes.push_back(n + 1);
      groups.insert({n + 2});
    } else {
      groups.insert({n, n + 1, n + 2, n + 3});
    }
  }
  if (!likes.empty()) groups.insert(likes);
  return groups;
}

/// What groups average when all minibatches take one unit of time and exchanges none.
std::vector<std::set<Group>> by_phase(std::uint32_t learners, std::uint32_t phases) {
  Race race = race_of(learners, ripples("static"),
                      R"({"updates": )" + std::to_string(phases * learners + 1) + "}",
                      R"({"distribution": "deterministic", "value": 1})");
  std::vector<PeerOrder> found;
  run_timing(recorded(race, found));
  std::vector<std::set<Group>> result(phases);
  for (const PeerOrder& order : found) {
    if (order.kind != PeerOrder::Kind::average) continue;
    result.at(static_cast<std::size_t>(order.time) - 1).insert(order.learners);
  }
  return result;
}

/// The averages of all groups.
void average(std::vector<double>& x, const std::set<Group>& groups) {
  for (const Group& group : groups) {
    double sum = 0;
    for (const auto member : group) sum += x[member];
    for (const auto member : group) x[member] = sum / static_cast<double>(group.size());
  }
}

double norm(const std::vector<double>& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return std::sqrt(squares);
}

Stream numbers(std::uint32_t draw) { return stream({7, 0, Purpose::peers, 0, draw}); }

/// What averages leave of the square of x, whose mean is 0, over that before.
double left(const std::vector<double>& x, std::span<const std::uint32_t> members) {
  double sum = 0, squares = 0;
  for (const auto member : members) sum += x[member], squares += x[member] * x[member];
  return sum * sum / static_cast<double>(members.size()) - squares;
}

/// Takes the mean off and makes the norm 1; what it was.
double normalise(std::vector<double>& x) {
  double mean = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  for (double& value : x) value -= mean;
  const double length = norm(x);
  for (double& value : x) value /= length;
  return length;
}

std::vector<double> centred(std::uint32_t n) {
  std::vector<double> x(n);
  for (std::uint32_t i = 0; i < n; ++i) x[i] = std::sin(1.0 + 3.0 * i);
  normalise(x);
  return x;
}

struct PerRequest {
  double conflicts, groups;  // per request
};

PerRequest rates(const std::string& schedule) {
  std::vector<PeerOrder> found;
  const RaceRecord record =
      run_timing(recorded(race_of(16, ripples(schedule), R"({"updates": 20000})"), found));
  double conflicts = 0;
  for (const LearnerTotals& learner : record.learners) conflicts += learner.exchanged.conflicts;
  const auto groups = std::ranges::count(found, PeerOrder::Kind::average, &PeerOrder::kind);
  return {conflicts / 20000, static_cast<double>(groups) / 20000};
}

std::vector<double> conflicts(const Race& race) {
  std::vector<double> result;
  for (const LearnerTotals& learner : run_timing(race).learners)
    result.push_back(learner.exchanged.conflicts);
  return result;
}

std::string nodes_of(std::uint32_t learners) {
  return R"({"topology": "nodes", "between": {"latency": 0}, "per_node": )" +
         std::to_string(learners) + "}";
}

std::optional<Mixing> mixing_of(std::uint32_t learners, const std::string& protocol,
                                const std::string& network = R"({"topology": "mesh"})") {
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) +
                    R"(, "runtime": {"distribution": "exponential", "mean": 1}, "network": )" +
                    network + R"(}, "protocol": )" + protocol + R"(, "stop": {"updates": 1}})")
      .make_protocol()
      ->mixing();
}

using Counts = std::vector<double>;

}  // namespace

TEST_CASE("ripples: static for four learners") {
  CHECK(orders(ripples("static"), 4, {1, 2, 3, 5, 1, 10, 1, 2, 1, 1, 1, 1, 1, 1, 1, 2}, 16) ==
        Lines{"0 compute 0",      "0 compute 1",        "0 compute 2",  "0 compute 3",   //
              "1 compute 0",      "2 compute 1",                                         // alone
              "5 begin 2 3",      "6 average 2 3",      "6 compute 2",  "6 compute 3",   //
              "12 begin 0 1 2 3", "15 average 0 1 2 3",                                  //
              "15 compute 0",     "15 compute 1",       "15 compute 2", "15 compute 3",  //
              "16 compute 1",     "16 compute 2",       "16 begin 0 3",                  //
              "17 average 0 3",   "17 compute 0",       "17 compute 3",                  //
              "19 begin 0 1 2 3"});
}

TEST_CASE("ripples: random groups of all take turns in the order of requests") {
  CHECK(orders(ripples("random", R"(, "group": 4)"), 4, {1, 2, 3, 4, 1, 2, 1, 1}, 8) ==
        Lines{"0 compute 0", "0 compute 1", "0 compute 2", "0 compute 3",  //
              "4 begin 0 1 2 3", "7 average 0 1 2 3", "7 compute 0",       //
              "8 begin 0 1 2 3", "11 average 0 1 2 3", "11 compute 1",     //
              "13 begin 0 1 2 3", "16 average 0 1 2 3", "16 compute 2",    //
              "17 begin 0 1 2 3", "20 average 0 1 2 3", "20 compute 3",    //
              "21 begin 0 1 2 3"});
}

// Groups that requests of a learner draw, in their order: 0: 03 03; 1: 12 01; 2: 02; 3: 13 03.  At
// 3 and 3.5 the groups of 1 and 0 begin, and those of 2 and 3 wait until 4.5, when 0 and 3 are
// free, and then for 0 and 1; at 6.5 that of 1 comes before that of 0, which waits for 3.
TEST_CASE("ripples: random groups of two among four learners, by hand") {
  const auto protocol = ripples("random", R"(, "group": 2)");
  const std::vector<double> runtimes = {1, 2, 3, 3.5, 1.25, 1, 2, 10, 10};
  CHECK(orders(protocol, 4, runtimes, 7) ==
        Lines{"0 compute 0",      "0 compute 1",    "0 compute 2",   "0 compute 3",  //
              "3 begin 1 2",      "3.5 begin 0 3",                                   //
              "4 average 1 2",    "4 compute 1",                                     //
              "4.5 average 0 3",  "4.5 compute 0",                                   //
              "5.25 begin 1 3",   "5.5 begin 0 2",                                   //
              "6.25 average 1 3", "6.25 compute 3",                                  //
              "6.5 average 0 2",  "6.5 begin 0 1",  "6.5 compute 2",                 //
              "7.5 average 0 1",  "7.5 compute 1",                                   //
              "8.25 begin 0 3"});
  CHECK(conflicts(by_hand(protocol, 4, runtimes, 7)) == Counts{1, 1, 1, 2});
}

// With filter 1 nobody draws a learner that has made fewer requests: 0 is alone at 1, 3 and 5; 1
// draws 0 at 2 and at 8, 2 draws 0 at 6 and 3 draws 1 at 7.
TEST_CASE("ripples: a filter of random groups, by hand") {
  const auto protocol = ripples("random", R"(, "group": 2, "filter": 1)");
  const std::vector<double> runtimes = {1, 2, 6, 7, 2, 4, 1, 10};
  CHECK(orders(protocol, 4, runtimes, 7) == Lines{"0 compute 0", "0 compute 1", "0 compute 2",
                                                  "0 compute 3",                                  //
                                                  "1 compute 0", "3 begin 0 1",                   //
                                                  "4 average 0 1", "4 compute 1", "4 compute 0",  //
                                                  "5 compute 0", "8 begin 1 3"});
  CHECK(conflicts(by_hand(protocol, 4, runtimes, 7)) == Counts{1, 1, 0, 0});
}

// Groups that requests draw, in the order of each learner's: 0: 03 03 01; 1: 12 01; 2: 02 02; 3: 13
// 03.  Only a request with an empty buffer makes its group: 03 and 12 at 1 and 2, 01 at 5, 03 at
// 5.5, behind 01 in the buffer of 0, and 02 at 9, behind 03.
TEST_CASE("ripples: a buffer of groups for four learners, by hand") {
  const auto protocol = ripples("group-buffer", R"(, "group": 2)");
  const std::vector<double> runtimes = {1, 2, 3, 3.5, 1, 5, 2, 1, 1, 10, 1, 10};
  CHECK(orders(protocol, 4, runtimes, 10) ==
        Lines{"0 compute 0",     "0 compute 1",   "0 compute 2",   "0 compute 3",  //
              "3 begin 1 2",     "3.5 begin 0 3",                                  //
              "4 average 1 2",   "4 compute 1",   "4 compute 2",                   //
              "4.5 average 0 3", "4.5 compute 0", "4.5 compute 3",                 //
              "6.5 begin 0 1",                                                     //
              "7.5 average 0 1", "7.5 compute 0", "7.5 compute 1",                 //
              "8.5 begin 0 3",                                                     //
              "9.5 average 0 3", "9.5 compute 0", "9.5 compute 3",                 //
              "10.5 begin 0 2"});
  CHECK(conflicts(by_hand(protocol, 4, runtimes, 10)) == Counts{0, 0, 1, 1});
}

// The first request, of 0, divides all into 02 and 13; that of 0 at 4.25 divides 0 and 2 alone, as
// 1 and 3 are still in their group, and that of 1 at 5.5 the other two.
TEST_CASE("ripples: a division of four learners, by hand") {
  CHECK(orders(ripples("group-division", R"(, "group": 2)"), 4,
               {1, 2, 3, 3.5, 0.25, 3, 1, 4, 1, 1.25},
               10) == Lines{"0 compute 0", "0 compute 1", "0 compute 2", "0 compute 3",  //
                            "3 begin 0 2", "3.5 begin 1 3",                              //
                            "4 average 0 2", "4 compute 0", "4 compute 2",               //
                            "4.5 average 1 3", "4.5 compute 1", "4.5 compute 3",         //
                            "7 begin 0 2",                                               //
                            "8 average 0 2", "8 compute 0", "8 compute 2",               //
                            "8.5 begin 1 3", "9.25 begin 0 2"});
}

// With filter 1 nobody takes a learner that has made fewer requests.  0 is alone at 1 and at 5; 1
// takes 0 at 2.  At 6 the request of 2 divides 0, 1 and 2 into 01 and itself, and at 10 that of 3
// all into 13 and 02.
TEST_CASE("ripples: a filter leaves out who is behind, by hand") {
  CHECK(orders(ripples("group-division", R"(, "group": 2, "filter": 1)"), 4,
               {1, 2, 6, 10, 2, 1, 4, 2, 10, 10, 2},
               9) == Lines{"0 compute 0", "0 compute 1", "0 compute 2", "0 compute 3",  //
                           "1 compute 0", "3 begin 0 1",                                //
                           "4 average 0 1", "4 compute 0", "4 compute 1",               //
                           "5 compute 0", "6 compute 2", "8 begin 0 1",                 //
                           "9 average 0 1", "9 compute 0", "9 compute 1",               //
                           "11 begin 1 3"});
}

// Nodes 01 and 23.  The request of 0 at 1 makes 0 and 2 alone and 13 across, then 01 and 23; that
// at 8.5 finds only its node idle: 1 alone and 0 as the only one across, then 01.
TEST_CASE("ripples: groups across nodes and inside them for four learners, by hand") {
  const auto protocol = ripples("inter-intra", R"(, "group": 2)");
  const std::vector<double> runtimes = {1, 2, 3, 4.5, 1.5, 1, 1, 2.25, 1, 10, 10, 1, 10, 10};
  CHECK(orders(protocol, 4, runtimes, 10, 2) ==
        Lines{"0 compute 0",      "0 compute 1",    "0 compute 2",    "0 compute 3",  //
              "1 compute 0",      "3 compute 2",                                      //
              "4.5 begin 1 3",                                                        //
              "5.5 average 1 3",  "5.5 compute 1",  "5.5 compute 3",                  //
              "6.5 begin 0 1",                                                        //
              "7.5 average 0 1",  "7.5 compute 0",  "7.5 compute 1",                  //
              "7.75 begin 2 3",   "8.5 compute 0",                                    //
              "8.75 average 2 3", "8.75 compute 2", "8.75 compute 3",                 //
              "9.75 compute 2"});
  CHECK(conflicts(by_hand(protocol, 4, runtimes, 10, 2)) == Counts{1, 0, 1, 0});
}

TEST_CASE("ripples: the static table for 8, 16 and 32 learners") {
  for (const std::uint32_t learners : {8u, 16u, 32u}) {
    CAPTURE(learners);
    const auto found = by_phase(learners, 8);
    for (std::uint32_t step = 0; step < 8; ++step) {
      CAPTURE(step);
      std::set<Group> expected;
      std::vector<std::uint32_t> covered(learners);
      for (const Group& group : table(step % 4, learners)) {
        for (const auto member : group) ++covered[member];
        if (group.size() > 1) expected.insert(group);
      }
      CHECK(found[step] == expected);
      CHECK(std::ranges::count(covered, 1) == learners);
    }
  }
}

TEST_CASE("ripples: a static cycle contracts what learners differ by") {
  // Power iterations: of M, and of M^T M, whose averages come once more in the other order.
  for (const std::uint32_t learners : {8u, 16u, 32u}) {
    CAPTURE(learners);
    const auto cycle = by_phase(learners, 4);
    std::vector<double> x = centred(learners), y = x;
    double radius = 0, squared = 0;
    for (int i = 0; i < 200; ++i) {
      for (const auto& groups : cycle) average(x, groups);
      radius = normalise(x);
      for (std::size_t phase = 0; phase < 8; ++phase)
        average(y, cycle[phase < 4 ? phase : 7 - phase]);
      squared = normalise(y);
    }
    CHECK(radius == doctest::Approx(0.5625).epsilon(1e-6));
    CHECK(std::sqrt(squared) == doctest::Approx(0.6495).epsilon(1e-4));
    const Mixing told = *mixing_of(learners, ripples("static"));
    CHECK(told.rho == doctest::Approx(squared).epsilon(1e-6));
    CHECK(1 - spectral_gap(told) == doctest::Approx(radius).epsilon(1e-6));
    CHECK(told.period == 4);
  }
  CHECK(mixing_of(4, ripples("static"))->rho == 0);
  CHECK_FALSE(mixing_of(6, ripples("static"), nodes_of(4)));
}

// Learners that all ask at once get two groups each, which leave (1 - 1 / s)^2 of what nodes of s
// differ by; the mean of 4,000 draws for what learners of one node differ by.
TEST_CASE("ripples: what groups across nodes and inside them leave of a disagreement") {
  for (const std::uint32_t s : {3u, 4u}) {
    CAPTURE(s);
    const std::uint32_t n = 3, P = n * s;
    const std::string nodes = nodes_of(s);
    const Mixing told = *mixing_of(P, ripples("inter-intra"), nodes);
    std::vector<double> between(P), inside(P);
    for (std::uint32_t i = 0; i < P; ++i) between[i] = i < s ? 2 : -1;  // of three nodes
    inside[0] = 1, inside[1] = -1;
    normalise(between), normalise(inside);
    Mean left_inside;
    double radius = 0;
    Race race =
        race_of(P, ripples("inter-intra"), R"({"updates": )" + std::to_string(8000 * P) + "}",
                R"({"distribution": "deterministic", "value": 1})");
    race.peers.emplace().per_node = s;
    std::vector<PeerOrder> found;
    run_timing(recorded(race, found));
    std::map<std::uint32_t, std::vector<Group>> by_step;
    for (const PeerOrder& order : found)
      if (order.kind == PeerOrder::Kind::average)
        by_step[static_cast<std::uint32_t>(order.time)].push_back(order.learners);
    for (std::uint32_t step = 1; step + 1 < 8000; step += 2) {
      std::vector<double> x = between, y = inside;
      for (const std::uint32_t phase : {step, step + 1}) {
        const std::set<Group> groups(by_step[phase].begin(), by_step[phase].end());
        average(x, groups), average(y, groups);
      }
      radius = norm(x);
      REQUIRE(radius * radius == doctest::Approx(told.rho).epsilon(1e-9));
      left_inside.add(norm(y) * norm(y));
    }
    CHECK(1 - spectral_gap(told) == doctest::Approx(radius).epsilon(1e-9));
    CHECK(left_inside.agrees((1 - 1.0 / n) / (s * s)));
    CHECK(left_inside.value() < told.rho);
  }
  CHECK(mixing_of(8, ripples("inter-intra"))->rho == 0);  // one node
  CHECK_FALSE(mixing_of(8, ripples("inter-intra"), nodes_of(3)));
  CHECK_FALSE(mixing_of(8, ripples("inter-intra", R"(, "filter": 2)")));
}

TEST_CASE("ripples: static groups are of four, by node or by number") {
  const auto read = [](std::uint32_t learners, const std::string& network) {
    return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) +
                      R"(, "runtime": {"distribution": "exponential", "mean": 1})" + network +
                      R"(}, "protocol": )" + ripples("static") + R"(, "stop": {"updates": 600}})");
  };
  const auto nodes = [](const std::string& per_node) {
    return R"(, "network": {"topology": "nodes", "between": {"latency": 0.1}, "per_node": )" +
           per_node + "}";
  };
  CHECK_THROWS_AS(read(6, ""), ScenarioError);
  CHECK_THROWS_AS(read(6, nodes("3")), ScenarioError);
  for (const Point& point : {read(6, nodes("4")), read(8, nodes("2")), read(8, "")})
    CHECK(run_timing(point.race()).totals.updates == 600);
}

TEST_CASE("ripples: random groups and partitions mix as A.5 of their theory says") {
  constexpr std::uint32_t n = 16, draws = 100'000;
  const std::vector<double> x = centred(n);
  for (const std::uint32_t g : {2u, 3u, 4u, 8u}) {
    CAPTURE(g);
    const GroupRule rule{n, g};
    Requests requests(rule);
    double group_sum = 0, partition_sum = 0;
    std::vector<std::uint32_t> members, all(n);
    std::vector<std::size_t> sizes;
    for (std::uint32_t draw = 0; draw < draws; ++draw) {
      Stream random = numbers(draw);
      requests.draw(draw % n, random, members);
      REQUIRE(members.size() == g);
      REQUIRE(std::ranges::adjacent_find(members, std::greater_equal()) == members.end());
      group_sum += 1 + left(x, members);
      for (std::uint32_t i = 0; i < n; ++i) all[i] = i;
      divide(random, all, g, sizes);
      double rest = 1;
      for (std::size_t i = 0, first = 0; i < sizes.size(); first += sizes[i++])
        rest += left(x, std::span(all).subspan(first, sizes[i]));
      partition_sum += rest;
    }
    CHECK(group_sum / draws == doctest::Approx(1 - (g - 1.0) / (n - 1)).epsilon(0.01));
    const double groups = g == 3 ? 5 : n / g;  // round(16 / 3)
    CHECK(partition_sum / draws == doctest::Approx((groups - 1) / (n - 1)).epsilon(0.01));
  }
}

TEST_CASE("ripples: sizes of a division") {
  const auto sizes_of = [](std::uint32_t n, std::uint32_t group) {
    std::vector<std::uint32_t> learners(n);
    std::vector<std::size_t> sizes;
    Stream random = numbers(0);
    divide(random, learners, group, sizes);
    return sizes;
  };
  using Sizes = std::vector<std::size_t>;
  CHECK(sizes_of(1, 3) == Sizes{1});
  CHECK(sizes_of(4, 3) == Sizes{4});
  CHECK(sizes_of(5, 3) == Sizes{3, 2});
  CHECK(sizes_of(16, 3) == Sizes{4, 3, 3, 3, 3});
  CHECK(sizes_of(7, 2) == Sizes{2, 2, 2, 1});
}

TEST_CASE("ripples: without a network one group of all is partial-reduce and local-sgd") {
  std::vector<RaceRecord> records;
  for (const std::string& protocol :
       {ripples("group-division", R"(, "group": 5)"),
        std::string(R"({"kind": "partial-reduce", "group": 5})"),
        std::string(R"({"kind": "local-sgd", "tau": 1, "momentum_state": "kept"})")}) {
    records.push_back(run_training(point_from(
        R"({"cluster": {"learners": 5, "runtime": {"distribution": "exponential", "mean": 1}},
            "model": {"kind": "quadratic", "noise": 1},
            "optimiser": {"kind": "sgd", "momentum": 0.9},
            "learning_rate": {"kind": "constant", "eta": 0.05}, "stop": {"time": 100},
            "record": {"every_time": 3}, "protocol": )" +
        protocol + "}")));
  }
  for (const RaceRecord& record : records) {
    CHECK(record.hash == records[0].hash);
    CHECK(record.totals.applied == records[0].totals.applied);
    REQUIRE(record.curve.size() == records[0].curve.size());
    for (std::size_t i = 0; i < record.curve.size(); ++i) {
      CHECK(record.curve[i].point.time == records[0].curve[i].point.time);
      CHECK(record.curve[i].evaluation.loss == records[0].curve[i].evaluation.loss);
    }
  }
  CHECK(records[0].totals.updates == records[0].totals.applied);
  CHECK(records[0].curve.size() > 30);
}

TEST_CASE("ripples: averages keep the mean of all values") {
  // All step at 1; a ring of two ends at 2 and the next steps come at 3.
  for (const std::string schedule : {"random", "group-buffer", "group-division"}) {
    CAPTURE(schedule);
    Point point = point_from(
        R"({"cluster": {"learners": 8, "runtime": {"distribution": "deterministic", "value": 1},
                        "network": {"topology": "mesh", "latency": 0.25}},
            "model": {"kind": "quadratic", "noise": 1, "precision": "float64"},
            "learning_rate": {"kind": "constant", "eta": 0.5}, "stop": {"time": 1.95},
            "record": {"every_time": 0.1}, "protocol": )" +
        ripples(schedule, R"(, "group": 2)") + "}");
    const RaceRecord record = run_training(point);
    double first_loss = 0, first_disagreement = 0;
    for (const CurvePoint& at : record.curve) {
      if (at.point.time < 1.05) continue;
      if (first_loss == 0) {
        first_loss = at.evaluation.loss;
        first_disagreement = at.evaluation.disagreement;
      }
      CHECK(at.evaluation.loss == doctest::Approx(first_loss).epsilon(1e-12));
    }
    CHECK(record.curve.back().evaluation.disagreement < 0.9 * first_disagreement);
  }
}

TEST_CASE("ripples: no schedule comes to a standstill") {
  for (const std::string schedule : schedules) {
    for (const std::uint32_t learners : {5u, 8u, 16u}) {
      if (schedule == "static" && learners == 5) continue;
      for (const std::string filter : {"", R"(, "filter": 1)"}) {
        if (schedule == "static" && !filter.empty()) continue;
        CAPTURE(schedule);
        CAPTURE(learners);
        Race race = race_of(learners, ripples(schedule, filter), R"({"updates": 2000})");
        race.peers.emplace().inside.latency = 0.1;
        race.peers->between.latency = 0.3;
        race.peers->per_node = 4;
        for (race.seed = 1; race.seed <= 30; ++race.seed) {
          const RaceRecord record = run_timing(race);
          REQUIRE(record.totals.updates == 2000);
          REQUIRE(record.totals.max_staleness == 0);
          for (const LearnerTotals& learner : record.learners) REQUIRE(learner.gradients > 100 / 4);
        }
      }
    }
  }
}

TEST_CASE("ripples: conflicts of random groups, with a buffer, and of a division") {
  const PerRequest random = rates("random"), buffer = rates("group-buffer"),
                   division = rates("group-division");
  MESSAGE("conflicts a request: ", random.conflicts, ", ", buffer.conflicts, ", ",
          division.conflicts);
  MESSAGE("groups a request: ", random.groups, ", ", buffer.groups, ", ", division.groups);
  CHECK(random.conflicts > 0.8);
  CHECK(buffer.conflicts < 0.8 * random.conflicts);
  CHECK(division.conflicts == 0);
  CHECK(random.groups == doctest::Approx(1).epsilon(0.01));
  CHECK(buffer.groups == doctest::Approx(1.0 / 3).epsilon(0.01));
  CHECK(division.groups < 0.5);
}

}  // namespace gradrace::ripples_test
