#include "protocols/catalog.h"

#include "protocols/policies/straggler_policy.h"
#include "protocols/policies/switch_policy.h"
#include "sim/reading/document.h"
#include "sim/reading/reader.h"

namespace gradrace {

/// Names of the kinds whose example is such.
template <class Product, class... Args, class Is>
static std::string names_of(const Catalog<Product, Args...>& catalog, Is is,
                            std::type_identity_t<Args>... args) {
  std::string names;
  for (const auto* entry : catalog.entries) {
    const Page& page = entry->page;
    const Document document = Document::parse(std::string(page.example), std::string(page.name));
    Reader reader(document);
    if (is(entry->read(reader, args...)))
      names += (names.empty() ? "" : ", ") + std::string(page.name);
  }
  return names;
}

extern const ProtocolEntry sync_entry, hardsync_entry, k_sync_entry, k_batch_sync_entry,
    deadline_entry, backup_entry, async_entry, k_async_entry, k_batch_async_entry, softsync_entry,
    ssp_entry, adasync_entry, switch_entry, all_reduce_entry, local_sgd_entry, dasgd_entry,
    ripples_entry, partial_reduce_entry, noloco_entry, async_local_sgd_entry, d_psgd_entry,
    ad_psgd_entry, cocoa_entry, python_protocol_entry;

const ProtocolCatalog& protocol_catalog() {
  static constexpr const ProtocolEntry* entries[] = {
      &sync_entry,          &hardsync_entry,       &k_sync_entry,    &k_batch_sync_entry,
      &deadline_entry,      &backup_entry,         &async_entry,     &k_async_entry,
      &k_batch_async_entry, &softsync_entry,       &ssp_entry,       &adasync_entry,
      &switch_entry,        &all_reduce_entry,     &local_sgd_entry, &dasgd_entry,
      &ripples_entry,       &partial_reduce_entry, &noloco_entry,    &async_local_sgd_entry,
      &d_psgd_entry,        &ad_psgd_entry,        &cocoa_entry,     &python_protocol_entry};
  static constexpr ProtocolCatalog catalog{"protocols", "kind", entries};
  return catalog;
}

std::string protocols_with(bool (*trait)(const AnyProtocol&)) {
  const Setting setting{8, nullptr, {}};
  return names_of(
      protocol_catalog(), [&](const MakeProtocol& make) { return trait(make()); }, setting);
}

extern const LearningRateEntry constant_entry, step_entry, inverse_sqrt_entry, staleness_entry,
    staleness_exponential_entry, staleness_root_entry, distance_entry;

const LearningRateCatalog& learning_rate_catalog() {
  static constexpr const LearningRateEntry* entries[] = {&constant_entry,
                                                         &step_entry,
                                                         &inverse_sqrt_entry,
                                                         &staleness_entry,
                                                         &staleness_exponential_entry,
                                                         &staleness_root_entry,
                                                         &distance_entry};
  static constexpr LearningRateCatalog catalog{"learning-rates", "kind", entries};
  return catalog;
}

void read_learning_rate(Fields& fields, LearningRateProduct& rate, Need need,
                        std::string_view meaning, const WorkBudget& budget, bool has_server) {
  read_kind<LearningRateProduct, const WorkBudget&>(
      fields, "learning_rate", learning_rate_catalog(), rate, need, meaning, budget);
  if (!rate || has_server || !rate->differs()) return;
  const auto has_one = [](const LearningRateProduct& any) { return !any->differs(); };
  fields.complain("learning_rate", "goes by staleness or distance, and the protocol has no server",
                  names_of(learning_rate_catalog(), has_one, {}));
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
