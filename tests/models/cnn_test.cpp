#include "models/cnn.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/mlp.h"
#include "tests/support/model_checks.h"

namespace gradrace::cnn_test {

static CnnConfig net(std::shared_ptr<const Dataset> data, std::vector<std::uint64_t> channels,
                     std::uint32_t kernel, std::vector<std::uint64_t> dense,
                     const std::string& activation = "relu") {
  auto config = on<CnnConfig>(std::move(data));
  config.channels = std::move(channels);
  config.kernel = kernel;
  config.dense = std::move(dense);
  config.activation = activation;
  return config;
}

/// Images [channels, height, width].
struct Images {
  std::size_t channels, height, width;
  Vector x;
  double at(std::size_t c, std::size_t i, std::size_t j) const {
    return x[(c * height + i) * width + j];
  }
};

/// The definition in plain loops: a convolution, pooling, b and f at the parameters `at`, moved on.
static Images convolved(const Images& in, const Vector& w, std::size_t& at, std::size_t outputs,
                        std::size_t kernel, bool relu) {
  Images out{outputs, (in.height - kernel + 1) / 2, (in.width - kernel + 1) / 2, {}};
  const std::size_t weights = in.channels * kernel * kernel;
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < out.height; ++i) {
      for (std::size_t j = 0; j < out.width; ++j) {
        double greatest = -1e300;
        for (const std::size_t z_i : {2 * i, 2 * i + 1}) {
          for (const std::size_t z_j : {2 * j, 2 * j + 1}) {
            double z = 0;
            for (std::size_t c = 0; c < in.channels; ++c)
              for (std::size_t k = 0; k < kernel; ++k)
                for (std::size_t l = 0; l < kernel; ++l)
                  z += w[at + o * weights + (c * kernel + k) * kernel + l] *
                       in.at(c, z_i + k, z_j + l);
            greatest = std::max(greatest, z);
          }
        }
        const double y = greatest + w[at + outputs * weights + o];
        out.x.push_back(relu ? std::max(y, 0.0) : std::tanh(y));
      }
    }
  }
  at += outputs * (weights + 1);
  return out;
}

static Vector dense(const Vector& in, const Vector& w, std::size_t& at, std::size_t outputs) {
  Vector out(outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    out[o] = w[at + outputs * in.size() + o];
    for (std::size_t i = 0; i < in.size(); ++i) out[o] += w[at + o * in.size() + i] * in[i];
  }
  at += outputs * (in.size() + 1);
  return out;
}

/// The mean loss over the training rows.
static double naive_loss(const Dataset& data, const CnnConfig& config, const Vector& w) {
  double loss = 0;
  const bool relu = config.activation == "relu";
  for (std::size_t row = 0; row < data.train.count; ++row) {
    Images images{data.image->channels, data.image->height, data.image->width, {}};
    for (std::size_t j = 0; j < data.features; ++j)
      images.x.push_back(feature(data, data.train, row, j));
    std::size_t at = 0;
    for (const std::uint64_t channels : config.channels)
      images = convolved(images, w, at, channels, config.kernel, relu);
    Vector y = images.x;
    for (const std::uint64_t width : config.dense) {
      y = dense(y, w, at, width);
      for (double& v : y) v = relu ? std::max(v, 0.0) : std::tanh(v);
    }
    y = dense(y, w, at, data.classes);
    CHECK(at == w.size());
    double sum = 0;
    for (const double s : y) sum += std::exp(s);
    loss += (std::log(sum) - y[data.train.classes[row]]) / static_cast<double>(data.train.count);
  }
  return loss;
}

