#include "sim/cli/scenario/group.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "distributions/laws/largest.h"
#include "distributions/laws/shifted.h"
#include "sim/cli/scenario/network/network.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

// In the order of Parallelism and of Passes.
constexpr std::array<std::string_view, 3> parallelisms{"1-d", "2-d", "2.5-d"};
constexpr std::array<std::string_view, 3> passes{"training", "forward", "recompute"};

template <class Choice, std::size_t N>
void visit_choice(Fields& fields, std::string_view key, Choice& choice,
                  const std::array<std::string_view, N>& words, Need need,
                  std::string_view meaning) {
  std::string word(words[static_cast<std::size_t>(choice)]);
  fields.choice(key, word, words, need, meaning);
  choice = static_cast<Choice>(std::ranges::find(words, word) - words.begin());
}

void visit_grid(Fields& fields, Group& group) {
  std::vector<std::uint64_t> grid;
  fields.integers("grid", grid, Need::required, between(1, 1024),
                  "[q, q, d]: d layers of q x q devices; P = q q d in a row with 1-d, d = 1 with "
                  "2-d, q = 1 is data parallel");
  if (!fields.good() || !fields.has("grid")) return;
  if (grid.size() != 3 || grid[0] != grid[1])
    return fields.complain("grid", "is not [q, q, d]", "three whole numbers, the first two equal");
  group.q = static_cast<std::uint32_t>(grid[0]);
  group.d = static_cast<std::uint32_t>(grid[2]);
  if (group.parallelism == Group::Parallelism::two && group.d > 1)
    fields.complain("grid", "has depth " + std::to_string(group.d) + " with 2-d",
                    "[q, q, 1], or 2.5-d");
}

void visit_transformer(Fields& fields, Group& group) {
  if (!fields.open(
          "transformer", Need::none,
          "the model, whose layers' matrices are divided among the devices, which exchange "
          "nothing without it; needed where a link of the group takes time"))
    return;
  const Range range = between(1, 1 << 24);
  fields.integer("layers", group.layers, Need::required, range, "L");
  fields.integer("batch", group.batch, Need::required, range, "b: sequences of a minibatch");
  fields.integer("sequence", group.sequence, Need::required, range, "s: tokens of a sequence");
  fields.integer("hidden", group.hidden, Need::required, range, "h: numbers of a token");
  visit_choice(fields, "passes", group.passes, passes, Need::defaulted,
               "training: forward and backward; forward alone; recompute: training with "
               "activations computed again");
  fields.real("element_bytes", group.element_bytes, Need::defaulted, positive(),
              "bytes of a number that is exchanged");
  fields.close();
}

void visit_link_of(Fields& fields, std::string_view key, Link& link, std::string_view meaning) {
  if (!fields.open(key, Need::none, meaning)) return;
  visit_link(fields, link);
  fields.close();
}

bool takes_time(const Link& link) { return link.latency > 0 || !std::isinf(link.bandwidth); }

void visit_links(Fields& fields, Group& group, const std::optional<PeerNetwork>& network) {
  fields.integer("per_node", group.per_node, Need::none, at_least(1),
                 "devices in a node, which are numbered layer by layer and row by row (default: "
                 "all of the group)");
  visit_link_of(fields, "inside", group.inside,
                "a device's link in its node (default: no time; without both links, those of the "
                "network's learners in a mesh or in nodes)");
  visit_link_of(fields, "between", group.between,
                "of exchanges whose devices are of several nodes (default: likewise)");
  group.by_ring =
      fields.second_of("broadcast", "tree", "ring",
                       "how a block goes to a row or column of q: ceil(log2 q) hops, or q - 1");
  if (!fields.good()) return;
  const bool any_inside = takes_time(group.inside), any_between = takes_time(group.between);
  if (group.layers > 0 && !any_inside && !any_between && network && network->regions.empty()) {
    group.inside = network->inside;
    group.between = network->per_node > 0 ? network->between : network->inside;
  }
  if ((any_inside || any_between) && group.layers == 0)
    fields.complain("transformer", "is missing, and a link says nothing without it");
  if (group.devices() == 1) return;
  const std::string smaller = "below " + std::to_string(group.devices());
  fields.idle("per_node", group.per_node >= group.devices(),
              "says nothing where a node has the whole group", smaller);
  if (group.per_node > 0 && group.per_node < group.devices() && any_inside && !any_between)
    fields.complain("between", "is missing, and exchanges between nodes would take no time",
                    "a link, or without per_node");
  fields.idle("inside", any_inside && !group.uses(group.inside),
              "says nothing where all exchanges are between nodes", "a larger per_node");
  fields.idle("between", any_between && !group.uses(group.between),
              "says nothing where all exchanges are within nodes", "per_node " + smaller);
  fields.idle("transformer",
              group.layers > 0 && !any_inside && !any_between && group.exchange_time() == 0,
              "says nothing where no link between these devices takes time",
              "inside, between, or a network of topology mesh or nodes whose links take time");
  const bool one_way = group.parallelism == Group::Parallelism::one || group.q <= 3;
  fields.idle("broadcast", group.by_ring && one_way,
              "says nothing of 1-d, whose all-reduces go around a ring, and where q is 3 at most",
              "tree");
}

}  // namespace

