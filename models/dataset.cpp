#include "models/dataset.h"

#include <limits>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "sim/check.h"
#include "sim/hash.h"

namespace gradrace {

namespace fs = std::filesystem;

static std::vector<fs::path> candidates(const fs::path& scenario_folder,
                                        const fs::path& data_folder, const std::string& path) {
  if (path.empty()) return {};
  std::vector<fs::path> result{fs::absolute(scenario_folder / path).lexically_normal()};
  fs::path last = fs::path(path).lexically_normal();
  if (!last.has_filename()) last = last.parent_path();
  last = last.filename();
  if (!data_folder.empty() && !last.empty() && last != "..")
    result.push_back(fs::absolute(data_folder / last).lexically_normal());
  return result;
}

DataShelf::DataShelf(fs::path scenario_folder, fs::path data_folder)
    : scenario_folder_(std::move(scenario_folder)), data_folder_(std::move(data_folder)) {}

fs::path DataShelf::find(const std::string& path) const {
  for (const auto& place : candidates(scenario_folder_, data_folder_, path)) {
    std::error_code error;
    const fs::path found = fs::canonical(place, error);
    if (!error) return found;
  }
  return {};
}

std::string DataShelf::places(const std::string& path) const {
  std::string result;
  for (const auto& place : candidates(scenario_folder_, data_folder_, path))
    result += (result.empty() ? "" : ", ") + place.string();
  return result;
}

namespace {

void add_bytes(Hash& hash, std::span<const std::uint8_t> bytes) {
  for (const std::uint8_t byte : bytes) hash.add(byte);
}

/// As 8 bytes, the lowest first.
void add_number(Hash& hash, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) hash.add(static_cast<std::uint8_t>(number >> (8 * i)));
}

void add_rows(Hash& hash, const Rows& rows) {
  add_number(hash, rows.count);
  add_bytes(hash, rows.bytes);
  add_bytes(hash, {reinterpret_cast<const std::uint8_t*>(rows.floats.data()),
                   rows.floats.size() * sizeof(float)});
  add_bytes(hash, rows.classes);
}

std::string content_hash(const Dataset& dataset) {
  Hash hash;
  add_number(hash, dataset.features);
  add_number(hash, dataset.classes);
  add_bytes(hash, {reinterpret_cast<const std::uint8_t*>(&dataset.byte_scale), sizeof(float)});
  add_rows(hash, dataset.train);
  add_rows(hash, dataset.test);
  return hash.hex();
}

void check_rows(const Dataset& dataset, const Rows& rows) {
  GRADRACE_CHECK(rows.count > 0 && rows.count <= std::numeric_limits<std::uint32_t>::max(),
                 "a data set has 1 to 2^32 - 1 rows");
  const std::size_t numbers = rows.count * dataset.features;
  GRADRACE_CHECK(rows.classes.size() == rows.count, "each row has a class");
  GRADRACE_CHECK((rows.bytes.size() == numbers && rows.floats.empty()) ||
                     (rows.floats.size() == numbers && rows.bytes.empty()),
                 "features are bytes or floats");
  for (const std::uint8_t c : rows.classes)
    GRADRACE_CHECK(c < dataset.classes, "classes are counted from 0");
}

}  // namespace

std::shared_ptr<const Dataset> DataShelf::get(const std::string& name,
                                              const std::function<Dataset()>& load) {
  const std::lock_guard lock(mutex_);
  auto& slot = shelf_[name];
  if (slot) return slot;
  auto dataset = std::make_shared<Dataset>(load());
  check_rows(*dataset, dataset->train);
  check_rows(*dataset, dataset->test);
  dataset->hash = content_hash(*dataset);
  return slot = std::move(dataset);
}

LoadDataset read_dataset_folder(Fields& fields, DataShelf& shelf, const std::string& kind,
                                std::string_view meaning, Dataset (*load)(const fs::path& folder)) {
  std::string path;
  fields.text("path", path, Need::required, meaning);
  if (!fields.good()) return {};
  const fs::path folder = shelf.find(path);
  if (!fs::is_directory(folder) && shelf.data_needed()) {
    fields.complain("path", "no folder \"" + path + "\"", "looked at " + shelf.places(path));
    return {};
  }
  return [&shelf, kind, path, folder, load] {
    if (folder.empty()) {
      throw std::runtime_error("no folder \"" + path + "\": looked at " + shelf.places(path));
    }
    return shelf.get(kind + " " + folder.string(), [&] { return load(folder); });
  };
}

}  // namespace gradrace
