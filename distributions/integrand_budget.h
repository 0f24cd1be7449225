#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

namespace gradrace {

/// Theory would take more evaluations than its budget.
class BudgetSpent : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// While it lives, its thread's evaluations of integrands are counted, one for each law that the
/// integrand has; the first one beyond the budget throws BudgetSpent.  Evaluations are counted and
/// no time is taken, so that every machine knows and lacks the same.  Without a budget they are
/// not limited.
class IntegrandBudget {
 public:
  /// About a second of the slowest laws; shipped scenarios take a quarter of it at most.
  static constexpr std::uint64_t of_a_number = 1'000'000;

  explicit IntegrandBudget(std::uint64_t evaluations = of_a_number);
  ~IntegrandBudget();
  IntegrandBudget(const IntegrandBudget&) = delete;
  IntegrandBudget& operator=(const IntegrandBudget&) = delete;

  static void charge(std::uint64_t evaluations);

 private:
  std::uint64_t left_;
  IntegrandBudget* const before_;
};

/// What find() returns, or nothing where that takes more than the budget.
template <class Find>
auto within_budget(Find find, std::uint64_t evaluations = IntegrandBudget::of_a_number)
    -> std::optional<decltype(find())> {
  const IntegrandBudget budget(evaluations);
  try {
    return find();
  } catch (const BudgetSpent&) {
    return {};
  }
}

}  // namespace gradrace
