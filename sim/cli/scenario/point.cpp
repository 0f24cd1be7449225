#include "sim/cli/scenario/point.h"

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/theory/restart_theory.h"
#include "distributions/integrand_budget.h"
#include "models/optimiser/optimiser.h"
#include "models/quadratic.h"
#include "sim/layers.h"
#include "sim/message_text.h"

namespace gradrace {

static NoisyQuadratic noisy(const QuadraticConfig& config) {
  std::map<double, double> counts;
  const std::uint64_t length = config.curvatures.size();
  for (std::uint64_t i = 0; i < length; ++i) {
    const std::uint64_t count = config.dimensions / length + (i < config.dimensions % length);
    counts[config.curvatures[i]] += static_cast<double>(count);
  }
  NoisyQuadratic quadratic;
  quadratic.start = config.start;
  for (const auto& [curvature, count] : counts) quadratic.directions.push_back({curvature, count});
  quadratic.variance =
      config.noise * config.noise / config.minibatch[0] / static_cast<double>(config.dimensions);
  return quadratic;
}

std::vector<Plan> Point::plans() const {
  Plan plan = first_plan;
  if (with_model()) plan.learning_rate = learning_rate;
  plan.minibatch = samples();
  if (plan.learning_rate) plan.rule.distance = plan.learning_rate->distance();
  if (plan.rule.optimiser && local_steps() > 1)
    plan.rule.optimiser = of_sums(optimiser_of(plan.rule), local_steps());
  plan.message = of_tensors(plan.message);
  const bool server = make_protocol().has_server();
  const auto& made = plan.message.compressor;
  const bool of_all = made && (made->votes() || made->joint());  // learners know the sum
  if (!server && !(of_all && make_protocol()->traits().one_value)) plan.rule.back = nullptr;
  if (plan.rule.back) plan.rule.back = std::make_shared<const Message>(of_tensors(*plan.rule.back));
  plan.encoding = server ? time_of_message(encode) : 0;
  plan.decoding = server ? time_of_message(decode) : 0;
  std::vector<Plan> result{plan};
  for (const auto& change : make_protocol()->changes()) {
    result.push_back(plan);
    Plan& changed = result.back();
    if (change.learning_rate && with_model()) {
      changed.learning_rate = change.learning_rate;
      changed.rule.distance = change.learning_rate->distance();
    }
    if (change.minibatch) changed.minibatch = *change.minibatch;
    if (change.momentum || change.from_rest)
      changed.rule.optimiser =
          with_momentum(optimiser_of(first_plan.rule), change.momentum, change.from_rest);
  }
  std::vector<Rule> rules;
  for (const Plan& each : result) rules.push_back(each.rule);
  const bool stateful = !layout_of(rules, 1, {}).only_w();
  for (Plan& each : result) each.stateful = stateful;
  if (compressed_from == 0) return result;
  for (std::size_t i = 0, count = result.size(); i < count; ++i) {
    Plan whole = result[i];
    whole.message = {};
    whole.rule.back = nullptr;
    whole.encoding = whole.decoding = 0;
    result.push_back(std::move(whole));
  }
  return result;
}

Message Point::of_tensors(Message message) const {
  if (model && message.compressor && message.compressor->by_tensor())
    message.compressor = message.compressor->of_tensors(model->tensors());
  return message;
}

std::shared_ptr<const Codes> Point::codes(double numbers) const {
  if (!with_compression()) return nullptr;
  const auto protocol = make_protocol();
  const std::uint32_t k = protocol->k();
  Training training{numbers, {}, k, stop.updates};
  constexpr std::uint64_t late = std::uint64_t{1} << 52;
  const Work begin, end{late, late, static_cast<double>(late)};
  if (learning_rate && !learning_rate->differs() && protocol->changes().empty() &&
      !protocol->traits().needs_evaluations &&
      learning_rate->eta(begin, 0, k) == learning_rate->eta(end, 0, k))
    training.eta = learning_rate->eta(begin, 0, k);
  return first_plan.message.compressor->codes(training);
}

double Point::numbers_sent() const {
  const auto& network = cluster.transit.network;
  const double bytes = network         ? network->model_bytes
                       : cluster.peers ? cluster.peers->model_bytes
                                       : 0;
  if (bytes > 0) return bytes / sizeof(float);
  return model ? static_cast<double>(model->value_layout().numbers) : 0;
}

TransitFacts Point::transit() const {
  TransitFacts facts = cluster.transit;
  const bool works = decode > 0 || (encode > 0 && first_plan.rule.back);
  if (works && !facts.server && make_protocol().has_server()) facts.server.emplace();
  return facts;
}

/// The largest part of a message, with all of the work for it, is a lower bound of all its parts,
/// and the least of different codes is one of all of them.
std::optional<Road> Point::road() const {
  const TransitFacts facts = transit();
  const auto protocol = make_protocol();
  if (!facts.any() || facts.failures || !protocol.has_server()) return {};
  const ServerLinks none, &links = facts.network ? *facts.network : none;
  if (links.overlap || links.layers) return {};
  const ServerTimes server = facts.server.value_or(ServerTimes{});
  const double part = std::ranges::max(server.parts);
  Road road;
  road.per_gradient = server.per_gradient * part;
  road.per_update = server.per_update * part;
  double down = links.model_bytes, up = links.model_bytes;
  for (const Plan& plan : plans()) {
    up = codes(1) || bytes_vary() ? 0 : std::min(up, plan.bytes_of_message(links.model_bytes));
    if (plan.rule.back) down = 0;
  }
  const double bandwidth = links.bandwidth.value_or(std::numeric_limits<double>::infinity());
  road.outgoing = down * part / bandwidth;
  road.incoming = up * part / bandwidth;
  const auto through = [](const ServerLinks::Cards& cards, double on_link, double bytes) {
    if (cards.bandwidths.empty()) return on_link;
    return std::max(on_link, bytes / std::ranges::max(cards.bandwidths));
  };
  road.alone = through(links.down, road.outgoing, down) + through(links.up, road.incoming, up);
  road.alone += std::ranges::min(links.down.latencies) + std::ranges::min(links.up.latencies) +
                road.per_gradient;
  if (protocol->traits().never_waits) road.alone += road.per_update;
  road.only_links = server.shards() == 1 && road.per_gradient + road.per_update == 0 &&
                    links.down.bandwidths.empty() && links.up.bandwidths.empty() &&
                    links.down.latencies.size() == 1 && links.up.latencies.size() == 1 &&
                    !with_compression();
  for (const auto& law : {links.pull, links.push}) {
    if (!law) continue;
    if (law->has_memory()) road.only_links = false;
    if (!law->has_memory()) road.alone += law->mean();
  }
  return road;
}

ClusterRuntimes Point::runtimes() const {
  ClusterRuntimes runtimes = cluster.runtimes;
  if (encode > 0 && make_protocol && make_protocol().has_server())
    runtimes.after = time_of_message(encode);
  return runtimes;
}

DistributionProduct Point::common_law() const {
  const auto law = runtimes().common_law(cluster.learners, samples());
  return law && local_steps() > 1 ? law->sum(local_steps()) : law;
}

std::optional<PeerNetwork> Point::peers_of_messages() const {
  std::optional<PeerNetwork> network = cluster.peers;
  if (!network || !with_compression()) return network;
  const Plan plan = plans().front();
  if (!plan.message.compressor->adds(network->model_bytes / sizeof(float)))
    network->collective = Collective::gather;
  network->rounds = std::max(1u, plan.message.compressor->rounds());
  const double bytes = plan.bytes_of_message(network->model_bytes);
  if (bytes == 0) return network;
  network->making = time_of_message(encode) / bytes;
  network->reading = time_of_message(decode) / bytes;
  return network;
}

std::optional<PeerNetwork> Point::network_of_gradients() const {
  std::optional<PeerNetwork> network = peers_of_messages();
  if (network && with_compression())
    network->model_bytes = plans().front().bytes_of_message(network->model_bytes);
  return network;
}

std::vector<std::string> Point::data_hashes() const {
  std::vector<std::string> hashes;
  for (const auto& trace : cluster.traces()) hashes.push_back(trace->hash);
  const auto& links = cluster.transit.network;
  const auto& layers = links ? links->layers : cluster.peers ? cluster.peers->layers : nullptr;
  if (layers) hashes.push_back(layers->hash);
  for (const std::string& hash :
       {with_model() ? model->data_hash() : "", make_protocol()->data_hash()})
    if (!hash.empty()) hashes.push_back(hash);
  return hashes;
}

Race Point::race() const {
  Race race;
  race.seed = seed;
  race.learners = cluster.learners;
  race.runtime = cluster.runtimes.laws.front();
  race.make_runtimes = make_cluster_runtimes(
      std::make_shared<const ClusterRuntimes>(cluster.runtimes), cluster.learners);
  race.transit = transit();
  race.peers = cluster.peers;
  if (with_compression()) race.peers_of_messages = peers_of_messages();
  race.make_protocol = make_protocol;
  race.stop = stop;
  race.evaluations = evaluations;
  race.evaluated = evaluated;
  race.sampler = sampler;
  if (sampler == Sampler::order_statistic) race.runtime = common_law(), race.make_runtimes = {};
  race.local_steps = local_steps();
  race.dual = dual();
  race.plans = plans();
  race.compressed_from = compressed_from;
  if (with_compression() && with_model())
    race.codes = codes(static_cast<double>(model->value_layout().numbers));
  const auto& links = cluster.transit.network;
  const bool carried = links ? links->carries() : cluster.peers && cluster.peers->model_bytes > 0;
  if (carried && with_compression() && with_model())
    for (const Tensor& tensor : model->tensors()) race.coded_numbers += tensor.numbers();
  const bool epochs_matter = with_model() || stop.epochs || evaluations.every_epochs ||
                             make_protocol()->traits().needs_epochs;
  if (model && epochs_matter) race.training_rows = model->training_rows();
  return race;
}

/// Of learners without a server, what it says of them without failures where all go back to
/// checkpoints; else nothing.
static Theory with_failures(const Theory& without, const Failures& failures,
                            const Conditions& alone, std::uint32_t steps_of_round) {
  Theory theory;
  if (!failures.checkpoint) return theory;
  theory.staleness = without.staleness;
  const bool known = failures.up->ageing() == Ageing::memoryless && !failures.up->has_memory() &&
                     !failures.down->has_memory() && failures.notice == 0;
  if (!known || !without.iteration_time) return theory;
  const auto count = failures.learners.empty() ? alone.learners : failures.learners.size();
  const RestartingLearners learners{.count = static_cast<double>(count),
                                    .up = failures.up->mean(),
                                    .down = failures.down->mean(),
                                    .reform = failures.reform,
                                    .every = failures.checkpoint->every,
                                    .cost = failures.checkpoint->cost};
  const double round = steps_of_round * without.iteration_time->value;
  const bool even =
      without.iteration_time->basis == Basis::exact && alone.law && alone.law->variance() == 0;
  theory.iteration_time = {{round_with_restarts(round, learners) / steps_of_round,
                            even ? Basis::exact : Basis::approximate}};
  return theory;
}

Theory Point::theory(std::uint64_t budget) const {
  const auto& failures = cluster.transit.failures;
  const bool restarts = failures && !make_protocol().has_server();
  if (restarts && !failures->checkpoint) return {};
  const auto law = common_law();
  const PerLearner samples = this->samples();
  const ClusterRuntimes times = runtimes();
  const std::uint32_t tau = local_steps();
  const auto network = network_of_gradients();
  Conditions conditions{cluster.learners, law.get(),    network ? &*network : nullptr,
                        transit().any(),  times.ties(), road()};
  const auto means = [&] {
    std::vector<double> of_gradients = times.means(cluster.learners, samples);
    for (double& mean : of_gradients) mean *= tau;
    return of_gradients;
  };
  if (!law) {
    conditions.means = means();
    conditions.memoryless = tau == 1 && times.memoryless(cluster.learners, samples);
    conditions.slowest = [this, &times, &samples, tau](std::uint32_t gradients, double cap) {
      return times.slowest(cluster.learners, samples, gradients * tau, cap);
    };
    if (tau == 1)
      conditions.kth_smallest = [this, &times, &samples](std::uint32_t k) {
        return times.kth_smallest(cluster.learners, samples, k);
      };
  }
  const auto about = [&](Theory theory) {  // where messages count as what they are at most
    if (bytes_vary() && cluster.peers && theory.iteration_time)
      theory.iteration_time->basis = Basis::approximate;
    if (!restarts) return theory;
    const auto mixing = make_protocol()->mixing();
    return with_failures(theory, *failures, conditions, mixing ? mixing->period : 1);
  };
  if (auto theory = within_budget([&] { return make_protocol()->theory(conditions); }, budget))
    return about(*theory);
  conditions.law = nullptr;
  conditions.means = means();
  conditions.slowest = {};
  conditions.kth_smallest = {};
  Theory theory = make_protocol()->theory(conditions);
  theory.over_budget = true;
  return about(theory);
}

std::string Point::not_known(const Theory& theory) const {
  if (theory.iteration_time && theory.staleness) return "";
  const std::string what = theory.iteration_time ? "staleness"
                           : theory.staleness    ? "iteration time"
                                                 : "iteration time, staleness";
  return what + ": " + why_not_known(theory);
}

std::string Point::why_not_known(const Theory& theory) const {
  if (theory.over_budget)
    return "its integrals take more than " +
           count_text(IntegrandBudget::of_a_number, "evaluation") + " of runtimes";
  const TransitFacts facts = transit();
  if (facts.failures) return "learners fail";
  if (facts.server) return "the server takes time";
  if (facts.network) return "messages take time";
  const std::string_view why = cluster.runtimes.why_no_common_law(cluster.learners, samples());
  return std::string(why.empty() ? "no formula is known here" : why);
}

std::optional<Descent> Point::descent(const Theory& theory) const {
  if (!with_model() || !model->quadratic() || with_compression() || first_plan.rule.delay ||
      samples().differs() || local_steps() > 1)
    return {};
  if (versions() > 1) return {};
  const auto protocol = make_protocol();
  if (cluster.transit.failures && !protocol.has_server()) return {};
  const bool server = protocol.has_server();
  Descent descent;
  descent.quadratic = noisy(*model->quadratic());
  const Sgd* const sgd = std::get_if<Sgd>(&optimiser_of(first_plan.rule));
  const bool linear = sgd && !sgd->rmsprop && (!sgd->nesterov || sgd->momentum == 0);
  if (linear) descent.momentum = sgd->momentum;
  descent.ema = first_plan.rule.ema;
  descent.clip = first_plan.clip;
  descent.minibatch = samples()[0];
  descent.learners = cluster.learners;
  descent.theory = theory;
  descent.k = server || protocol->traits().one_value ? protocol->k() : cluster.learners;
  descent.rate_k = protocol->gradients_of_step();
  descent.one_value = server || descent.theory.mean_follows_sync;
  descent.mixing = protocol->mixing();
  const Traits traits = protocol->traits();
  descent.k_varies = traits.needs_evaluations || traits.k_varies || descent.theory.fewer_than_k;
  descent.law = common_law();
  if (descent.law) descent.ageing = within_budget([&] { return descent.law->ageing(); });
  descent.learning_rate = learning_rate;
  descent.gamma = gamma;
  descent.stop = stop;
  descent.every_time = evaluations.every_time;
  return descent;
}

}  // namespace gradrace
