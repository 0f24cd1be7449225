#include "sim/cli/results/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <numeric>

#include "sim/cli/output/disk.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/results/pages.h"
#include "sim/cli/results/run_files.h"
#include "sim/cli/results/run_tables.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view store_begin = "runs.", store_end = "store";

std::string store_name(const std::optional<Shard>& shard) {
  return std::string(store_begin) + (shard ? shard->file_name() + "." : "") +
         std::string(store_end);
}

/// Whose store has that name.
std::optional<Shard> shard_of_store(const std::string& name) {
  if (!name.starts_with(store_begin) || !name.ends_with("." + std::string(store_end))) return {};
  if (name == store_name({})) return {};
  return Shard::from_file_name(std::string_view(name).substr(
      store_begin.size(), name.size() - store_begin.size() - store_end.size() - 1));
}

bool is_store(const fs::path& file) {
  const std::string name = file.filename();
  return (name == store_name({}) || shard_of_store(name).has_value()) && RunStore::may_be(file);
}

}  // namespace

/// The folder; UsageError where it is none of ours.
static const fs::path& checked(const fs::path& folder, RunFolder::Begin begin) {
  std::error_code ignored;
  const fs::file_status status = fs::status(folder, ignored);  // another call may make it now
  const bool is_folder = fs::is_directory(status);
  if (fs::exists(status) && !is_folder)
    throw UsageError(folder.string() + ": is a file; --out takes the name of a folder");
  if (!is_folder || !stores_in(folder).empty()) return folder;
  const std::string results = files_of_runs().first_in(folder);
  const bool overwrites = begin == RunFolder::Begin::anew;
  const bool is_ours = PublishedFiles(folder).record() == manifest_record;
  if (!results.empty() && !is_ours)
    throw UsageError(folder.string() + ": holds " + results +
                     ", which is not of a run; use --out DIR for another folder");
  if (!results.empty() && !overwrites)
    throw UsageError(folder.string() + ": holds " + results +
                     ", and not the store of its runs; use --out DIR for another folder, or run "
                     "--force to make all again");
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().filename();
    const bool is_of_another_shard = is_store(entry.path());  // and was made since
    if (overwrites || name == ".unfinished" || is_of_another_shard) continue;
    throw UsageError(folder.string() + ": is no output folder of gradrace (" + name.string() +
                     " is there); use --out DIR for a new or empty one, or run --force to use it "
                     "all the same, which leaves other files alone");
  }
  return folder;
}

std::vector<fs::path> stores_in(const fs::path& folder) {
  std::vector<fs::path> stores;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (is_store(entry.path())) stores.push_back(entry.path());
  errno = error.value();
  if (errno == EACCES || errno == EIO) fail_on_disk(folder, "read");
  std::ranges::sort(stores);
  return stores;
}

/// How the runs in the store differ from what is wanted; empty: they do not.
static std::string foreignness_of(const RunStore& store, const std::string& header) {
  if (store.header().empty())
    return store.runs().empty() ? "" : "has runs, and what says of which scenario is damaged";
  const std::string differs = difference(store.header(), header);
  return differs.empty() ? "" : "has runs of another scenario: " + differs;
}

static void refuse_difference(const RunStore& store, const std::string& header) {
  const std::string foreign = foreignness_of(store, header);
  if (foreign.empty()) return;
  throw UsageError(store.name() + ": " + foreign +
                   "; use --out DIR for another folder, or run --force, without shards, to begin "
                   "anew");
}

void keep_sound(RunStore& store, const Scenario& scenario) {
  RunStore::Tables tables;
  for (const RunTable& table : run_tables(scenario)) tables.emplace(table.name, table.types);
  store.keep_sound(tables, targets_of(scenario.first()).size());
}

void refuse_other_runs(const fs::path& folder, const Scenario& scenario) {
  RunHeader wanted;  // without its data
  wanted.scenario = scenario.resolved;
  wanted.written = scenario.written;
  wanted.arithmetic = arithmetic_of(scenario);
  const std::string header = wanted.text();
  for (const auto& file : stores_in(checked(folder, RunFolder::Begin::new_or_go_on)))
    refuse_difference(RunStore(file, RunStore::Use::read), header);
}

void refuse_runs(const fs::path& folder) {
  const auto stores = stores_in(folder);
  if (!stores.empty())
    throw UsageError(folder.string() + ": holds results of runs (" +
                     stores.front().filename().string() + "); use --out DIR for another folder");
}

void refuse_to_go_on(const fs::path& folder) {
  throw UsageError(folder.string() + ": there is nothing to go on with; leave --resume out");
}

std::vector<std::size_t> all_runs(const Scenario& scenario) {
  std::vector<std::size_t> runs(scenario.runs());
  std::iota(runs.begin(), runs.end(), 0);
  return runs;
}

