#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "sim/cli/commands/catalogs.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/commands/fit_report.h"
#include "sim/cli/results/run_files.h"
#include "sim/cli/results/theory_files.h"
#include "sim/cli/scenario/record.h"
#include "sim/cli/scenario/scenario.h"
#include "sim/cli/scenario/spaced_values.h"
#include "sim/cli/scenario/sweep.h"
#include "sim/cli/standard_streams.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"
#include "sim/reading/edit_distance.h"
#include "sim/reading/glossary.h"

namespace gradrace {

namespace {

using FieldPages = std::vector<FieldPage>;

bool holds(const FieldPages& fields, const FieldPage& field) {
  return std::ranges::any_of(fields, [&](const FieldPage& other) {
    return parameters_line({other}) == parameters_line({field});
  });
}

/// The keys of the first kind that all the others have, too.
FieldPages shared_by(const std::vector<KindPage>& kinds) {
  FieldPages shared = kinds.front().fields;
  for (const auto& kind : kinds) {
    std::erase_if(shared, [&](const FieldPage& field) { return !holds(kind.fields, field); });
  }
  return shared;
}

void print_line(std::string_view name, std::string_view text) {
  const std::size_t column = 21;
  const std::string spaces(name.size() + 3 < column ? column - 2 - name.size() : 1, ' ');
  std::cout << "  " << name << spaces;
  std::cout << wrapped(text, 2 + name.size() + spaces.size(), column);
}

void print_line(std::string_view name, const FieldPages& fields) {
  print_line(name, fields.empty() ? "no parameters" : parameters_line(fields));
}

/// What a key is for, and what it may be where that is not a matter of keys further in.
std::string explained(const FieldPage& field) {
  if (field.type == FieldPage::Type::object) return field.meaning;
  return field.meaning + parameters_line({field}).substr(field.key.size());
}

/// A line for each key, and further in for each of an object's own.
void print_keys(const FieldPages& fields, const std::string& indent) {
  for (const auto& field : fields) {
    std::cout << indent;
    std::cout << wrapped(parameters_line({field}) + ": " + field.meaning, indent.size(),
                         indent.size() + 4);
    print_keys(field.fields, indent + "  ");
  }
}

void print_keys(const FieldPages& fields) {
  std::cout << (fields.empty() ? "  keys:    none\n" : "  keys:\n");
  print_keys(fields, "    ");
  std::cout << '\n';
}

/// Paragraphs, between empty lines, and as they are the lines that begin with a space: equations.
void print_paragraphs(std::string_view text) {
  std::string paragraph;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const bool as_it_is = line.empty() || line.front() == ' ';
    if (!as_it_is) paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
    if (!paragraph.empty() && (as_it_is || text.empty()))
      std::cout << "  " << wrapped(std::exchange(paragraph, {}), 2, 2);
    if (as_it_is) std::cout << (line.empty() ? "" : "  ") << line << '\n';
  }
}

void print_page(const Page& page, std::string_view discriminator, const FieldPages& fields) {
  std::cout << discriminator << ": " << page.name << "\n\n";
  print_paragraphs(page.definition);
  std::cout << "\n  source:  ";
  std::cout << wrapped(page.source, 11, 11);
  std::cout << "  example: " << page.example << '\n';
  print_keys(fields);
}

/// A kind a line, and what all kinds have.
void print_catalog(const CatalogPages& catalog) {
  std::cout << catalog.name << " (key \"" << catalog.discriminator << "\")\n";
  const FieldPages shared = shared_by(catalog.kinds);
  for (auto [page, fields] : catalog.kinds) {
    std::erase_if(fields, [&](const FieldPage& field) { return holds(shared, field); });
    print_line(page->name, fields);
  }
  if (!shared.empty()) print_line("every one", shared);
  std::cout << '\n';
}

/// Every key of a scenario.
FieldPages scenario_keys() {
  FieldPages keys = scenario_fields();
  for (const FileKey& key : file_keys) {
    keys.push_back({.key = std::string(key.name),
                    .type = FieldPage::Type::text,
                    .need = Need::none,
                    .meaning = std::string(key.meaning)});
  }
  return keys;
}

void print_file(const CsvPage& file) {
  std::cout << file.name << ": a row is " << file.row << '\n';
  for (const Column& line : file.columns) {
    char text[64];
    const int length = std::snprintf(text, sizeof text, "  %-23s  %-11s  ", line.name.c_str(),
                                     line.unit.empty() ? "-" : std::string(line.unit).c_str());
    std::cout << text;
    std::cout << wrapped(line.meaning.text, static_cast<std::size_t>(length), 40);
    if (!line.meaning.formula.empty())
      std::cout << std::string(40, ' ')
                << wrapped("= " + std::string(line.meaning.formula), 40, 42);
  }
  std::cout << '\n';
}

/// What analysis/search and analysis/advise write.
constexpr std::string_view asked_files =
    R"(search.csv: a row is one setting of a search, the first protocol alone before them
  share                    fraction     of the work under the first protocol
  runs                     runs         of the setting
  diverged                 runs         of these
  accuracy                 fraction     mean over runs
                                        = 1 - final test error
  accuracy_sd              fraction     its standard deviation over runs
  accuracy_95              fraction     half of the 95 % interval of its mean
                                        = t_{0.975, runs - 1} accuracy_sd / sqrt(runs)
  time                     time         of a run, mean over runs
  time_sd                  time         its standard deviation
  relative_time            -            over that of the first protocol alone
                                        = time / its time
  verdict                  -            target, pass or fail
  folder                   -            of the results of its runs

costs.csv: a row is one search with as many runs or fewer, of a new or of a recurring job
  first_runs               runs         of the first protocol alone; 0: target known
  runs                     runs         of each setting
  cost                     runs         of the first protocol alone, of as much time
  recurrences              runs         of the job after which the switch has saved that; inf: never
  success                  fraction     of searches with runs drawn anew that end at the same share
  success_low              fraction     lower end of its 95 % interval
  success_high             fraction     upper end of its 95 % interval

advise.csv: a row is one candidate, a point of the sweep
  candidate                -            its number, that of the point
  label                    -            its name among the others
  foretold                 -            by models without its own runs: time or cost to the target, or
                                        loss or error within the budget; inf: later than they see
  foretold_low             -            lower end of its interval, of the asked confidence
  foretold_high            -            upper end
  measured                 -            the same, mean over its runs; empty where some did not get
                                        there
  measured_95              -            half of the 95 % interval of that mean
  time                     time         at which its runs ended, mean
  value                    -            loss or error at their end, mean
  runs                     runs         of the candidate; 0: foretold alone
  never                    runs         of these that did not get there, in the time that they had
  cost                     -            of its machines until then, by cluster.price
  gradients                minibatches  computed by these runs
  verdict                  -            best; worse; no better, by more than 10 %; foretold worse;
                                        open; never (gets there); failed
  folder                   -            of the results of its runs

)";

