#include "sim/cli/scenario/point.h"

namespace gradrace {

std::vector<Plan> Point::plans() const {
  Plan plan;
  if (with_model()) plan.learning_rate = learning_rate;
  plan.recipe = recipe;
  if (model) plan.recipe.minibatch = model->minibatch();
  plan.rule = rule;
  if (plan.learning_rate) plan.rule.distance = plan.learning_rate->distance();
  std::vector<Plan> result{plan};
  for (const auto& change : make_protocol()->changes()) {
    result.push_back(plan);
    Plan& changed = result.back();
    if (change.learning_rate && with_model()) {
      changed.learning_rate = change.learning_rate;
      changed.rule.distance = change.learning_rate->distance();
    }
    if (change.minibatch) changed.recipe.minibatch = *change.minibatch;
    if (change.momentum) changed.rule.momentum = *change.momentum;
    changed.rule.from_rest = change.from_rest;
  }
  return result;
}

DistributionProduct Point::common_law() const {
  return cluster.runtimes.common_law(cluster.learners, model ? model->minibatch() : 1);
}

Race Point::race() const {
  Race race;
  race.seed = seed;
  race.learners = cluster.learners;
  race.runtime = cluster.runtimes.laws.front();
  race.make_runtimes = make_cluster_runtimes(
      std::make_shared<const ClusterRuntimes>(cluster.runtimes), cluster.learners);
  race.transit = cluster.transit;
  race.make_protocol = make_protocol;
  race.stop = stop;
  race.evaluations = evaluations;
  race.plans = plans();
  if (!with_model()) {
    race.stop.loss.reset();
    race.stop.test_error.reset();
  }
  const bool epochs_matter = with_model() || stop.epochs || evaluations.every_epochs;
  if (model && epochs_matter) race.training_rows = model->training_rows();
  return race;
}

Theory Point::theory() const {
  const auto law = common_law();
  Theory theory =
      make_protocol()->theory(law ? *law : *cluster.runtimes.laws.front(), cluster.learners);
  const bool delayed = cluster.transit.any();
  if (!law || delayed) theory.iteration_time.reset();
  if (delayed) theory.reading = ReadOrder::other;
  if (delayed && theory.staleness != 0.0) theory.staleness.reset();
  return theory;
}

}  // namespace gradrace
