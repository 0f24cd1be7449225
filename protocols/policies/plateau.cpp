#include <cstdint>
#include <limits>

#include "protocols/policies/switch_policy.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "plateau",
    .definition = R"(The phase is over when `patience` looks in a row have found no loss below (1 -
improvement) times the least of the looks before them.)",
    .source = "textbook rule of learning-rate schedules, here for a protocol",
    .example = R"({"kind": "plateau", "patience": 3, "improvement": 0.01})"};

struct Config {
  double improvement = 0.01;
  std::uint32_t patience = 3;
};

class Plateau final : public SwitchPolicy {
 public:
  explicit Plateau(const Config& config) : config_(config) {}
  bool over(const Evaluation& look) override {
    if (look.loss < (1 - config_.improvement) * least_) {
      least_ = look.loss;
      in_vain_ = 0;
    } else {
      ++in_vain_;
    }
    return in_vain_ >= config_.patience;
  }

 private:
  Config config_;
  double least_ = std::numeric_limits<double>::infinity();
  std::uint32_t in_vain_ = 0;
};

MakeSwitchPolicy read(Fields& fields) {
  Config config;
  fields.integer("patience", config.patience, Need::defaulted, at_least(1), "looks in vain");
  fields.real("improvement", config.improvement, Need::defaulted, from_below(0, 1),
              "least fall of the loss that counts, as a fraction of it");
  if (!fields.good()) return {};
  return [config] { return std::make_unique<Plateau>(config); };
}

}  // namespace

extern const SwitchPolicyEntry plateau_policy_entry{page, read};

}  // namespace gradrace
