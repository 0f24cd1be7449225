#pragma once

#include <functional>
#include <memory>

#include "sim/catalog.h"
#include "sim/evaluation.h"

namespace gradrace {

/// Says when a phase of `switch` is over, from evaluations of the model.  One for each phase of a
/// run.
class SwitchPolicy {
 public:
  virtual ~SwitchPolicy() = default;

  /// Called at each look of the phase, in order; true: the phase ends with the next update.
  virtual bool over(const Evaluation& look) = 0;
};

using MakeSwitchPolicy = std::function<std::unique_ptr<SwitchPolicy>()>;
using SwitchPolicyEntry = Entry<MakeSwitchPolicy>;
using SwitchPolicyCatalog = Catalog<MakeSwitchPolicy>;

const SwitchPolicyCatalog& switch_policy_catalog();

}  // namespace gradrace
