#include "protocols/catalog.h"

#include "protocols/policies/straggler_policy.h"
#include "protocols/policies/switch_policy.h"

namespace gradrace {

extern const ProtocolEntry sync_entry;
extern const ProtocolEntry hardsync_entry;
extern const ProtocolEntry k_sync_entry;
extern const ProtocolEntry k_batch_sync_entry;
extern const ProtocolEntry deadline_entry;
extern const ProtocolEntry backup_entry;
extern const ProtocolEntry async_entry;
extern const ProtocolEntry k_async_entry;
extern const ProtocolEntry k_batch_async_entry;
extern const ProtocolEntry softsync_entry;
extern const ProtocolEntry ssp_entry;
extern const ProtocolEntry adasync_entry;
extern const ProtocolEntry switch_entry;
extern const ProtocolEntry all_reduce_entry;
extern const ProtocolEntry local_sgd_entry;
extern const ProtocolEntry dasgd_entry;
extern const ProtocolEntry ripples_entry;
extern const ProtocolEntry partial_reduce_entry;
extern const ProtocolEntry d_psgd_entry;
extern const ProtocolEntry ad_psgd_entry;

const ProtocolCatalog& protocol_catalog() {
  // clang-format off
  static constexpr const ProtocolEntry* entries[] = {
      &sync_entry,
      &hardsync_entry,
      &k_sync_entry,
      &k_batch_sync_entry,
      &deadline_entry,
      &backup_entry,
      &async_entry,
      &k_async_entry,
      &k_batch_async_entry,
      &softsync_entry,
      &ssp_entry,
      &adasync_entry,
      &switch_entry,
      &all_reduce_entry,
      &local_sgd_entry,
      &dasgd_entry,
      &ripples_entry,
      &partial_reduce_entry,
      &d_psgd_entry,
      &ad_psgd_entry,
  };
  // clang-format on
  static constexpr ProtocolCatalog catalog{"protocols", "kind", entries};
  return catalog;
}

extern const LearningRateEntry constant_entry;
extern const LearningRateEntry step_entry;
extern const LearningRateEntry inverse_sqrt_entry;
extern const LearningRateEntry staleness_entry;
extern const LearningRateEntry staleness_exponential_entry;
extern const LearningRateEntry distance_entry;

const LearningRateCatalog& learning_rate_catalog() {
  // clang-format off
  static constexpr const LearningRateEntry* entries[] = {
      &constant_entry,
      &step_entry,
      &inverse_sqrt_entry,
      &staleness_entry,
      &staleness_exponential_entry,
      &distance_entry,
  };
  // clang-format on
  static constexpr LearningRateCatalog catalog{"learning-rates", "kind", entries};
  return catalog;
}

extern const SwitchPolicyEntry plateau_policy_entry;

const SwitchPolicyCatalog& switch_policy_catalog() {
  // clang-format off
  static constexpr const SwitchPolicyEntry* entries[] = {
      &plateau_policy_entry,
  };
  // clang-format on
  static constexpr SwitchPolicyCatalog catalog{"policies", "kind", entries};
  return catalog;
}

extern const StragglerPolicyEntry greedy_policy_entry;
extern const StragglerPolicyEntry elastic_policy_entry;

const StragglerPolicyCatalog& straggler_policy_catalog() {
  // clang-format off
  static constexpr const StragglerPolicyEntry* entries[] = {
      &greedy_policy_entry,
      &elastic_policy_entry,
  };
  // clang-format on
  static constexpr StragglerPolicyCatalog catalog{"straggler-policies", "kind", entries};
  return catalog;
}

}  // namespace gradrace
