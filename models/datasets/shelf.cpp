#include "models/datasets/shelf.h"

#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include "sim/check.h"
#include "sim/hash.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

/// Of the bytes of images most are 0: eight of these are one step.
void add_bytes(Hash& hash, std::span<const std::uint8_t> bytes) {
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes.data(), 8);
    if (eight == 0)
      hash.add_eight_zeros();
    else
      for (std::size_t i = 0; i < 8; ++i) hash.add(bytes[i]);
  }
  for (const std::uint8_t byte : bytes) hash.add(byte);
}

/// As 8 bytes, the lowest first.
void add_number(Hash& hash, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) hash.add(static_cast<std::uint8_t>(number >> (8 * i)));
}

void add_floats(Hash& hash, const std::vector<float>& floats) {
  add_bytes(hash,
            {reinterpret_cast<const std::uint8_t*>(floats.data()), floats.size() * sizeof(float)});
}

/// Nothing of rows that are not listed.
void add_listed(Hash& hash, const ListedNumbers& listed) {
  if (listed.empty()) return;
  for (const std::uint64_t begin : listed.begin) add_number(hash, begin);
  for (const std::uint32_t place : listed.places) add_number(hash, place);
  add_floats(hash, listed.x);
}

void add_rows(Hash& hash, const Rows& rows) {
  add_number(hash, rows.count);
  add_bytes(hash, rows.bytes);
  add_floats(hash, rows.floats);
  add_listed(hash, rows.listed);
  add_bytes(hash, rows.classes);
  add_floats(hash, rows.targets);
}

std::string content_hash(const Dataset& dataset) {
  Hash hash;
  add_number(hash, dataset.features);
  add_number(hash, dataset.classes);
  add_bytes(hash, {reinterpret_cast<const std::uint8_t*>(&dataset.byte_scale), sizeof(float)});
  if (dataset.image)
    for (const std::size_t length :
         {dataset.image->channels, dataset.image->height, dataset.image->width})
      add_number(hash, length);
  add_rows(hash, dataset.train);
  add_rows(hash, dataset.test);
  return hash.hex();
}

void check_rows(const Dataset& dataset, const Rows& rows) {
  GRADRACE_CHECK(rows.count > 0 && rows.count <= std::numeric_limits<std::uint32_t>::max(),
                 "a data set has 1 to 2^32 - 1 rows");
  const std::size_t numbers = rows.count * dataset.features;
  const bool classified = dataset.classes > 0;
  GRADRACE_CHECK(rows.classes.size() == (classified ? rows.count : 0) &&
                     rows.targets.size() == (classified ? 0 : rows.count),
                 "each row has a class or each a target");
  const bool none = rows.bytes.empty() && rows.floats.empty();
  GRADRACE_CHECK((rows.bytes.size() == numbers && rows.floats.empty()) ||
                     (rows.floats.size() == numbers && rows.bytes.empty()) ||
                     (rows.listed.rows() == rows.count && none),
                 "features are bytes or floats, or listed");
  for (const std::uint8_t c : rows.classes)
    GRADRACE_CHECK(c < dataset.classes, "classes are counted from 0");
}

void check(const Dataset& dataset) {
  check_rows(dataset, dataset.train);
  check_rows(dataset, dataset.test);
  const auto& image = dataset.image;
  GRADRACE_CHECK(!image || image->numbers() == dataset.features,
                 "an image has as many numbers as a row");
}

/// A class of which there is no row to learn from.
std::string note_of_classes(const std::string& name, const Dataset& dataset) {
  std::vector<bool> has_rows(dataset.classes);
  for (const std::uint8_t c : dataset.train.classes) has_rows[c] = true;
  std::string lacking;
  for (std::size_t c = 0; c < dataset.classes; ++c)
    if (!has_rows[c]) lacking += (lacking.empty() ? "" : ", ") + std::to_string(c);
  if (lacking.empty()) return {};
  return "data set " + name + ": no training row is of class " + lacking + ", of " +
         std::to_string(dataset.classes) + " that the model tells apart";
}

