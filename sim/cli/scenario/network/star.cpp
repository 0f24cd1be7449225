#include <string>

#include "distributions/catalog.h"
#include "sim/cli/scenario/network/network.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "star",
    .definition =
        "Learners around a server.  A model that is pulled passes the server's outgoing link, a "
        "gradient its incoming one; the transfers under way share a link equally.  A model takes "
        "the time `pull` after its transfer, a gradient the time `push` before it.\n\n"
        "A learner's `card` carries models and gradients apart, each at its bandwidth at most, and "
        "takes its latency once a message, beside `pull` and `push`; `down` and `up` say what it "
        "is each "
        "way where that differs.  What slow cards leave of "
        "their share of the server's link the others share equally, and so on (max-min fairness): "
        "a transfer goes as fast as the slower of card and share allows.\n\n"
        "With `cluster.server.shards` each shard has such a link, and a message has a part for "
        "each, all of which begin together (those of a model when their shard is free).  A card is "
        "divided equally among the parts that it carries.  A model is there when all its parts "
        "are, a gradient has been taken up when its last part has.\n\n"
        "With `cluster.server.versions` each a shard follows the protocol by itself, with a "
        "version and counts of its own (as servers of Li et al., OSDI 2014, each have a "
        "range): it makes an update of parts when it has taken them up, without the other "
        "shards.  A learner pulls when all shards have dispatched it, and reads of each range "
        "the version of that moment, so that its gradient may be of ranges of different "
        "versions.  An update moves the shard's range and its part of the optimiser's state; "
        "learning rates go by the shard's staleness and work.  What is evaluated has the "
        "newest version of each range.  A run has made as many updates as the shard that has "
        "made the fewest, and has applied a gradient when all shards have; mean_staleness is "
        "over gradients and shards, and staleness.csv counts parts.  Where shards are always "
        "in step, as equal ones are, each gives what one gives.  Cards that differ may have "
        "shards take gradients up in different orders, and then k-async may deadlock: every "
        "learner waits for a shard.\n\n"
        "With `overlap` a layer is computed as soon as it is there, and its gradient leaves as "
        "soon "
        "as that is: the forward pass, a third of a minibatch, begins with the model's transfer "
        "and "
        "ends no earlier than that; then the backward pass begins, and with it the gradient's "
        "transfer, which ends no earlier than the pass.  Alone, with transfers of T each, a "
        "minibatch X and its messages take\n\n"
        "    pull + max(X / 3, T) + max(2 X / 3, T) + push\n\n"
        "With `layers` that is so of the layers of a table: a model comes from the first layer on, "
        "one after another; computing begins when the first that has parameters is there, and goes "
        "on into a layer when that is; its gradient "
        "leaves, from the last layer on, when it is there and the one before it has passed.  A "
        "layer's share of either pass is that of its `flop`.  An update is of all layers, and "
        "only then are models pulled.  There is no theory of these times",
    .source = "processor sharing; max-min fairness: Bertsekas, Gallager, Data Networks, sec. 6.5.2",
    .example =
        R"({"topology": "star", "bandwidth": 1e9, "model_bytes": 1e8, "card": {"bandwidth": 3e8}})",
};

void visit_cards(Fields& fields, ServerLinks::Cards& cards) {
  fields.reals("bandwidth", cards.bandwidths, Need::none, positive(),
               "bytes per unit of time; of a list learner l has the one at l mod length "
               "(default: no limit)");
  fields.reals("latency", cards.latencies, Need::defaulted, at_least(0),
               "of a model after its transfer, and of a gradient before it; a list as that of "
               "bandwidth");
  if (fields.has("bandwidth") && cards.bandwidths.empty())
    fields.complain("bandwidth", "must be at least one");
  if (cards.latencies.empty()) fields.complain("latency", "must be at least one");
}

void visit_way(Fields& fields, std::string_view key, ServerLinks::Cards& cards,
               std::string_view meaning) {
  if (!fields.open(key, Need::none, meaning)) return;
  visit_cards(fields, cards);
  fields.close();
}

/// True if it says what the two ways are apart.
bool visit_card(Fields& fields, ServerLinks& links) {
  if (!fields.open("card", Need::none,
                   "a learner's network card (default: no time), the same each way, or down and up "
                   "apart")) {
    return false;
  }
  const bool apart = fields.has("down") || fields.has("up");
  for (const std::string_view key : {"bandwidth", "latency"}) {
    if (apart && fields.has(key))
      fields.complain(key, "is that of both ways, and down or up says that of one",
                      "it in down and up, or without these");
  }
  if (!apart || !fields.good()) visit_cards(fields, links.down);
  if (!apart) links.up = links.down;
  visit_way(fields, "down", links.down, "of models that are pulled (default: no time)");
  visit_way(fields, "up", links.up, "of gradients that are pushed (default: no time)");
  fields.close();
  return apart;
}

void check_cards(Fields& fields, const std::string& key, double bytes,
                 const ServerLinks::Cards& cards) {
  for (const double card : cards.bandwidths) check_transfer(fields, key, bytes / card);
}

ClusterNetwork read(Fields& fields) {
  ServerLinks links;
  read_kind(fields, "pull", distribution_catalog(), links.pull, Need::none,
            "law of the time that the model takes to a learner, besides its transfer");
  read_kind(fields, "push", distribution_catalog(), links.push, Need::none,
            "law of the time that a gradient takes to the server, besides its transfer");
  fields.real(
      "bandwidth", links.bandwidth, positive(),
      "of the server's link, each way, shared by the transfers under way; bytes per unit of "
      "time (default: no limit)");
  fields.real("model_bytes", links.model_bytes, Need::none, positive(),
              "size of the model, and of a gradient");
  visit_layers(fields, links.layers, links.model_bytes,
               "models and gradients go layer by layer, while learners compute", false);
  const bool apart = visit_card(fields, links);
  fields.flag("overlap", links.overlap, Need::none,
              "whether messages overlap with computing, layer by layer (default: false; those of "
              "`layers` always do)");
  const bool of_cards = !links.down.bandwidths.empty() || !links.up.bandwidths.empty();
  const bool has_bytes = fields.has("model_bytes") || fields.has("layers");
  if (of_cards && !has_bytes) {
    fields.complain("model_bytes", "is missing, and a bandwidth says nothing without it");
  } else if (fields.has("bandwidth") != has_bytes && !of_cards && !fields.has("layers")) {
    fields.complain(fields.has("bandwidth") ? "bandwidth" : "model_bytes",
                    "says nothing without the other of the two",
                    "bandwidth, here or in card, and model_bytes or layers");
  }
  if (fields.good() && links.overlap && !links.carries())
    fields.complain("overlap", "says nothing where bytes take no time",
                    "false, or a bandwidth and model_bytes beside it");
  fields.idle("layers", fields.good() && links.layers && !links.carries(),
              "say nothing where bytes take no time", "a bandwidth beside it");
  fields.idle("overlap", links.layers && links.overlap, "says nothing beside layers, which overlap",
              "without it, or without layers");
  if (!fields.good()) return {.server = links};
  if (links.bandwidth) check_transfer(fields, "bandwidth", links.model_bytes / *links.bandwidth);
  check_cards(fields, apart ? "card.down.bandwidth" : "card.bandwidth", links.model_bytes,
              links.down);
  if (apart) check_cards(fields, "card.up.bandwidth", links.model_bytes, links.up);
  return {.server = links, .cards_apart = apart};
}

}  // namespace

extern const TopologyEntry star_entry{page, read};

}  // namespace gradrace