void print_columns() {
  print_file(runs_csv({"<swept path>"}, {target_of("loss", "<x>"), target_of("test_error", "<x>")},
                      {.compressed = true, .failures = true, .outer = true})
                 .page());
  print_file(
      curve_csv({.by_learner = true, .compressed = true, .members = true, .gap = true}).page());
  print_file(staleness_csv.page());
  print_file(learners_csv({.encoding = true, .unused = true}).page());
  for (const Record* record : records())
    if (record->columns != nullptr) print_file(*record->columns);
  print_file(theory_csv.page());
  print_file(theory_table({"<swept path>"}).page());
  std::cout << asked_files;
  print_file(fit_csv.page());
  print_file(sample_csv.page());
  print_file(quantiles_csv.page());
  std::cout << "time: in the unit of the runtime distribution, which time_unit of the scenario "
               "names;\nan empty field is not applicable or not counted, 0 was counted\n";
}

void print_key(const std::string& name, const FieldPage& field) {
  std::cout << wrapped("key: " + name, 0, 5) << "\n  " << wrapped(explained(field), 2, 2) << '\n';
  if (!field.fields.empty()) print_keys(field.fields);
}

void print_sweep() {
  std::cout << "key: sweep\n\n";
  print_paragraphs(sweep_page);
  std::cout << "\n  keys of a list that is written by its ends:\n";
  Reference reference;
  SpacedValues spaced;
  visit(reference, spaced);
  print_keys(reference.fields(), "    ");
  std::cout << '\n';
}

