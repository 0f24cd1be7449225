#include "sim/cli/scenario/memory.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <variant>

#include "models/optimiser/optimiser.h"
#include "sim/cli/scenario/counted_replay.h"
#include "sim/engine/run.h"
#include "sim/message_text.h"
#include "sim/reading/document.h"

namespace gradrace {

namespace {

constexpr double gigabyte = 1e9;
constexpr double least_states = 2;  // what an update reads and what it makes

std::string gigabytes(double bytes) { return short_number(bytes / gigabyte, 3) + " GB"; }

template <class Part>
std::vector<Part> of_plans(const Race& race, Part Plan::*part) {
  std::vector<Part> parts;
  for (const Plan& plan : race.plans) parts.push_back(plan.*part);
  return parts;
}

double sum_of_bytes(const std::vector<MemoryPart>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const MemoryPart& part) { return sum + part.bytes; });
}

std::uint32_t greatest_minibatch(const Race& race) {
  const auto size = [](const Plan& plan) { return plan.minibatch.greatest(); };
  return size(std::ranges::max(race.plans, {}, size));
}

/// Of its layers: what a gradient holds of each row of its minibatch, at least, and their weights.
void add_layers(ModelMemory& memory, const Point& point) {
  if (!point.model->has_dataset()) return;
  memory.row = sizeof(std::uint32_t);  // its number
  if (point.model->precision() == "float64") return;
  const Blueprint blueprint = point.model->make_float32()->blueprint();
  const auto* const network = std::get_if<NetworkBlueprint>(&blueprint);
  if (!network) return;
  for (const kernels::Layer& layer : network->layers) {
    memory.row += sizeof(float) * static_cast<double>(layer.outputs) * layer.pixels();
    memory.weights += static_cast<double>(layer.outputs) * layer.depth;
  }
}

/// A card may be divided among as many shards as are unlike, and each of their links knows of all
/// shares.
double bytes_of_shares(const TransitFacts& transit) {
  if (!transit.network) return 0;
  const ServerTimes server = transit.server.value_or(ServerTimes{});
  const double shards = server.shards() / server.alike();
  const auto cards = static_cast<double>(transit.network->down.bandwidths.size() +
                                         transit.network->up.bandwidths.size());
  return cards * shards * shards * bytes_of_share;
}

}  // namespace

double state_bytes(const Point& point, const Race& race, const ValueLayout& value) {
  const std::vector<Rule> rules = of_plans(race, &Plan::rule);
  const std::size_t numbers = layout_of(rules, value.numbers, value.statistics).numbers +
                              kept_of_models(rules, of_plans(race, &Plan::message));
  const std::size_t duals = point.dual() ? point.model->training_rows() / race.learners : 0;
  return static_cast<double>(std::max(numbers, duals)) * static_cast<double>(value.bytes_of_number);
}

ModelMemory memory_of_model(const Point& point) {
  ModelMemory memory{.value = point.model->value_layout()};
  add_layers(memory, point);
  return memory;
}

std::vector<MemoryPart> memory_of_scenario(const Scenario& scenario, const Point& point) {
  const double runs = static_cast<double>(scenario.points.size()) * scenario.replicas();
  const auto targets =
      static_cast<double>(point.target_loss.size() + point.target_test_error.size());
  std::vector<MemoryPart> parts{
      {"replicas", "what is kept of " + short_number(runs, 3) + " runs",
       runs * (bytes_of_run + 2 * sizeof(double) * targets)},
      {"targets", "the columns of " + short_number(targets, 3) + " targets",
       targets * bytes_of_target}};
  if (point.with_model())
    parts.push_back({"model.dataset", "the rows of the data set", point.model->data_bytes()});
  return parts;
}

MemoryCheck::MemoryCheck(const Scenario& scenario, std::size_t threads, MemoryLimit limit)
    : scenario_(scenario), threads_(static_cast<double>(threads)), limit_(std::move(limit)) {}

