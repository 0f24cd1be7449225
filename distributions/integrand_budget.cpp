#include "distributions/integrand_budget.h"

namespace gradrace {

namespace {

thread_local IntegrandBudget* in_force = nullptr;

}  // namespace

IntegrandBudget::IntegrandBudget(std::uint64_t evaluations)
    : left_(evaluations), before_(std::exchange(in_force, this)) {}

IntegrandBudget::~IntegrandBudget() { in_force = before_; }

void IntegrandBudget::charge(std::uint64_t evaluations) {
  if (in_force == nullptr) return;
  if (evaluations > in_force->left_) throw BudgetSpent("theory takes too many evaluations");
  in_force->left_ -= evaluations;
}

}  // namespace gradrace