TEST_CASE("cnn: the loss is that of a convolution in plain loops") {
  const struct {
    const char* images;
    std::vector<std::uint64_t> channels;
    std::uint32_t kernel;
    std::vector<std::uint64_t> dense;
  } cases[] = {
      {R"("features": 144, "height": 12, "width": 12)", {4, 8}, 3, {10}},
      {R"("features": 99, "height": 11, "width": 9)", {3}, 4, {}},       // 8 x 6
      {R"("features": 210, "height": 10, "width": 7)", {5}, 2, {6, 4}},  // three channels, 9 x 6
      {R"("features": 100, "height": 5, "width": 10)", {2}, 1, {}},      // two channels, odd
      {R"("features": 256, "height": 16, "width": 16)", {2, 3, 2}, 2, {}}};
  for (const auto& c : cases) {
    // 35 rows: a block of 32 and a rest.
    const auto data =
        synthetic(std::string(R"("rows": 35, "test_rows": 3, "classes": 5, )") + c.images);
    for (const char* activation : {"relu", "tanh"}) {
      const CnnConfig config = net(data, c.channels, c.kernel, c.dense, activation);
      const auto model = make_cnn(config)->make_float64();
      const Vector w = some_point(model->parameters(), 0.4);
      const double expected = naive_loss(*data, config, w);
      CAPTURE(c.images);
      CHECK(std::abs(evaluate(*model, w).loss / expected - 1) <= 1e-13);
      const std::vector<float> w32(w.begin(), w.end());
      CHECK(std::abs(evaluate(*make_cnn(config)->make_float32(), w32).loss / expected - 1) <= 1e-5);
    }
  }
}

TEST_CASE("cnn: LeNet's sizes") {
  auto images = [](std::size_t channels, std::size_t side) {
    auto data = std::make_shared<Dataset>();
    data->features = channels * side * side;
    data->classes = 10;
    data->image = {channels, side, side};
    data->train = data->test = {1, Bytes(data->features), {}, {0}};
    return data;
  };
  // 28 to 24, 12, 8, 4: 16 x 4 x 4 = 256 inputs of the dense layers.
  const std::size_t dense = 120 * 257 + 84 * 121 + 10 * 85;
  CHECK(make_cnn(on<CnnConfig>(images(1, 28)))->make_float32()->parameters() ==
        6 * 26 + 16 * 151 + dense);
  // 32 to 28, 14, 10, 5: 400 inputs, from three channels.
  CHECK(make_cnn(on<CnnConfig>(images(3, 32)))->make_float32()->parameters() ==
        6 * 76 + 16 * 151 + dense + 120 * 144);
}

TEST_CASE("cnn: of equal numbers the first in reading order takes the gradient") {
  // One image of 3 x 3 ones, kernel 2: four equal sums; of W, only the winner's pixels matter, and
  // of an image whose pixels are all different those are told apart by their values.
  auto data = std::make_shared<Dataset>();
  data->features = 9;
  data->classes = 2;
  data->image = {1, 3, 3};
  data->train = data->test = {1, {}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {1}};
  const auto model = make_cnn(net(data, {1}, 2, {}))->make_float64();
  // W = 0, b = 1: z is 0 four times, y = 1; scores 1 and 0, so that dy = p_0 (1) + ... as below.
  const Vector w{0, 0, 0, 0, 1, 1, 0, 0, 0};
  const Vector g = gradient(*model, w, {1, 0, 0, 0, 1});
  const double p0 = 1 / (1 + std::exp(-1.0));
  const Vector expected{p0 * 1, p0 * 2, p0 * 4, p0 * 5, p0, p0, -p0, p0, -p0};
  CHECK(distance(expected, g) <= 1e-15);
}

TEST_CASE("cnn: pooling does not hide a NaN") {
  auto data = std::make_shared<Dataset>();
  data->features = 4;
  data->classes = 2;
  data->image = {1, 2, 2};
  for (std::size_t place = 0; place < 4; ++place) {
    data->train = data->test = {1, {}, {1, 1, 1, 1}, {1}};
    data->train.floats[place] = std::numeric_limits<float>::quiet_NaN();
    const auto model = make_cnn(net(data, {1}, 1, {}))->make_float32();
    CHECK(!std::isfinite(evaluate(*model, {1, 0, 1, 0, 0, 0}).loss));
    CHECK(std::isfinite(evaluate(*model, {1, 0, 1, 0, 0, 0}).test_loss));
  }
}

