#include "sim/cli/scenario/scenario.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "models/gpu/cuda/cuda_device.h"
#include "models/optimiser/optimiser.h"
#include "protocols/catalog.h"
#include "protocols/learning_rates/modifiers.h"
#include "sim/cli/scenario/compression.h"
#include "sim/cli/scenario/sampler.h"
#include "sim/cli/scenario/world.h"
#include "sim/engine/evaluations.h"
#include "sim/engine/recipes.h"
#include "sim/engine/tape_writer.h"
#include "sim/reading/characters.h"
#include "sim/reading/reference.h"

namespace gradrace {

std::vector<std::string> Scenario::trace_notes() const {
  std::set<std::string> notes;
  for (const Point& point : points) {
    for (const auto& trace : point.cluster.traces())
      notes.insert(trace->notes.begin(), trace->notes.end());
  }
  return {notes.begin(), notes.end()};
}

namespace {

constexpr std::array<std::string_view, 3> devices{"auto", "cpu", "cuda"};

void visit_optimiser(Fields& fields, Point& point) {
  OptimiserKeys keys;
  read_kind(fields, "optimiser", optimiser_catalog(), keys, Need::defaulted,
            "what is done with gradients besides averaging");
  point.first_plan.rule = {keys.optimiser, keys.ema};
  point.first_plan.rule.delay = keys.delay;
  point.first_plan.clip = keys.clip;
}

constexpr auto evaluations_beside =
    "record.every_time, record.every_updates or record.every_epochs beside it";

bool evaluated(const EvaluationSchedule& every) {
  return every.every_time || every.every_updates || every.every_epochs;
}

using StopNeeds = StopCondition::Needs;

/// The keys of stop conditions, the last after a separator of its own.
template <class Wanted>
std::string stop_keys(Wanted wanted, std::string_view last = ", ") {
  std::vector<std::string_view> keys;
  for (const auto& condition : stop_conditions()) {
    if (wanted(condition)) keys.push_back(condition.key);
  }
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) text += i + 1 < keys.size() ? ", " : last;
    text += keys[i];
  }
  return text;
}

void check_evaluations(Fields& fields, const Stop& stop, const EvaluationSchedule& every) {
  const auto check = [&](std::string_view limit, double count, std::string_view key) {
    if (count <= static_cast<double>(Evaluations::most)) return;
    const std::string beside = "record." + std::string(key);
    fields.complain(
        limit,
        "makes more than " + std::to_string(Evaluations::most) + " evaluations with this " + beside,
        "a larger " + beside);
  };
  if (stop.time && every.every_time) check("time", *stop.time / *every.every_time, "every_time");
  if (stop.epochs && every.every_epochs)
    check("epochs", *stop.epochs / *every.every_epochs, "every_epochs");
  if (stop.updates && every.every_updates)
    check("updates", static_cast<double>(*stop.updates) / static_cast<double>(*every.every_updates),
          "every_updates");
}

/// `model_read`: whether the model is as the file says, so that complaints about its lack are no
/// echo of its own.
void visit_stop(Fields& fields, Point& point, bool model_read, bool record_read) {
  if (!fields.open("stop", Need::required, "limits; the first that is met ends a run")) return;
  Stop& stop = point.stop;
  for (const auto& condition : stop_conditions()) condition.visit(fields, stop);
  const auto everywhere = [](const StopCondition& one) { return one.needs == StopNeeds::nothing; };
  const bool judged = is_judged(stop);
  const bool limited = is_limited(stop);
  if (fields.good() && !judged && !limited) {
    fields.complain("", "needs at least one limit",
                    stop_keys([](const StopCondition&) { return true; }));
  }
  const auto& every = point.evaluations;
  if (record_read && judged && !evaluated(every)) {
    const auto keys = stop_keys([](const StopCondition& one) { return one.found; }, " and ");
    fields.complain("", keys + " are judged at evaluations, and none are asked for",
                    evaluations_beside);
  }
  check_evaluations(fields, stop, every);
  if (!model_read) return fields.close();
  if (judged && !limited && !point.with_model()) {
    fields.complain("", "nothing but the model could end this run, and it is timing-only",
                    stop_keys(everywhere, " or ") + " beside it");
  }
  for (const auto& condition : stop_conditions()) {
    if (!condition.of(stop)) continue;
    if (condition.found && !limited && *condition.of(stop) <= 0)
      fields.complain(condition.key, "is not reached for sure, and nothing else ends a run",
                      "more than 0; or " + stop_keys(everywhere, " or ") + " beside it");
    if (condition.needs == StopNeeds::data_set && !(point.model && point.model->has_dataset())) {
      fields.complain(condition.key, "needs a model with a data set", stop_keys(everywhere));
    }
    if (condition.needs == StopNeeds::classes && point.model && !point.model->has_test_error()) {
      const auto any_model = [](const StopCondition& one) { return one.needs == StopNeeds::model; };
      fields.complain(condition.key, "needs a model of a data set with classes",
                      stop_keys(any_model));
    }
  }
  fields.close();
}

