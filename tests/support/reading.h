#pragma once

#include <string>

#include "models/datasets/dataset.h"
#include "models/model.h"

namespace gradrace {

/// What became of the JSON of one model or data set; `problems` holds the texts of all complaints.
template <class Product>
struct Reading {
  Product product;
  std::string problems;
};

Reading<ModelProduct> read_model(const std::string& json, DataShelf& shelf);
Reading<LoadDataset> read_dataset(const std::string& json, DataShelf& shelf);

}  // namespace gradrace
