#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/theory/error_curve.h"
#include "distributions/integrand_budget.h"
#include "models/model/model.h"
#include "sim/cli/scenario/cluster.h"
#include "sim/cli/scenario/identity.h"
#include "sim/cli/scenario/record.h"
#include "sim/engine/race.h"
#include "sim/results/label.h"
#include "sim/results/swept_value.h"

namespace gradrace {

/// Columns of learners.csv that some scenarios have.
struct LearnerColumns {
  bool encoding = false;  // messages take time
  bool unused = false;    // staleness is bounded
};

/// One point of a scenario: every key of the file, read and checked.
struct Point {
  // What the file says.
  std::string name, title, notes, time_unit;
  std::uint64_t seed = 1;
  std::uint32_t replicas = 1;
  std::string device = "auto";
  bool timing_only = false;
  Cluster cluster;
  ModelProduct model;                 // null: there is none
  Plan first_plan;                    // except for the model's minibatch and the learning rate
  std::uint32_t compressed_from = 0;  // updates
  double encode = 0, decode = 0;      // of messages, time a number
  LearnerColumns learner_columns;     // the same at all points of the scenario
  bool curve_has_members = false;     // a column of curve.csv, likewise,
  bool curve_has_gap = false;         // and another
  std::string protocol_name;          // "k-async"
  Label label;  // its name among the others: "k-async k=4", "async learners=16"
  MakeProtocol make_protocol;
  LearningRateProduct learning_rate;
  Stop stop;
  EvaluationSchedule evaluations;
  EvaluatedValue evaluated = EvaluatedValue::mean;
  Sampler sampler = Sampler::events;
  EvaluatedRows rows;
  bool record_details = true;
  std::vector<std::pair<const Record*, MakeRecorder>> records;  // further files
  std::vector<double> target_loss, target_test_error;
  std::optional<double> gamma;  // assumed, for bounds of the error

  /// What the sweep sets, in the order of its paths.
  std::vector<SweptValue> settings;

  /// Names its runs, with their replicas.
  RunKey key = {};

  /// Equal for points whose runs one device can replay side by side: the model except for its
  /// minibatch, the learners' shards if they have any, the rows that it is evaluated on, the
  /// device.
  std::string device_text;

  bool with_model() const { return model && !timing_only; }
  bool with_compression() const { return first_plan.message.compressor != nullptr; }
  /// Whether messages have the bytes of what they say.
  bool bytes_vary() const {
    return with_model() && with_compression() && first_plan.message.compressor->bytes_vary();
  }
  /// Of a server's model, as Race has them.
  std::uint32_t versions() const {
    return cluster.transit.server ? cluster.transit.server->versions() : 1;
  }
  /// Whether it tells what failures cost.
  bool tells_failures() const {
    return cluster.transit.failures && cluster.transit.failures->tells_costs;
  }
  /// Whether learners are told apart.
  bool knows_learners() const { return sampler == Sampler::events; }

  /// Of messages, which it must have.
  std::shared_ptr<const Compressor> compressor() const {
    return of_tensors(first_plan.message).compressor;
  }
  /// The codes of messages where they change from step to step, chosen as for so many numbers of a
  /// gradient; else null.
  std::shared_ptr<const Codes> codes(double numbers = 0) const;
  /// Numbers of a gradient that is sent; 0: not known.
  double numbers_sent() const;
  /// What is between learners and a server; reading messages is its work.
  TransitFacts transit() const;
  /// Of gradients, where there is a server, learners do not fail and it is known.
  std::optional<Road> road() const;

  /// Of dual ascent, if the protocol makes it.
  std::optional<DualPass> dual() const {
    return make_protocol ? make_protocol()->traits().dual : std::nullopt;
  }

  /// Of a minibatch: of a pass of dual ascent, the model's, or as if it were one.
  PerLearner samples() const {
    if (const auto pass = dual()) return pass->rows;
    return model ? model->minibatch() : PerLearner();
  }

  /// tau: minibatches of a gradient that a learner sends to a server.
  std::uint32_t local_steps() const {
    return make_protocol ? make_protocol()->traits().local_steps : 1;
  }

  /// The law of the time of every gradient where those are independent draws of one, else null.
  DistributionProduct common_law() const;

  /// Among learners without a server, with what gradients take there; none: no time.
  std::optional<PeerNetwork> network_of_gradients() const;
  /// The same with models, as messages of them use it: what does not add is gathered.
  std::optional<PeerNetwork> peers_of_messages() const;

  /// Hashes of the files that its runs are made with; reads them.
  std::vector<std::string> data_hashes() const;

  /// What the timing plane is told.  Reads the data where epochs are counted.
  Race race() const;

  /// What theory says of it, as far as its integrals are within the budget.
  Theory theory(std::uint64_t budget = IntegrandBudget::of_a_number) const;
  /// What that lacks of an iteration time and a staleness, and why; empty if nothing.
  std::string not_known(const Theory& theory) const;
  /// Why that lacks one of them, if it does.
  std::string why_not_known(const Theory& theory) const;

  /// What theory needs to know of SGD on a quadratic; none where another model is trained, or none,
  /// where learners have minibatches of different sizes,
  /// or compression makes others of its gradients.
  /// theory: of it.
  std::optional<Descent> descent(const Theory& theory) const;

 private:
  std::vector<Plan> plans() const;
  Message of_tensors(Message message) const;
  double time_of_message(double of_number) const {
    return of_number > 0 ? of_number * numbers_sent() : 0;
  }
  /// As they are once messages are made.
  ClusterRuntimes runtimes() const;
};

}  // namespace gradrace