void visit_evaluated(Fields& fields, Point& point) {
  constexpr std::array<std::string_view, 3> values{"mean", "first", "each"};
  std::string value = "mean";
  fields.choice("evaluate", value, values, Need::defaulted,
                "of learners without a server: the mean of their values, that of learner 0, or the "
                "mean and each one's, which adds a column to curve.csv");
  point.evaluated = static_cast<EvaluatedValue>(std::ranges::find(values, value) - values.begin());
}

/// Whether it was read without an error.
bool visit_record(Fields& fields, Point& point, bool model_read) {
  if (!fields.open("record", Need::defaulted, "what is written besides the ends of the runs"))
    return false;
  EvaluationSchedule& every = point.evaluations;
  fields.real("every_time", every.every_time, positive(),
              "evaluate at multiples of this time; a run of more than 10000000 evaluations fails");
  fields.integer("every_updates", every.every_updates, at_least(1),
                 "evaluate after so many updates, once where several are made at one instant");
  fields.real("every_epochs", every.every_epochs, positive(), "evaluate after so many epochs");
  fields.integer("train_rows", point.rows.train, at_least(1),
                 "training loss on so many rows of a fixed shuffle (default: all)");
  fields.integer("test_rows", point.rows.test, at_least(1),
                 "test loss and test error on so many rows of a fixed shuffle (default: all)");
  const bool is_whole = model_read && point.model && !point.model->looks_at_rows();
  fields.idle("train_rows", is_whole && point.rows.train.has_value(),
              "says nothing of a model without a data set");
  fields.idle("test_rows", is_whole && point.rows.test.has_value(),
              "says nothing of a model without a data set");
  visit_evaluated(fields, point);
  fields.flag("details", point.record_details, Need::defaulted,
              "write curve.csv, staleness.csv and learners.csv, besides runs.csv");
  for (const Record* record : records()) {
    bool wanted = false;
    fields.flag(record->key, wanted, Need::defaulted, record->meaning);
    MakeRecorder make = record->read(fields, wanted);
    if (wanted) point.records.emplace_back(record, std::move(make));
  }
  if (model_read && every.every_epochs && !(point.model && point.model->has_dataset())) {
    fields.complain("every_epochs", "needs a model with a data set", "every_time, every_updates");
  }
  const bool sound = fields.good();
  fields.close();
  return sound;
}

void visit_targets(Fields& fields, Point& point, bool record_read, bool model_read) {
  if (!fields.open("targets", Need::none, "levels whose times are wanted")) return;
  fields.reals("loss", point.target_loss, Need::none, anything(),
               "adds time_to_loss_<x> to runs.csv: the time of the first evaluation at x or less");
  fields.reals("test_error", point.target_test_error, Need::none, between(0, 1),
               "adds time_to_error_<x> to runs.csv: the time of the first evaluation at x or less");
  fields.idle("test_error",
              model_read && !point.target_test_error.empty() && point.model &&
                  !point.model->has_test_error(),
              "is never reached: the model has no test error", "loss");
  const auto& every = point.evaluations;
  const bool wanted = !point.target_loss.empty() || !point.target_test_error.empty();
  if (record_read && wanted && point.with_model() && !evaluated(every)) {
    fields.complain("", "times to targets are those of evaluations, and none are asked for",
                    evaluations_beside);
  }
  for (const auto& [key, levels] :
       {std::pair("loss", &point.target_loss), std::pair("test_error", &point.target_test_error)}) {
    std::set<double> seen;
    if (std::ranges::all_of(*levels, [&](double level) { return seen.insert(level).second; }))
      continue;
    fields.complain(key, "has a level twice, which would be two columns of one name",
                    "each level once");
  }
  fields.close();
}

