#include "sim/cli/scenario/cluster.h"

#include <numeric>
#include <string>
#include <utility>

#include "distributions/measured.h"
#include "sim/cli/scenario/group.h"
#include "sim/cli/scenario/network/network.h"
#include "sim/layers.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

void visit_shards(Fields& fields, std::vector<double>& parts) {
  constexpr double most = 1 << 16;
  if (fields.is("shards", Form::number)) {
    std::uint32_t shards = 1;
    fields.integer("shards", shards, Need::defaulted, between(1, most),
                   "servers, each with an equal range of the parameters, a link and a queue of its "
                   "own; a message is divided among them, and so is the time for it");
    parts.assign(shards, 1.0 / shards);
  }
  if (!fields.is("shards", Form::list)) return;
  std::vector<double> sizes = parts;
  fields.reals("shards", sizes, Need::defaulted, positive(),
               "the same with ranges in these proportions, as of layers");
  if (sizes.empty() || static_cast<double>(sizes.size()) > most)
    return fields.complain("shards", "has " + std::to_string(sizes.size()) + " ranges",
                           "1 to 65536");
  const double largest = std::ranges::max(sizes);
  for (double& size : sizes) size /= largest;
  const double whole = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  for (double& size : sizes) size /= whole;
  parts = std::move(sizes);
}

void visit_server(Fields& fields, std::optional<ServerTimes>& server) {
  if (!fields.open("server", Need::none,
                   "what the server's work takes; it does one thing at a time, gradients in the "
                   "order of their arrival, and models leave when what it does then is done "
                   "(default: no time)")) {
    return;
  }
  ServerTimes read;
  fields.real("per_gradient", read.per_gradient, Need::defaulted, at_least(0),
              "time to take a gradient up, also one that is dropped then");
  fields.real("per_update", read.per_update, Need::defaulted, at_least(0),
              "time to make an update, which counts from its beginning; models that are pulled "
              "after it leave when it is done");
  visit_shards(fields, read.parts);
  const bool each = fields.second_of(
      "versions", "one", "each",
      "of shards; one: an update is of all parameters, made when the last part of a gradient is "
      "taken up; each: every shard makes updates of its range by itself (see the star)");
  read.version_each = each && fields.good();
  server = read;
  fields.close();
}

/// Without a server.
void visit_failures_of_peers(Fields& fields, Failures& read) {
  std::optional<double> reform, notice;
  fields.real("reform", reform, at_least(0),
              "without a server: time before an exchange that lost a member begins again with the "
              "others, or, with restart, before all go on once all are up (default: 0)");
  read.reform = reform.value_or(0);
  fields.real("notice", notice, at_least(0),
              "without a server: time before its failure at which a learner is told (default: 0); "
              "it begins no further step or round, and leaves without losing anything if that is "
              "soon enough: once its gradients are used and no exchange with it is under way, with "
              "restart once a checkpoint has been written for it");
  read.notice = notice.value_or(0);
  if (read.up && read.notice > read.up->mean())
    fields.complain(
        "notice",
        "is longer than a learner is up, in the mean, which is " + short_number(read.up->mean()),
        "0 to " + short_number(read.up->mean()));
  constexpr std::string_view ways[] = {"shrink", "restart"};
  std::string on_failure;
  fields.choice("on_failure", on_failure, ways, Need::none,
                "without a server, shrink: the others go on (default); restart: all wait until all "
                "are up, and go back to the last checkpoint.  Where it is said runs.csv tells what "
                "failures cost: goodput, effective_time, lost_..., mean_members, and curve.csv "
                "members");
  read.tells_costs = !on_failure.empty();
  if (on_failure == "restart") read.checkpoint.emplace();
  if (!fields.open(
          "checkpoint", read.checkpoint ? Need::required : Need::none,
          "of restart: values, state of optimisers and of the protocol, and the work done; "
          "that of the start is there"))
    return;
  Failures::Checkpoint checkpoint;
  fields.real("every", checkpoint.every, Need::required, positive(),
              "time after the last one, or after all went on from it, from which on one is written "
              "when all have made a step or a round");
  fields.real("cost", checkpoint.cost, Need::defaulted, at_least(0),
              "time to write one, in which nobody computes");
  if (on_failure != "restart")
    fields.complain("", "is what all go back to with on_failure: restart",
                    "on_failure: \"restart\" beside it, or without it");
  read.checkpoint = checkpoint;
  fields.close();
}

