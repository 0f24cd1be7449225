#include "sim/cli/results/run_folder.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "sim/cli/results/manifest.h"
#include "sim/cli/usage_error.h"
#include "sim/hash.h"
#include "sim/message_text.h"
#include "sim/reading/json_places.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view store_begin = "runs.", store_end = "store";

std::string store_name(const std::optional<Shard>& shard) {
  return std::string(store_begin) + (shard ? shard->file_name() + "." : "") +
         std::string(store_end);
}

bool is_store(const std::string& name) {
  if (name == store_name({})) return true;
  if (!name.starts_with(store_begin) || !name.ends_with("." + std::string(store_end))) return false;
  const auto middle = std::string_view(name).substr(
      store_begin.size(), name.size() - store_begin.size() - store_end.size() - 1);
  return Shard::from_file_name(middle).has_value();
}

/// Of all hashes of a point's data.
std::uint64_t data_of(const Point& point) {
  Hash hash;
  for (const auto& text : point.data_hashes())
    for (const unsigned char c : text) hash.add(c);
  return hash.value();
}

std::vector<std::size_t> all_runs(const Scenario& scenario) {
  std::vector<std::size_t> runs(scenario.points.size() * scenario.first().replicas);
  std::iota(runs.begin(), runs.end(), 0);
  return runs;
}

void note_differences(const Json& there, const Json& here, const std::string& pointer,
                      std::vector<std::string>& differences) {
  if (there == here) return;
  if (there.is_object() && here.is_object()) {
    std::set<std::string> keys;
    for (const auto& [key, value] : there.items()) keys.insert(key);
    for (const auto& [key, value] : here.items()) keys.insert(key);
    for (const auto& key : keys) {
      note_differences(there.value(key, Json()), here.value(key, Json()),
                       child_pointer(pointer, key), differences);
    }
    return;
  }
  const auto shown = [](const Json& value) {
    constexpr std::size_t most = 40;
    const std::string text = value.is_null() ? "none" : value.dump();
    return text.size() > most ? text.substr(0, most) + "..." : text;
  };
  differences.push_back(dotted_path(pointer) + " (" + shown(there) + " there, " + shown(here) +
                        " here)");
}

std::string difference_of(const Json& there, const Json& here) {
  std::vector<std::string> differences;
  note_differences(bearing_on_results(there), bearing_on_results(here), "", differences);
  std::string text;
  for (const auto& one : differences) text += (text.empty() ? "" : ", ") + one;
  return text;
}

/// Whether the folder has a manifest that gradrace wrote.
bool has_manifest(const fs::path& folder) {
  std::ifstream file(folder / "manifest.json");
  const Json manifest = Json::parse(file, nullptr, false);
  return manifest.is_object() && manifest.contains("scenario") && manifest.contains("version");
}

}  // namespace

/// The folder; UsageError where it is none of ours.
static const fs::path& checked(const fs::path& folder, RunFolder::Begin begin) {
  if (!fs::is_directory(folder) || !stores_in(folder).empty()) return folder;
  const std::string results = result_file_in(folder);
  const bool overwrites = begin == RunFolder::Begin::anew;
  if (!results.empty() && (!overwrites || !has_manifest(folder)))
    throw UsageError(folder.string() + ": holds " + results +
                     (has_manifest(folder)
                          ? ", and not the store of its runs; use --force to make all again"
                          : ", which is not of a run") +
                     ", or --out DIR for another folder");
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().filename();
    if (overwrites || name == ".unfinished") continue;
    throw UsageError(folder.string() + ": is no output folder of gradrace (" + name.string() +
                     " is there); use --out DIR for a new or empty one, or --force to use it all "
                     "the same, which leaves other files alone");
  }
  return folder;
}

std::vector<fs::path> stores_in(const fs::path& folder) {
  std::vector<fs::path> stores;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (is_store(entry.path().filename())) stores.push_back(entry.path());
  std::ranges::sort(stores);
  return stores;
}

std::string header_of(const Scenario& scenario, const std::vector<std::string>& data,
                      const std::optional<Shard>& shard, std::size_t runs) {
  Json header{
      {"results", results_version}, {"arithmetic", arithmetic_of(scenario)}, {"data", data}};
  if (shard) header["shard"] = shard->text(), header["runs"] = runs;
  header["file"] = fs::absolute(scenario.file).string();
  header["scenario"] = Json::parse(scenario.resolved);
  header["written"] = Json::parse(scenario.written);
  return header.dump();
}