void visit_theory(Fields& fields, Point& point) {
  if (!fields.open("theory", Need::none, "what bounds of the error assume")) return;
  fields.real("gamma", point.gamma, between(0, 1),
              "of stale gradients: E|grad F(w_j) - grad F(w_tau)|^2 <= gamma E|grad F(w_j)|^2, for "
              "Theorems 3 and 5 of Dutta et al., 2018");
  fields.close();
}

/// Whether the first plan has more than plain SGD.
bool optimises(const Plan& plan) {
  const bool keeps = !layout_of({&plan.rule, 1}, 1, {}).only_w();
  return keeps || plan.clip > 0 || plan.rule.ema > 0 || plan.rule.delay;
}

/// What a scenario says of training that has no model, and does not say that it leaves one out.
void check_training(Fields& fields, const Point& point) {
  const bool untrained = !point.timing_only && !fields.has("model");
  const auto needs_model = [&](const std::string& key, bool is_said = true) {
    fields.idle(key, untrained && is_said, "says nothing without a model", "a model beside it");
  };
  for (const auto* key : {"learning_rate", "targets", "record.train_rows", "record.test_rows"})
    needs_model(key);
  for (const auto& condition : stop_conditions())
    if (condition.found) needs_model("stop." + std::string(condition.key), is_limited(point.stop));
  if (!point.make_protocol) return;
  const auto protocol = point.make_protocol();
  for (std::size_t phase = 0; phase < protocol->changes().size(); ++phase)
    for (const auto* key : {"learning_rate", "minibatch", "momentum"})
      needs_model("protocol.phases." + std::to_string(phase) + "." + key);
  for (const std::string_view key : protocol->traits().keys_of_values)
    needs_model("protocol." + std::string(key));
  needs_model("optimiser", optimises(point.first_plan));
}

/// What a scenario says of parameters where the model has none.
void check_parameters(Fields& fields, const Point& point) {
  const bool has_none = point.with_model() && !point.model->has_parameters();
  fields.idle("learning_rate", has_none, "says nothing of a model without parameters");
  fields.idle("optimiser", has_none && optimises(point.first_plan),
              "says nothing of a model without parameters");
  if (!has_none || !point.make_protocol) return;
  for (std::size_t phase = 0; phase < point.make_protocol()->changes().size(); ++phase)
    for (const auto* key : {"learning_rate", "momentum", "momentum_every", "velocity"})
      fields.idle("protocol.phases." + std::to_string(phase) + "." + key, true,
                  "says nothing of a model without parameters");
  if (point.with_compression())
    fields.complain("compression", "is of the numbers of gradients, and this model has none",
                    "without it");
  const AnyProtocol protocol = point.make_protocol();
  const auto has_one_value = [](const AnyProtocol& any) {
    return any.has_server() || any->traits().one_value;
  };
  if (!has_one_value(protocol))
    fields.complain("protocol", "has learners with values of their own, and this model is one",
                    protocols_with(has_one_value));
}

/// Whether a server uses fresh gradients alone, by theory.
bool never_late(const AnyProtocol& protocol, const Point& point) {
  const auto* const server = std::get_if<std::unique_ptr<ServerProtocol>>(&protocol);
  return server && (*server)->staleness(point.cluster.learners).mean == 0.0;
}