void visit_failures(Fields& fields, std::shared_ptr<const Failures>& failures,
                    std::uint32_t learners) {
  if (!fields.open(
          "failures", Need::none,
          "each learner fails and comes back; what it pulls, computes, pushes or exchanges "
          "is lost, and it begins again when it is back, without a server with a copy of "
          "the lowest-numbered neighbour's value, while the others go on without it; where nobody "
          "is "
          "left, who comes back begins at the initial model")) {
    return;
  }
  Failures read;
  read_kind(fields, "up", distribution_catalog(), read.up, Need::required,
            "law of the time from its start or return to its failure");
  read_kind(fields, "down", distribution_catalog(), read.down, Need::required,
            "law of the time from its failure to its return");
  fields.integers("learners", read.learners, Need::none, between(0, learners - 1.0),
                  "numbers of those that fail, from 0 (default: all)");
  if (fields.has("learners") && fields.is("learners", Form::number))
    fields.complain("learners", "is a list of learners, by their numbers from 0", "[0, 1]");
  std::ranges::sort(read.learners);
  if (std::ranges::adjacent_find(read.learners) != read.learners.end())
    fields.complain("learners", "names a learner twice", "each number once");
  if (fields.good() && fields.has("learners") && read.learners.empty())
    fields.complain("learners", "names nobody, so that none fails", "numbers, or without failures");
  visit_failures_of_peers(fields, read);
  if (read.up && !(read.up->mean() > 0)) {
    fields.complain("up", "lasts no time, so that nothing would ever be computed",
                    "a law with mean > 0");
  }
  failures = std::make_shared<const Failures>(std::move(read));
  fields.close();
}

}  // namespace

std::vector<DistributionProduct> Cluster::laws_of(std::uint32_t learner) const {
  std::vector<DistributionProduct> laws;
  if (!runtimes.laws.empty()) laws.push_back(runtimes.laws[learner % runtimes.laws.size()]);
  if (runtimes.outliers) laws.push_back(runtimes.outliers->runtime);
  if (transit.network) laws.insert(laws.end(), {transit.network->pull, transit.network->push});
  std::erase(laws, nullptr);
  return laws;
}

std::vector<std::shared_ptr<const Trace>> Cluster::traces() const {
  std::vector<DistributionProduct> laws = laws_of(0);
  laws.insert(laws.end(), runtimes.laws.begin(), runtimes.laws.end());
  if (runtimes.outliers) laws.push_back(runtimes.outliers->probability_law);
  if (transit.failures) laws.insert(laws.end(), {transit.failures->up, transit.failures->down});
  std::vector<std::shared_ptr<const Trace>> all;
  for (const auto& law : laws) {
    if (!law) continue;
    const auto traces = traces_of(*law);
    all.insert(all.end(), traces.begin(), traces.end());
  }
  return all;
}

void visit_cluster(Fields& fields, Cluster& cluster) {
  if (!fields.open("cluster", Need::required,
                   "the machines; a minibatch of m samples takes (m / rate + X) * persistence / "
                   "speed, longer inside windows")) {
    return;
  }
  fields.integer("learners", cluster.learners, Need::required, between(1, 1 << 24),
                 "P: number of learners");
  visit_cluster_runtimes(fields, cluster.runtimes, cluster.learners);
  ClusterNetwork network;
  read_kind(fields, "network", topology_catalog(), network, Need::none,
            "the way between server and learners, or among learners (default: no time)");
  const bool are_groups = visit_group(fields, cluster.runtimes, network.peers);
  if (const auto& links = network.server) {
    const auto examine = [&](std::string_view key, const std::vector<double>& of_learners) {
      examine_length(fields, key, of_learners.size(), cluster.learners);
    };
    const auto examine_cards = [&](const std::string& key, const ServerLinks::Cards& cards) {
      examine(key + ".bandwidth", cards.bandwidths);
      examine(key + ".latency", cards.latencies);
    };
    examine_cards(network.cards_apart ? "network.card.down" : "network.card", links->down);
    if (network.cards_apart) examine_cards("network.card.up", links->up);
  }
  if (network.server)
    cluster.transit.network = std::make_shared<const ServerLinks>(*std::move(network.server));
  place_in_ring(fields, network, cluster.learners);
  if (are_groups && network.peers && network.peers->layers &&
      network.peers->layers->parallelism != Parallelism::data)
    fields.complain("network.layers.parallelism",
                    "divides layers among learners, and a learner's devices divide them (group)",
                    "data, or without group");
  cluster.peers = network.peers;
  visit_server(fields, cluster.transit.server);
  visit_failures(fields, cluster.transit.failures, cluster.learners);
  std::optional<double> price, of_bytes;  // for the manifest, of which reports read them
  fields.real("price", price, at_least(0),
              "of a machine for a unit of simulated time, in any currency; changes no run: "
              "`gradrace report` says what it costs to reach the targets (default: not said)");
  fields.real(
      "price_per_gigabyte", of_bytes, at_least(0),
      "of 1e9 bytes that learners send and receive, all together, in the currency of `price`; "
      "changes no run (default: not said)");
  fields.close();
}

}  // namespace gradrace
