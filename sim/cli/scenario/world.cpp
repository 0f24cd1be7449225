#include "sim/cli/scenario/world.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "protocols/catalog.h"
#include "sim/layers.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

void check_shards(Fields& fields, const Point& point) {
  const TransitFacts transit = point.transit();
  if (!transit.server) return;
  const double shards = transit.server->shards();
  const bool works = transit.server->per_gradient > 0 || transit.server->per_update > 0 ||
                     point.encode > 0 || point.decode > 0;
  const bool carries = transit.network && transit.network->carries();
  fields.idle("cluster.server.shards", shards > 1 && !works && !carries,
              "say nothing where neither the server nor its links take time",
              "per_gradient or per_update beside it, or cluster.network with a bandwidth");
  const double parameters = shards > 1 ? point.numbers_sent() : 0;
  if (parameters == 0 || shards <= parameters) return;
  const std::string most = number_text(std::floor(parameters));
  fields.complain("cluster.server.shards",
                  "has " + number_text(shards) + " ranges of " + most +
                      " parameters (model_bytes / 4, or the model's)",
                  "1 to " + most);
}

/// There is a server, and one value.
void check_server(Fields& fields, const Point& point) {
  if (point.cluster.peers)
    fields.complain("cluster.network.topology", "is for protocols without a server", "star");
  if (point.evaluated != EvaluatedValue::mean) {
    fields.complain("record.evaluate",
                    "is for protocols without a server, whose learners have values of their own",
                    "mean");
  }
  const auto& failures = point.cluster.transit.failures;
  const auto of_peers = [&](const std::string& key, bool is_said) {
    fields.idle("cluster.failures." + key, failures && is_said, "is for learners without a server",
                "0, or without it");
  };
  of_peers("reform", failures && failures->reform > 0);
  of_peers("notice", failures && failures->notice > 0);
  fields.idle("cluster.failures.on_failure", failures && failures->checkpoint,
              "restart is for learners without a server", "shrink, or without it");
  check_shards(fields, point);
  const auto& links = point.cluster.transit.network;
  const bool by_layer = links && links->layers;
  const std::string overlap = by_layer ? "cluster.network.layers" : "cluster.network.overlap";
  if (links && (links->overlap || by_layer) && (point.encode > 0 || point.decode > 0))
    fields.complain(overlap,
                    "does not go with messages that are made, or read, before they are there",
                    "without it, or compression without encode and decode");
  const auto& server = point.cluster.transit.server;
  if (by_layer && server && server->alike() < server->shards())
    fields.complain(overlap,
                    "does not go with shards that differ, each of which has a part of a layer",
                    "without it, or equal cluster.server.shards");
}

bool has_collectives(const AnyProtocol& protocol) {
  return !protocol.has_server() && protocol->traits().exchange == Traits::Exchange::collective;
}

bool has_groups(const AnyProtocol& protocol) {
  return has_collectives(protocol) && !protocol->traits().one_group;
}

void examine_collectives(Fields& fields, const PeerNetwork& network, const AnyProtocol& protocol) {
  const PeerNetwork usual;
  const auto examine = [&](const std::string& key, bool is_usual) {
    const bool idle = !has_collectives(protocol) && !is_usual;
    fields.idle("cluster.network." + key, idle, "is of collectives, and the protocol has none",
                idle ? "without it; or " + protocols_with(has_collectives) : "");
  };
  examine("collective", network.collective == usual.collective);
  examine("communicator_setup", network.communicator_setup == usual.communicator_setup);
  examine("communicators", network.communicators == usual.communicators);
  examine("ring", network.ring.empty());
  fields.idle("cluster.network.communicators",
              has_collectives(protocol) && protocol->traits().one_group &&
                  network.communicators != usual.communicators,
              "says nothing where there is one group, of all learners",
              "without it; or " + protocols_with(has_groups));
}

