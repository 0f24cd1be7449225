#include "sim/cli/scenario/compression.h"

#include "compression/catalog.h"
#include "models/optimiser/optimiser.h"
#include "protocols/catalog.h"
#include "sim/reading/document.h"

namespace gradrace {

/// What does not add is gathered around a ring.
static void check_collective(Fields& fields, const Point& point) {
  const auto& peers = point.cluster.peers;
  if (!peers) return;
  const double numbers = peers->model_bytes / sizeof(float);
  const bool adds = point.first_plan.message.compressor->adds(numbers);
  if (!adds && peers->collective != Collective::ring)
    fields.complain("cluster.network.collective",
                    "adds what learners send, and these messages cannot be added: a ring carries "
                    "each to all",
                    "ring");
}

/// The message that a server makes of an update; null: it sends models.
static std::shared_ptr<const Message> read_back(Fields& fields, const Message& up) {
  constexpr std::string_view words[] = {"full", "same"};
  const bool of_all = up.compressor && (up.compressor->votes() || up.compressor->joint());
  std::string word(words[of_all]);
  if (fields.is("down", Form::number))
    fields.choice("down", word, words, Need::defaulted,
                  "what the server sends back: the model in full, or each update as a message of "
                  "the same kind, or of another one");
  Message back;
  if (word == "same") back = up;
  if (fields.is("down", Form::object))
    read_kind(
        fields, "down", compression_catalog(), back, Need::none,
        "each update that a learner lacks comes as a message of this kind, or the model where "
        "that is less; a memory is of the server's steps");
  if (!back.compressor) return nullptr;
  const auto& memory = back.memory;
  if (memory && (memory->estimate || memory->of_steps || memory->takes_back))
    fields.complain("down", "has a memory of what it left out of steps, and that alone",
                    "a kind, with memory: {decay} at most");
  return std::make_shared<const Message>(std::move(back));
}

void visit_compression(Fields& fields, Point& point) {
  const auto names = compression_catalog().names();
  const auto kind = fields.open_kind(
      "compression", {compression_catalog().name, compression_catalog().discriminator, names},
      Need::none,
      "what learners make of gradients before they send them: fewer bytes, from which whoever "
      "gets them reads other numbers (default: gradients themselves)");
  if (!kind) return;
  Message& message = point.first_plan.message;
  message = compression_catalog().entries[*kind]->read(fields);
  fields.integer("from", point.compressed_from, Need::defaulted, at_least(0),
                 "updates, after which gradients are compressed");
  fields.real("encode", point.encode, Need::defaulted, at_least(0),
              "time a number of making a message: with a server its learner needs so much "
              "longer, else a collective takes it more");
  fields.real("decode", point.decode, Need::defaulted, at_least(0),
              "time a number of reading one: of the server's work, or of a collective for each "
              "that a learner gathers, or for the sum");
  point.first_plan.rule.back = read_back(fields, message);
  fields.close();
}

/// Of a message that all learners make together.
static void check_joint(Fields& fields, const Point& point) {
  const auto& back = point.first_plan.rule.back;
  const bool joint = point.first_plan.message.compressor->joint();
  if (joint && !(back && back->compressor->joint()))
    fields.complain("compression.down", "is the message that all learners make together", "same");
  if (!joint && back && back->compressor->joint())
    fields.complain("compression.down", "is of a server alone, and learners make this together",
                    "another kind, full");
  if (!joint) return;
  if (point.samples().differs() && point.make_protocol()->traits().one_value)
    fields.complain("model.minibatch",
                    "weighs gradients by their rows, and power makes one message "
                    "of the mean of all, who weigh alike in it",
                    "one number");
  const auto together = [](const AnyProtocol& protocol) {
    return !protocol.has_server() && protocol->traits().sends_messages;
  };
  if (!together(point.make_protocol()))
    fields.complain("compression", "is made by all learners together, without a server",
                    "another kind; or " + protocols_with(together));
  if (point.model ? point.model->quadratic() != nullptr : !fields.has("model"))
    fields.complain("compression", "is of factors of matrices, and there are none",
                    "another kind; or a model with weights, as softmax");
}

/// Whether it is known how many numbers a message has, and which gradients are compressed.
static void check_times(Fields& fields, const Point& point) {
  const bool known = point.make_protocol().has_server()
                         ? point.numbers_sent() > 0
                         : point.cluster.peers && point.cluster.peers->model_bytes > 0;
  for (const auto& [key, time] : {std::pair("encode", point.encode), {"decode", point.decode}})
    if (time > 0 && !known)
      fields.complain(std::string("compression.") + key,
                      "is a time a number, and it is not known how many a message has",
                      "cluster.network with model_bytes, or a server and a model");
  if (point.sampler == Sampler::events) return;
  if (point.compressed_from > 0)
    fields.complain(
        "compression.from",
        "begins at one update, and this sampler draws times of updates that are all alike",
        "0, or sampler: events");
  if (point.transit().any() && !point.cluster.transit.any())
    fields.complain("compression.decode", "is work of the server", "0, or sampler: events");
}

/// What a memory of steps needs of the optimiser and the learning rate.
static void check_steps(Fields& fields, const Point& point) {
  const auto& back = point.first_plan.rule.back;
  const bool back_of_steps = back && back->memory && !back->compressor->joint();
  const bool of_steps = point.first_plan.message.of_steps();
  const bool divides = divides_by_rate(optimiser_of(point.first_plan.rule));
  if (of_steps && divides)
    fields.complain("compression.memory.of",
                    "does not go with an optimiser that divides by the rate",
                    "gradient; or optimiser.kind: sgd");
  if (back_of_steps && divides)
    fields.complain("compression.down.memory",
                    "is of steps, which an optimiser that divides by the rate does not have",
                    "without it; or optimiser.kind: sgd");
  if (of_steps && point.learning_rate && point.learning_rate->differs())
    fields.complain("compression.memory.of",
                    "does not go with a learning rate that is known when a gradient is used",
                    "gradient; or a rate without staleness and distance");
}

void check_codes(Fields& fields, const Point& point) {
  if (!point.make_protocol || !fields.good()) return;
  if (point.with_compression()) check_steps(fields, point);
  const auto codes = point.codes();
  if (!codes) return;
  if (!point.make_protocol().has_server())
    fields.complain(
        "compression",
        "gives each value the bits of the gradients at it, and no server sends values here",
        "a protocol with a server, or another kind");
  if (!point.with_model())
    fields.complain("compression", "goes by norms of gradients, and this run is timing-only",
                    "a model, or another kind");
  if (point.first_plan.rule.back)
    fields.complain("compression.down", "needs gradients of one code", "full");
  if (!codes->lacks.empty())
    fields.complain("compression." + std::string(codes->lacks), std::string(codes->why));
}

/// No more numbers than there are.
static void check_sent(const Scenario& scenario, const std::string& key, const Compressor& by,
                       const Point& point) {
  if (!by.sends()) return;
  auto most = static_cast<std::uint64_t>(point.numbers_sent());
  if (point.with_model()) {
    std::uint64_t numbers = 0;
    for (const Tensor& tensor : point.model->tensors()) numbers += tensor.numbers();
    most = std::min(most, numbers);
  }
  if (most == 0 || *by.sends() <= most) return;
  Problem problem = Document::problem_in(
      scenario.file, key, "is more than the " + std::to_string(most) + " numbers of a gradient");
  problem.allowed = "1 to " + std::to_string(most);
  throw ScenarioError({std::move(problem)});
}

void check_sent(const Scenario& scenario, const Point& point) {
  if (!point.with_compression()) return;
  check_sent(scenario, "compression.k", *point.first_plan.message.compressor, point);
  if (const auto& back = point.first_plan.rule.back)
    check_sent(scenario, "compression.down.k", *back->compressor, point);
}

void check_compression(Fields& fields, const Point& point) {
  if (!point.with_compression() || !point.make_protocol) return;
  const auto sends = [](const AnyProtocol& protocol) {
    return protocol.has_server() || protocol->traits().sends_messages;
  };
  const auto protocol = point.make_protocol();
  if (!sends(protocol)) {
    std::string names = protocols_with(sends);
    constexpr std::string_view of_phases = "switch";  // whose example has a server
    names.insert(names.find(of_phases) + of_phases.size(), " between protocols with a server");
    fields.complain(
        "compression",
        "is of gradients, or of how far learners have come from a model that all have, and these "
        "exchange other models",
        "without it; or " + names);
  }
  const bool by_layer = point.cluster.peers && point.cluster.peers->layers;
  if (!protocol.has_server() && !protocol->traits().one_value &&
      (protocol->traits().parts > 1 || by_layer))
    fields.complain(by_layer ? "cluster.network.layers" : "protocol.buckets",
                    "leave before a model's message is made (compression)",
                    by_layer ? "without it, or without compression" : "1, or without compression");
  if (!protocol.has_server() && protocol->k() > point.cluster.learners)
    fields.complain("compression", "is of single gradients, and learners add several up",
                    "without it; or protocol.accumulate: 1");
  check_collective(fields, point);
  check_times(fields, point);
  check_joint(fields, point);
  const auto& back = point.first_plan.rule.back;
  const bool votes = point.first_plan.message.compressor->votes();
  const bool joint = point.first_plan.message.compressor->joint();
  fields.idle("compression.down", back && !protocol.has_server() && !votes && !joint,
              "is what a server sends", "full");
  if (votes && !(back && back->compressor->votes()))
    fields.complain("compression.down", "of votes is the sign of their sum", "same");
  if (back && back->compressor->codes({}))
    fields.complain("compression.down", "needs one code for all updates", "another kind, full");
  for (const std::string_view key : {"of", "on_drop"})
    fields.idle("compression.memory." + std::string(key),
                !protocol.has_server() && (key == "on_drop" || !protocol->traits().one_value),
                key == "of" ? "says nothing of models" : "says nothing where none is dropped");
  if (votes && !protocol.has_server() && !protocol->traits().one_value)
    fields.complain("compression.majority", "is of learners that make one step together",
                    "without it; or a server, or all-reduce");
  const auto& network = point.cluster.transit.network;
  const bool carried = protocol.has_server()
                           ? network && network->carries()
                           : point.cluster.peers && point.cluster.peers->model_bytes > 0;
  fields.idle("compression.code", !carried, "is of bytes, and they take no time here",
              "cluster.network with bandwidth and model_bytes");
  const bool takes_time = carried || point.encode > 0 || point.decode > 0;
  fields.idle("compression", !point.with_model() && !takes_time,
              "says nothing where nothing is trained and bytes take no time",
              "a model, or cluster.network with bandwidth and model_bytes");
}

}  // namespace gradrace
