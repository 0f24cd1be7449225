#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "models/datasets/dataset.h"
#include "models/datasets/partition.h"
#include "sim/catalog.h"
#include "sim/python/python_class.h"
#include "sim/reading/locator.h"

namespace gradrace {

/// A folder or a file of a data set is not there.
class MissingData : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Keeps data: where they are found, whose they are, and what has been read already.
class DataShelf {
 public:
  DataShelf(std::filesystem::path scenario_folder, std::filesystem::path data_folder)
      : locator_(std::move(scenario_folder), std::move(data_folder)) {}

  /// For the reader of the scenario.
  const Locator& locator() const { return locator_; }

  /// Without need (a timing-only run), a place that is not there is no error until its data are
  /// read.
  void need_data(bool need) { data_needed_ = need; }
  /// Whether a run reads them.
  bool data_used() const { return data_needed_ && !unused_; }
  bool data_needed() const { return data_needed_ && !missing_tolerated_; }

  /// That the scenario names.
  PythonFiles& python() { return python_; }

  /// Whom a training set is dealt out to where there is a partition.
  void share_among(const Sharers& sharers) { sharers_ = sharers; }
  const Sharers& sharers() const { return sharers_; }

  /// With how many threads data may be read; one unless this is said.
  void use_threads(std::size_t threads) { threads_ = threads; }
  std::size_t threads() const { return threads_; }

  /// Then a place that is not there is never an error until its data are read.
  void tolerate_missing() { missing_tolerated_ = true; }
  /// Then no run reads them, whatever the scenario needs.
  void leave_unused() { unused_ = missing_tolerated_ = true; }
  /// Places that the scenario needs and that are not there.
  const std::set<MissingPlace>& missing() const { return missing_; }
  void note_missing(const MissingPlace& place) {
    if (data_needed_) missing_.insert(place);
  }

  /// Then of data that are made only so many numbers are, for what is timed and not run.
  void make_parts(double numbers) { most_made_ = numbers; }
  /// Of how many times the rows a part is made, of data of so many numbers.
  double parts_to_make(double numbers) const { return std::max(1.0, numbers / most_made_); }
  /// Seconds that the rest of such data would have taken.
  double seconds_left_out() const { return seconds_left_out_; }

  /// What a user of the data that were read should know, a sentence each.  Safe from several
  /// threads.
  std::set<std::string> notes() const;
  void note(const std::string& sentence);

  /// The data set of that name, made by `load` at the first call; std::runtime_error where it
  /// does not fit into memory.  Safe from several threads.
  std::shared_ptr<const Dataset> get(const std::string& name, const std::function<Dataset()>& load);

 private:
  Locator locator_;
  PythonFiles python_;
  Sharers sharers_;
  std::size_t threads_ = 1;
  double most_made_ = std::numeric_limits<double>::infinity();
  double seconds_left_out_ = 0;
  bool data_needed_ = true, missing_tolerated_ = false, unused_ = false;
  std::set<MissingPlace> missing_;
  mutable std::mutex mutex_;
  std::set<std::string> notes_;
  std::map<std::string, std::shared_ptr<const Dataset>> shelf_;
  std::set<std::string> too_large_;  // for memory
};

/// Reads or makes the data set when it is first needed.
using LoadDataset = std::function<std::shared_ptr<const Dataset>()>;

/// What a scenario says of its data.
struct DatasetProduct {
  LoadDataset load;
  LoadShards shards;  // empty: every learner draws from all rows
  double bytes = 0;   // of its rows, of data that are made; 0: known once they are read
};

using DatasetEntry = Entry<DatasetProduct, DataShelf&>;
using DatasetCatalog = Catalog<DatasetProduct, DataShelf&>;

const DatasetCatalog& dataset_catalog();

/// Reads the key `partition` of the open object; every data set has it.  Complains where it cannot
/// be made of data that are used, and reads these for it.
LoadShards read_shards(Fields& fields, const DataShelf& shelf, const LoadDataset& load);

/// The `read` of a data set's entry: what the kind reads, then the partition.
template <LoadDataset (*read)(Fields&, DataShelf&)>
DatasetProduct partitioned(Fields& fields, DataShelf& shelf) {
  const LoadDataset load = read(fields, shelf);
  return {load, read_shards(fields, shelf, load)};
}

/// Data that are made, or a part of their rows where the shelf has no more made.
template <class Config>
Dataset make_part(Config config, const DataShelf& shelf) {
  const double rows = static_cast<double>(config.rows) + static_cast<double>(config.test_rows);
  const double parts = shelf.parts_to_make(rows * static_cast<double>(config.features));
  for (auto* const count : {&config.rows, &config.test_rows})
    *count = static_cast<std::uint32_t>(std::ceil(static_cast<double>(*count) / parts));
  Dataset dataset = make(config);
  dataset.parts = rows / (static_cast<double>(config.rows) + static_cast<double>(config.test_rows));
  return dataset;
}

/// The `read` of a data set that is made as its visit(fields, config) says, once for each
/// name(config), by make(config), of so many bytes_of(config).
template <class Config>
DatasetProduct read_made(Fields& fields, DataShelf& shelf) {
  Config config;
  visit(fields, config);
  LoadDataset load;
  const bool whole = fields.has("partition");  // which deals out all rows
  if (fields.good()) {
    load = [&shelf, config, whole] {
      return shelf.get(name(config),
                       [&] { return whole ? make(config) : make_part(config, shelf); });
    };
  }
  return {load, read_shards(fields, shelf, load), bytes_of(config)};
}

/// Reads the key `path` of a data set that is a file, or a folder of files, complains where it is
/// not there, and leaves the reading to `load`.  `name`: of the data set among those of the place.
/// `usual_path`: without the key; empty: it must be there.
LoadDataset read_dataset_at(Fields& fields, DataShelf& shelf, const std::string& name,
                            const char* file_or_folder, std::string_view meaning,
                            const std::function<Dataset(const std::filesystem::path& place)>& load,
                            const std::string& usual_path = {});

/// The folder, or the one in it that has such a file where it has none, as archives unpack to
/// cifar-10-batches-bin and torchvision to MNIST/raw.
std::filesystem::path folder_with(const std::filesystem::path& folder,
                                  const std::function<bool(const std::string& name)>& is_its);

/// Of a file of data that is not as it should be: std::runtime_error.
[[noreturn]] void defect(const std::filesystem::path& file, const std::string& what);

}  // namespace gradrace
