#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// What gradients were computed with.
struct DeviceFacts {
  std::string name;         // empty: none were
  std::size_t cohort = 0;   // runs replayed side by side by one thread, at most
  std::size_t threads = 0;  // each with a device of its own
  std::uint64_t gradients = 0;
  std::optional<double> kernel_seconds = {};       // of all devices; none on the CPU
  double run_seconds = 0, evaluation_seconds = 0;  // of the threads in runs, and in evaluations

  /// Share of the threads' time in which their device computed.
  std::optional<double> kernel_share(double elapsed) const {
    if (!kernel_seconds) return {};
    return *kernel_seconds / (static_cast<double>(threads) * elapsed);
  }
};

/// "device: cpu, 2 threads, 6.1e+04 gradients/s".
std::string device_text(const DeviceFacts& device, double elapsed);

/// What to do where evaluations took more than half of a second or more that runs took; else empty.
std::string evaluation_advice(const DeviceFacts& device);

struct RunFacts {
  std::size_t runs = 0, finished = 0;
  unsigned jobs = 0;
  double elapsed = 0;  // seconds of the call
  DeviceFacts device;
  std::vector<std::string> notes = {};
  std::string arithmetic = {};                    // arithmetic_of() the scenario where it was run
  std::string device_reason = {};                 // RunHeader's
  std::vector<std::string> data = {};             // hashes
  std::map<std::string, std::string> files = {};  // [name]: hash
};

/// A point as the manifest's "points" have it.
nlohmann::ordered_json point_json(std::size_t number, const Point& point);

/// manifest.json: everything to repeat the runs, and what they were made with.
std::string manifest_text(const Scenario& scenario, const RunFacts& facts);

/// Whether the folder's files are those of its manifest, which is that of all runs of this very
/// scenario, with tables as CSV, compressed or not.
bool is_published(const std::filesystem::path& folder, const Scenario& scenario);

/// Tells the user where files of the folder are not those of its manifest: it was published by
/// halves, or they were changed since.  Whether that is so.
bool note_if_mixed(const std::filesystem::path& folder);

/// "none", "cpu" or "cuda": where the scenario's gradients are computed.
std::string device_of(const Scenario& scenario);

/// gpu_arithmetic, "fused multiply-adds" or what else gradients in float32 are computed with, whose
/// numbers differ in the last digits; empty where there are none.
std::string arithmetic_of(const Scenario& scenario);
inline constexpr std::string_view gpu_arithmetic = "CUDA";

/// "gradrace 0.1.0 (revision 1a2b3c4, dirty)".
std::string version_text();

}  // namespace gradrace