TEST_CASE("cnn: weights start with the variance of their fans") {
  const auto data = synthetic(R"("rows": 5, "features": 768, "height": 16, "width": 16)");
  for (const bool relu : {true, false}) {
    const auto model = make_cnn(net(data, {40}, 5, {30}, relu ? "relu" : "tanh"))->make_float64();
    Vector w(model->parameters(), 7.0);
    model->initialise(1, 0, w);
    const struct {
      std::size_t in, out, uses;
    } layers[] = {{75, 40, 25}, {1440, 30, 1}, {30, 10, 1}};
    std::size_t at = 0;
    for (const auto& [in, out, uses] : layers) {
      const double n = static_cast<double>(in * out);
      double square = 0;
      for (std::size_t i = 0; i < in * out; ++i, ++at) square += w[at] * w[at];
      const double variance = 2.0 / static_cast<double>(relu ? in : in + out * uses);
      CHECK(std::abs(square / n / variance - 1) <= 4 * std::sqrt(2 / n));
      for (std::size_t o = 0; o < out; ++o) CHECK(w[at++] == 0);
    }
    CHECK(at == w.size());
  }
}

TEST_CASE("cnn: it learns where a bar is, not how the image lies") {
  // Images of 8 x 8 with a horizontal (class 0) or vertical (class 1) bar of three at any place.
  auto data = std::make_shared<Dataset>();
  data->features = 64;
  data->classes = 2;
  data->image = {1, 8, 8};
  for (std::size_t place = 0; place < 36; ++place) {
    for (const std::uint8_t c : {std::uint8_t{0}, std::uint8_t{1}}) {
      Rows& rows = place % 3 == 0 ? data->test : data->train;
      std::vector<std::uint8_t> image(64);
      for (std::size_t k = 0; k < 3; ++k)
        image[(place / 6 + (c == 1 ? k : 0)) * 8 + place % 6 + (c == 0 ? k : 0)] = 1;
      rows.bytes.insert(rows.bytes.end(), image.begin(), image.end());
      rows.classes.push_back(c);
      ++rows.count;
    }
  }
  auto config = net(data, {4}, 3, {});
  config.sampling = "epoch";
  const auto model = make_cnn(config)->make_float64();
  Vector w(model->parameters());
  model->initialise(1, 0, w);
  for (int step = 0; step < 1000; ++step) {
    const Vector g = gradient(*model, w, {1, 0, 0, 0, 48});
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.2 * g[i];
  }
  CHECK(evaluate(*model, w).loss < 0.05);
  CHECK(evaluate(*model, w).test_error == 0);
}

TEST_CASE("cnn: data without images, and images that are too small, are refused") {
  CHECK_THROWS_WITH_AS(make_cnn(on<CnnConfig>(synthetic(R"("rows": 5)")))->make_float32(),
                       "cnn needs images, and the rows of this data set have no height and width; "
                       "allowed: cifar10, digits, idx, mnist, synthetic with height and width",
                       std::runtime_error);
  const auto data = synthetic(R"("rows": 5, "features": 108, "height": 12, "width": 9)");
  CHECK(make_cnn(net(data, {2}, 8, {}))->make_float32()->parameters() ==
        2 * 65 + 10 * (2 * 2 * 1 + 1));
  CHECK_THROWS_WITH_AS(make_cnn(net(data, {2}, 9, {}))->make_float32(),
                       "a convolution with kernel 9 and pooling needs images of 10 x 10 or more, "
                       "and gets 12 x 9",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(make_cnn(net(data, {2, 2}, 4, {}))->make_float32(),
                       "a convolution with kernel 4 and pooling needs images of 5 x 5 or more, "
                       "and gets 4 x 3",
                       std::runtime_error);
}

}  // namespace gradrace::cnn_test