const Link& Group::link_of(std::uint32_t reach) const {
  const bool one_node = per_node == 0 || per_node >= devices() || per_node % reach == 0;
  return one_node ? inside : between;
}

bool Group::uses(const Link& link) const {
  const auto goes = [&](bool any, std::uint32_t reach) { return any && &link_of(reach) == &link; };
  if (parallelism == Parallelism::one) return goes(true, devices());
  return goes(q > 1, q) || goes(q > 1, q * q) ||
         goes(d > 1 && passes != Passes::forward, devices());
}

double Group::exchange_time() const {
  const double h = hidden, tokens = static_cast<double>(batch) * sequence;
  const std::uint32_t p = devices();
  const auto time = [this](const Link& link, double messages, double numbers) {
    return messages * link.latency + numbers * element_bytes / link.bandwidth;
  };
  const auto all_reduce = [&](std::uint32_t members, double numbers) {
    const double others = members - 1.0;
    return time(link_of(p), 2 * others, 2 * others / members * numbers);
  };
  if (parallelism == Parallelism::one) {
    const double times = passes == Passes::forward ? 2 : passes == Passes::training ? 4 : 6;
    return layers * times * all_reduce(p, tokens * h);
  }
  const double n = passes == Passes::forward ? 1 : passes == Passes::training ? 3 : 4;
  const double hops = by_ring ? q - 1.0 : std::bit_width(q - 1);
  const double blocks = time(link_of(q), 4 * q * hops, hops / q * 7 * tokens * h / d) +
                        time(link_of(q * q), 4 * q * hops, hops / q * 12 * h * h);
  const double weights = passes == Passes::forward ? 0 : all_reduce(d, 12 * h * h / q / q);
  return layers * (n * blocks + weights);
}

bool visit_group(Fields& fields, ClusterRuntimes& runtimes,
                 const std::optional<PeerNetwork>& network) {
  if (!fields.open(
          "group", Need::none,
          "a learner is P devices with tensor parallelism: its X is that of its slowest "
          "device, of which each does a P-th of a minibatch, the largest of P draws / P, "
          "and what they exchange; model_bytes of a network, and parameter_bytes of its "
          "layers, are then one device's share, and bytes that are sent those of one device of "
          "each learner"))
    return false;
  Group group;
  visit_choice(fields, "parallelism", group.parallelism, parallelisms, Need::required,
               "1-d: Megatron's, two all-reduces a layer and pass; 2-d, 2.5-d: block SUMMA in one "
               "or in d layers of q x q");
  visit_grid(fields, group);
  visit_transformer(fields, group);
  visit_links(fields, group, network);
  const std::uint32_t devices = group.devices();
  const auto replayed = [](const auto& law) { return law && law->has_memory(); };
  if (devices > 1 && std::ranges::any_of(runtimes.laws, replayed))
    fields.complain("", "takes the slowest of independent draws, and these are replayed in order",
                    "of an empirical law: mode bootstrap");
  const double exchange = group.exchange_time();
  constexpr double longest = 1e12;
  if (fields.good() && devices > 1 && !(exchange <= longest))
    fields.complain("transformer", "takes its devices " + number_text(exchange) + " to exchange",
                    "at most " + number_text(longest) + " units of time");
  const bool is_one = devices == 1 || !fields.good();
  fields.close();
  if (is_one) return false;
  for (DistributionProduct& law : runtimes.laws)
    if (law) law = shifted(largest(law, devices), devices * exchange, devices);
  if (runtimes.rate) *runtimes.rate *= devices;
  const auto refuse = [&](bool is_there, std::string_view key) {
    if (is_there && exchange > 0)
      fields.complain(key, "would act on what a learner's devices exchange (group), too",
                      "without it, or without the transformer of group");
  };
  refuse(std::ranges::any_of(runtimes.speeds, [](double speed) { return speed != 1; }),
         runtimes.slow ? "slow" : "speeds");
  refuse(runtimes.persistence != nullptr, "persistence");
  refuse(runtimes.outliers.has_value(), "outliers");
  refuse(!runtimes.windows.empty(), "windows");
  return true;
}

}  // namespace gradrace
