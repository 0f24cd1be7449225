#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace gradrace {

struct Layers;

/// A message of S bytes takes latency + S / bandwidth.
struct Link {
  double latency = 0;
  double bandwidth = std::numeric_limits<double>::infinity();  // bytes per unit of time
};

/// How the members of a group sum or average a vector that each of them has; by a gather each gets
/// those of all others, where their sums are none that could be sent on.
enum class Collective : std::uint8_t { ring, halving_doubling, tree, server, gather };

/// Learners that send messages to one another.  In a mesh each has a link of its own, the same each
/// way.  In a cluster of nodes, which learners are numbered by, it has one inside its node, and the
/// node has a network card (NIC), `between`, each way.  Nodes may be `regions`: each learner then
/// has links of its own to all others.
struct PeerNetwork {
  std::uint32_t per_node = 0;                   // learners in a node, fewer in the last; 0: a mesh
  Link inside, between;                         // a mesh has links as those inside a node
  std::vector<std::vector<Link>> regions = {};  // [from][to], in place of the two; empty: none
  std::vector<std::uint32_t> ring = {};         // [learner]: its place in rings; empty: its number
  bool shared = true;                           // exchanges divide a NIC's bandwidth
  double model_bytes = 0;
  std::shared_ptr<const Layers> layers = {};  // whose parameters these are; null: not said
  Collective collective = Collective::ring;
  double communicator_setup = 0;     // time
  std::uint32_t communicators = 60;  // that are kept
  double making = 0, reading = 0;    // time of a byte of what a member of a collective brings, gets
  std::uint32_t rounds = 1;          // collectives, each with its latencies, that share the bytes

  std::uint32_t node(std::uint32_t learner) const { return per_node > 0 ? learner / per_node : 0; }
  /// Where there are regions.
  const Link& link(std::uint32_t from, std::uint32_t to) const {
    return regions[node(from)][node(to)];
  }
};

/// The most messages of one exchange that pass a node's NIC together.
struct NicUse {
  std::uint32_t node, out, in;
};

/// What an exchange asks of the links.
struct Transfer {
  double latency = 0;  // comes first, and takes no bandwidth
  double bytes = 0;    // that flow then, one after another
  double bandwidth = std::numeric_limits<double>::infinity();  // the smallest on its way
  std::vector<NicUse> nics = {};                               // where they are shared
  double coding = 0;  // of the latency: making and reading messages

  /// The time that it takes if its messages share nothing.
  double alone() const { return latency + bytes / bandwidth; }
};

/// What a member of an exchange sends and receives; a message is counted at its sender.
struct Traffic {
  double sent = 0, received = 0;  // bytes
  double messages = 0;
};

/// A collective of the network's kind among members in ascending order, of a vector of so many
/// bytes.  With g members, L = ceil(log2 g), latency a, bandwidth 1 / b and S bytes it takes alone
///
///     ring               2 (g - 1) a + 2 (g - 1) / g S b
///     halving-doubling   2 L a + 2 (g - 1) / g S b
///     tree               2 L (a + S b)
///     server             2 a + 2 g S b
///     gather             (g - 1) (a + S b), around a ring
///
/// and making S before, reading (g - 1) S after a gather, else reading S; where a is the largest
/// latency and 1 / b the smallest bandwidth that a message of it passes (Thakur, Rabenseifner and
/// Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005; a server has one link each way).  One
/// member alone needs nothing.
///
/// Who sends to whom: a ring goes in the order of numbers, or of `ring`.  In step k of
/// halving-doubling a member's partner has the other k-th bit in its place; where g is no power of
/// two it sends s places on, s = ceil(g / 2^k) (Träff, Optimal, non-pipelined reduce-scatter and
/// allreduce algorithms, 2024).  The tree is binomial, with the first member as its root.  The
/// server stands in the first member's node and takes one message at a time.
///
/// `spent`, here and below: one whose memory is used again.
Transfer collective_transfer(const PeerNetwork& network, std::span<const std::uint32_t> members,
                             double bytes, Transfer spent = {});

/// Of the member at that place of a collective among so many.  A server's messages are not counted.
Traffic collective_traffic(Collective collective, std::uint32_t members, std::uint32_t place,
                           double bytes);

/// Two learners send each other so many bytes, at once: a + S b.
Transfer pair_transfer(const PeerNetwork& network, std::uint32_t one, std::uint32_t other,
                       double bytes, Transfer spent = {});

/// A learner receives so many bytes from each of those that it hears and sends as many to each by
/// whom it is heard; its link carries one message at a time each way: a + degree S b.  It passes
/// the NIC of its own node only: what others send counts in their exchanges.
Transfer neighbour_transfer(const PeerNetwork& network, std::uint32_t learner,
                            std::span<const std::uint32_t> hears,
                            std::span<const std::uint32_t> heard_by, double bytes,
                            Transfer spent = {});

/// Where a message between a learner and a coordinator goes.
enum class Towards : std::uint8_t { coordinator, learner };

/// A message of so many bytes that way: a + S b.  The coordinator is no learner; it stands in the
/// first node or region.
Transfer coordinator_transfer(const PeerNetwork& network, std::uint32_t learner, Towards towards,
                              double bytes, Transfer spent = {});

/// The time that it takes while no other exchange is under way: its own messages share NICs.
double undisturbed(const PeerNetwork& network, const Transfer& transfer);

/// One of the halves that a collective has: a reduce-scatter, or a gather of what members have
/// parts of.
Transfer half_of(Transfer collective);
Traffic half_of(Traffic collective);

/// Of a collective of that share of the model's bytes, whose communicator is there; null: no time.
double collective_time(const PeerNetwork* network, std::span<const std::uint32_t> members,
                       double share = 1);

/// Of a learner that exchanges as many bytes with each of `degree` others.
inline Traffic neighbour_traffic(std::uint32_t degree, double bytes) {
  return {degree * bytes, degree * bytes, static_cast<double>(degree)};
}

}  // namespace gradrace