struct Found {
  const FieldPage* field = nullptr;  // the first
  std::vector<std::string> paths;    // "cluster.server"; "graph of d-psgd" of a kind
};

/// Keys in which something was found, [what is said of them]: those of which the same is said stand
/// together.
using FoundKeys = nlohmann::ordered_map<std::string, Found>;

void add(FoundKeys& keys, const FieldPage& field, std::string path) {
  Found& found = keys[explained(field)];
  if (!found.field) found.field = &field;
  found.paths.push_back(std::move(path));
}

/// Keys of a name, if these are wanted, and keys that may have it as their value.
struct Search {
  std::string_view name;
  bool wants_keys;
  FoundKeys keys = {}, of_values = {};
  std::vector<std::string_view> catalogs = {};         // of which those keys name a kind
  std::vector<std::string> paths = {};                 // of all keys that were looked at
  std::map<std::string_view, std::string> kinds = {};  // [catalog]: the path of its key

  /// Of the scenario's keys, or of a kind's, which stand below `holder`.
  void look(const FieldPages& fields, const std::string& before = "",
            const std::string& behind = "", const std::string& holder = "") {
    for (const FieldPage& field : fields) {
      const std::string path = before + field.key;
      paths.push_back(holder + path);
      if (!field.catalog.empty()) kinds.emplace(field.catalog, holder + path);
      if (wants_keys && ("." + paths.back()).ends_with("." + std::string(name))) {
        add(keys, field, path + behind);
        if (!field.catalog.empty()) catalogs.push_back(field.catalog);
      }
      if (field.type == FieldPage::Type::choice && std::ranges::count(field.allowed, name) > 0)
        add(of_values, field, path + behind);
      look(field.fields, path + ".", behind, holder);
    }
  }
};

Search search(const std::vector<CatalogPages>& catalogs, const FieldPages& keys,
              std::string_view name, bool wants_keys) {
  Search found{name, wants_keys};
  found.look(keys);
  for (const auto& catalog : catalogs)
    for (const auto& [page, fields] : catalog.kinds)
      found.look(fields, "", " of " + std::string(page->name), found.kinds[catalog.name] + ".");
  return found;
}

/// Whatever has that name; whether there is such a thing.
bool print_named(const std::vector<CatalogPages>& catalogs, const FieldPages& keys,
                 std::string_view name) {
  bool printed = false;
  const auto key = std::ranges::find(keys, name, &FieldPage::key);
  const bool of_a_kind = key != keys.end() && key->type == FieldPage::Type::kind;
  const bool is_catalog = std::ranges::count(catalogs, name, &CatalogPages::name) > 0;
  const Search found = search(catalogs, keys, name, key == keys.end() && !is_catalog);
  for (const auto& [said, one] : found.keys) print_key(joined(one.paths), *one.field);
  for (const auto& catalog : catalogs) {
    const bool is_meant = name == catalog.name || (of_a_kind && key->catalog == catalog.name) ||
                          std::ranges::count(found.catalogs, catalog.name) > 0 ||
                          (name == catalog.discriminator && name != "kind");
    if (is_meant) print_catalog(catalog), printed = true;
    for (const auto& [page, fields] : catalog.kinds) {
      if (name == page->name) print_page(*page, catalog.discriminator, fields), printed = true;
    }
  }
  if (name == "sweep") {
    print_sweep(), printed = true;
  } else if (key != keys.end() && !of_a_kind) {
    print_key(std::string(name), *key), printed = true;
  }
  for (const auto& [said, one] : found.of_values) {
    std::cout << name << ": a value of " << wrapped(joined(one.paths), name.size() + 14, 4)
              << "\n  " << wrapped(said, 2, 2) << '\n';
  }
  return printed || !found.keys.empty() || !found.of_values.empty();
}

