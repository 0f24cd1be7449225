#include "sim/cli/scenario/group.h"

#include <doctest/doctest.h>

#include <string>

#include "distributions/order_statistics.h"
#include "tests/support/race_text.h"

namespace gradrace::group_test {
namespace {

Group group(Group::Parallelism parallelism, std::uint32_t q, std::uint32_t d, Link link) {
  Group group;
  group.parallelism = parallelism;
  group.q = q, group.d = d;
  group.layers = 2, group.batch = 12, group.sequence = 512, group.hidden = 3072;
  group.element_bytes = 1;
  group.inside = link;
  return group;
}

constexpr auto one = Group::Parallelism::one, two = Group::Parallelism::two,
               two_and_half = Group::Parallelism::two_and_half;
constexpr Link bytes_alone{0, 1}, messages_alone{1};

double forward(Group group) {
  group.passes = Group::Passes::forward;
  return group.exchange_time();
}
double recomputed(Group group) {
  group.passes = Group::Passes::recompute;
  return group.exchange_time();
}

// Derived from the four products of a layer; messages of such products are counted by
// `gradrace reproduce wang2021summa`.
TEST_CASE("group: volumes of a transformer layer are those of its products") {
  const double x = 12.0 * 512 * 3072, w = 3072.0 * 3072;
  const Group row = group(one, 8, 1, bytes_alone);
  CHECK(forward(row) == doctest::Approx(2 * 4 * 63 / 64.0 * x).epsilon(1e-14));
  CHECK(recomputed(row) == doctest::Approx(2 * 12 * 63 / 64.0 * x).epsilon(1e-14));
  CHECK(row.exchange_time() == doctest::Approx(2 * 8 * 63 / 64.0 * x).epsilon(1e-14));
  const Group grid = group(two, 8, 1, bytes_alone);
  CHECK(forward(grid) == doctest::Approx(2 * 6 / 16.0 * (7 * x + 12 * w)).epsilon(1e-14));
  CHECK(recomputed(grid) == doctest::Approx(2 * 6 / 16.0 * (28 * x + 48 * w)).epsilon(1e-14));
  const Group deep = group(two_and_half, 4, 4, bytes_alone);
  CHECK(forward(deep) == doctest::Approx(2 * 2 / 4.0 * (7 * x / 4 + 12 * w)).epsilon(1e-14));
  CHECK(deep.exchange_time() ==
        doctest::Approx(2 * (2 / 4.0 * (21 * x / 4 + 36 * w) + 2 * 3 / 4.0 * 12 * w / 16))
            .epsilon(1e-14));
  // 4 products, q steps, 2 collectives of log2 q hops.
  CHECK(forward(group(two_and_half, 4, 4, messages_alone)) == 2 * 4 * 4 * 2 * 2);
  CHECK(forward(group(one, 8, 1, messages_alone)) == 2 * 4 * 63);
  Group ring = deep;
  ring.by_ring = true;
  CHECK(forward(ring) == doctest::Approx(2 * 3 / 4.0 * (7 * x / 4 + 12 * w)).epsilon(1e-14));
}

TEST_CASE("group: depth is data parallel over grids, and depth 1 is 2-d") {
  const Link link{1e3, 0.25};
  for (const std::uint32_t q : {1u, 2u, 3u, 8u}) {
    CHECK(group(two_and_half, q, 1, link).exchange_time() ==
          group(two, q, 1, link).exchange_time());
    Group quarter = group(two, q, 1, link);
    quarter.batch /= 4;
    const double weights = 12 * 3072.0 * 3072 / q / q;
    CHECK(group(two_and_half, q, 4, link).exchange_time() ==
          doctest::Approx(quarter.exchange_time() + 2 * (6 * 1e3 + 2 * 3 / 4.0 * weights * 4))
              .epsilon(1e-14));
  }
}

TEST_CASE("group: without links of its own it has those of the network's learners") {
  const auto time = [](const std::string& of_group, const std::string& network) {
    return run_timing(point_from(R"({"cluster": {"learners": 4,
      "runtime": {"distribution": "exponential", "mean": 1},
      "group": {"parallelism": "2.5-d", "grid": [2, 2, 2], )" +
                                 of_group + R"(
        "transformer": {"layers": 2, "batch": 3, "sequence": 8, "hidden": 16}},
      "network": {"model_bytes": 700, )" +
                                 network + R"(}},
      "protocol": {"kind": "all-reduce"}, "stop": {"updates": 5}})")
                          .race())
        .totals.time;
  };
  const std::string fast = R"({"latency": 0.01, "bandwidth": 90000})",
                    slow = R"({"latency": 0.1, "bandwidth": 40000})";
  const std::string mesh = R"("topology": "mesh", "latency": 0.01, "bandwidth": 90000)";
  const std::string nodes =
      R"("topology": "nodes", "per_node": 1, "inside": )" + fast + R"(, "between": )" + slow;
  const std::string inside = R"("inside": )" + fast + ", ",
                    both = inside + R"("per_node": 4, "between": )" + slow + ", ";
  CHECK(time("", mesh) == time(inside, mesh));
  CHECK(time("", nodes) == time(inside, nodes));
  CHECK(time(R"("per_node": 4, )", nodes) == time(both, nodes));
  CHECK(time(both, nodes) > time(inside, nodes));
}