void MemoryCheck::check_data(const Point& point) const {
  check(memory_of_scenario(scenario_, point));
}

void MemoryCheck::check_runs(const Point& point, const Race& race, const ModelMemory& model) const {
  auto parts = memory_of_scenario(scenario_, point);
  const auto of_runs = parts_of_runs(point, race, model);
  parts.insert(parts.end(), of_runs.begin(), of_runs.end());
  check(parts);
}

void MemoryCheck::check(const std::vector<MemoryPart>& parts) const {
  const double bytes = sum_of_bytes(parts);
  if (bytes <= limit_.bytes) return;
  const MemoryPart& largest = *std::ranges::max_element(parts, {}, &MemoryPart::bytes);
  throw ScenarioError({Document::problem_in(
      scenario_.file, largest.key,
      "does not fit into memory: " + largest.what + " take at least " + gigabytes(largest.bytes) +
          ", all together " + gigabytes(bytes) + ", and the limit is " + gigabytes(limit_.bytes) +
          " (" + limit_.source + ")")});
}

/// Under way at once, of the point, on the CPU.
std::vector<MemoryPart> MemoryCheck::parts_of_runs(const Point& point, const Race& race,
                                                   const ModelMemory& model) const {
  const std::string of_all =
      threads_ > 1 ? ", in " + short_number(threads_) + " runs at once (--jobs)," : "";
  const std::string learners = std::to_string(race.learners) + " learners";
  std::vector<MemoryPart> parts{{"cluster.learners", "the times of " + learners + of_all,
                                 threads_ * race.learners * bytes_of_learner}};
  if (const double of_cards = bytes_of_shares(race.transit))
    parts.push_back({"cluster.server.shards", "shares of cards on links of shards" + of_all,
                     threads_ * of_cards});
  if (race.local_steps > 1 && model.value.numbers > 0)
    parts.push_back({"protocol.tau", "the steps of learners in an update" + of_all,
                     threads_ * point.make_protocol()->gradients_of_step() * race.local_steps *
                         bytes_of_local_step});
  check(parts);  // before a run is tried
  if (model.value.numbers == 0 || point.device == "cuda") return parts;
  const double state = std::max(state_bytes(point, race, model.value),
                                model.weights * static_cast<double>(model.value.bytes_of_number));
  const Message& message = point.first_plan.message;
  const bool remember = point.dual() || (message.memory && !message.compressor->joint());
  const double states = states_held(point, race, state) + (remember ? race.learners : 0);
  const bool of_learners = states > least_states;
  parts.push_back(
      {of_learners ? "cluster.learners" : "model",
       (of_learners ? "the values of " + learners : std::string("two values of the model")) +
           of_all,
       threads_ * states * state});
  if (race.versions() > 1)
    parts.push_back({"cluster.server.shards", "the values of shards with a version each" + of_all,
                     threads_ * race.versions() * state});
  parts.push_back({"model.minibatch", "the rows of a minibatch" + of_all,
                   threads_ * greatest_minibatch(race) * model.row});
  return parts;
}

/// Of learners with values of their own each has one.  With a server those are held that learners
/// have read, as far as a second of the run without its numbers comes; counted where it matters.
double MemoryCheck::states_held(const Point& point, const Race& race, double bytes_of_state) const {
  const auto protocol = point.make_protocol();
  if (!protocol.has_server() && !protocol->traits().one_value)
    return std::max<double>(least_states, race.learners);
  const double most = limit_.bytes / threads_ / bytes_of_state;
  if (race.learners < most || most < least_states) return least_states;
  constexpr auto patience = std::chrono::seconds(1);
  const auto begin = std::chrono::steady_clock::now();
  CountedReplay replay;
  Run run(race, 0, true, nullptr);
  drive({&run, 1}, &replay, [&] {
    return std::chrono::steady_clock::now() - begin < patience && replay.counts().states < most;
  });
  return std::max<double>(least_states, replay.counts().states);
}

}  // namespace gradrace
