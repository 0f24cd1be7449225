#pragma once

#include <cstdint>

#include "sim/protocol.h"

namespace gradrace {

/// The key of protocols whose updates take K gradients.
struct KGradients {
  struct Config {
    std::uint32_t k = 1;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t) {
    fields.integer("k", config.k, Need::required, at_least(1), "K: gradients in an update");
  }
};

/// The same where each is of another learner, so that K is at most their number.
struct KLearners : KGradients {
  static void visit(Fields& fields, Config& config, std::uint32_t learners) {
    fields.integer("k", config.k, Need::required, between(1, learners, "cluster.learners"),
                   "K: gradients in an update");
  }
};

}  // namespace gradrace