/// Without a server a gradient moves its own learner's value.
void visit_rate(Fields& fields, Point& point, const WorkBudget& budget) {
  const auto pass = point.dual();
  const bool has_rate = point.with_model() && point.model->has_parameters() && !pass;
  read_learning_rate(fields, point.learning_rate, has_rate ? Need::required : Need::none,
                     "schedule of the learning rate", budget,
                     !point.make_protocol || point.make_protocol().has_server());
  if (pass)
    point.learning_rate =
        make_learning_rate([eta = pass->step * point.cluster.learners](auto&&...) { return eta; });
  if (!point.learning_rate || !point.make_protocol) return;
  const auto protocol = point.make_protocol();
  const bool one_each = protocol.has_server() && protocol->k() == 1 &&
                        !protocol->traits().needs_evaluations && !fields.has("protocol.phases");
  fields.idle("learning_rate.normalise",
              point.learning_rate->normalised() && (one_each || never_late(protocol, point)),
              "takes the rate by staleness away, as gradients of an update are equally late",
              "false");
}

void visit_protocol(Fields& fields, Point& point, const WorkBudget& budget, bool model_read,
                    PythonFiles& python) {
  const Setting setting{
      point.cluster.learners,
      point.common_law(),
      budget,
      point.cluster.peers ? point.cluster.peers->per_node : 0,
      !layout_of({&point.first_plan.rule, 1}, 1, {}).only_w(),
      point.cluster.runtimes.fastest(point.cluster.learners, point.samples()),
      [&point] { return point.cluster.runtimes.means(point.cluster.learners, point.samples()); },
      point.cluster.peers ? point.cluster.peers->layers : nullptr,
      &python};
  read_kind<MakeProtocol, const Setting&>(fields, "protocol", protocol_catalog(),
                                          point.make_protocol, Need::required,
                                          "how learners are synchronised", setting);
  if (!point.make_protocol) return;
  const auto protocol = point.make_protocol();
  for (const Change& change : protocol->changes()) {
    if (!change.momentum && !change.from_rest) continue;
    if (with_momentum(optimiser_of(point.first_plan.rule), change.momentum, change.from_rest))
      continue;
    fields.complain("protocol", "a phase changes momentum or velocity, which the optimiser lacks",
                    "optimiser.kind: sgd");
    break;
  }
  if (!model_read || point.with_model()) return;
  if (protocol->traits().needs_evaluations) {
    fields.complain("protocol", "decides by the loss, and this run is timing-only",
                    "a model, and no --timing-only");
  }
}

/// Gradients are late at a server alone, and the CPU alone makes up for it.
void check_delay(Fields& fields, const Point& point) {
  if (!point.first_plan.rule.delay || !point.make_protocol) return;
  const AnyProtocol protocol = point.make_protocol();
  if (!protocol.has_server())
    fields.complain("optimiser.delay_compensation",
                    "is of gradients that are late at a server, and the protocol has none",
                    "without it; or a protocol with a server");
  fields.idle("optimiser.delay_compensation", never_late(protocol, point),
              "says nothing where no gradient is late", "a protocol with stale gradients");
  if (point.with_model() && point.device == "cuda")
    fields.complain("optimiser.delay_compensation",
                    "is made by the CPU alone, and the device is cuda",
                    "without it; or device: cpu");
}

/// What passes of dual ascent need, and what says nothing of them.
void check_dual(Fields& fields, const Point& point) {
  const bool is_dual = point.dual().has_value();
  const bool is_usual = point.model && !point.model->minibatch().differs() &&
                        point.model->minibatch()[0] == usual_minibatch;
  for (const auto& [key, is_idle] :
       {std::pair{"learning_rate", is_dual}, {"model.minibatch", is_dual && !is_usual}})
    fields.idle(key, is_idle, "says nothing beside protocol cocoa, which has its own step and rows",
                "without it");
  if (!is_dual) return;
  if (optimises(point.first_plan))
    fields.complain("optimiser", "is of gradients, and protocol cocoa has none", "without it");
  if (!point.with_model()) return;
  if (point.rows.train)
    fields.complain("record.train_rows", "does not go with the duality gap, which is of all rows",
                    "without it");
  if (!point.model->has_dual())
    fields.complain("model.kind", "has no dual for protocol cocoa to ascend", "svm");
  else if (!point.model->has_shards())
    fields.complain("model.dataset", "is in parts with protocol cocoa, one for each learner",
                    "partition of kind iid, by-class or dirichlet");
}

