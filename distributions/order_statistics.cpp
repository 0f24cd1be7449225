#include "distributions/order_statistics.h"

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "distributions/integrand_budget.h"
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

using Survival = std::function<double(double)>;

/// Of P(X > x) over x, which may be that of a statistic of many draws.
class Integral {
 public:
  Integral(const Survival& survival, std::uint64_t laws) : survival_(survival), laws_(laws) {}

  /// Over [-1, 1], because Boost's error is that of the integral before it is scaled to the piece.
  Piece evaluated(Piece piece) const {
    constexpr unsigned points = 31;
    using Rule = boost::math::quadrature::gauss_kronrod<double, points>;
    const double middle = (piece.from + piece.to) / 2;
    const double half = (piece.to - piece.from) / 2;
    const auto f = [&](double u) { return half * integrand(piece, middle + half * u); };
    IntegrandBudget::charge(points * laws_);
    piece.integral = Rule::integrate(f, -1.0, 1.0, 0, 0.0, &piece.error);
    return piece;
  }

 private:
  double integrand(const Piece& piece, double t) const {
    if (piece.kind == Piece::Kind::middle) {
      const double x = std::exp(t);
      return survival_(x) * x;
    }
    const double z = t / (1 - t);
    const double x = piece.anchor * std::exp(piece.kind == Piece::Kind::tail ? z : -z);
    if (!(x > 0 && std::isfinite(x))) return 0;
    return survival_(x) * x / ((1 - t) * (1 - t));
  }

  const Survival& survival_;
  const std::uint64_t laws_;
};

/// Places that cut the range of X_{k:n} where it matters: breaks, and quantiles of X at p where the
/// k-th smallest of n uniform draws mostly lies, and further out where the mean of X_{k:n} may come
/// from all the same.  They need not be exact, as the pieces between them are halved at need.
std::vector<double> cuts_of(const Distribution& law, std::uint32_t k, std::uint32_t n) {
  const double a = n - k + 1.0;
  const double b = k;
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

  constexpr std::uint64_t evaluations_of_quantile = 4;
  IntegrandBudget::charge(evaluations_of_quantile * levels.size());
  std::vector<double> cuts = breaks_of(law);
  for (const double p : levels) {
    if (p > 0 && p < 1) cuts.push_back(law.quantile(p));
  }
  return cuts;
}

/// Of a survival function, made of those of so many laws, up to the cap, cut there first.
double integrate(const Survival& survival, std::uint64_t laws, std::vector<double> cuts,
                 double cap) {
  cuts.push_back(cap);
  std::erase_if(cuts, [&](double x) { return !(x > 0 && x <= cap && std::isfinite(x)); });
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (cuts.empty()) return 0;  // all lies below the smallest double

  const Integral integral(survival, laws);
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
  const auto survival = [&](double x) { return at_least_k_of_n(n - k + 1, n, law.survival(x)); };
  return integrate(survival, 1, cuts_of(law, k, n), cap);
}

double integrate_largest(std::span<const Draws> draws, double cap) {
  GRADRACE_CHECK(!draws.empty(), "nothing is drawn");
  const auto survival = [&](double x) {
    double log_below = 0;
    for (const auto& [law, count] : draws) log_below += count * std::log1p(-law->survival(x));
    return -std::expm1(log_below);
  };
  std::vector<double> cuts;
  for (const auto& [law, count] : draws) {
    const auto more = cuts_of(*law, count, count);
    cuts.insert(cuts.end(), more.begin(), more.end());
  }
  return integrate(survival, draws.size(), std::move(cuts), cap);
}

double integrate_kth_smallest(std::span<const Draws> draws, std::uint32_t k) {
  constexpr std::uint64_t terms_of_a_law = 100;  // take as long as its survival function
  std::uint32_t n = 0;
  for (const auto& [law, count] : draws) n += count;
  GRADRACE_CHECK(1 <= k && k <= n, "an order statistic has 1 <= k <= n");
  std::vector<double> below;  // [j]: probability that j of the draws so far are <= x
  const auto survival = [&](double x) {
    below.assign(k, 0);
    below.front() = 1;
    for (const auto& [law, count] : draws) {
      const double above = law->survival(x);
      for (std::uint32_t draw = 0; draw < count; ++draw) {
        for (std::uint32_t j = k; --j > 0;)
          below[j] = below[j] * above + below[j - 1] * (1 - above);
        below.front() *= above;
      }
    }
    return std::accumulate(below.begin(), below.end(), 0.0);
  };
  std::vector<double> cuts;
  for (const auto& [law, count] : draws) {
    const auto share = static_cast<std::uint32_t>(std::uint64_t{k} * count / n);
    for (const std::uint32_t of : {std::max(1u, share), count}) {
      const auto more = cuts_of(*law, of, count);
      cuts.insert(cuts.end(), more.begin(), more.end());
    }
  }
  const std::uint64_t terms = std::uint64_t{k} * n;
  return integrate(survival, draws.size() + terms / terms_of_a_law, std::move(cuts),
                   std::numeric_limits<double>::infinity());
}

double draw_order_statistic(const Distribution& law, std::uint32_t k, std::uint32_t n,
                            Stream& words) {
  GRADRACE_CHECK(1 <= k && k <= n, "an order statistic has 1 <= k <= n");
  using Gamma = boost::random::gamma_distribution<double>;
  const double below = Gamma(k)(words);
  const double above = std::max(Gamma(n - k + 1.0)(words), std::numeric_limits<double>::min());
  const double all = below + above;
  return below < above ? law.quantile(below / all) : law.inverse_survival(above / all);
}

}  // namespace gradrace
