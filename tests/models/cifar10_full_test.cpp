#include <doctest/doctest.h>

#include <algorithm>

#include "models/cnn.h"
#include "tests/support/model_checks.h"
#include "tests/support/reading.h"

namespace gradrace::cifar10_full_test {

static CnnConfig full(std::shared_ptr<const Dataset> data) {
  auto config = on<CnnConfig>(std::move(data));
  config.net = "cifar10-full";
  config.sampling = "epoch";
  return config;
}

static std::shared_ptr<const Dataset> images(std::size_t channels, std::size_t side) {
  return synthetic(R"("rows": 5, "test_rows": 3, "features": )" +
                   std::to_string(channels * side * side) + R"(, "height": )" +
                   std::to_string(side) + R"(, "width": )" + std::to_string(side));
}

TEST_CASE("cifar10-full: 89,578 parameters, on the scale that Caffe starts them with") {
  const auto model = make_cnn(full(images(3, 32)))->make_float64();
  CHECK(model->parameters() == 89578);
  Vector w(model->parameters(), 7.0);
  model->initialise(1, 0, w);
  check_start_is_named(*model, w);
  const struct {
    std::size_t weights, outputs;
    double sd;
  } layers[] = {{2400, 32, 1e-4}, {25600, 32, 1e-2}, {51200, 64, 1e-2}, {10240, 10, 1e-2}};
  std::size_t at = 0;
  for (const auto& [weights, outputs, sd] : layers) {
    double square = 0;
    for (std::size_t i = 0; i < weights; ++i, ++at) square += w[at] * w[at];
    const double n = static_cast<double>(weights);
    CHECK(std::abs(square / n / (sd * sd) - 1) <= 4 * std::sqrt(2 / n));
    for (std::size_t o = 0; o < outputs; ++o) CHECK(w[at++] == 0);
  }
  CHECK(at == w.size());
}

/// Of channels of images, as the definition has them.
struct Maps {
  std::size_t channels, height, width;
  Vector x;
  double at(std::size_t c, std::size_t i, std::size_t j) const {
    return i < height && j < width ? x[(c * height + i) * width + j] : 0;
  }
};

/// The least size_t stands for -1 and -2, which are outside.
static Maps convolved(const Maps& in, const Vector& w, std::size_t& at, std::size_t outputs) {
  Maps out{outputs, in.height, in.width, {}};
  const std::size_t weights = in.channels * 25;
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t i = 0; i < in.height; ++i)
      for (std::size_t j = 0; j < in.width; ++j) {
        double z = w[at + outputs * weights + o];
        for (std::size_t c = 0; c < in.channels; ++c)
          for (std::size_t k = 0; k < 5; ++k)
            for (std::size_t l = 0; l < 5; ++l)
              z += w[at + o * weights + (c * 5 + k) * 5 + l] * in.at(c, i + k - 2, j + l - 2);
        out.x.push_back(z);
      }
  at += outputs * (weights + 1);
  return out;
}

static Maps pooled(const Maps& in, bool greatest) {
  Maps out{in.channels, in.height / 2, in.width / 2, {}};
  for (std::size_t c = 0; c < in.channels; ++c)
    for (std::size_t i = 0; i < out.height; ++i)
      for (std::size_t j = 0; j < out.width; ++j) {
        double most = -1e300, sum = 0, count = 0;
        for (std::size_t k = 2 * i; k < std::min(2 * i + 3, in.height); ++k)
          for (std::size_t l = 2 * j; l < std::min(2 * j + 3, in.width); ++l)
            most = std::max(most, in.at(c, k, l)), sum += in.at(c, k, l), ++count;
        out.x.push_back(greatest ? most : sum / count);
      }
  return out;
}

static Maps normalised(const Maps& in) {
  Maps out = in;
  for (std::size_t c = 0; c < in.channels; ++c)
    for (std::size_t i = 0; i < in.height; ++i)
      for (std::size_t j = 0; j < in.width; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 3; ++k)
          for (std::size_t l = 0; l < 3; ++l) sum += std::pow(in.at(c, i + k - 1, j + l - 1), 2);
        out.x[(c * in.height + i) * in.width + j] *= std::pow(1 + 5e-5 / 9 * sum, -0.75);
      }
  return out;
}

static Maps positive(Maps maps) {
  for (double& x : maps.x) x = std::max(x, 0.0);
  return maps;
}