/// Of nodes, which several learners may share.
void examine_cards(Fields& fields, const PeerNetwork& network, std::uint32_t learners) {
  const Link& card = network.between;
  const bool passes =
      !network.regions.empty() || network.per_node == 1 || network.per_node < learners;
  const auto examine = [&](const std::string& key, bool is_said, const std::string& allowed) {
    fields.idle("cluster.network." + key, !passes && is_said,
                "says nothing where one node has all learners", allowed);
  };
  examine("between", card.latency > 0 || !std::isinf(card.bandwidth),
          "{}, which takes no time, or per_node below cluster.learners");
  examine("shared", network.shared, "false, or per_node below cluster.learners");
}

bool is_by_layer(const AnyProtocol& protocol) {
  return !protocol.has_server() && protocol->traits().by_layer;
}

/// As a phase, too.
bool may_switch(const AnyProtocol& protocol) {
  return is_by_layer(protocol) && protocol->traits().exchange != Traits::Exchange::of_neighbours;
}

/// Those that share them have one value.
bool divides_layers(const AnyProtocol& protocol) {
  return is_by_layer(protocol) && protocol->traits().one_value;
}

void check_layers(Fields& fields, const Point& point, const AnyProtocol& protocol) {
  const std::string key = "cluster.network.layers";
  const bool is_switch = !protocol->changes().empty();
  if (!is_by_layer(protocol))
    fields.complain(
        key,
        std::string("leave one by one while the backward pass makes them, and ") +
            (is_switch ? "a phase's learners" : "these learners") +
            " exchange whole models, after the backward pass, or of another kind than it makes",
        "without it; or " + protocols_with(is_by_layer) + "; or a switch of " +
            protocols_with(may_switch));
  const Layers& layers = *point.cluster.peers->layers;
  if (layers.parallelism != Parallelism::data && (!protocol->traits().one_value || is_switch))
    fields.complain(key + ".parallelism",
                    is_switch ? "divides layers, and phases would have to divide them alike"
                              : "divides layers, of which these learners have all",
                    "data; or " + protocols_with(divides_layers));
  if (point.cluster.transit.failures)
    fields.complain(key, "do not go with learners that fail (cluster.failures)",
                    "without it, or no failures");
  if (layers.minibatch > 0 && point.model &&
      (point.samples().least() != layers.minibatch ||
       point.samples().greatest() != layers.minibatch))
    fields.complain(key + ".minibatch", "is not the model's", "model.minibatch");
  const std::uint32_t learners = point.cluster.learners;
  double longest = 0;
  for (const StepExchange& exchange : exchanges_of(layers, learners))
    if (exchange.holds)
      longest = std::max(
          longest, time_of(exchange, {.learners = learners, .network = &*point.cluster.peers}));
  constexpr double most = 1e12;
  if (longest > most)
    fields.complain(key + ".minibatch",
                    "makes what goes into a layer take " + number_text(longest) + " units of time",
                    "what takes at most " + number_text(most));
  if (point.with_compression() && layers.parallelism != Parallelism::data)
    fields.complain("compression", "does not go with layers that are divided among learners",
                    "without it, or cluster.network.layers with parallelism: data");
}

bool goes_on_without(const AnyProtocol& protocol) {
  return !protocol.has_server() && protocol->traits().goes_on_without;
}

bool goes_back(const AnyProtocol& protocol) {
  return !protocol.has_server() && protocol->traits().goes_back;
}

/// Of learners without a server.
void check_failures(Fields& fields, const Point& point, const AnyProtocol& protocol) {
  const Traits traits = protocol->traits();
  if (!traits.goes_on_without)
    fields.complain("cluster.failures",
                    "is not for this protocol, which has no answer to a learner that fails",
                    protocols_with(goes_on_without) + ", or a protocol of a server");
  const Failures& failures = *point.cluster.transit.failures;
  if (failures.checkpoint && !traits.goes_back)
    fields.complain("cluster.failures.on_failure",
                    "is for protocols whose learners begin steps or rounds together, and whose "
                    "tau follows no loss",
                    "shrink; or " + protocols_with(goes_back));
  if (failures.notice > 0 && !traits.goes_back && !traits.begins_alone)
    fields.complain("cluster.failures.notice", "does not go with a tau that follows the loss",
                    "0, or another tau");
  if (!traits.no_failures.empty())
    fields.complain("protocol." + std::string(traits.no_failures),
                    "does not go with learners that fail (cluster.failures)",
                    traits.no_failures == "graph" ? "ring, torus, complete, or no failures"
                    : traits.no_failures == "schedule"
                        ? "another schedule than static, or no failures"
                        : "1, or no failures");
  if (point.with_compression())
    fields.complain("compression", "does not go with learners that fail without a server",
                    "without it, or no failures");
  if (point.evaluated != EvaluatedValue::mean)
    fields.complain("record.evaluate", "asks for values that learners have lost who failed",
                    "mean");
}

