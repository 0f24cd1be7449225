#include <boost/random/normal_distribution.hpp>
#include <vector>

#include "compression/catalog.h"
#include "compression/levels.h"
#include "compression/parts.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "power",
    .definition =
        R"(All learners make one message together, of the mean M of what they have to send: gradients, or by local-sgd
how far their models have come.  A matrix of n x m numbers with r (n + m) < n m is sent as two factors of r
columns, from Q [m x r]:

    P = M Q, its columns made orthonormal,  Q' = M^T P,  C(M) = P Q'^T.

Q' is Q of the next message.  At first, and where it has become 0, a column of Q is drawn from N(0, 1), and
every one each time without `warm_start`.  Other matrices and vectors are sent whole.

M Q and M^T P are sums over learners, which two collectives add: 4 r (n + m) bytes, and 4 for each number
that is sent whole; where all are, one collective does.  With `memory` a learner adds to what it has to send
what its last message left out, by its own factor M_l - P (M_l^T P)^T, or by that of the mean M_l - P Q'^T
(`memory_of`).  The mean of either is M - C(M), and messages are of means, so that both make the same steps;
that mean alone is kept.)",
    .source = "Vogels, Karimireddy, Jaggi, NeurIPS 2019 (PowerSGD), and its lemma 3",
    .example = R"({"kind": "power", "rank": 2, "memory": {}})"};

/// Each column [n] is made orthogonal to those before, of length 1; 0 where nothing is left of it.
void make_orthonormal(std::span<double> columns, std::size_t n) {
  constexpr double rounding = 1e-12;
  for (std::size_t at = 0; at < columns.size(); at += n) {
    const std::span<double> column = columns.subspan(at, n);
    const double before = norm<double>(column);
    for (int pass = 0; pass < 2; ++pass) {  // once leaves rounding of what it takes off
      for (std::size_t other = 0; other < at; other += n) {
        const double* const q = &columns[other];
        const double along = lane_sum(n, [&](std::size_t i) { return q[i] * column[i]; });
        for (std::size_t i = 0; i < n; ++i) column[i] -= along * q[i];
      }
    }
    const double left = norm<double>(column), factor = left <= rounding * before ? 0 : 1 / left;
    for (double& x : column) x *= factor;
  }
}

struct Power {
  std::uint64_t rank = 1;
  bool warm_start = true;
  Parts parts = {};

  std::uint32_t rounds() const { return carried() > 0 ? 2 : 1; }
  bool adds(double) const { return true; }
  double most_error(double) const { return 1; }

  double bytes(double numbers) const {
    double all = 0, sent = 0;
    for (const Tensor& tensor : parts.tensors) {
      all += tensor.numbers();
      sent += factored(tensor) ? of_factors(tensor) : tensor.numbers();
    }
    return sizeof(float) * (all > 0 ? sent * (numbers / all) : numbers);
  }

  /// Q of each matrix, column by column.
  std::size_t carried() const {
    std::size_t numbers = 0;
    for (const Tensor& tensor : parts.tensors)
      if (factored(tensor)) numbers += rank * tensor.columns;
    return numbers;
  }

  template <class Real>
  void pass(std::span<Real> row, Stream& words, std::span<Real> carried) const {
    for (const Tensor& tensor : parts.tensors) {
      const std::span<Real> M = row.first(tensor.numbers());
      row = row.subspan(M.size());
      if (!factored(tensor)) continue;
      const std::span<Real> Q = carried.first(rank * tensor.columns);
      carried = carried.subspan(Q.size());
      draw(Q, tensor.columns, words);
      multiply(M, Q, tensor);
    }
  }

 private:
  double of_factors(const Tensor& tensor) const {
    return static_cast<double>(rank * (std::uint64_t{tensor.rows} + tensor.columns));
  }
  bool factored(const Tensor& tensor) const { return of_factors(tensor) < tensor.numbers(); }

  template <class Real>
  void draw(std::span<Real> Q, std::size_t m, Stream& words) const {
    boost::random::normal_distribution<double> normal;
    for (; !Q.empty(); Q = Q.subspan(m)) {
      const std::span<Real> column = Q.first(m);
      if (warm_start && std::ranges::any_of(column, [](Real x) { return x != 0; })) continue;
      for (Real& x : column) x = static_cast<Real>(normal(words));
    }
  }

  /// M becomes P Q'^T, and Q becomes Q'.  Factors are sent in Real, sums are made in double.
  template <class Real>
  void multiply(std::span<Real> M, std::span<Real> Q, const Tensor& tensor) const {
    const std::size_t n = tensor.rows, m = tensor.columns;
    std::vector<double> P(rank * n), sum(m);
    for (std::size_t k = 0; k < rank; ++k)
      for (std::size_t i = 0; i < n; ++i)
        P[k * n + i] = static_cast<Real>(lane_sum(
            m, [v = &M[i * m], q = &Q[k * m]](std::size_t j) { return double{v[j]} * q[j]; }));
    make_orthonormal(P, n);
    for (std::size_t k = 0; k < rank; ++k) {
      std::ranges::fill(sum, 0);
      for (std::size_t i = 0; i < n; ++i) add(sum, P[k * n + i], &M[i * m]);
      std::ranges::transform(sum, &Q[k * m], [](double x) { return static_cast<Real>(x); });
    }
    for (std::size_t i = 0; i < n; ++i) {
      std::ranges::fill(sum, 0);
      for (std::size_t k = 0; k < rank; ++k) add(sum, P[k * n + i], &Q[k * m]);
      std::ranges::transform(sum, &M[i * m], [](double x) { return static_cast<Real>(x); });
    }
  }

  template <class Real>
  static void add(std::vector<double>& sum, double factor, const Real* numbers) {
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += factor * numbers[j];
  }
};

Message read(Fields& fields) {
  Power power;
  fields.integer("rank", power.rank, Need::defaulted, between(1, 1 << 20),
                 "r: columns of each factor of a matrix");
  fields.flag("warm_start", power.warm_start, Need::defaulted,
              "Q goes on from message to message; else it is drawn anew");
  std::optional<Memory> memory;
  if (fields.open("memory", Need::none,
                  "what a message leaves out is added to the next one: error feedback")) {
    memory.emplace();
    fields.real("decay", memory->decay, Need::defaulted, between(0, 1),
                "of what is remembered, from message to message");
    fields.close();
  }
  constexpr std::string_view factors[] = {"own", "mean"};
  std::string memory_of(factors[0]);
  fields.choice(
      "memory_of", memory_of, factors, Need::defaulted,
      "by whose Q' a learner's memory takes off what was sent; steps are the same by either");
  if (!fields.good()) return {};
  fields.idle("memory_of", !memory && memory_of != factors[0], "says nothing without a memory",
              "memory beside it");
  return message_by(power, memory);
}

}  // namespace

extern const CompressionEntry power_entry{page, read};

}  // namespace gradrace