void print_scenario(const FieldPages& keys) {
  std::cout << "scenario (keys of the file)\n";
  for (const auto& key : keys) {
    if (key.type == FieldPage::Type::object) {
      print_line(key.key, key.fields);
    } else {
      print_line(key.key, explained(key));
    }
  }
  std::cout << '\n';
}

/// protocols, distributions, ..., scenario, columns
std::string listed(const std::vector<CatalogPages>& catalogs) {
  return joined(catalogs, ", ", &CatalogPages::name) + ", scenario, columns, glossary";
}

void print_synonym(const Synonym& term) {
  print_line(term.here, std::string(term.theirs) + ": " + std::string(term.meaning));
}

void print_glossary() {
  std::cout << "glossary (a name here, what others call it, and what it is)\n";
  for (const Synonym& term : glossary()) print_synonym(term);
}

/// What others call something, and its page.
bool print_by_synonym(const std::vector<CatalogPages>& catalogs, const FieldPages& keys,
                      std::string_view word) {
  const Synonym* const term = synonym_of(word);
  if (!term) return false;
  print_synonym(*term);
  std::cout << '\n';
  print_named(catalogs, keys, term->here);
  return true;
}

[[noreturn]] void refuse(const std::vector<CatalogPages>& catalogs, const FieldPages& keys,
                         const std::string& what) {
  std::vector<std::string_view> names{"scenario", "columns", "glossary"};
  for (const auto& catalog : catalogs) {
    names.push_back(catalog.name);
    for (const auto& kind : catalog.kinds) names.push_back(kind.page->name);
  }
  const Search all = search(catalogs, keys, what, true);
  names.insert(names.end(), all.paths.begin(), all.paths.end());
  const std::string nearest(nearest_name(what, names));
  throw UsageError("list: nothing is called \"" + what + "\"; allowed: " + listed(catalogs) +
                   ", or one of their names or keys" +
                   (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"));
}

}  // namespace

static int list(const Words& words) {
  const auto catalogs = catalog_pages();
  Syntax syntax{
      .positional = "name",
      .more = "\nWHAT: " +
              wrapped(listed(catalogs) +
                          ", or the name of one of these or a key, as tau or cluster.failures",
                      6, 6)};
  const auto call = parse(list_command, words, syntax);
  if (!call) return 0;
  const Words names = call->words("name");
  if (names.size() > 1) call->refuse("takes at most one name");
  const std::string what = names.empty() ? "" : names.front();
  const FieldPages keys = scenario_keys();
  if (what.empty()) {
    for (const auto& catalog : catalogs) print_catalog(catalog);
  }
  if (what.empty() || what == "scenario") {
    print_scenario(keys);
  } else if (what == "columns") {
    print_columns();
  } else if (what == "glossary") {
    print_glossary();
  } else if (!print_named(catalogs, keys, what) && !print_by_synonym(catalogs, keys, what)) {
    refuse(catalogs, keys, what);
  }
  return 0;
}

extern const Command list_command{
    "list", "what exists: protocols, distributions, models, learning rates ..., and their keys",
    "  gradrace list [WHAT]\n\n"
    "Examples:\n"
    "  gradrace list protocols\n"
    "  gradrace list k-async\n"
    "  gradrace list adam\n"
    "  gradrace list fedavg            what others call something, and its name here\n"
    "  gradrace list columns           the columns of every CSV file, their units and meanings\n",
    list};

}  // namespace gradrace