void check_peers(Fields& fields, const Point& point, const AnyProtocol& protocol) {
  const TransitFacts& transit = point.cluster.transit;
  constexpr std::string_view of_server = "is for protocols of a server, and this one has none";
  constexpr std::string_view or_server = "without it; or a protocol of a server";
  if (transit.network) {
    fields.complain("cluster.network.topology", "star is for protocols of a server",
                    "mesh, nodes, regions");
  }
  if (transit.server)
    fields.complain("cluster.server", std::string(of_server), std::string(or_server));
  if (transit.failures) check_failures(fields, point, protocol);
  const std::uint32_t least = protocol->traits().least_learners(),
                      learners = point.cluster.learners;
  if (learners < least) {
    fields.complain("cluster.learners",
                    "must be >= " + std::to_string(least) +
                        " for this protocol, whose learners exchange in pairs, got " +
                        std::to_string(learners));
  }
  if (point.cluster.peers) {
    examine_collectives(fields, *point.cluster.peers, protocol);
    examine_cards(fields, *point.cluster.peers, learners);
    if (point.cluster.peers->layers) check_layers(fields, point, protocol);
  }
  fields.idle("theory.gamma", true, "is for stale gradients of one model, that of a server",
              std::string(or_server));
}

}  // namespace

namespace {

bool is_by_shard(const AnyProtocol& protocol) {
  return protocol.has_server() && protocol->traits().by_shard;
}

}  // namespace

void check_versions(Fields& fields, const Point& point) {
  const auto& server = point.cluster.transit.server;
  if (!server || !point.make_protocol || !point.make_protocol().has_server()) return;
  const std::string key = "cluster.server.versions";
  fields.idle(key, server->version_each && server->versions() == 1,
              "says nothing of equal shards, which are always in step",
              "one, or cluster.server.shards that differ");
  if (!server->version_each || server->shards() == 1) return;
  const auto refuse = [&](bool is_so, const std::string& why, const std::string& otherwise) {
    if (is_so) fields.complain(key, "each: " + why, "one; or " + otherwise);
  };
  if (!is_by_shard(point.make_protocol()))
    refuse(true,
           "a shard cannot follow this protocol by itself, which orders more than updates of all "
           "that arrives and dispatches after them",
           protocols_with(is_by_shard) + ", without clients, max_staleness, tau or pull before");
  refuse(server->versions() > no_range, "they are too many", "at most 65535 shards");
  refuse(point.with_compression(), "messages are made of whole gradients", "without compression");
  refuse(point.cluster.transit.failures != nullptr,
         "parts of a gradient whose learner fails may have been applied", "without failures");
  refuse(point.learning_rate && point.learning_rate->distance() > 0,
         "a rate by distance goes by whole values, which shards have not", "another learning rate");
  for (const auto& [record, make] : point.records)
    refuse(true, "record." + std::string(record->key) + " tells of updates of the whole model",
           "without record." + std::string(record->key));
  if (!point.with_model()) return;
  refuse(point.device == "cuda", "the CPU alone moves ranges, and the device is cuda",
         "device: cpu");
  refuse(!point.model->has_parameters(), "the model has no parameters", "a model that has some");
}

void check_world(Fields& fields, const Point& point) {
  if (!point.make_protocol) return;
  const auto protocol = point.make_protocol();
  if (!protocol.has_server()) return check_peers(fields, point, protocol);
  check_server(fields, point);
  fields.idle("theory.gamma", false, "");
}

}  // namespace gradrace
