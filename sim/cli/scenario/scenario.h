#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/scenario/point.h"
#include "sim/cli/usage_error.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// A scenario file with the changes of the command line.
struct Scenario {
  std::filesystem::path file;
  std::vector<std::string> swept_paths;
  std::vector<Point> points;  // first swept path slowest
  std::string resolved;       // JSON text: a scenario that gives the same results, paths absolute
  std::string written;        // as the file and the command line have it

  std::shared_ptr<DataShelf> shelf;           // where the models find their data
  std::vector<std::string> data_before = {};  // hashes of the data of a manifest's results
  std::string device_reason = {};             // "auto, since ...", once settle_device() has chosen

  /// What to know of the traces that its points measure by.
  std::vector<std::string> trace_notes() const;

  const Point& first() const { return points.front(); }

  /// Runs are numbered point by point: point x replicas + replica.
  std::uint32_t replicas() const { return first().replicas; }
  std::size_t runs() const { return points.size() * replicas(); }
  std::size_t point_number(std::size_t run) const { return run / replicas(); }
  const Point& point_of(std::size_t run) const { return points[point_number(run)]; }
  std::uint32_t replica_of(std::size_t run) const {
    return static_cast<std::uint32_t>(run % replicas());
  }
};

/// [point]: what theory says of it.
std::vector<Theory> theories_of(const Scenario& scenario);

/// What the command line changes.
struct ScenarioChanges {
  struct Set {
    std::string path;    // dotted
    std::string value;   // JSON; other text is a string
    std::string origin;  // for messages: "--set protocol.k=9"
  };
  bool quick = false;  // the scenario's own "quick", before the sets
  std::vector<Set> sets;
  std::filesystem::path data_folder;
  bool data_may_lack = false;  // until they are read; the shelf knows which
  bool allow_python = false;   // wherever it is
  PythonUse python = PythonUse::run;
};

/// The file is the JSON Schema of scenarios.
class SchemaOfScenarios : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Reads and checks a whole scenario, from a file, from standard input ("-"), or from the manifest
/// of results; reads data only to see whether they can be dealt out to the learners as
/// dataset.partition has it.  Throws ScenarioError with every problem, SchemaOfScenarios.
Scenario read_scenario(const std::filesystem::path& given, const ScenarioChanges& changes);

/// The same of a JSON text; `file` names it in messages, and its folder is where its relative paths
/// start.
Scenario read_scenario_text(std::string_view text, const std::filesystem::path& file,
                            const ScenarioChanges& changes);

/// A key that no point has.
struct FileKey {
  std::string_view name, meaning;
};
inline constexpr FileKey file_keys[] = {
    {"$schema", "where the JSON Schema of scenarios is, for editors"},
    {"sweep",
     "dotted path -> list of values, or {from, to, log or linear}; several make the Cartesian "
     "product, those in zip walk in parallel"},
    {"quick", "dotted path -> value: what --quick changes"}};

/// The one list of a scenario's other keys.
void visit_scenario(Fields& fields, Point& point, DataShelf& shelf);

}  // namespace gradrace
