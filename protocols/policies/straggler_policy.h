#pragma once

#include <memory>

#include "protocols/policies/straggler_detector.h"
#include "sim/catalog.h"

namespace gradrace {

/// What a phase of `switch` does about learners that are slow for a while.
struct StragglerPolicy {
  enum class Answer {
    flee,      // the next phase's protocol takes over for as long as there is a straggler
    leave_out  // the others go on without the stragglers
  };
  Answer answer;
  StragglerDetector::Config detector;
};

/// The `read` of a policy's entry.
template <StragglerPolicy::Answer answer>
std::shared_ptr<const StragglerPolicy> read_straggler_policy(Fields& fields) {
  StragglerPolicy policy{answer, {}};
  StragglerDetector::visit(fields, policy.detector);
  return fields.good() ? std::make_shared<StragglerPolicy>(policy) : nullptr;
}

using StragglerPolicyProduct = std::shared_ptr<const StragglerPolicy>;
using StragglerPolicyEntry = Entry<StragglerPolicyProduct>;
using StragglerPolicyCatalog = Catalog<StragglerPolicyProduct>;

const StragglerPolicyCatalog& straggler_policy_catalog();

}  // namespace gradrace
