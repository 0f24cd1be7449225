#include "sim/python/python_class.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "sim/hash.h"
#include "sim/python/python_process.h"

namespace gradrace {

namespace fs = std::filesystem;

std::string PythonFiles::fault_of(const PythonClass& of) {
  const std::lock_guard lock(mutex_);
  const std::string name = std::string(of.kind->key) + " " + of.file.string() + " " + of.name;
  const auto [fault, is_new] = faults_.try_emplace(name);
  if (is_new) fault->second = PythonProcess::fault_of(of);
  return fault->second;
}

Location visit_python_class(Fields& fields, PythonClass& python) {
  Location location;
  fields.path("file", location, Need::required, "Python file");
  fields.text("class", python.name, Need::required, "class in it");
  fields.any_object("arguments", python.arguments, "of the class, by their names");
  if (std::ranges::any_of(python.name, [](unsigned char c) { return c <= ' '; }))
    fields.complain("class", "is no name of Python");
  return location;
}

void visit_timeout(Fields& fields, PythonClass& python) {
  fields.real("timeout", python.timeout, Need::defaulted, between(1e-3, 1e7),
              "seconds of a clock on the wall that a call may take");
}

static std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Both without symbolic links.
static bool is_below(const fs::path& file, const fs::path& folder) {
  const auto [in_folder, in_file] = std::ranges::mismatch(folder, file);
  return in_folder == folder.end();
}

static void check(Fields& fields, const PythonClass& python, PythonFiles& files) {
  const PythonSetting& setting = python.setting;
  if (setting.use == PythonUse::leave) return;
  if (!setting.below.empty() && setting.of_manifest)
    return fields.complain("file", "is Python, and a manifest runs none by itself",
                           "--allow-python, if you trust " + python.file.string());
  if (!setting.below.empty() && !is_below(python.file, setting.below))
    return fields.complain(
        "file", "is Python outside the scenario's folder " + setting.below.string(),
        "a file below it; or --allow-python, if you trust " + python.file.string());
  const std::string fault = files.fault_of(python);
  if (!fault.empty()) fields.complain("class", fault);
}

std::optional<MissingPlace> read_python_file(Fields& fields, PythonClass& python,
                                             const Location& location, PythonFiles& files,
                                             bool used) {
  python.setting = files.setting;
  python.file = location.found;
  if (!fs::is_regular_file(location.found)) {
    const MissingPlace missing{"file", location.name, location.looked_at};
    python.missing = missing.text();
    return missing;
  }
  python.source = content_of(location.found);
  Hash hash;
  hash.add_bytes(python.source);
  python.hash = hash.hex();
  if (used) check(fields, python, files);
  return {};
}

}  // namespace gradrace
