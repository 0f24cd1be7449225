#pragma once

#include <string>

#include "models/datasets/shelf.h"
#include "models/model/model.h"

namespace gradrace {

/// What became of the JSON of one model or data set; `problems` holds the texts of all complaints.
template <class Product>
struct ReadJson {
  Product product;
  std::string problems;
};

ReadJson<ModelProduct> read_model(const std::string& json, DataShelf& shelf);
ReadJson<DatasetProduct> read_partitioned(const std::string& json, DataShelf& shelf);
/// Without its partition.
ReadJson<LoadDataset> read_dataset(const std::string& json, DataShelf& shelf);

}  // namespace gradrace