static double naive_loss(const Dataset& data, const Vector& w) {
  double loss = 0;
  for (std::size_t row = 0; row < data.train.count; ++row) {
    Maps maps{data.image->channels, data.image->height, data.image->width, {}};
    for (std::size_t j = 0; j < data.features; ++j)
      maps.x.push_back(feature(data, data.train, row, j));
    std::size_t at = 0;
    maps = normalised(positive(pooled(convolved(maps, w, at, 32), true)));
    maps = normalised(pooled(positive(convolved(maps, w, at, 32)), false));
    maps = pooled(positive(convolved(maps, w, at, 64)), false);
    double own = 0, sum = 0;
    const std::size_t d = maps.x.size();
    for (std::size_t c = 0; c < data.classes; ++c) {
      double score = w[at + data.classes * d + c];
      for (std::size_t i = 0; i < d; ++i) score += w[at + c * d + i] * maps.x[i];
      if (c == data.train.classes[row]) own = score;
      sum += std::exp(score);
    }
    CHECK(at + data.classes * (d + 1) == w.size());
    loss += (std::log(sum) - own) / static_cast<double>(data.train.count);
  }
  return loss;
}

TEST_CASE("cifar10-full: the loss is that of the layers in plain loops") {
  for (const auto& [channels, side] : {std::pair<std::size_t, std::size_t>{1, 8}, {2, 11}}) {
    const auto data = images(channels, side);
    const auto model = make_cnn(full(data))->make_float64();
    const Vector w = some_point(model->parameters(), 0.2);
    const double expected = naive_loss(*data, w);
    CHECK(std::abs(evaluate(*model, w).loss / expected - 1) <= 1e-12);
    const std::vector<float> w32(w.begin(), w.end());
    const auto fast = make_cnn(full(data))->make_float32();
    CHECK(std::abs(evaluate(*fast, w32).loss / expected - 1) <= 1e-4);
  }
}

TEST_CASE("cifar10-full: the gradient along many directions against central differences") {
  for (const double scale : {0.02, 0.2}) {
    const auto model = make_cnn(full(images(3, 8)))->make_float64();
    const std::size_t d = model->parameters();
    const Vector w = some_point(d, scale);
    const Vector g = gradient(*model, w, {1, 0, 0, 0, 5});
    // Each layer's parameters have directions of their own.
    const std::size_t ends[] = {0, 2400, 2432, 28032, 28064, 79264, 79328, d - 10, d};
    for (std::size_t part = 0; part + 1 < std::size(ends); ++part) {
      for (const double phase : {2.0, 3.0, 4.0}) {
        Vector direction(d), above(w), below(w);
        const Vector some = some_point(d, 1, phase * 1.3);
        double slope = 0;
        const double h = 1e-6;
        for (std::size_t i = ends[part]; i < ends[part + 1]; ++i) {
          const double v = some[i] * some[i] * some[i];
          above[i] += h * v, below[i] -= h * v;
          slope += g[i] * v;
        }
        const double measured =
            (evaluate(*model, above).loss - evaluate(*model, below).loss) / (2 * h);
        CAPTURE(part);
        CHECK(std::abs(measured - slope) <= 1e-7 * norm(g) + 1e-9);
      }
    }
  }
}

TEST_CASE("cifar10-full: it has none of lenet's keys") {
  DataShelf shelf(".", {});
  const std::string cnn = R"({"kind": "cnn", "dataset": {"kind": "synthetic"}, "net": )";
  CHECK(read_model(cnn + R"("lenet", "kernel": 3})", shelf).problems == "");
  CHECK(read_model(cnn + R"("cifar10-full"})", shelf).problems == "");
  CHECK(read_model(cnn + R"("cifar10-full", "kernel": 3})", shelf)
            .problems.find("it.kernel: unknown key") != std::string::npos);
}

TEST_CASE("cifar10-full: what it cannot look at is refused") {
  CHECK_THROWS_WITH_AS(make_cnn(full(synthetic(R"("rows": 5)")))->make_float32(),
                       "cnn needs images, and the rows of this data set have no height and width; "
                       "allowed: cifar10, digits, idx, mnist, synthetic with height and width",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(make_cnn(full(images(1, 7)))->make_float32(),
                       "pooling 3 wide needs images of 2 x 2 or more, and gets 1 x 1",
                       std::runtime_error);
}

}  // namespace gradrace::cifar10_full_test