// Devices 0 to 15 are a layer of 4 x 4, and 0 to 3 its first row.
TEST_CASE("group: exchanges within a node go by its links, others between nodes") {
  Group whole = group(two_and_half, 4, 2, messages_alone);
  const double rows = 2 * 3 * 4 * 4 * 2, depth = 2 * 2;
  whole.between.latency = 100;
  const auto at = [&](std::uint32_t per_node) {
    Group group = whole;
    group.per_node = per_node;
    return group.exchange_time();
  };
  CHECK(whole.exchange_time() == 2 * rows + depth);
  CHECK(at(32) == 2 * rows + depth);
  CHECK(at(16) == 2 * rows + 100 * depth);
  CHECK(at(4) == 101 * rows + 100 * depth);
  CHECK(at(6) == 200 * rows + 100 * depth);
}

RunRecord timed(const std::string& more) {
  const Point point = point_from(
      R"({"cluster": {"learners": 3, "runtime": {"distribution": "exponential", "mean": 1})" +
      more + R"(}, "protocol": {"kind": "sync"}, "stop": {"updates": 20000}})");
  return run_timing(point.race());
}

TEST_CASE("group: a learner takes the slowest of its devices, a P-th of a minibatch each") {
  const double alone = timed("").totals.time;
  CHECK(timed(R"(, "group": {"parallelism": "1-d", "grid": [1, 1, 1]})").totals.time == alone);
  CHECK(timed(R"(, "group": {"parallelism": "2.5-d", "grid": [1, 1, 1],
                   "transformer": {"layers": 2, "batch": 4, "sequence": 8, "hidden": 16},
                   "inside": {"latency": 0.5, "bandwidth": 100}})")
            .totals.time == alone);
  // 24 devices; a layer of two products of 2 x 2 takes 3 * 4 * 2 * 2 = 48 latencies, the depth 2.
  const double time = timed(R"(, "group": {"parallelism": "2.5-d", "grid": [2, 2, 2],
      "transformer": {"layers": 1, "batch": 2, "sequence": 1, "hidden": 1},
      "inside": {"latency": 0.01}})")
                          .totals.time;
  CHECK(time / 20000 == doctest::Approx(harmonic_difference(24, 24) / 8 + 0.5).epsilon(0.005));
  const Point of_samples = point_from(
      R"({"cluster": {"learners": 3, "runtime": {"distribution": "exponential", "mean": 1},
                      "rate": 0.5, "group": {"parallelism": "1-d", "grid": [2, 2, 1]}},
          "model": {"kind": "quadratic", "minibatch": 1}, "timing_only": true,
          "protocol": {"kind": "sync"}, "stop": {"updates": 20000}})");
  const double samples = run_timing(of_samples.race()).totals.time;
  CHECK(samples / 20000 == doctest::Approx((harmonic_difference(12, 12) + 2) / 4).epsilon(0.005));
}

}  // namespace
}  // namespace gradrace::group_test
