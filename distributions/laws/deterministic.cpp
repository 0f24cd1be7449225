#include "distributions/laws/deterministic.h"

#include <vector>

#include "distributions/law.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "deterministic",
    .definition = "Always the same: X = value.",
    .source = "the one-point law",
    .example = R"({"distribution": "deterministic", "value": 1.0})",
};

class Deterministic final : public Law {
 public:
  Deterministic() = default;
  explicit Deterministic(double value) : value_(value) {}

  void visit(Fields& fields) {
    fields.real("value", value_, Need::required, positive(), "X in every draw");
  }

  double sample(Stream&) const override { return value_; }
  double mean() const override { return value_; }
  double variance() const override { return 0; }
  double survival(double x) const override { return x < value_ ? 1 : 0; }
  double quantile(double) const override { return value_; }
  double inverse_survival(double) const override { return value_; }
  double expected_order_statistic(std::uint32_t, std::uint32_t) const override { return value_; }
  Ageing ageing() const override { return Ageing::new_longer; }
  DistributionProduct sum(std::uint32_t n) const override { return make_deterministic(n * value_); }
  std::vector<double> breaks() const override { return {value_}; }

 private:
  double value_ = 1;
};

}  // namespace

DistributionProduct make_deterministic(double value) {
  return std::make_shared<Deterministic>(value);
}

extern const DistributionEntry deterministic_entry{page, read_distribution<Deterministic>};

}  // namespace gradrace
