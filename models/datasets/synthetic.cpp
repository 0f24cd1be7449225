#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/datasets/shelf.h"
#include "sim/random.h"

namespace gradrace {
namespace {

constexpr Page page{
    "synthetic",
    "Gaussian clusters, one for each class: x = mean of its class + N(0, I), row i has class i mod "
    "classes.  The means are N(0, s^2 / (2 features) I), so that the root-mean-square distance of "
    "two of them is s = separation, in standard deviations of the noise.  Made from a seed of its "
    "own, so that all runs of a scenario share it.",
    "Gaussian mixture with equal covariances; Hastie, Tibshirani, Friedman, The Elements of "
    "Statistical Learning, sec. 4.3",
    R"({"kind": "synthetic", "rows": 4000, "classes": 10})"};

struct Config {
  std::uint64_t seed = 1;
  std::uint32_t rows = 4000, test_rows = 2000;
  std::uint32_t features = 32, classes = 10;
  std::optional<std::uint64_t> height, width;
  double separation = 4.5;
};

void visit(Fields& fields, Config& config) {
  fields.integer("seed", config.seed, Need::defaulted, at_least(0), "of the data alone");
  fields.integer("rows", config.rows, Need::defaulted, between(1, 1e8), "training rows");
  fields.integer("test_rows", config.test_rows, Need::defaulted, between(1, 1e8), "test rows");
  fields.integer("features", config.features, Need::defaulted, between(1, 1e6), "numbers in a row");
  fields.integer("height", config.height, at_least(1), "of images that the features are taken for");
  fields.integer("width", config.width, at_least(1), "of those images");
  fields.integer("classes", config.classes, Need::defaulted, between(2, 256), "clusters");
  fields.real("separation", config.separation, Need::defaulted, between(0, 1e30),
              "root-mean-square distance of two class means");
  if (fields.has("height") != fields.has("width"))
    fields.complain(fields.has("height") ? "height" : "width",
                    "needs the other length of the images", "height and width, or none of them");
  if (!fields.good()) return;
  if (config.height && (*config.height > config.features || *config.width > config.features ||
                        config.features % (*config.height * *config.width) != 0))
    fields.complain("features", "must be a multiple of height x width");
}

/// What the draw of a stream of Purpose::dataset stands for; its learner is the class or the row.
enum class Part : std::uint32_t { mean, train, test };

/// Adds N(0, sd^2) to each of the numbers.
void add_normals(std::span<float> numbers, double sd, std::uint64_t seed, Part part,
                 std::uint32_t index) {
  Stream words = stream({seed, 0, Purpose::dataset, index, static_cast<std::uint32_t>(part)});
  boost::random::normal_distribution<double> normal(0, sd);
  for (float& x : numbers) x = static_cast<float>(x + normal(words));
}

Rows make_rows(const Config& config, const std::vector<float>& means, std::uint32_t count,
               Part part) {
  const std::size_t d = config.features;
  Rows rows;
  rows.count = count;
  rows.floats.resize(count * d);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t c = i % config.classes;  // NOLINT(*-core.DivideZero): at least 2
    rows.classes.push_back(static_cast<std::uint8_t>(c));
    const std::span<float> row(rows.floats.data() + i * d, d);
    std::copy_n(means.data() + c * d, d, row.data());
    add_normals(row, 1, config.seed, part, i);
  }
  return rows;
}

/// As many channels as there are pixels for; none without height and width.
std::optional<ImageShape> image(const Config& config) {
  if (!config.height) return {};
  return ImageShape{config.features / (*config.height * *config.width), *config.height,
                    *config.width};
}

Dataset make(const Config& config) {
  const std::size_t d = config.features;
  std::vector<float> means(config.classes * d);
  for (std::uint32_t c = 0; c < config.classes; ++c)
    add_normals({means.data() + c * d, d},
                config.separation / std::sqrt(2.0 * static_cast<double>(d)), config.seed,
                Part::mean, c);
  Dataset dataset;
  dataset.features = d;
  dataset.classes = config.classes;
  dataset.image = image(config);
  dataset.train = make_rows(config, means, config.rows, Part::train);
  dataset.test = make_rows(config, means, config.test_rows, Part::test);
  return dataset;
}

std::string name(const Config& config) {
  char separation[32];
  std::snprintf(separation, sizeof separation, "%.17g", config.separation);
  std::string result = "synthetic";
  for (const std::uint64_t number :
       {config.seed, std::uint64_t{config.rows}, std::uint64_t{config.test_rows},
        std::uint64_t{config.features}, std::uint64_t{config.classes}})
    result += " " + std::to_string(number);
  if (config.height)
    result += " " + std::to_string(*config.height) + "x" + std::to_string(*config.width);
  return result + " " + separation;
}

double bytes_of(const Config& config) {
  const double rows = static_cast<double>(config.rows) + static_cast<double>(config.test_rows);
  return rows * (sizeof(float) * static_cast<double>(config.features) + 1);
}

}  // namespace

extern const DatasetEntry synthetic_entry{page, read_made<Config>};

}  // namespace gradrace