/// Whether there is a device that computes the point in its precision.
void check_precision(Fields& fields, const Point& point) {
  if (!point.with_model() || point.model->precision() != only_gpu_precision) return;
  std::string obstacle;
  if (point.device == "cpu") obstacle = "the device is cpu";
  if (point.device == "auto") obstacle = no_cuda_device();
  if (obstacle.empty()) return;
  fields.complain("model.precision",
                  std::string(only_gpu_precision) + " takes a GPU (" + obstacle + ")",
                  "float32, float64");
}

/// What is defined of gradients of one minibatch alone.
void check_local_steps(Fields& fields, const Point& point) {
  if (point.local_steps() == 1) return;
  const auto refuse = [&](const std::string& key, const std::string& what) {
    fields.complain(key, what + ", and a learner sends the sum of protocol.tau of them",
                    "without it; or protocol.tau: 1");
  };
  if (point.with_compression()) refuse("compression", "is of single gradients");
  if (point.first_plan.rule.delay)
    refuse("optimiser.delay_compensation", "is of gradients at what was read");
  if (point.learning_rate && point.learning_rate->distance() > 0)
    refuse("learning_rate", "by distance is of gradients at what was read");
  const auto& network = point.cluster.transit.network;
  if (network && (network->overlap || network->layers))
    refuse(network->layers ? "cluster.network.layers" : "cluster.network.overlap",
           "is of the passes of one gradient");
  if (point.with_model() && !point.model->has_parameters())
    refuse("model", "is moved by gradients of one value");
}

bool is_time_all(const Stop& stop) {
  const auto is_set = [&](const StopCondition& one) { return one.of(stop).has_value(); };
  return stop.time && std::ranges::count_if(stop_conditions(), is_set) == 1;
}

/// Of those that are told by its limits, where each has a number of its own.  Where nothing but
/// computing takes time, one learner at least computes at any time.
void check_minibatches(Fields& fields, const Point& point) {
  if (point.sampler == Sampler::order_statistic || !point.make_protocol) return;
  constexpr double most = TapeWriter::most_gradients;
  const auto check = [&](std::string_view key, double minibatches) {
    if (minibatches <= most) return;
    fields.complain(key, "takes " + json_number(minibatches) + " minibatches, and a run has " +
                             json_number(most) + " at most");
  };
  const bool all = point.make_protocol()->traits().restarts_all;
  const double of_update = all ? point.cluster.learners : 1;
  if (point.stop.updates)
    check("stop.updates", static_cast<double>(*point.stop.updates) * of_update);
  if (point.stop.gradients) check("stop.gradients", static_cast<double>(*point.stop.gradients));
  const Cluster& cluster = point.cluster;
  const PerLearner samples = point.samples();
  const bool only_computes = !cluster.transit.any() && !cluster.peers;
  if (!is_time_all(point.stop) || !only_computes ||
      *point.stop.time <= most * cluster.runtimes.fastest(cluster.learners, samples))
    return;
  const std::vector<double> means = cluster.runtimes.means(cluster.learners, samples);
  if (!means.empty()) check("stop.time", *point.stop.time / std::ranges::max(means));
}

/// Gradients that differ in plan or size have recipes of their own.
void check_sizes(Fields& fields, const Point& point) {
  if (!point.make_protocol) return;
  const std::size_t plans = 1 + point.make_protocol()->changes().size();
  const std::size_t of_size = point.compressed_from > 0 ? 2 * plans : plans;
  const std::size_t sizes = point.samples().different().size(), most = Recipes::most / of_size;
  if (sizes > 1 && sizes > most)
    fields.complain("model.minibatch", "has " + std::to_string(sizes) + " different numbers",
                    "at most " + std::to_string(most) + " here");
}

/// Whether the model's minibatches are those of the learners that there are; else it is not read.
bool has_all_minibatches(Fields& fields, Point& point, bool learners_read) {
  const PerLearner samples = point.samples();
  const std::uint32_t learners = point.cluster.learners;
  if (samples.listed().value_or(learners) == learners) return true;
  point.model.reset();
  return learners_read && fields.check_learners("model.minibatch", samples, learners);
}

