#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/results/output_folder.h"
#include "sim/cli/results/run_store.h"
#include "sim/cli/scenario/scenario.h"
#include "sim/cli/scenario/shard.h"

namespace gradrace {

/// The stores of finished runs in the folder: runs.store, and runs.I-of-N.store of shards.
std::vector<std::filesystem::path> stores_in(const std::filesystem::path& folder);

/// What a store says of the runs in it: JSON, with the scenario that they were made for.
std::string header_of(const Scenario& scenario, const std::vector<std::string>& data,
                      const std::optional<Shard>& shard, std::size_t runs);

/// How the scenarios of two headers differ in what bears on results, but for the sweep and the
/// number of replicas; empty: they do not.
std::string difference(const std::string& there, const std::string& here);

/// UsageError where the folder has runs of another scenario.
void refuse_other_runs(const std::filesystem::path& folder, const Scenario& scenario);

/// The runs that are in the stores of the folder.
std::set<RunKey> keys_in(const std::filesystem::path& folder);

/// An output folder as a collection of finished runs, each of which is in a store there as soon as
/// it is added, and of which the other files are the published view.
class RunFolder {
 public:
  enum class Begin { new_or_go_on, go_on, anew };

  /// `runs` of the scenario, which must outlive it: all, or those of a shard, which has a store of
  /// its own.  Reads the data.  UsageError where another process has the folder, where it is none
  /// of ours, where there is nothing to go on with, and where its runs are of another scenario.
  RunFolder(const std::filesystem::path& folder, const Scenario& scenario,
            std::optional<Shard> shard, std::vector<std::size_t> runs, Begin begin);
  /// For all runs, which are in stores with that header.  Reads no data.
  RunFolder(const std::filesystem::path& folder, const Scenario& scenario, std::string header);
  ~RunFolder();

  const std::filesystem::path& path() const { return files_.path(); }
  const Scenario& scenario() const { return scenario_; }
  bool is_shard() const { return shard_.has_value(); }
  /// That are wanted of the folder.
  std::size_t size() const { return runs_.size(); }
  /// run: point x replicas + replica.
  bool has(std::size_t run) const { return places_[run].store != nullptr; }
  /// Wanted and not there; of runs that are the same the first.
  std::vector<std::size_t> missing() const;
  /// What the user should know of the stores.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Safe from several threads.
  void add(std::size_t run, const RunResult& result, const RunTexts& texts);
  /// A run of another store; false if it is none of these, or is there.
  bool add(const RunStore& from, const StoredRun& run);

  /// Whether a run of another store is there with another result.
  bool contradicts(const RunStore& from, const StoredRun& run) const;

  /// What the header says of the data, and what gradients are computed with.
  std::vector<std::string> data() const;
  std::string arithmetic() const;

  /// All that was added is on disk.
  void sync() { own_->sync(); }

  /// Of a run that is there.
  RunResult result(std::size_t run) const;
  void read_texts(std::size_t run, const RunStore::Take& take) const;

  /// One store with the runs in the order of their numbers, in place of those that are there,
  /// unless it is so already; all runs are there.
  void put_in_order();

  OutputFolder& files() { return files_; }

 private:
  struct Place {
    const RunStore* store = nullptr;
    StoredRun run = {};
  };
  void index_runs();
  std::span<const std::pair<RunKey, std::size_t>> runs_with(const RunKey& key) const;
  void remove_stores();
  void open_stores(Begin begin);
  void take_up(const RunStore& store);
  bool set(const Place& place);
  std::filesystem::path own_file() const;
  bool is_all_of(const RunStore& store, const std::vector<Place>& ordered) const;

  const Scenario& scenario_;
  const std::optional<Shard> shard_;
  const std::vector<std::size_t> runs_;
  std::vector<std::optional<std::uint64_t>> data_;      // [point]: hash of its data, if known
  std::vector<std::pair<RunKey, std::size_t>> by_key_;  // each run, sorted
  std::string header_;
  OutputFolder files_;
  std::unique_ptr<RunStore> own_;
  std::vector<std::unique_ptr<RunStore>> others_;
  std::vector<Place> places_;  // [run]
  std::vector<std::string> notes_;
  std::mutex mutex_;
  bool was_used_ = false;
};

}  // namespace gradrace
