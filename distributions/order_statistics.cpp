#include "distributions/order_statistics.h"

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <cmath>
#include <cstddef>
#include <queue>
#include <vector>

#include "distributions/law.h"
#include "sim/check.h"

namespace gradrace {
namespace {

/// A part of the x axis and how it is run through: [a, b] in equal steps of log x, (0, a] as
/// a e^-z, or [a, infinity) as a e^z with z = t / (1 - t), 0 <= t < 1.
struct Piece {
  enum class Kind { head, middle, tail };
  Kind kind;
  double anchor;  // of head and tail
  double from, to;
  double integral = 0;
  double error = 0;
  bool operator<(const Piece& other) const { return error < other.error; }
};

class Integral {
 public:
  Integral(const Distribution& law, std::uint32_t k, std::uint32_t n) : law_(law), k_(k), n_(n) {}

  /// Over [-1, 1], because Boost's error is that of the integral before it is scaled to the piece.
  Piece evaluated(Piece piece) const {
    using Rule = boost::math::quadrature::gauss_kronrod<double, 31>;
    const double middle = (piece.from + piece.to) / 2;
    const double half = (piece.to - piece.from) / 2;
    const auto f = [&](double u) { return half * integrand(piece, middle + half * u); };
    piece.integral = Rule::integrate(f, -1.0, 1.0, 0, 0.0, &piece.error);
    return piece;
  }

  /// Places that cut the range of X_{k:n} where it matters: breaks, the cap, and quantiles of X at
  /// p where the k-th smallest of n uniform draws mostly lies, and further out where the mean of
  /// X_{k:n} may come from all the same.  They need not be exact, as the pieces between them are
  /// halved at need.
  std::vector<double> cuts(double cap) const {
    const double a = n_ - k_ + 1.0;
    const double b = k_;
    const double mean = b / (a + b);
    const double sd = std::sqrt(a * b / (a + b + 1)) / (a + b);
    std::vector<double> levels;
    for (const double away : {-6, -3, -1, 0, 1, 3, 6}) levels.push_back(mean + away * sd);
    // I_x(a, b) ~ x^a / (a B(a, b)) as x -> 0, at either end.
    const double log_beta = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
    const auto reached = [&](double log10, double power) {
      return std::exp((log10 * std::log(10) + std::log(power) + log_beta) / power);
    };
    for (const double log10 : {-12, -6, -3}) levels.push_back(reached(log10, b));
    for (const double log10 : {-12, -25, -50, -100}) levels.push_back(1 - reached(log10, a));

    std::vector<double> cuts = breaks_of(law_);
    for (const double p : levels) {
      if (p > 0 && p < 1) cuts.push_back(law_.quantile(p));
    }
    cuts.push_back(cap);
    std::erase_if(cuts, [&](double x) { return !(x > 0 && x <= cap && std::isfinite(x)); });
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    return cuts;
  }

 private:
  double integrand(const Piece& piece, double t) const {
    if (piece.kind == Piece::Kind::middle) {
      const double x = std::exp(t);
      return survival(x) * x;
    }
    const double z = t / (1 - t);
    const double x = piece.anchor * std::exp(piece.kind == Piece::Kind::tail ? z : -z);
    if (!(x > 0 && std::isfinite(x))) return 0;
    return survival(x) * x / ((1 - t) * (1 - t));
  }

  double survival(double x) const { return at_least_k_of_n(n_ - k_ + 1, n_, law_.survival(x)); }

  const Distribution& law_;
  std::uint32_t k_, n_;
};

}  // namespace

double harmonic_difference(std::uint32_t k, std::uint32_t n) {
  GRADRACE_CHECK(1 <= k && k <= n, "an order statistic has 1 <= k <= n");
  if (k > 1000) return boost::math::digamma(n + 1.0) - boost::math::digamma(n - k + 1.0);
  double sum = 0;
  for (std::uint32_t i = 0; i < k; ++i) sum += 1.0 / (n - i);
  return sum;
}

double at_least_k_of_n(std::uint32_t k, std::uint32_t n, double p) {
  GRADRACE_CHECK(1 <= k && k <= n, "an order statistic has 1 <= k <= n");
  return boost::math::ibeta(static_cast<double>(k), n - k + 1.0, p);
}

double integrate_order_statistic(const Distribution& law, std::uint32_t k, std::uint32_t n,
                                 double cap) {
  GRADRACE_CHECK(1 <= k && k <= n, "an order statistic has 1 <= k <= n");
  const Integral integral(law, k, n);
  const auto cuts = integral.cuts(cap);
  if (cuts.empty()) return 0;  // all of X_{k:n} lies below the smallest double

  std::priority_queue<Piece> pieces;
  double total = 0;
  double error = 0;
  const auto add = [&](Piece::Kind kind, double anchor, double from, double to) {
    const Piece piece = integral.evaluated({kind, anchor, from, to});
    total += piece.integral;
    error += piece.error;
    pieces.push(piece);
  };

  add(Piece::Kind::head, cuts.front(), 0, 1);
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    add(Piece::Kind::middle, 0, std::log(cuts[i - 1]), std::log(cuts[i]));
  }
  if (cuts.back() < cap) add(Piece::Kind::tail, cuts.back(), 0, 1);

  constexpr double tolerance = 1e-11;
  constexpr std::size_t most_pieces = 300;
  while (error > tolerance * total && pieces.size() < most_pieces) {
    const Piece worst = pieces.top();
    pieces.pop();
    total -= worst.integral;
    error -= worst.error;
    const double half = (worst.from + worst.to) / 2;
    add(worst.kind, worst.anchor, worst.from, half);
    add(worst.kind, worst.anchor, half, worst.to);
  }
  return total;
}

}  // namespace gradrace
