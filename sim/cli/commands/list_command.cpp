#include <algorithm>
#include <iostream>
#include <limits>
#include <vector>

#include "distributions/catalog.h"
#include "models/model.h"
#include "protocols/catalog.h"
#include "protocols/straggler_policy.h"
#include "protocols/switch_policy.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/scenario/scenario.h"
#include "sim/cli/usage_error.h"
#include "sim/reading/edit_distance.h"
#include "sim/reading/reference.h"

namespace gradrace {

namespace {

using FieldPages = std::vector<FieldPage>;

bool holds(const FieldPages& fields, const FieldPage& field) {
  return std::ranges::any_of(fields, [&](const FieldPage& other) {
    return parameters_line({other}) == parameters_line({field});
  });
}

/// The keys of the first kind that all the others have, too.
FieldPages shared_by(const std::vector<FieldPages>& kinds) {
  FieldPages shared = kinds.front();
  for (const auto& fields : kinds) {
    std::erase_if(shared, [&](const FieldPage& field) { return !holds(fields, field); });
  }
  return shared;
}

/// Begins in column `from`; where a line would be longer than a terminal's, the next begins after
/// `indent` spaces.
void print_wrapped(std::string_view text, std::size_t from, std::size_t indent) {
  constexpr std::size_t width = 100;
  while (from + text.size() > width) {
    const std::size_t space = text.rfind(' ', width > from ? width - from : 0);
    if (space == std::string_view::npos || space == 0) break;
    std::cout << text.substr(0, space) << '\n' << std::string(indent, ' ');
    text.remove_prefix(space);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    from = indent;
  }
  std::cout << text << '\n';
}

void print_line(std::string_view name, const FieldPages& fields) {
  const std::size_t column = 21;
  const std::string spaces(name.size() + 3 < column ? column - 2 - name.size() : 1, ' ');
  std::cout << "  " << name << spaces;
  print_wrapped(fields.empty() ? "no parameters" : parameters_line(fields),
                2 + name.size() + spaces.size(), column);
}

/// A line for each key, and further in for each of an object's own.
void print_keys(const FieldPages& fields, const std::string& indent) {
  for (const auto& field : fields) {
    std::cout << indent;
    print_wrapped(parameters_line({field}) + ": " + field.meaning, indent.size(),
                  indent.size() + 4);
    print_keys(field.fields, indent + "  ");
  }
}

void print_keys(const FieldPages& fields) {
  std::cout << "  keys:\n";
  print_keys(fields, "    ");
  std::cout << '\n';
}

void print_page(const Page& page, std::string_view discriminator, const FieldPages& fields) {
  std::cout << discriminator << ": " << page.name << "\n\n  ";
  print_wrapped(page.definition, 2, 2);
  std::cout << "\n  source:  ";
  print_wrapped(page.source, 11, 11);
  std::cout << "  example: " << page.example << '\n';
  print_keys(fields);
}

/// The whole catalog, a kind a line, or the page of what is asked for.  Whether anything was
/// printed.
template <class Product, class... Args>
bool print_catalog(const Catalog<Product, Args...>& catalog, const std::string& what,
                   Args... args) {
  std::vector<FieldPages> kinds;
  for (const auto* entry : catalog.entries) {
    Reference reference;
    entry->read(reference, args...);
    kinds.push_back(reference.fields());
  }
  const auto names = catalog.names();
  if (!what.empty() && what != catalog.name) {
    const auto found = std::ranges::find(names, what);
    if (found == names.end()) return false;
    const auto kind = static_cast<std::size_t>(found - names.begin());
    print_page(catalog.entries[kind]->page, catalog.discriminator, kinds[kind]);
    return true;
  }
  std::cout << catalog.name << " (key \"" << catalog.discriminator << "\")\n";
  const FieldPages shared = shared_by(kinds);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    std::erase_if(kinds[i], [&](const FieldPage& field) { return holds(shared, field); });
    print_line(names[i], kinds[i]);
  }
  if (!shared.empty()) print_line("every one", shared);
  std::cout << '\n';
  return true;
}

/// The objects of a scenario that are of no kind, such as `optimiser`.
FieldPages scenario_objects(DataShelf& shelf) {
  Reference reference;
  Point point;
  visit_scenario(reference, point, shelf);
  FieldPages objects = reference.fields();
  std::erase_if(objects,
                [](const FieldPage& field) { return field.type != FieldPage::Type::object; });
  return objects;
}

/// The keys of each on a line, or the page of the one that is asked for.
bool print_objects(const FieldPages& objects, const std::string& what) {
  if (what.empty() || what == "scenario") {
    std::cout << "scenario (keys that are of no kind)\n";
    for (const auto& object : objects) print_line(object.key, object.fields);
    std::cout << '\n';
    return true;
  }
  const auto found = std::ranges::find(objects, what, &FieldPage::key);
  if (found == objects.end()) return false;
  std::cout << "key: " << found->key << "\n\n  " << found->meaning << "\n\n";
  print_keys(found->fields);
  return true;
}

}  // namespace

int list_command(const std::string& what) {
  DataShelf shelf({}, {});
  const WorkBudget budget{};
  const Setting setting{std::numeric_limits<std::uint32_t>::max(), nullptr, budget};
  const FieldPages objects = scenario_objects(shelf);
  bool printed = print_catalog<MakeProtocol, const Setting&>(protocol_catalog(), what, setting);
  printed |= print_catalog(distribution_catalog(), what);
  printed |= print_catalog(persistence_catalog(), what);
  printed |= print_catalog<ModelProduct, DataShelf&>(model_catalog(), what, shelf);
  printed |= print_catalog<LoadDataset, DataShelf&>(dataset_catalog(), what, shelf);
  printed |=
      print_catalog<LearningRateProduct, const WorkBudget&>(learning_rate_catalog(), what, budget);
  printed |= print_catalog(switch_policy_catalog(), what);
  printed |= print_catalog(straggler_policy_catalog(), what);
  printed |= print_objects(objects, what);
  if (!printed) {
    std::vector<std::string_view> names{"protocols", "distributions",      "persistence",
                                        "models",    "datasets",           "learning-rates",
                                        "policies",  "straggler-policies", "scenario"};
    for (const auto& object : objects) names.push_back(object.key);
    for (const auto& some :
         {protocol_catalog().names(), distribution_catalog().names(), persistence_catalog().names(),
          model_catalog().names(), dataset_catalog().names(), learning_rate_catalog().names(),
          switch_policy_catalog().names(), straggler_policy_catalog().names()}) {
      names.insert(names.end(), some.begin(), some.end());
    }
    const std::string nearest(nearest_name(what, names));
    throw UsageError(
        "list: nothing is called \"" + what +
        "\"; allowed: protocols, distributions, persistence, models, datasets, learning-rates, "
        "policies, straggler-policies, scenario, or one of their names" +
        (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"));
  }
  return 0;
}

}  // namespace gradrace