std::set<RunName> runs_in(const fs::path& folder) {
  std::set<RunName> names;
  for (const auto& file : stores_in(folder)) {
    const RunStore store(file, RunStore::Use::read);
    for (const StoredRun& run : store.runs()) names.emplace(run.key, run.data);
  }
  return names;
}

RunFolder::RunFolder(const fs::path& folder, const Scenario& scenario, std::optional<Shard> shard,
                     std::vector<std::size_t> runs, Begin begin)
    : scenario_(scenario),
      runs_(std::move(runs)),
      header_(RunHeader::of(scenario, shard, runs_.size())),
      header_text_(header_.text()),
      files_(checked(folder, begin), files_of_runs(), shard ? shard->file_name() : "") {
  index_runs();
  if (begin != Begin::anew) open_stores(begin);
}

RunFolder::RunFolder(const fs::path& folder, const Scenario& scenario, RunHeader header)
    : scenario_(scenario),
      runs_(all_runs(scenario)),
      header_(std::move(header)),
      header_text_(header_.text()),
      is_collected_(true),
      files_(checked(folder, Begin::new_or_go_on), files_of_runs()) {
  index_runs();
  open_stores(Begin::new_or_go_on);
}

void RunFolder::begin_anew() {
  std::vector<fs::path> stores = stores_in(files_.place());
  for (const auto& file : stores)
    if (file == own_file() && fs::is_symlink(file)) refuse_link(file);
  if (header_.shard)
    std::erase_if(stores, [this](const fs::path& file) {
      if (file == own_file()) return false;
      refuse_difference(RunStore(file, RunStore::Use::read), header_text_);
      return true;
    });
  std::ranges::for_each(stores, remove_file);
  open_stores(Begin::anew);
}

void RunFolder::index_runs() {
  for (const Point& point : scenario_.points)
    for (std::uint32_t replica = 0; replica < scenario_.replicas(); ++replica)
      by_key_.emplace_back(run_key(point.key, replica), by_key_.size());
  places_.resize(by_key_.size());
  std::ranges::sort(by_key_);
}

/// Of the scenario.
std::span<const std::pair<RunKey, std::size_t>> RunFolder::runs_with(const RunKey& key) const {
  constexpr auto key_of = &std::pair<RunKey, std::size_t>::first;
  return {std::ranges::lower_bound(by_key_, key, {}, key_of),
          std::ranges::upper_bound(by_key_, key, {}, key_of)};
}

RunFolder::~RunFolder() {
  std::error_code unknown;
  const bool is_published = fs::exists(files_.place() / manifest_record, unknown);
  const bool is_empty = own_ && !was_used_ && !is_published && own_->runs().empty() &&
                        !own_->is_damaged() && own_->is_in_place();
  own_.reset();
  std::error_code ignored;
  if (is_empty) fs::remove(own_file(), ignored);
}

fs::path RunFolder::own_file() const { return files_.place() / store_name(header_.shard); }

/// Of other stores a shard only needs to know the runs, and none where it begins anew.
void RunFolder::open_stores(Begin begin) {
  std::set<unsigned> other_counts;
  for (const auto& file : stores_in(files_.place())) {
    if (file == own_file() || begin == Begin::anew) continue;
    const auto shard = shard_of_store(file.filename());
    if (shard && header_.shard && shard->of != header_.shard->of) other_counts.insert(shard->of);
    auto store = std::make_unique<RunStore>(file, RunStore::Use::read);
    if (is_collected_ && !foreignness_of(*store, header_text_).empty()) continue;
    take_up(*store);
    others_.push_back(std::move(store));
    if (!header_.shard) continue;
    for (Place& place : places_)
      if (place.store == others_.back().get()) place.store = nullptr;
    others_.pop_back();
  }
  for (const unsigned of : other_counts)
    notes_.push_back(path().string() + ": has shards of " + std::to_string(of) +
                     " too; their runs are not made again, and gradrace collect takes both");
  const bool is_new = !fs::exists(own_file());
  own_ = std::make_unique<RunStore>(own_file(), RunStore::Use::add);
  try {
    take_up(*own_);
    if (begin == Begin::go_on && present() == 0) refuse_to_go_on(path());
    if (own_->header() != header_text_) own_->add_header(header_text_);
  } catch (...) {
    own_.reset();
    if (is_new) remove_file(own_file());
    throw;
  }
}

void RunFolder::take_up(RunStore& store) {
  refuse_difference(store, header_text_);
  keep_sound(store, scenario_);
  if (store.damaged() > 0 && !is_collected_)  // collect tells it
    notes_.push_back(store.name() + ": " + count_text(store.damaged(), "damaged record") +
                     " left out");
  note(store.notes());
  for (const StoredRun& run : store.runs()) set(store, run);
}

