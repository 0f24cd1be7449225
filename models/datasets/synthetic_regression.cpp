#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "models/datasets/shelf.h"
#include "sim/random.h"
#include "sim/reading/reference.h"

namespace gradrace {
namespace {

constexpr Page page{
    "synthetic-regression",
    "Targets that are linear but for noise: y = v . x + N(0, noise^2), with x ~ N(0, I) and v ~ "
    "N(0, I / features), so that v . x has a variance near 1.  Made from a seed of its own, so "
    "that all runs of a scenario share it.",
    "Linear model with Gaussian noise; Hastie, Tibshirani, Friedman, The Elements of Statistical "
    "Learning, sec. 3.2",
    R"({"kind": "synthetic-regression", "features": 32, "noise": 0.1})"};

struct Config {
  std::uint64_t seed = 1;
  std::uint32_t rows = 4000, test_rows = 2000, features = 32;
  double noise = 0.1;
};

void visit(Fields& fields, Config& config) {
  fields.integer("seed", config.seed, Need::defaulted, at_least(0), "of the data alone");
  fields.integer("rows", config.rows, Need::defaulted, between(1, 1e8), "training rows");
  fields.integer("test_rows", config.test_rows, Need::defaulted, between(1, 1e8), "test rows");
  fields.integer("features", config.features, Need::defaulted, between(1, 1e6), "numbers in a row");
  fields.real("noise", config.noise, Need::defaulted, between(0, 1e30), "standard deviation");
}

/// What the draw of a stream of Purpose::dataset stands for; its learner is the row.
enum class Part : std::uint32_t { slopes, train, test };

/// Normals of one stream, one after the other.
class Normals {
 public:
  Normals(std::uint64_t seed, Part part, std::uint32_t row)
      : words_(stream({seed, 0, Purpose::dataset, row, static_cast<std::uint32_t>(part)})) {}
  double next(double sd) { return sd * normal_(words_); }

 private:
  Stream words_;
  boost::random::normal_distribution<double> normal_;
};

Rows make_rows(const Config& config, const std::vector<double>& slopes, std::uint32_t count,
               Part part) {
  Rows rows;
  rows.count = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    Normals normals(config.seed, part, i);
    double y = 0;
    for (const double slope : slopes) {
      rows.floats.push_back(static_cast<float>(normals.next(1)));
      y += slope * static_cast<double>(rows.floats.back());
    }
    rows.targets.push_back(static_cast<float>(y + normals.next(config.noise)));
  }
  return rows;
}

Dataset make(const Config& config) {
  std::vector<double> slopes(config.features);
  Normals normals(config.seed, Part::slopes, 0);
  for (double& slope : slopes) slope = normals.next(1 / std::sqrt(config.features));
  Dataset dataset;
  dataset.features = config.features;
  dataset.train = make_rows(config, slopes, config.rows, Part::train);
  dataset.test = make_rows(config, slopes, config.test_rows, Part::test);
  return dataset;
}

std::string name(const Config& config) {
  std::string result = "synthetic-regression " + json_number(config.noise);
  for (const std::uint64_t number :
       {config.seed, std::uint64_t{config.rows}, std::uint64_t{config.test_rows},
        std::uint64_t{config.features}})
    result += " " + std::to_string(number);
  return result;
}

double bytes_of(const Config& config) {
  const double rows = static_cast<double>(config.rows) + static_cast<double>(config.test_rows);
  return rows * (sizeof(float) * (static_cast<double>(config.features) + 1));
}

}  // namespace

extern const DatasetEntry synthetic_regression_entry{page, read_made<Config>};

}  // namespace gradrace
