#include "protocols/groups/graph.h"

#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "sim/reading/problem.h"
#include "tests/support/race_text.h"

namespace gradrace::graph_test {

namespace {

using List = std::vector<std::uint32_t>;

List hears(const Graph& graph, std::uint32_t learner) { return graph.hears(learner); }

List list_of(const Others& others) {
  const auto all = others.all();
  return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("graph: whom a learner hears, by hand") {
  CHECK(hears(Graph("ring", 8), 0) == List{1, 7});
  CHECK(hears(Graph("ring", 2), 1) == List{0});
  CHECK(hears(Graph("ring", 1), 0).empty());
  CHECK(hears(Graph("torus", 12), 0) == List{1, 3, 4, 8});  // 3 x 4
  CHECK(hears(Graph("torus", 12), 7) == List{3, 4, 6, 11});
  CHECK(hears(Graph("torus", 36), 0) == List{1, 5, 6, 30});  // 6 x 6, not 3 x 12
  CHECK(hears(Graph("exponential", 8), 5) == List{1, 6, 7});
  CHECK(hears(Graph("exponential", 6), 0) == List{1, 2, 4});
  CHECK(hears(Graph("complete", 4), 2) == List{0, 1, 3});
  const NeighbourLists all(Graph("complete", 1 << 24));  // whom all hear is not written down
  CHECK(all.hears(7)[7] == 8);
  // Distances 1, 3 and 5 of 8, then of 7 with 6 and 0 both even.
  CHECK(hears(Graph("bipartite-exponential", 8), 1) == List{0, 2, 4, 6});
  CHECK(hears(Graph("bipartite-exponential", 16), 1) == List{0, 2, 4, 6, 8, 10, 12, 14});
  CHECK(hears(Graph("bipartite-exponential", 32), 1) == List{0, 2, 4, 6, 10, 16, 18, 24, 28, 30});
  CHECK(hears(Graph("bipartite-exponential", 7), 0) == List{1, 3, 5});
}

TEST_CASE("graph: heard_by is hears, the other way round, and degrees are equal") {
  for (const auto* kind : {"ring", "torus", "exponential", "complete"}) {
    for (const std::uint32_t learners : {9u, 12u, 16u, 30u}) {
      CAPTURE(kind);
      CAPTURE(learners);
      const Graph graph(kind, learners);
      std::vector<List> heard(learners);
      for (std::uint32_t i = 0; i < learners; ++i) {
        for (const std::uint32_t other : graph.hears(i)) heard[other].push_back(i);
        CHECK(graph.hears(i).size() == graph.hears(0).size());
        CHECK(graph.heard_by(i).size() == graph.hears(0).size());
      }
      const NeighbourLists lists(graph);
      for (std::uint32_t i = 0; i < learners; ++i) {
        CHECK(heard[i] == graph.heard_by(i));
        CHECK(list_of(lists.hears(i)) == graph.hears(i));
        CHECK(list_of(lists.heard_by(i)) == graph.heard_by(i));
      }
      CHECK(graph.degree() == graph.hears(0).size());
    }
  }
}

TEST_CASE("graph: bipartite-exponential joins odd learners with even ones alone, both ways") {
  for (std::uint32_t learners = 1; learners < 70; ++learners) {
    const Graph graph("bipartite-exponential", learners);
    for (std::uint32_t i = 0; i < learners; ++i) {
      CHECK(hears(graph, i) == graph.heard_by(i));
      for (const std::uint32_t other : graph.hears(i)) CHECK(i % 2 != other % 2);
      CHECK(graph.hears(i).empty() == (learners == 1));
    }
  }
}

TEST_CASE("graph: a torus that the learners have not is refused by name") {
  for (const std::uint32_t learners : {1u, 4u, 8u, 10u, 14u, 22u}) {
    CHECK_THROWS_WITH_AS(
        race_of(learners, R"({"kind": "d-psgd", "graph": "torus"})", R"({"updates": 1})"),
        doctest::Contains("torus"), ScenarioError);
  }
  for (const std::uint32_t learners : {9u, 12u, 15u, 16u})
    CHECK_NOTHROW(
        race_of(learners, R"({"kind": "d-psgd", "graph": "torus"})", R"({"updates": 1})"));
}

TEST_CASE("graph: eigenvalues are those of the matrix of weights") {
  for (const auto* kind : {"ring", "torus", "exponential", "complete"}) {
    for (const std::uint32_t learners : {1u, 2u, 3u, 5u, 8u, 9u, 12u, 16u, 20u}) {
      if (kind == std::string("torus") && learners < 9) continue;
      CAPTURE(kind);
      CAPTURE(learners);
      const Graph graph(kind, learners);
      Eigen::MatrixXd weights = Eigen::MatrixXd::Zero(learners, learners);
      for (std::uint32_t i = 0; i < learners; ++i) {
        const double weight = 1.0 / (static_cast<double>(graph.hears(i).size()) + 1);
        weights(i, i) = weight;
        for (const std::uint32_t other : graph.hears(i)) weights(i, other) = weight;
      }
      const Eigen::VectorXcd expected = weights.eigenvalues();
      const auto found = mixing_eigenvalues(graph);
      REQUIRE(found.size() == learners);
      CHECK(std::abs(found[0] - 1.0) <= 1e-14);
      std::vector<bool> met(learners);
      for (const auto& value : found) {
        std::uint32_t nearest = learners;
        for (std::uint32_t k = 0; k < learners; ++k) {
          const bool nearer = nearest == learners ||
                              std::abs(expected(k) - value) < std::abs(expected(nearest) - value);
          if (!met[k] && nearer) nearest = k;
        }
        met[nearest] = true;
        CHECK(std::abs(expected(nearest) - value) <= 1e-7);  // a root of many is not told better
      }
    }
  }
}

TEST_CASE("graph: a ring's second eigenvalue by hand") {
  const auto found = mixing_eigenvalues(Graph("ring", 8));
  CHECK(found[1].real() == doctest::Approx((1 + std::sqrt(2)) / 3).epsilon(1e-14));
  CHECK(std::abs(found[1].imag()) <= 1e-15);
}

}  // namespace gradrace::graph_test
