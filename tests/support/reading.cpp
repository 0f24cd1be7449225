#include "tests/support/reading.h"

#include <utility>

#include "sim/reading/reader.h"

namespace gradrace {

template <class Product>
static ReadJson<Product> read_one(const std::string& json,
                                  const Catalog<Product, DataShelf&>& catalog, DataShelf& shelf) {
  const Document document = Document::parse("{\"it\": " + json + "}", "test");
  Reader reader(document, shelf.locator());
  ReadJson<Product> reading;
  read_kind<Product, DataShelf&>(reader, "it", catalog, reading.product, Need::required, "", shelf);
  for (const Problem& problem : reader.finish()) reading.problems += problem.text() + "\n";
  return reading;
}

ReadJson<ModelProduct> read_model(const std::string& json, DataShelf& shelf) {
  return read_one(json, model_catalog(), shelf);
}

ReadJson<DatasetProduct> read_partitioned(const std::string& json, DataShelf& shelf) {
  return read_one(json, dataset_catalog(), shelf);
}

ReadJson<LoadDataset> read_dataset(const std::string& json, DataShelf& shelf) {
  auto reading = read_partitioned(json, shelf);
  return {std::move(reading.product.load), std::move(reading.problems)};
}

}  // namespace gradrace