void RunFolder::note(const std::vector<std::string>& notes) {
  notes_.insert(notes_.end(), notes.begin(), notes.end());
}

/// Of one run with two results.
[[noreturn]] static void refuse_both(const RunStore& one, const RunStore& other) {
  constexpr const char* why =
      ": one of the two was made with other software, on a broken machine, or by somebody else; ";
  if (&one == &other)
    throw UsageError(one.name() + ": has a run twice, with different results" + why +
                     "run --force makes all again");
  throw UsageError(other.name() + ": has a run that " + one.name() + " has with another result" +
                   why + "move one away");
}

bool RunFolder::set(const RunStore& store, const StoredRun& stored) {
  bool is_new = false, has_key = false, has_data = false;
  for (const auto& [key, run] : runs_with(stored.key)) {
    has_key = true;
    const std::uint64_t data = header_.data_of_point(scenario_.point_number(run));
    if (data != unknown_data && stored.data != data) continue;
    has_data = true;
    Place& place = places_[run];
    if (!place.is_there) {
      place = {true, &store, stored};
      is_new = true;
    } else if (place.store && !place.run.has_content_of(stored)) {
      refuse_both(*place.store, store);
    }
  }
  if (has_key && !has_data)
    throw UsageError(store.name() +
                     ": has runs of other data of the same name; use --out DIR for another "
                     "folder, or run --force to begin anew");
  return is_new;
}

std::size_t RunFolder::present() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs_, [this](std::size_t run) { return has(run); }));
}

std::vector<std::size_t> RunFolder::missing() const {
  std::vector<std::size_t> missing;
  std::set<RunName> seen;
  for (const std::size_t run : runs_)
    if (!has(run) && seen.insert(name_of(run)).second) missing.push_back(run);
  return missing;
}

RunName RunFolder::name_of(std::size_t run) const { return header_.name_of(run, scenario_); }

void RunFolder::add(std::size_t run, const RunResult& result, const RunRows& rows) {
  const auto [key, data] = name_of(run);
  const StoredRun stored = own_->add(key, data, bytes_of(result), rows);
  const std::lock_guard lock(mutex_);
  was_used_ = true;
  set(*own_, stored);
}

bool RunFolder::add(const RunStore& from, const StoredRun& run) {
  if (!set(from, run)) return false;
  const StoredRun stored = own_->add(from, run);
  for (const auto& [key, number] : runs_with(run.key))
    if (places_[number].store == &from) places_[number] = {true, own_.get(), stored};
  was_used_ = true;
  return true;
}

void RunFolder::put_in_order(const std::function<bool()>& stop) {
  std::vector<Place> ordered;
  std::set<RunName> taken;
  const auto take = [&](const Place& place) {
    if (taken.emplace(place.run.key, place.run.data).second) ordered.push_back(place);
  };
  std::ranges::for_each(places_, take);
  std::map<RunName, Place> rest;  // of another sweep
  const auto note_rest = [&](const RunStore& store) {
    for (const StoredRun& run : store.runs())
      rest.try_emplace({run.key, run.data}, Place{true, &store, run});
  };
  note_rest(*own_);
  for (const auto& store : others_) note_rest(*store);
  for (const auto& [name, place] : rest) take(place);
  std::vector<StoredRun> runs;
  for (const Place& place : ordered)
    if (place.store == own_.get()) runs.push_back(place.run);
  if (runs.size() == ordered.size() && own_->is_all(header_text_, runs)) return;

  keep_damaged();
  const fs::path aside = files_.aside() / (store_name({}) + std::string(temporary_ending));
  fs::remove(aside);
  {
    RunStore store(aside, RunStore::Use::add);
    store.add_header(header_text_);
    for (const Place& place : ordered) {
      if (stop()) throw PublishingEnded();
      store.add(*place.store, place.run);
    }
    store.sync();
  }
  move_to_place(aside, own_file());
  sync_folder(files_.place());
  for (const auto& store : others_) fs::remove(store->file());  // of a link, the link
  others_.clear();
  std::ranges::fill(places_, Place{});
  open_stores(Begin::go_on);
}

/// Of stores that go: what cannot be read stays under another name.
void RunFolder::keep_damaged() {
  const auto keep = [this](RunStore& store) {
    const std::size_t told = store.notes().size();
    if (store.is_damaged()) store.keep_copy();
    if (store.notes().size() > told) note({store.notes().back()});
  };
  keep(*own_);
  for (const auto& store : others_) keep(*store);
}

RunResult RunFolder::read(std::size_t run, const RunStore::Take& take) const {
  const Place& place = places_[run];
  return result_from(place.store->read(place.run, take));
}

}  // namespace gradrace