std::string difference(const std::string& there, const std::string& here) {
  const Json one = Json::parse(there, nullptr, false), other = Json::parse(here);
  if (!one.is_object()) return "the store does not say whose runs it has";
  if (one["results"] != other["results"])
    return "this version of gradrace gives other results (number " + one["results"].dump() +
           " there, " + other["results"].dump() + " here)";
  const bool same_as_written = difference_of(one["written"], other["written"]).empty();
  const std::string differs =
      same_as_written ? "" : difference_of(one["scenario"], other["scenario"]);
  if (!differs.empty()) return differs;
  if (one["arithmetic"] != other["arithmetic"])
    return "computed with " + one["arithmetic"].dump() + ", here with " +
           other["arithmetic"].dump();
  return {};
}

static void refuse_other_runs(const RunStore& store, const std::string& header) {
  if (store.header().empty()) return;
  const std::string differs = difference(store.header(), header);
  if (differs.empty()) return;
  throw UsageError(store.file().string() + ": has runs of another scenario: " + differs +
                   "; use --out DIR for another folder, or --force to begin anew");
}

void refuse_other_runs(const fs::path& folder, const Scenario& scenario) {
  const std::string header = header_of(scenario, {}, {}, 0);
  for (const auto& file : stores_in(checked(folder, RunFolder::Begin::new_or_go_on)))
    refuse_other_runs(RunStore(file, RunStore::Use::read), header);
}

std::set<RunKey> keys_in(const fs::path& folder) {
  std::set<RunKey> keys;
  for (const auto& file : stores_in(folder)) {
    const RunStore store(file, RunStore::Use::read);
    for (const StoredRun& run : store.runs()) keys.insert(run.key);
  }
  return keys;
}

RunFolder::RunFolder(const fs::path& folder, const Scenario& scenario, std::optional<Shard> shard,
                     std::vector<std::size_t> runs, Begin begin)
    : scenario_(scenario),
      shard_(shard),
      runs_(std::move(runs)),
      files_(checked(folder, begin), shard ? shard->file_name() : "") {
  std::set<std::string> data;
  for (const Point& point : scenario.points) {
    data_.emplace_back(data_of(point));
    for (auto& hash : point.data_hashes()) data.insert(std::move(hash));
  }
  header_ = header_of(scenario, {data.begin(), data.end()}, shard, runs_.size());
  index_runs();
  if (begin == Begin::anew) remove_stores();
  open_stores(begin);
}

RunFolder::RunFolder(const fs::path& folder, const Scenario& scenario, std::string header)
    : scenario_(scenario),
      runs_(all_runs(scenario)),
      data_(scenario.points.size()),
      header_(std::move(header)),
      files_(checked(folder, Begin::new_or_go_on)) {
  index_runs();
  open_stores(Begin::new_or_go_on);
}

void RunFolder::index_runs() {
  for (const Point& point : scenario_.points)
    for (std::uint32_t replica = 0; replica < scenario_.first().replicas; ++replica)
      by_key_.emplace_back(run_key(point.key, replica), by_key_.size());
  places_.resize(by_key_.size());
  std::ranges::sort(by_key_);
}

/// Of the scenario.
std::span<const std::pair<RunKey, std::size_t>> RunFolder::runs_with(const RunKey& key) const {
  return std::ranges::equal_range(by_key_, key, {}, [](const auto& entry) { return entry.first; });
}

RunFolder::~RunFolder() {
  const bool is_empty = !was_used_ && own_->runs().empty();
  own_.reset();
  std::error_code ignored;
  if (is_empty) fs::remove(own_file(), ignored);
}

fs::path RunFolder::own_file() const { return path() / store_name(shard_); }

void RunFolder::remove_stores() {
  for (const auto& file : stores_in(path()))
    if (!shard_ || file == own_file()) fs::remove(file);
}

void RunFolder::open_stores(Begin begin) {
  for (const auto& file : stores_in(path())) {
    if (file == own_file()) continue;
    take_up(*others_.emplace_back(std::make_unique<RunStore>(file, RunStore::Use::read)));
  }
  const bool is_new = !fs::exists(own_file());
  own_ = std::make_unique<RunStore>(own_file(), RunStore::Use::add);
  try {
    take_up(*own_);
    if (begin == Begin::go_on && std::ranges::none_of(places_, &Place::store))
      throw UsageError(path().string() + ": there is nothing to go on with; leave --resume out");
    if (own_->header() != header_) own_->add_header(header_);
  } catch (...) {
    own_.reset();
    if (is_new) fs::remove(own_file());
    throw;
  }
}

