#include "protocols/groups/graph.h"

#include <algorithm>
#include <numbers>

#include "sim/check.h"

namespace gradrace {

namespace {

/// The shorter side; 0: there is no such torus.
std::uint32_t torus_rows(std::uint32_t learners) {
  std::uint32_t rows = 0;
  for (std::uint32_t a = 3; std::uint64_t{a} * a <= learners; ++a)
    if (learners % a == 0) rows = a;
  return rows;
}

}  // namespace

Graph::Graph(std::string_view kind, std::uint32_t learners)
    : kind_(kind), learners_(learners), torus_rows_(kind == "torus" ? torus_rows(learners) : 0) {}

/// Learner i may be there itself, or somebody twice; `backwards`: those who hear it.
void Graph::add(std::uint32_t i, bool backwards, std::vector<std::uint32_t>& others) const {
  const std::uint32_t P = learners_;
  const auto at = [&](std::uint64_t place) {
    others.push_back(static_cast<std::uint32_t>(place % P));
  };
  const auto both_ways = [&](std::uint64_t distance) {
    at(i + distance);
    at(i + std::uint64_t{P} * 2 - distance);
  };
  if (kind_ == "ring") {
    both_ways(1);
  } else if (kind_ == "torus") {
    const std::uint32_t a = torus_rows_;
    GRADRACE_CHECK(a > 0, "a torus has three rows and three columns or more");
    const std::uint32_t b = P / a, row = i / b, column = i % b;
    at(i + b);
    at(i + P - b);
    at(row * b + (column + 1) % b);
    at(row * b + (column + b - 1) % b);
  } else if (kind_ == "exponential") {
    for (std::uint64_t distance = 1; distance < P; distance *= 2)
      at(i + (backwards ? P - distance : distance));
  } else {
    GRADRACE_CHECK(kind_ == "bipartite-exponential", "no graph has that name");
    both_ways(1);
    for (std::uint64_t power = 2; power < P; power *= 2) both_ways(1 + power);
    std::erase_if(others, [i](std::uint32_t other) { return other % 2 == i % 2; });
  }
}

void Graph::find(std::uint32_t learner, bool backwards, std::vector<std::uint32_t>& others) const {
  others.clear();
  add(learner, backwards, others);
  std::erase(others, learner);
  std::ranges::sort(others);
  others.erase(std::unique(others.begin(), others.end()), others.end());
}

std::vector<std::uint32_t> Graph::list(std::uint32_t learner, bool backwards) const {
  std::vector<std::uint32_t> others;
  if (kind_ != "complete") {
    find(learner, backwards, others);
  } else {
    for (const std::uint32_t other : Others::all_but(learner, learners_).all())
      others.push_back(other);
  }
  return others;
}

std::uint32_t Graph::degree() const {
  return kind_ == "complete" ? learners_ - 1 : static_cast<std::uint32_t>(hears(0).size());
}

NeighbourLists::NeighbourLists(const Graph& graph)
    : learners_(graph.learners()),
      complete_(graph.kind() == "complete"),
      directed_(graph.kind() == "exponential") {
  if (complete_) return;
  std::vector<std::uint32_t> found;
  const auto fill = [&](Lists& lists, bool backwards) {
    lists.first.reserve(std::size_t{learners_} + 1);
    for (std::uint32_t i = 0; i < learners_; ++i) {
      graph.find(i, backwards, found);
      lists.others.insert(lists.others.end(), found.begin(), found.end());
      lists.first.push_back(lists.others.size());
    }
  };
  fill(hears_, false);
  if (directed_) fill(heard_by_, true);
}

std::vector<std::complex<double>> mixing_eigenvalues(const Graph& graph) {
  const std::uint32_t learners = graph.learners();
  std::vector<std::complex<double>> values(learners);
  values.front() = 1;
  if (graph.kind() == "complete") return values;
  const std::uint32_t columns =
      graph.kind() == "torus" ? learners / torus_rows(learners) : learners;
  const std::uint32_t rows = learners / columns;
  const auto heard = graph.hears(0);
  const auto angle = [](std::uint64_t turns, std::uint32_t of) {
    return 2 * std::numbers::pi * static_cast<double>(turns % of) / of;
  };
  for (std::uint32_t k = 1; k < learners; ++k) {
    std::complex<double> sum = 1;
    for (const std::uint64_t other : heard)
      sum += std::polar(1.0, angle(other / columns * (k / columns), rows) +
                                 angle(other % columns * (k % columns), columns));
    values[k] = sum / (static_cast<double>(heard.size()) + 1);
  }
  return values;
}

void visit_graph(Fields& fields, std::string& graph, std::span<const std::string_view> kinds,
                 std::uint32_t learners) {
  fields.choice(
      "graph", graph, kinds, Need::required,
      "who hears whom: on the ring learner i hears i - 1 and i + 1; on the torus, the most "
      "nearly square a x b = P with a and b at least 3, the four beside it; exponential, "
      "i + 2^j mod P for j < ceil(log2 P); complete, all");
  if (fields.good() && graph == "torus" && torus_rows(learners) == 0) {
    std::string others;
    for (const std::string_view kind : kinds)
      if (kind != graph) (others += others.empty() ? "" : ", ") += kind;
    fields.complain("graph", "needs cluster.learners = a b, both at least 3, for a torus", others);
  }
}

}  // namespace gradrace
