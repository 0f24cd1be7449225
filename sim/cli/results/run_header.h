#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/scenario/identity.h"
#include "sim/cli/scenario/scenario.h"
#include "sim/cli/scenario/shard.h"

namespace gradrace {

/// What a run is recognised by: its key, and the hash of all data that it is made with.
using RunName = std::pair<RunKey, std::uint64_t>;

/// The hash of data that could not be read: runs that are there may be of them.
constexpr std::uint64_t unknown_data = 0;

/// What a store of runs says of the runs in it.
struct RunHeader {
  std::string file;                           // of the scenario
  std::string scenario, written;              // JSON: Scenario::resolved and written
  std::string arithmetic;                     // arithmetic_of() it
  std::vector<std::string> data_hashes;       // of the files that runs are made with
  std::vector<std::uint64_t> data_of_points;  // [point]: hash of all of its data, or unknown_data;
                                              // one: of each
  std::string device_reason = {};             // Scenario's
  std::optional<Shard> shard = {};
  std::size_t runs = 0;  // that are wanted of it

  /// Reads the data.
  static RunHeader of(const Scenario& scenario, std::optional<Shard> shard, std::size_t runs);

  /// Of the scenario that it is of.
  RunName name_of(std::size_t run, const Scenario& scenario) const;
  std::uint64_t data_of_point(std::size_t point) const;

  /// As it stands in a store, and back; UsageError, which names the file, where it is none.
  std::string text() const;
  static RunHeader from(const std::string& text, const std::string& file);
};

/// How what a store has there differs in what bears on results, but for the sweep and the number of
/// replicas, from what is wanted here; empty: it does not.  Texts of headers.
std::string difference(const std::string& there, const std::string& here);

/// Whether the scenarios of two headers make the same runs.
bool make_same_runs(const RunHeader& one, const RunHeader& other);

}  // namespace gradrace
