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

#include "sim/cli/output/output_folder.h"
#include "sim/cli/results/run_header.h"
#include "sim/cli/results/run_store.h"
#include "sim/cli/scenario/scenario.h"
#include "sim/cli/scenario/shard.h"

namespace gradrace {

/// The stores of finished runs in the folder: runs.store, and runs.I-of-N.store of shards.
/// DiskError where it cannot be read.
std::vector<std::filesystem::path> stores_in(const std::filesystem::path& folder);

/// UsageError where the folder has runs.
void refuse_runs(const std::filesystem::path& folder);
/// And where these are of another scenario.
void refuse_other_runs(const std::filesystem::path& folder, const Scenario& scenario);

/// UsageError: it has none of the runs.
[[noreturn]] void refuse_to_go_on(const std::filesystem::path& folder);

/// Point x replicas + replica, in order.
std::vector<std::size_t> all_runs(const Scenario& scenario);

/// Leaves out what is no run of the scenario.
void keep_sound(RunStore& store, const Scenario& scenario);

/// The runs that are in the stores of the folder.
std::set<RunName> runs_in(const std::filesystem::path& folder);

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
  /// For all runs, which are in stores like the one with that header; leaves others alone, and
  /// reads no data.
  RunFolder(const std::filesystem::path& folder, const Scenario& scenario, RunHeader header);
  ~RunFolder();

  /// To be called, where it is to begin anew, once nothing else can refuse the call: removes what
  /// is there.
  void begin_anew();

  const std::filesystem::path& path() const { return files_.path(); }
  const Scenario& scenario() const { return scenario_; }
  /// That are wanted of the folder.
  std::size_t size() const { return runs_.size(); }
  /// run: point x replicas + replica.
  bool has(std::size_t run) const { return places_[run].is_there; }
  /// Wanted and there.
  std::size_t present() const;
  /// Wanted and not there; of runs that are the same the first.
  std::vector<std::size_t> missing() const;
  /// What the user should know of the stores.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Safe from several threads.
  void add(std::size_t run, const RunResult& result, const RunRows& rows);
  /// A run of another store; false if it is none of these, or is there.
  bool add(const RunStore& from, const StoredRun& run);
  /// Takes them up.
  void note(const std::vector<std::string>& notes);

  const RunHeader& header() const { return header_; }

  /// All that was added is on disk.
  void sync() { own_->sync(); }

  /// Of a run that is there, as RunStore::read().
  RunResult read(std::size_t run, const RunStore::Take& take) const;

  /// One store with the runs in the order of their numbers, in place of those that are there,
  /// unless it is so already; all runs are there.  stop: whether to leave them as they are, by
  /// PublishingEnded.
  void put_in_order(const std::function<bool()>& stop = [] { return false; });

  OutputFolder& files() { return files_; }

 private:
  /// Where a run is; of a shard those of other stores are there without one.
  struct Place {
    bool is_there = false;
    const RunStore* store = nullptr;
    StoredRun run = {};
  };
  void index_runs();
  std::span<const std::pair<RunKey, std::size_t>> runs_with(const RunKey& key) const;
  RunName name_of(std::size_t run) const;
  void open_stores(Begin begin);
  void take_up(RunStore& store);
  bool set(const RunStore& store, const StoredRun& run);
  std::filesystem::path own_file() const;
  void keep_damaged();

  const Scenario& scenario_;
  const std::vector<std::size_t> runs_;
  const RunHeader header_;
  const std::string header_text_;
  const bool is_collected_ = false;
  std::vector<std::pair<RunKey, std::size_t>> by_key_;  // each run, sorted
  OutputFolder files_;
  std::unique_ptr<RunStore> own_;
  std::vector<std::unique_ptr<RunStore>> others_;
  std::vector<Place> places_;  // [run]
  std::vector<std::string> notes_;
  std::mutex mutex_;
  bool was_used_ = false;
};

}  // namespace gradrace
