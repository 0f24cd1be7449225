#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/compressor.h"
#include "sim/distribution.h"
#include "sim/engine/stop.h"
#include "sim/engine/transit.h"
#include "sim/learning_rate.h"
#include "sim/make_protocol.h"
#include "sim/peer_network.h"
#include "sim/per_learner.h"
#include "sim/runtimes.h"
#include "sim/tape.h"

namespace gradrace {

/// When the model is evaluated, besides the start and the end of the run.
struct EvaluationSchedule {
  std::optional<double> every_time;
  std::optional<std::uint64_t> every_updates;
  std::optional<double> every_epochs;
};

/// What evaluations look at where learners have values of their own.
enum class EvaluatedValue : std::uint8_t {
  mean,   // the mean of the learners' values
  first,  // that of learner 0
  each    // the mean, and each learner's besides
};

/// What is drawn.
enum class Sampler : std::uint8_t {
  events,          // the time of every minibatch
  order_statistic  // the time of every update, of a protocol that restarts all, without a model
};

/// How gradients are made and applied while it is in force.
struct Plan {
  std::shared_ptr<const LearningRate> learning_rate;  // null without a model
  PerLearner minibatch;
  double clip = 0;  // of its gradients; see Recipe
  Message message;
  Rule rule;
  bool stateful = false;              // an optimiser keeps more than parameters
  double encoding = 0, decoding = 0;  // time of a message, of a learner and of the server

  /// Bytes of a message, where float32 parameters take so many.
  double bytes_of_message(double full) const {
    return message.compressor ? message.compressor->bytes(full / sizeof(float)) : full;
  }

  /// Of a gradient of that rate, in an update of so many that count as it does.
  double weight_of_use(double rate, double gradients) const {
    return (message.of_steps() ? 1 : rate) / gradients;
  }
};

/// What the timing plane must know of one race; the same for all its replicas.
struct Race {
  std::uint64_t seed = 1;
  std::uint32_t learners = 1;  // P
  std::shared_ptr<const Distribution> runtime;
  MakeRuntimes make_runtimes;  // empty: independent draws of `runtime`, which has no memory
  TransitFacts transit;
  std::optional<PeerNetwork> peers;  // who send to one another; empty: that takes no time
  std::optional<PeerNetwork> peers_of_messages;  // the same of messages; empty: as of models
  MakeProtocol make_protocol;
  /// tau > 1, with a server: a gradient that is sent is the sum of g_0 ... g_{tau-1}, g_j of the
  /// learner's minibatch at y_j, where y_0 is what it has read, y_{j+1} = y_j - eta g_j, and eta
  /// the rate of a fresh gradient then.
  std::uint32_t local_steps = 1;
  std::optional<DualPass> dual = {};  // without one: what learners make in place of gradients
  std::vector<Plan> plans{1};         // the scenario's, then one for each of the protocol's changes
  std::uint32_t compressed_from = 0;  // updates; if not 0, all plans stand twice, first as they are
                                      // from that update on
  std::shared_ptr<const Codes> codes;  // null: a plan's message has one code
  double coded_numbers = 0;  // of a gradient as it is computed, where bytes that vary are asked for
  std::uint64_t training_rows = 0;  // 0 without a training set
  Stop stop;
  EvaluationSchedule evaluations;
  EvaluatedValue evaluated = EvaluatedValue::mean;
  Sampler sampler = Sampler::events;

  /// Whether learners have minibatches of different sizes.  In a mean of gradients each counts by
  /// its rows then, else all alike.
  bool counts_rows() const {
    return std::ranges::any_of(plans, &PerLearner::differs, &Plan::minibatch);
  }

  /// Whether learners make messages, of gradients or by passes of dual ascent.
  bool has_messages() const {
    return dual || std::ranges::any_of(
                       plans, [](const Plan& plan) { return plan.message.compressor != nullptr; });
  }

  /// Whether bytes of messages are known as they are made, and of updates that are sent back.
  bool asks_for_bytes() const {
    return coded_numbers > 0 && std::ranges::any_of(plans, [](const Plan& plan) {
             return plan.message.compressor && plan.message.compressor->bytes_vary();
           });
  }
  bool asks_for_bytes_back() const {
    return coded_numbers > 0 && std::ranges::any_of(plans, [](const Plan& plan) {
             return plan.rule.back && plan.rule.back->compressor->bytes_vary();
           });
  }

  /// Of a message, of so many for the numbers that are computed, where the network's take `full`.
  double carried_bytes(double bytes, double full) const {
    return bytes * (full / sizeof(float) / coded_numbers);
  }

  /// Of a server's model: of its shards if they have one each.
  std::uint32_t versions() const { return transit.server ? transit.server->versions() : 1; }

  /// Whether making messages takes its learner time.
  bool encodes() const {
    return std::ranges::any_of(plans, [](const Plan& plan) { return plan.encoding > 0; });
  }

  /// What is in force after so many updates where `plan` is followed.
  std::uint16_t plan_at(std::uint16_t plan, std::uint64_t updates) const {
    if (updates >= compressed_from) return plan;
    return static_cast<std::uint16_t>(plan + plans.size() / 2);
  }

  /// An evaluation looks at the mean, and at the values of learners 0 ... that - 1.
  std::uint32_t learners_evaluated() const {
    if (evaluated == EvaluatedValue::each) return learners;
    return evaluated == EvaluatedValue::first ? 1 : 0;
  }
};

}  // namespace gradrace
