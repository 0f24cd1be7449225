#pragma once

#include <cstdint>
#include <optional>

#include "distributions/cluster/cluster_runtimes.h"
#include "sim/peer_network.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// A learner that is a group of P = q q d devices with tensor parallelism: d layers of q x q, which
/// are numbered layer by layer and row by row.
struct Group {
  enum class Parallelism : std::uint8_t { one, two, two_and_half };
  enum class Passes : std::uint8_t { training, forward, recompute };

  Parallelism parallelism = Parallelism::two_and_half;
  std::uint32_t q = 1, d = 1;
  /// L layers of a transformer, of batch b, sequence s and hidden h; layers 0: nothing is
  /// exchanged.
  std::uint32_t layers = 0, batch = 1, sequence = 1, hidden = 1;
  Passes passes = Passes::training;
  bool by_ring = false;        // a block goes to a row or column of q, else by a tree
  double element_bytes = 4;    // of a number
  Link inside, between;        // of a device in its node, and to other nodes
  std::uint32_t per_node = 0;  // devices; 0: all

  std::uint32_t devices() const { return q * q * d; }

  /// What the members exchange in a minibatch, which nothing hides.  A layer multiplies matrices of
  /// 7 b s h inputs, all together, by 12 h^2 weights, n times, n = 1 forward, 3 in training, 4 with
  /// activations that are computed again.  With p devices in a row (Megatron) it takes m = 2, 4 or
  /// 6 ring all-reduces of b s h numbers,
  ///
  ///     m (2 (p - 1) a + 2 (p - 1) / p b s h B),   a the latency, B the time of a number,
  ///
  /// with block SUMMA in each of d layers of q x q, whose blocks go to a row, or a column,
  ///
  ///     n (4 q H (a_row + a_column) + H / q (7 b s h / d B_row + 12 h^2 B_column)),
  ///
  /// H = ceil(log2 q) in a tree, q - 1 around a ring; and, but forward alone, an all-reduce of the
  /// gradients of the 12 h^2 / q^2 weights of a device over the depth:
  ///
  ///     2 (d - 1) a + 2 (d - 1) / d 12 h^2 / q^2 B.
  ///
  /// Normalisations, embeddings and the head are left out.  Source: Wang, Xu, Bian, You, ICPP 2022
  /// (arXiv 2105.14500); Xu, You, arXiv 2104.05343; derived.
  double exchange_time() const;

  /// Whether any of it goes by that one of the two.
  bool uses(const Link& link) const;

 private:
  /// Of members that so many devices after another have: inside unless they are of several nodes.
  const Link& link_of(std::uint32_t reach) const;
};

/// The key `group` of the cluster, whose network that is, if it is one of learners: the time X of a
/// learner becomes that of its slowest device, of which each does one of P parts of a minibatch,
/// and of what they exchange, by the network's links where it says none; exchanges of learners do
/// not slow that.  Whether it has several.
bool visit_group(Fields& fields, ClusterRuntimes& runtimes,
                 const std::optional<PeerNetwork>& network);

}  // namespace gradrace