/// What it is not to be; empty for a name that is fine.
std::string folder_name_fault(const std::string& name) {
  constexpr std::size_t longest = 200;  // bytes; file systems allow 255, and search puts more to it
  if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..")
    return "is no path";
  if (!is_utf8(name)) return "is UTF-8";
  const std::string control = control_character(name);
  if (!control.empty()) return "has no control characters (" + control + ")";
  return name.size() > longest ? "has at most " + std::to_string(longest) + " bytes" : "";
}

/// What a unit is not to have; empty for one that is fine.
std::string unit_fault(const std::string& unit) {
  constexpr std::size_t longest = 30;  // bytes
  const std::string control = control_character(unit);
  if (!control.empty()) return "has " + control;
  return unit.size() > longest ? "has more than " + std::to_string(longest) + " bytes" : "";
}

}  // namespace

std::vector<Theory> theories_of(const Scenario& scenario) {
  std::vector<Theory> theories;
  for (const Point& point : scenario.points) theories.push_back(point.theory());
  return theories;
}

void visit_scenario(Fields& fields, Point& point, DataShelf& shelf) {
  fields.text("name", point.name, Need::defaulted,
              "names the output folder; the file's name if absent");
  if (const std::string fault = folder_name_fault(point.name); !fault.empty())
    fields.complain("name", "names a folder, so it " + fault + ", got \"" + point.name + "\"");
  fields.text("title", point.title, Need::defaulted, "the question asked; printed and drawn");
  fields.text("notes", point.notes, Need::defaulted, "free text");
  fields.text("time_unit", point.time_unit, Need::none,
              "of all times, such as \"s\" or \"ms\": stands on tables, plots and pages");
  if (const std::string fault = unit_fault(point.time_unit); !fault.empty())
    fields.complain("time_unit", "is a word for tables and axes, and " + fault);
  fields.integer("seed", point.seed, Need::defaulted, between(0, 9007199254740992.0),
                 "of every random number");
  fields.integer("replicas", point.replicas, Need::defaulted, between(1, (1 << 24) - 1),
                 "runs of each point, with other random numbers");
  fields.choice(
      "device", point.device, devices, Need::defaulted,
      "where gradients are computed; auto: on a GPU where there is one and, for these runs, it "
      "is the faster one");
  fields.flag("timing_only", point.timing_only, Need::defaulted, "leave the model out");
  visit_sampler(fields, point.sampler);
  visit_cluster(fields, point.cluster);
  shelf.need_data(!point.timing_only);
  const bool sound_before = fields.good();
  shelf.share_among({sound_before ? point.cluster.learners : 1, point.seed});
  read_kind<ModelProduct, DataShelf&>(fields, "model", model_catalog(), point.model, Need::none,
                                      "what is trained; without it the run is timing-only", shelf);
  const bool fits = has_all_minibatches(fields, point, sound_before);
  const bool model_read = fits && (point.model || !sound_before || fields.good());
  if (model_read && !point.model && point.cluster.runtimes.rate) {
    fields.complain("cluster",
                    "rate counts samples, and only a model says how many a minibatch has",
                    "a model beside it, which timing_only leaves untrained");
  }
  visit_optimiser(fields, point);
  visit_compression(fields, point);
  const bool record_read = visit_record(fields, point, model_read);
  visit_stop(fields, point, model_read, record_read);
  const WorkBudget budget{point.stop.epochs, point.stop.gradients,
                          !model_read || (point.model && point.model->has_dataset())};
  visit_protocol(fields, point, budget, model_read, shelf.python());
  check_precision(fields, point);
  check_delay(fields, point);
  check_dual(fields, point);
  check_compression(fields, point);
  check_world(fields, point);
  check_sampler(fields, point);
  check_minibatches(fields, point);
  check_sizes(fields, point);
  visit_rate(fields, point, budget);
  check_local_steps(fields, point);
  check_codes(fields, point);
  check_versions(fields, point);
  visit_targets(fields, point, record_read, model_read);
  check_training(fields, point);
  check_parameters(fields, point);
  visit_theory(fields, point);
}

}  // namespace gradrace
