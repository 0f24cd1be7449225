#pragma once

#include <cstdint>

#include "sim/make_protocol.h"

namespace gradrace {

/// A protocol whose updates take K gradients.
class KGradients : public ServerProtocol {
 public:
  struct Config {
    std::uint32_t k = 1;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t) {
    fields.integer("k", config.k, Need::required, at_least(1), "K: gradients in an update");
  }

  KGradients(const Config& config, std::uint32_t) : k_(config.k) {}

  std::uint32_t k() const final { return k_; }

 protected:
  const std::uint32_t k_;
};

/// The same where each is of another learner, so that K is at most their number.
class KLearners : public KGradients {
 public:
  using KGradients::KGradients;

  static void visit(Fields& fields, Config& config, std::uint32_t learners) {
    fields.integer("k", config.k, Need::required, between(1, learners, "cluster.learners"),
                   "K: gradients in an update");
  }
};

}  // namespace gradrace
