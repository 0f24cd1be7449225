#include "protocols/averages/averaging_period.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "protocols/bases/loss_interval.h"

namespace gradrace {

constexpr std::uint32_t most_apart = 1'000'000;  // steps, of which each is counted

namespace {

using Stage = AveragingPeriod::Stage;

void visit_stages(Fields& fields, std::vector<Stage>& stages, const WorkBudget& budget) {
  std::vector<std::array<double, 2>> pairs;
  fields.pairs("tau", pairs, Need::required, {"from epoch", at_least(0)},
               {"tau", between(1, 4294967295.0)},
               "the same from that epoch on, the first from 0; the round under way is made to its "
               "end");
  if (!fields.good()) return;
  if (pairs.empty()) return fields.complain("tau", "needs at least one pair [from epoch, tau]");
  if (!budget.has_epochs) {
    fields.complain("tau", "counts epochs, and there is no training set",
                    "a number, or {\"adacomm\": tau, \"interval\": time}");
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::string place = "tau." + std::to_string(i);
    const auto [from, tau] = pairs[i];
    if (i == 0 && from != 0)
      fields.complain(place + ".0", "the first tau is that of the start", "0");
    if (i > 0 && from <= pairs[i - 1][0])
      fields.complain(place + ".0", "must be later than the epoch before it");
    if (tau != std::floor(tau)) fields.complain(place + ".1", "must be a whole number");
    stages.push_back({from, PerLearner(static_cast<std::uint32_t>(tau))});
  }
}

void visit_adacomm(Fields& fields, AveragingPeriod::Config& config, const Setting& setting) {
  if (!fields.open("tau", Need::required, "AdaComm: tau follows the loss")) return;
  std::uint32_t first = 1;
  double interval = 1;
  fields.integer("adacomm", first, Need::required, at_least(1), "tau_0, at the start");
  fields.real("interval", interval, Need::required, positive(),
              "time between two looks at the loss, which cost none");
  check_loss_interval(fields, "interval", interval, setting);
  config.stages = {{0, first}};
  config.interval = interval;
  fields.close();
}

}  // namespace

void AveragingPeriod::visit(Fields& fields, Config& config, const Setting& setting) {
  if (fields.is("tau", Form::number) || fields.is("tau", Form::numbers)) {
    PerLearner tau;
    fields.per_learner("tau", tau, Need::required, at_least(1),
                       "steps of each learner between averages", "the same, a number each");
    fields.check_learners("tau", tau, setting.learners);
    if (tau.greatest() - tau.least() > most_apart)
      fields.complain("tau", "has numbers of steps that differ by more than 1e6",
                      "numbers that are nearer to each other");
    config.stages = {{0, tau}};
  }
  if (fields.is("tau", Form::pairs)) visit_stages(fields, config.stages, setting.budget);
  if (fields.is("tau", Form::object)) visit_adacomm(fields, config, setting);
}

void AveragingPeriod::start(Peers& peers) {
  if (!config_.interval) return;
  began_ = peers.time();
  peers.evaluate_at(began_);
}

void AveragingPeriod::look(Peers& peers, const Evaluation& evaluation) {
  if (looks_ == 0) {
    first_loss_ = evaluation.loss;
    highest_rate_ = peers.rate();
  } else {
    adapt(evaluation.loss, peers.rate());
  }
  peers.evaluate_at(began_ + static_cast<double>(++looks_) * *config_.interval);
}

/// A tau that would not fall is halved.
void AveragingPeriod::adapt(double loss, double rate) {
  highest_rate_ = std::max(highest_rate_, rate);
  const double ratio = loss / first_loss_ * (highest_rate_ / rate);
  const std::uint32_t first = config_.stages.front().tau[0], before = adapted_[0];
  const double wanted = std::max(1.0, std::ceil(std::sqrt(ratio) * first));
  adapted_ = wanted < before ? static_cast<std::uint32_t>(wanted) : before - before / 2;
}

const PerLearner& AveragingPeriod::steps(const Work& work) const {
  if (config_.interval) return adapted_;
  const auto next = std::ranges::upper_bound(config_.stages, work.epochs, {}, &Stage::from_epoch);
  return std::prev(next)->tau;
}

}  // namespace gradrace
