#include <iostream>
#include <limits>

#include "distributions/catalog.h"
#include "models/model.h"
#include "protocols/catalog.h"
#include "protocols/switch_policy.h"
#include "sim/cli/commands.h"
#include "sim/cli/usage_error.h"
#include "sim/edit_distance.h"
#include "sim/reference.h"

namespace gradrace {

namespace {

/// "name": parameters, definition, source, example; `details` or one line.
template <class Product, class... Args>
void print_entry(const Entry<Product, Args...>& entry, std::string_view discriminator, bool details,
                 Args... args) {
  Reference reference;
  entry.read(reference, args...);
  const std::string parameters = parameters_line(reference.fields());
  const Page& page = entry.page;
  if (!details) {
    std::cout << "  " << page.name
              << std::string(page.name.size() < 18 ? 18 - page.name.size() : 1, ' ')
              << (parameters.empty() ? "no parameters" : parameters) << '\n';
    return;
  }
  std::cout << discriminator << ": " << page.name << "\n\n  " << page.definition
            << "\n\n  source:  " << page.source << "\n  example: " << page.example << "\n  keys:\n";
  for (const auto& field : reference.fields()) {
    std::cout << "    " << parameters_line({field}) << ": " << field.meaning << '\n';
  }
  std::cout << '\n';
}

/// Whether anything was printed.
template <class Product, class... Args>
bool print_catalog(const Catalog<Product, Args...>& catalog, const std::string& what,
                   Args... args) {
  const bool whole = what.empty() || what == catalog.name;
  if (whole) std::cout << catalog.name << " (key \"" << catalog.discriminator << "\")\n";
  bool printed = whole;
  for (const auto* entry : catalog.entries) {
    if (!whole && what != entry->page.name) continue;
    print_entry<Product, Args...>(*entry, catalog.discriminator, !whole, args...);
    printed = true;
  }
  if (whole) std::cout << '\n';
  return printed;
}

}  // namespace

int list_command(const std::string& what) {
  DataShelf shelf({}, {});
  const WorkBudget budget{};
  const Setting setting{std::numeric_limits<std::uint32_t>::max(), nullptr, budget};
  bool printed = print_catalog<MakeProtocol, const Setting&>(protocol_catalog(), what, setting);
  printed |= print_catalog(distribution_catalog(), what);
  printed |= print_catalog<ModelProduct, DataShelf&>(model_catalog(), what, shelf);
  printed |= print_catalog<LoadDataset, DataShelf&>(dataset_catalog(), what, shelf);
  printed |=
      print_catalog<LearningRateProduct, const WorkBudget&>(learning_rate_catalog(), what, budget);
  printed |= print_catalog(switch_policy_catalog(), what);
  if (!printed) {
    std::vector<std::string_view> names{"protocols", "distributions",  "models",
                                        "datasets",  "learning-rates", "policies"};
    for (const auto& some : {protocol_catalog().names(), distribution_catalog().names(),
                             model_catalog().names(), dataset_catalog().names(),
                             learning_rate_catalog().names(), switch_policy_catalog().names()}) {
      names.insert(names.end(), some.begin(), some.end());
    }
    const std::string nearest(nearest_name(what, names));
    throw UsageError(
        "list: nothing is called \"" + what +
        "\"; allowed: protocols, distributions, models, datasets, learning-rates, policies, or "
        "one of their names" +
        (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"));
  }
  return 0;
}

}  // namespace gradrace
