#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reading/fields.h"
#include "sim/reading/locator.h"

namespace gradrace {

/// What a command does with the Python that a scenario names: imports it, looks whether it could,
/// or neither.
enum class PythonUse : std::uint8_t { run, look_at, leave };

struct PythonSetting {
  std::string interpreter = {};        // a path, or a name on the PATH
  std::filesystem::path workers = {};  // analysis/python
  /// Where a file must be, at any depth; empty: anywhere (--allow-python).
  std::filesystem::path below = {};
  bool of_manifest = false;  // the scenario is one's, which may be anybody's
  PythonUse use = PythonUse::leave;
};

/// A kind of class that users write.
struct PythonKind {
  std::string_view key;        // of the scenario, that names one: "model"
  std::string_view worker;     // what runs it, of PythonSetting::workers
  std::string_view functions;  // that it must have, parted by commas
  std::string_view package;    // that Python must have; empty: none
};

/// A class of a user's file, and how long a call of it may take.
struct PythonClass {
  const PythonKind* kind = nullptr;
  PythonSetting setting = {};
  std::filesystem::path file = {};
  std::string source = {};   // its bytes
  std::string hash = {};     // of these
  std::string missing = {};  // why the file is not there; empty: it is
  std::string name = {};
  std::string arguments = "{}";         // of its constructor, JSON
  std::vector<std::string> words = {};  // for the worker
  double timeout = 600;                 // seconds of the machine's clock

  bool may_run() const { return setting.use == PythonUse::run && missing.empty(); }
};

/// How the Python that a scenario names is run, and what was found in its files.
class PythonFiles {
 public:
  PythonSetting setting;

  /// What is wrong with the class, or lacks for it, as far as is seen without importing its file;
  /// empty where nothing is.  Looks once.
  std::string fault_of(const PythonClass& of);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> faults_;
};

/// Visits file, class and arguments; where the file is.
Location visit_python_class(Fields& fields, PythonClass& python);
void visit_timeout(Fields& fields, PythonClass& python);

/// Reads the file; null: it is there.  Complains of a file that may not be run, and of a class that
/// cannot be, where `used`: by a run.
std::optional<MissingPlace> read_python_file(Fields& fields, PythonClass& python,
                                             const Location& location, PythonFiles& files,
                                             bool used);

}  // namespace gradrace
