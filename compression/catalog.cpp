#include "compression/catalog.h"

namespace gradrace {

extern const CompressionEntry qsgd_entry, terngrad_entry, sign_entry, top_k_entry, random_k_entry,
    chunked_top_k_entry, uniform_compressor_entry, dq_sgd_entry, power_entry;

const CompressionCatalog& compression_catalog() {
  static constexpr const CompressionEntry* entries[] = {
      &qsgd_entry,          &terngrad_entry,           &sign_entry,   &top_k_entry, &random_k_entry,
      &chunked_top_k_entry, &uniform_compressor_entry, &dq_sgd_entry, &power_entry};
  static constexpr CompressionCatalog catalog{"compressors", "kind", entries};
  return catalog;
}

/// Of what messages left out.
static void visit_left_out(Fields& fields, Memory& memory) {
  fields.real("decay", memory.decay, Need::defaulted, between(0, 1),
              "of what it remembers, from message to message");
  memory.of_steps = fields.second_of(
      "of", "gradient", "step",
      "what it remembers; step: a gradient times the learning rate of its dispatch, which its "
      "message has in it, so that the server moves the model by what it reads");
  memory.takes_back =
      fields.second_of("on_drop", "lost", "return",
                       "what becomes of a message that the server drops; return: it is remembered");
}

static std::optional<EstimateSteps> read_estimate(Fields& fields) {
  std::optional<double> lambda, nu;
  fields.real("lambda", lambda, {.low = 0, .high = 1, .low_allowed = false},
              "EF-BV: messages are C(g - h), of an estimate h + lambda C(g - h) from then on");
  fields.real("nu", nu, positive(), "the server takes g for h + nu C(g - h)");
  if (!fields.has("lambda") && !fields.has("nu")) return {};
  for (const std::string_view key : {"lambda", "nu"})
    if (!fields.has(key)) fields.complain(key, "is needed, too");
  for (const std::string_view key : {"decay", "of", "on_drop"})
    if (fields.has(key))
      fields.complain(key, "is of what messages leave out, and lambda of an estimate",
                      "one of both");
  return EstimateSteps{lambda.value_or(1), nu.value_or(1)};
}

std::optional<Memory> read_memory(Fields& fields, bool unbiased) {
  constexpr std::string_view words[] = {"ef21"};
  Memory memory;
  std::string word;
  if (!unbiased && fields.is("memory", Form::number))
    fields.choice(
        "memory", word, words, Need::none,
        "ef21: messages are C(g - h), of an estimate h + C(g - h) from then on, which the "
        "server takes for g (Richtarik et al., NeurIPS 2021)");
  if (!word.empty()) return Memory{.estimate = EstimateSteps{}};
  if (!fields.is("memory", Form::object) ||
      !fields.open("memory", Need::none,
                   unbiased
                       ? "an estimate of each learner's gradient: EF-BV (Condat et al., NeurIPS "
                         "2022), DIANA with nu 1"
                       : "each learner adds what its messages left out to its next gradient: "
                         "error feedback (Karimireddy et al., ICML 2019); or EF-BV"))
    return {};
  if (!unbiased) visit_left_out(fields, memory);
  memory.estimate = read_estimate(fields);
  if (unbiased && !memory.estimate)
    fields.complain("", "is of an estimate, as messages of this kind leave nothing out in the mean",
                    "lambda, nu");
  fields.close();
  return memory;
}

}  // namespace gradrace