/// Made at the first call.
class LazyShards {
 public:
  std::shared_ptr<const Shards> get(const Partition& partition, const LoadDataset& load,
                                    const Sharers& sharers) {
    const std::lock_guard lock(mutex_);
    if (shards_) return shards_;
    const auto data = load();
    GRADRACE_CHECK(!partition.fault(*data, sharers), "what is dealt out was looked at when read");
    return shards_ = std::make_shared<Shards>(partition.divide(*data, sharers));
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Shards> shards_;
};

/// Whether the partition can be made of the data, where these are to be had; of those that cannot
/// be read the run says what is wrong with them.
void check_shards(Fields& fields, const Partition& partition, const DataShelf& shelf,
                  const LoadDataset& load) {
  std::shared_ptr<const Dataset> data;
  try {
    data = load();
  } catch (const std::runtime_error&) {
    return;
  }
  if (const auto fault = partition.fault(*data, shelf.sharers()))
    fields.complain("partition", fault->what, fault->allowed);
}

}  // namespace

std::set<std::string> DataShelf::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

void DataShelf::note(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  notes_.insert(sentence);
}

std::shared_ptr<const Dataset> DataShelf::get(const std::string& name,
                                              const std::function<Dataset()>& load) {
  const std::lock_guard lock(mutex_);
  const auto refuse = [&]() -> std::shared_ptr<const Dataset> {
    throw std::runtime_error("data set that does not fit into memory: " + name);
  };
  if (too_large_.contains(name)) return refuse();
  auto& slot = shelf_[name];
  if (slot) return slot;
  try {
    const auto begin = std::chrono::steady_clock::now();
    auto dataset = std::make_shared<Dataset>(load());
    check(*dataset);
    dataset->hash = content_hash(*dataset);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    seconds_left_out_ += (dataset->parts - 1) * taken.count();
    notes_.insert(dataset->notes.begin(), dataset->notes.end());
    if (auto note = note_of_classes(name, *dataset); !note.empty()) notes_.insert(std::move(note));
    return slot = std::move(dataset);
  } catch (const std::bad_alloc&) {
    too_large_.insert(name);
    return refuse();
  }
}

LoadDataset read_dataset_at(Fields& fields, DataShelf& shelf, const std::string& name,
                            const char* file_or_folder, std::string_view meaning,
                            const std::function<Dataset(const fs::path& place)>& load,
                            const std::string& usual_path) {
  Location location{.name = usual_path, .found = {}, .looked_at = {}};
  fields.path("path", location, usual_path.empty() ? Need::required : Need::defaulted, meaning);
  if (location.name.empty() && !fields.good()) return {};
  const bool is_folder = std::string_view(file_or_folder) == "folder";
  const MissingPlace missing{file_or_folder, location.name, location.looked_at};
  const bool is_there =
      is_folder ? fs::is_directory(location.found) : fs::is_regular_file(location.found);
  if (is_folder && !is_there && fs::exists(location.found)) {
    fields.complain(
        "path", "is a file, and the data set is a folder of files, got \"" + location.name + "\"",
        location.found.extension() == ".npz" ? "kind npz for a file of arrays"
                                             : std::string(meaning));
    return {};
  }
  if (!is_there) shelf.note_missing(missing);
  if (!is_there && shelf.data_needed()) fields.lacks("path", missing);
  if (!fields.good()) return {};
  return [&shelf, name, place = location.found, missing, load] {
    if (place.empty()) throw MissingData(missing.text());
    return shelf.get(name + " " + place.string(), [&] { return load(place); });
  };
}

fs::path folder_with(const fs::path& folder,
                     const std::function<bool(const std::string& name)>& is_its) {
  std::error_code ignored;
  const auto has = [&](const fs::path& place) {
    return std::ranges::any_of(fs::directory_iterator(place, ignored), [&](const auto& entry) {
      return is_its(entry.path().filename().string());
    });
  };
  if (has(folder)) return folder;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && has(entry.path())) found.push_back(entry.path());
  }
  return found.size() == 1 ? found.front() : folder;
}

void defect(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

LoadShards read_shards(Fields& fields, const DataShelf& shelf, const LoadDataset& load) {
  PartitionProduct partition;
  read_kind(fields, "partition", partition_catalog(), partition, Need::defaulted,
            "which rows of the training set each learner draws its minibatches from");
  if (!partition) return {};
  if (load && shelf.data_used()) check_shards(fields, *partition, shelf, load);
  return [partition, load, sharers = shelf.sharers(), lazy = std::make_shared<LazyShards>()] {
    return lazy->get(*partition, load, sharers);
  };
}

}  // namespace gradrace
