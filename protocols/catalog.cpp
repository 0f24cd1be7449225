#include "protocols/catalog.h"

#include "protocols/policies/straggler_policy.h"
#include "protocols/policies/switch_policy.h"

namespace gradrace {

extern const ProtocolEntry sync_entry, hardsync_entry, k_sync_entry, k_batch_sync_entry,
    deadline_entry, backup_entry, async_entry, k_async_entry, k_batch_async_entry, softsync_entry,
    ssp_entry, adasync_entry, switch_entry, all_reduce_entry, local_sgd_entry, dasgd_entry,
    ripples_entry, partial_reduce_entry, d_psgd_entry, ad_psgd_entry;

const ProtocolCatalog& protocol_catalog() {
  static constexpr const ProtocolEntry* entries[] = {
      &sync_entry,   &hardsync_entry, &k_sync_entry,         &k_batch_sync_entry,  &deadline_entry,
      &backup_entry, &async_entry,    &k_async_entry,        &k_batch_async_entry, &softsync_entry,
      &ssp_entry,    &adasync_entry,  &switch_entry,         &all_reduce_entry,    &local_sgd_entry,
      &dasgd_entry,  &ripples_entry,  &partial_reduce_entry, &d_psgd_entry,        &ad_psgd_entry};
  static constexpr ProtocolCatalog catalog{"protocols", "kind", entries};
  return catalog;
}

extern const LearningRateEntry constant_entry, step_entry, inverse_sqrt_entry, staleness_entry,
    staleness_exponential_entry, distance_entry;

const LearningRateCatalog& learning_rate_catalog() {
  static constexpr const LearningRateEntry* entries[] = {&constant_entry,
                                                         &step_entry,
                                                         &inverse_sqrt_entry,
                                                         &staleness_entry,
                                                         &staleness_exponential_entry,
                                                         &distance_entry};
  static constexpr LearningRateCatalog catalog{"learning-rates", "kind", entries};
  return catalog;
}

extern const SwitchPolicyEntry plateau_policy_entry;

const SwitchPolicyCatalog& switch_policy_catalog() {
  static constexpr const SwitchPolicyEntry* entries[] = {&plateau_policy_entry};
  static constexpr SwitchPolicyCatalog catalog{"policies", "kind", entries};
  return catalog;
}

extern const StragglerPolicyEntry greedy_policy_entry, elastic_policy_entry;

const StragglerPolicyCatalog& straggler_policy_catalog() {
  static constexpr const StragglerPolicyEntry* entries[] = {&greedy_policy_entry,
                                                            &elastic_policy_entry};
  static constexpr StragglerPolicyCatalog catalog{"straggler-policies", "kind", entries};
  return catalog;
}

}  // namespace gradrace
