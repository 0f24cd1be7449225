#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace gradrace {

/// What a command does with the Python that a scenario names: imports it, looks whether it could,
/// or neither.
enum class PythonUse : std::uint8_t { run, look_at, leave };

struct PythonSetting {
  std::string interpreter = {};       // a path, or a name on the PATH
  std::filesystem::path worker = {};  // analysis/models/worker.py
  /// Where a file must be, at any depth; empty: anywhere (--allow-python).
  std::filesystem::path below = {};
  bool of_manifest = false;  // the scenario is one's, which may be anybody's
  PythonUse use = PythonUse::leave;
};

}  // namespace gradrace
