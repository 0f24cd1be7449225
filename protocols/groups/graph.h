#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reading/fields.h"

namespace gradrace {

/// Other learners, who ascend: those of a list, or all but one.
class Others {
 public:
  explicit Others(std::span<const std::uint32_t> list)
      : list_(list.data()), size_(static_cast<std::uint32_t>(list.size())) {}
  static Others all_but(std::uint32_t learner, std::uint32_t learners) {
    Others others({});
    others.size_ = learners - 1;
    others.missing_ = learner;
    return others;
  }

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::uint32_t operator[](std::uint32_t place) const {
    return list_ ? list_[place] : place + (place >= missing_ ? 1 : 0);
  }

  /// All, one after another.
  auto all() const {
    return std::views::iota(0u, size_) |
           std::views::transform([others = *this](std::uint32_t place) { return others[place]; });
  }

 private:
  const std::uint32_t* list_;  // null: all but missing_
  std::uint32_t size_;
  std::uint32_t missing_ = 0;
};

/// Which learners hear which others in a gossip.
///
///     ring         i hears i - 1 and i + 1
///     torus        P = a b, of a and b the most nearly equal that are at least 3: i is at row
///                  i / b, column i mod b, and hears the four beside it
///     exponential  i hears i + 2^j mod P for j < ceil(log2 P), and is heard by i - 2^j: directed
///     complete     i hears all others
///     bipartite-exponential
///                  i hears i +- 1 and i +- (1 + 2^j) mod P for 1 <= j <= floor(log2(P - 1)), where
///                  one of the two is odd and the other even
///
/// In all but the last every learner hears as many as hear it, and the same number as any other:
/// with weights 1 / (degree + 1), its own included, rows and columns add to 1.
///
/// Sources: exponential: Assran, Loizou, Ballas, Rabbat, ICML 2019; bipartite-exponential: the
/// DynamicBipartiteExponentialGraph of their code.
class Graph {
 public:
  /// Of a kind named above; it takes no time or memory for each learner.
  Graph(std::string_view kind, std::uint32_t learners);

  std::uint32_t learners() const { return learners_; }
  const std::string& kind() const { return kind_; }

  /// Without the learner itself and without repetition, in ascending order.
  std::vector<std::uint32_t> hears(std::uint32_t learner) const { return list(learner, false); }
  std::vector<std::uint32_t> heard_by(std::uint32_t learner) const { return list(learner, true); }
  /// How many learner 0 hears.
  std::uint32_t degree() const;

  /// Replaces `others` by whom the learner hears or, backwards, by whom it is heard; not of a
  /// complete graph.
  void find(std::uint32_t learner, bool backwards, std::vector<std::uint32_t>& others) const;

 private:
  void add(std::uint32_t i, bool backwards, std::vector<std::uint32_t>& others) const;
  std::vector<std::uint32_t> list(std::uint32_t learner, bool backwards) const;

  std::string kind_;
  std::uint32_t learners_;
  std::uint32_t torus_rows_ = 0;
};

/// The neighbours of every learner, computed once for a run.
class NeighbourLists {
 public:
  NeighbourLists() = default;  // empty
  explicit NeighbourLists(const Graph& graph);

  Others hears(std::uint32_t learner) const { return of(hears_, learner); }
  Others heard_by(std::uint32_t learner) const {
    return of(directed_ ? heard_by_ : hears_, learner);
  }

 private:
  /// [learner]: who belongs to it, one learner's after another's.
  struct Lists {
    std::vector<std::size_t> first = {0};
    std::vector<std::uint32_t> others;
  };
  Others of(const Lists& lists, std::uint32_t learner) const {
    if (complete_) return Others::all_but(learner, learners_);
    return Others({lists.others.data() + lists.first[learner],
                   lists.first[learner + 1] - lists.first[learner]});
  }

  std::uint32_t learners_ = 0;
  bool complete_ = false;  // then there are no lists
  bool directed_ = false;  // else heard_by_ would be hears_
  Lists hears_, heard_by_;
};

/// The eigenvalues of the matrix of its weights 1 / (degree + 1), the 1 first, of one of the first
/// four kinds.  Learners of a ring, an exponential and a complete graph hear differences modulo P,
/// those of a torus in both coordinates, so that the matrix is diagonal in Fourier's basis: with D
/// the differences, w = e^(2 pi i / P) and k = 0 ... P - 1
///
///     lambda_k = (1 + sum over d in D of w^(k d)) / (degree + 1).
std::vector<std::complex<double>> mixing_eigenvalues(const Graph& graph);

/// Reads the key `graph`, one of the kinds; complains about a torus that so many learners have not.
void visit_graph(Fields& fields, std::string& graph, std::span<const std::string_view> kinds,
                 std::uint32_t learners);

}  // namespace gradrace
