#include "protocols/groups/graph.h"

#include <algorithm>
#include <bit>
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

/// Whom learner i of P hears; it may be there itself, or somebody twice.
void hear(std::string_view kind, std::uint32_t i, std::uint32_t P,
          std::vector<std::uint32_t>& heard) {
  const auto at = [&](std::uint64_t place) {
    heard.push_back(static_cast<std::uint32_t>(place % P));
  };
  const auto both_ways = [&](std::uint64_t distance) {
    at(i + distance);
    at(i + std::uint64_t{P} * 2 - distance);
  };
  if (kind == "ring") {
    both_ways(1);
  } else if (kind == "torus") {
    const std::uint32_t a = torus_rows(P);
    GRADRACE_CHECK(a > 0, "a torus has three rows and three columns or more");
    const std::uint32_t b = P / a, row = i / b, column = i % b;
    at(i + b);
    at(i + P - b);
    at(row * b + (column + 1) % b);
    at(row * b + (column + b - 1) % b);
  } else if (kind == "exponential") {
    for (std::uint64_t distance = 1; distance < P; distance *= 2) at(i + distance);
  } else {
    GRADRACE_CHECK(kind == "bipartite-exponential", "no graph has that name");
    both_ways(1);
    for (std::uint64_t power = 2; power < P; power *= 2) both_ways(1 + power);
    std::erase_if(heard, [i](std::uint32_t other) { return other % 2 == i % 2; });
  }
}

}  // namespace

Graph::Graph(std::string_view kind, std::uint32_t learners)
    : learners_(learners), complete_(kind == "complete") {
  if (complete_) return;
  std::vector<std::uint32_t> heard;
  for (std::uint32_t i = 0; i < learners; ++i) {
    heard.clear();
    hear(kind, i, learners, heard);
    std::erase(heard, i);
    std::ranges::sort(heard);
    heard.erase(std::ranges::unique(heard).begin(), heard.end());
    hears_.others.insert(hears_.others.end(), heard.begin(), heard.end());
    hears_.first.push_back(hears_.others.size());
  }
  reverse();
}

/// heard_by_ from hears_, by counting.
void Graph::reverse() {
  heard_by_.first.assign(learners_ + 1, 0);
  for (const std::uint32_t other : hears_.others) ++heard_by_.first[other + 1];
  for (std::uint32_t i = 0; i < learners_; ++i) heard_by_.first[i + 1] += heard_by_.first[i];
  heard_by_.others.resize(hears_.others.size());
  std::vector<std::size_t> next = heard_by_.first;
  for (std::uint32_t i = 0; i < learners_; ++i)
    for (const std::uint32_t other : hears(i)) heard_by_.others[next[other]++] = i;
}

std::vector<std::complex<double>> mixing_eigenvalues(std::string_view kind, const Graph& graph,
                                                     std::uint32_t learners) {
  std::vector<std::complex<double>> values(learners);
  values.front() = 1;
  if (kind == "complete") return values;
  const std::uint32_t columns = kind == "torus" ? learners / torus_rows(learners) : learners;
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
