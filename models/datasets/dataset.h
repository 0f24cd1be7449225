#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/datasets/grouped_rows.h"
#include "models/datasets/image_shape.h"
#include "models/datasets/listed_numbers.h"
#include "models/datasets/made_once.h"
#include "models/datasets/partition.h"
#include "models/datasets/sparse_rows.h"
#include "sim/catalog.h"
#include "sim/reading/locator.h"
#include "sim/reading/packed_file.h"

namespace gradrace {

/// Rows of one split: features, and a class or a target.  Small integers stay bytes; what is not is
/// float, and listed where all numbers would be too many.
struct Rows {
  std::size_t count = 0;
  Bytes bytes;                        // [count, features], or empty
  std::vector<float> floats;          // [count, features], or empty
  std::vector<std::uint8_t> classes;  // [count], or empty
  std::vector<float> targets = {};    // [count], or empty
  ListedNumbers listed = {};          // of count rows, or empty
};

/// A task of classification or regression, immutable and shared by every run that uses it.
struct Dataset {
  std::size_t features = 0;
  std::size_t classes = 0;  // 0: the rows have targets
  float byte_scale = 1;     // a feature is its byte times this
  std::optional<ImageShape> image = {};
  Rows train, test;
  double parts = 1;                     // as many times the rows it stands for
  std::string hash;                     // of the content, hexadecimal
  std::vector<std::string> notes = {};  // what a user of the data should know
  MadeOnce<SparseRows> sparse = {};     // sparse_rows()
  MadeOnce<GroupPlaces> places = {};    // group_places()
  MadeOnce<GroupedRows> grouped = {};   // grouped_rows()
};

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

  /// The data set of that name, made by `load` at the first call; std::bad_alloc where it does not
  /// fit into memory.  Safe from several threads.
  std::shared_ptr<const Dataset> get(const std::string& name, const std::function<Dataset()>& load);

 private:
  Locator locator_;
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

/// Reads the key `path` of a data set that is a folder of files, complains where it is not there,
/// and leaves the reading to `load`.  `name`: of the data set among those of the folder.
/// `usual_path`: without the key; empty: it must be there.
LoadDataset read_dataset_folder(
    Fields& fields, DataShelf& shelf, const std::string& name, std::string_view meaning,
    const std::function<Dataset(const std::filesystem::path& folder)>& load,
    const std::string& usual_path = {});

}  // namespace gradrace