void RunFolder::take_up(const RunStore& store) {
  refuse_other_runs(store, header_);
  const std::string name = store.file().string();
  if (store.damaged() > 0)
    notes_.push_back(name + ": " + count_text(store.damaged(), "damaged record") + " left out");
  for (const StoredRun& run : store.runs()) set({&store, run});
}

bool RunFolder::set(const Place& place) {
  bool is_new = false;
  for (const auto& [key, run] : runs_with(place.run.key)) {
    std::optional<std::uint64_t>& data = data_[run / scenario_.first().replicas];
    if (!data) data = place.run.data;
    if (place.run.data != data)
      throw UsageError(place.store->file().string() +
                       ": has runs of other data of the same name; use --out DIR for another "
                       "folder, or --force to start anew");
    if (places_[run].store) continue;
    places_[run] = place;
    is_new = true;
  }
  return is_new;
}

std::vector<std::size_t> RunFolder::missing() const {
  std::vector<std::size_t> missing;
  std::set<RunKey> seen;
  const std::uint32_t replicas = scenario_.first().replicas;
  for (const std::size_t run : runs_) {
    if (has(run)) continue;
    const RunKey key = run_key(scenario_.points[run / replicas].key, run % replicas);
    if (seen.insert(key).second) missing.push_back(run);
  }
  return missing;
}

void RunFolder::add(std::size_t run, const RunResult& result, const RunTexts& texts) {
  const std::uint32_t replicas = scenario_.first().replicas;
  const std::size_t point = run / replicas;
  const RunKey key = run_key(scenario_.points[point].key, run % replicas);
  const StoredRun stored = own_->add(key, *data_[point], bytes_of(result), texts);
  const std::lock_guard lock(mutex_);
  was_used_ = true;
  set({own_.get(), stored});
}

bool RunFolder::add(const RunStore& from, const StoredRun& run) {
  if (!set({&from, run})) return false;
  const StoredRun stored = own_->add(from, run);
  for (Place& place : places_)
    if (place.store == &from && place.run.key == run.key) place = {own_.get(), stored};
  was_used_ = true;
  return true;
}

void RunFolder::put_in_order() {
  std::vector<Place> ordered;
  std::set<RunKey> published;
  for (const Place& place : places_)
    if (published.insert(place.run.key).second) ordered.push_back(place);
  std::map<RunKey, Place> rest;
  const auto note_rest = [&](const RunStore& store) {
    for (const StoredRun& run : store.runs())
      if (!published.contains(run.key)) rest.try_emplace(run.key, Place{&store, run});
  };
  note_rest(*own_);
  for (const auto& store : others_) note_rest(*store);
  for (const auto& [key, place] : rest) ordered.push_back(place);
  if (is_all_of(*own_, ordered)) return;

  const fs::path aside = files_.aside() / store_name({});
  fs::remove(aside);
  {
    RunStore store(aside, RunStore::Use::add);
    store.add_header(header_);
    for (const Place& place : ordered) store.add(*place.store, place.run);
    store.sync();
  }
  fs::rename(aside, own_file());
  for (const auto& store : others_) fs::remove(store->file());
  others_.clear();
  std::ranges::fill(places_, Place{});
  open_stores(Begin::go_on);
}

/// Whether the store is that header and these runs, one after the other, and nothing else.
bool RunFolder::is_all_of(const RunStore& store, const std::vector<Place>& ordered) const {
  std::uint64_t end = RunStore::record_size(header_.size());
  for (const Place& place : ordered) {
    if (place.store != &store || place.run.content != RunStore::content_of_record_at(end))
      return false;
    end += RunStore::record_size(place.run.length);
  }
  return end == store.end();
}

bool RunFolder::contradicts(const RunStore& from, const StoredRun& run) const {
  return std::ranges::any_of(runs_with(run.key), [&](const auto& entry) {
    const Place& place = places_[entry.second];
    return place.store != nullptr && place.store->result(place.run) != from.result(run);
  });
}

std::vector<std::string> RunFolder::data() const { return Json::parse(header_)["data"]; }
std::string RunFolder::arithmetic() const { return Json::parse(header_)["arithmetic"]; }

RunResult RunFolder::result(std::size_t run) const {
  const Place& place = places_[run];
  return result_from(place.store->result(place.run));
}

void RunFolder::read_texts(std::size_t run, const RunStore::Take& take) const {
  const Place& place = places_[run];
  place.store->read_texts(place.run, take);
}

}  // namespace gradrace
