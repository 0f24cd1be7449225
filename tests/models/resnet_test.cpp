#include "models/resnet.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/model_checks.h"
#include "tests/support/skip.h"

namespace gradrace::resnet_test {

namespace {

ResnetConfig net(std::shared_ptr<const Dataset> data, std::uint32_t depth, std::uint32_t width) {
  auto config = on<ResnetConfig>(std::move(data));
  config.depth = depth;
  config.width = width;
  config.sampling = "epoch";
  return config;
}

std::shared_ptr<const Dataset> images(std::uint32_t rows, std::size_t channels, std::size_t height,
                                      std::size_t width) {
  return synthetic(R"("classes": 5, "test_rows": 3, "rows": )" + std::to_string(rows) +
                   R"(, "features": )" + std::to_string(channels * height * width) +
                   R"(, "height": )" + std::to_string(height) + R"(, "width": )" +
                   std::to_string(width));
}

/// Channels of images of all rows: x[row][(c height + i) width + j].
struct Maps {
  std::size_t channels, height, width;
  std::vector<Vector> x;
};

/// The definition in plain loops, all rows at once.  `learning`: with the batch's own statistics,
/// which take the place of those of w.
class PlainNet {
 public:
  PlainNet(Vector& w, std::size_t learnt, bool learning)
      : w_(w), statistic_(learnt), learning_(learning) {}

  double loss(const Dataset& data, const ResnetConfig& config) {
    Maps maps{data.image->channels, data.image->height, data.image->width, {}};
    for (std::size_t row = 0; row < data.train.count; ++row) {
      maps.x.emplace_back();
      for (std::size_t j = 0; j < data.features; ++j)
        maps.x.back().push_back(feature(data, data.train, row, j));
    }
    maps = positive(normalised(convolved(maps, config.width, 1)));
    for (std::size_t stage = 0; stage < 3; ++stage)
      for (std::size_t b = 0; b < (config.depth - 2) / 6; ++b)
        maps = block(maps, config.width << stage, stage > 0 && b == 0 ? 2 : 1);
    double loss = 0;
    const std::size_t area = maps.height * maps.width;
    for (std::size_t row = 0; row < data.train.count; ++row) {
      Vector scores(data.classes);
      for (std::size_t o = 0; o < data.classes; ++o) {
        scores[o] = w_[at_ + data.classes * maps.channels + o];
        for (std::size_t k = 0; k < maps.x[row].size(); ++k)
          scores[o] +=
              w_[at_ + o * maps.channels + k / area] * maps.x[row][k] / static_cast<double>(area);
      }
      double sum = 0;
      for (const double s : scores) sum += std::exp(s);
      loss += std::log(sum) - scores[data.train.classes[row]];
    }
    at_ += data.classes * (maps.channels + 1);
    return loss / static_cast<double>(data.train.count);
  }

  std::size_t parameters() const { return at_; }
  std::size_t statistics_end() const { return statistic_; }

 private:
  Maps block(const Maps& in, std::size_t outputs, std::size_t stride) {
    Maps out = normalised(convolved(in, outputs, stride));
    out = normalised(convolved(positive(out), outputs, 1));
    for (std::size_t row = 0; row < in.x.size(); ++row)
      for (std::size_t c = 0; c < in.channels; ++c)
        for (std::size_t i = 0; i < out.height; ++i)
          for (std::size_t j = 0; j < out.width; ++j)
            out.x[row][(c * out.height + i) * out.width + j] +=
                in.x[row][(c * in.height + stride * i) * in.width + stride * j];
    return positive(out);
  }

  Maps convolved(const Maps& in, std::size_t outputs, std::size_t stride) {
    Maps out{outputs, (in.height + stride - 1) / stride, (in.width + stride - 1) / stride, {}};
    for (const Vector& x : in.x) {
      out.x.emplace_back();
      for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t i = 0; i < out.height; ++i)
          for (std::size_t j = 0; j < out.width; ++j) {
            double sum = 0;
            for (std::size_t c = 0; c < in.channels; ++c)
              for (std::size_t k = 0; k < 3; ++k)
                for (std::size_t l = 0; l < 3; ++l) {
                  const std::size_t row = stride * i + k - 1, column = stride * j + l - 1;
                  if (row < in.height && column < in.width)  // -1 is the greatest number
                    sum += w_[at_ + ((o * in.channels + c) * 3 + k) * 3 + l] *
                           x[(c * in.height + row) * in.width + column];
                }
            out.x.back().push_back(sum);
          }
    }
    at_ += outputs * in.channels * 9;
    return out;
  }

  Maps normalised(Maps maps) {
    const std::size_t area = maps.height * maps.width;
    for (std::size_t c = 0; c < maps.channels; ++c) {
      double &mean = w_[statistic_ + c], &variance = w_[statistic_ + maps.channels + c];
      const auto each = [&](auto&& use) {
        for (Vector& x : maps.x)
          for (std::size_t k = 0; k < area; ++k) use(x[c * area + k]);
      };
      const double count = static_cast<double>(area * maps.x.size());
      if (learning_) {
        mean = variance = 0;
        each([&](double x) { mean += x / count; });
        each([&](double x) { variance += (x - mean) * (x - mean) / count; });
      }
      each([&](double& x) {
        x = w_[at_ + maps.channels + c] * (x - mean) / std::sqrt(variance + 1e-5) + w_[at_ + c];
      });
    }
    at_ += 2 * maps.channels;
    statistic_ += 2 * maps.channels;
    return maps;
  }

  static Maps positive(Maps maps) {
    for (Vector& x : maps.x)
      for (double& v : x) v = std::max(v, 0.0);
    return maps;
  }

  Vector& w_;
  std::size_t at_ = 0, statistic_;
  bool learning_;
};

struct Case {
  std::uint32_t rows, depth, width;
  std::size_t channels, height, columns;
};
const Case cases[] = {{6, 8, 2, 1, 5, 4}, {3, 8, 3, 2, 8, 8}, {35, 14, 2, 3, 4, 4}};

}  // namespace

TEST_CASE("resnet: parameters to learn, and statistics, are those of the literature") {
  const auto count = [](std::uint32_t depth) {
    const auto model =
        make_resnet(
            net(synthetic(R"("rows": 5, "features": 3072, "height": 32, "width": 32)"), depth, 16))
            ->make_float32();
    return std::pair(model->parameters() - model->statistics().count, model->statistics().count);
  };
  // 0.27 M, 0.46 M and 0.85 M in He et al., table 6.
  CHECK(count(20) == std::pair<std::size_t, std::size_t>(269722, 1376));
  CHECK(count(32) == std::pair<std::size_t, std::size_t>(464154, 2272));
  CHECK(count(56) == std::pair<std::size_t, std::size_t>(853018, 4064));
}

TEST_CASE("resnet: losses and a batch's statistics are those of plain loops") {
  for (const auto& [rows, depth, width, channels, height, columns] : cases) {
    const auto data = images(rows, channels, height, columns);
    const ResnetConfig config = net(data, depth, width);
    const auto model = make_resnet(config)->make_float64();
    const std::size_t learnt = model->parameters() - model->statistics().count;
    Vector w = some_value(*model, 0.5);
    CAPTURE(depth);

    PlainNet carrying(w, learnt, false);
    const double expected = carrying.loss(*data, config);
    CHECK(carrying.parameters() == learnt);
    CHECK(carrying.statistics_end() == w.size());
    CHECK(std::abs(evaluate(*model, w).loss / expected - 1) <= 1e-12);

    const Vector g = gradient(*model, w, {1, 0, 0, 0, rows});
    PlainNet learning(w, learnt, true);
    const double own = learning.loss(*data, config);  // w has the batch's statistics now
    CHECK(own != expected);
    CHECK(std::abs(evaluate(*model, w).loss / own - 1) <= 1e-12);
    for (std::size_t i = learnt; i < w.size(); ++i) CHECK(std::abs(g[i] - w[i]) <= 1e-13);
  }
}

TEST_CASE("resnet: the gradient of a batch's own loss against central differences") {
  for (const auto& [rows, depth, width, channels, height, columns] : cases) {
    for (const double l2 : {0.0, 0.1}) {
      if (l2 == 0 && rows != cases[0].rows) continue;
      ResnetConfig config = net(images(rows, channels, height, columns), depth, width);
      config.l2 = l2;
      const auto model = make_resnet(config)->make_float64();
      const std::size_t learnt = model->parameters() - model->statistics().count;
      const Vector w = some_value(*model, 0.5, 2 + rows);
      // That of plain loops is its loss with the statistics of the gradient.
      const auto loss = [&](Vector at) {
        const Vector g = gradient(*model, at, {1, 0, 0, 0, rows});
        std::copy(g.begin() + static_cast<std::ptrdiff_t>(learnt), g.end(),
                  at.begin() + static_cast<std::ptrdiff_t>(learnt));
        return evaluate(*model, at).loss;
      };
      const Vector g = gradient(*model, w, {1, 0, 0, 0, rows});
      Vector along, differences, at = w;
      const double h = 1e-6;
      const std::size_t step = is_long_form() ? 1 : 5;
      for (std::size_t i = 0; i < learnt; i += step) {
        at[i] = w[i] + h;
        const double above = loss(at);
        at[i] = w[i] - h;
        differences.push_back((above - loss(at)) / (2 * h));
        along.push_back(g[i]);
        at[i] = w[i];
      }
      CAPTURE(depth);
      CAPTURE(l2);
      CHECK(distance(differences, along) <= 1e-7 * norm(along));
    }
  }
}

TEST_CASE("resnet: with groups a gradient is the derivative of the loss that is evaluated") {
  for (const auto& [rows, depth, width, channels, height, columns] : {cases[0], cases[1]}) {
    ResnetConfig config = net(images(rows, channels, height, columns), depth, width);
    config.normalisation = "group";
    config.groups = 2;
    config.l2 = 0.1;
    const auto model = make_resnet(config)->make_float64();
    CHECK(model->statistics().count == 0);
    const Vector w = some_point(model->parameters(), 0.5, 2 + rows);
    const Vector g = gradient(*model, w, {1, 0, 0, 0, rows});
    CHECK(distance(central_differences(*model, w, 1e-6), g) <= 1e-7 * norm(g));
  }
}

TEST_CASE("resnet: with groups it starts with b 0 and gamma 1") {
  ResnetConfig config = net(images(5, 3, 8, 8), 8, 16);
  config.normalisation = "group";
  const auto model = make_resnet(config)->make_float64();
  Vector w(model->parameters(), 7.0);
  model->initialise(1, 0, w);
  check_start_is_named(*model, w);
  for (std::size_t i = 16 * 27; i < 16 * 28; ++i) CHECK(w[i] == 0);
  for (std::size_t i = 16 * 28; i < 16 * 29; ++i) CHECK(w[i] == 1);
}

TEST_CASE("resnet: a gradient does not depend on the statistics that its value carries") {
  const auto model = make_resnet(net(images(20, 1, 6, 6), 8, 4))->make_float32();
  const Vector point = some_value(*model);
  std::vector<float> w(point.begin(), point.end());
  const auto g = gradient(*model, w, {1, 0, 0, 0, 7});
  const std::size_t learnt = w.size() - model->statistics().count;
  std::fill(w.begin() + static_cast<std::ptrdiff_t>(learnt), w.end(), 3.0f);
  CHECK(gradient(*model, w, {1, 0, 0, 0, 7}) == g);
}

TEST_CASE("resnet: it starts with the variance of its inputs, and with statistics 0 and 1") {
  const auto model = make_resnet(net(images(5, 3, 8, 8), 8, 16))->make_float64();
  Vector w(model->parameters(), 7.0);
  model->initialise(1, 0, w);
  check_start_is_named(*model, w);
  const std::size_t convolutions[][2] = {{3, 16},  {16, 16}, {16, 16}, {16, 32},
                                         {32, 32}, {32, 64}, {64, 64}};
  std::size_t at = 0;
  const auto check_variance = [&](std::size_t inputs, std::size_t outputs) {
    const double n = static_cast<double>(inputs * outputs);
    double square = 0;
    for (std::size_t i = 0; i < inputs * outputs; ++i, ++at) square += w[at] * w[at];
    CHECK(std::abs(square / 2 * static_cast<double>(inputs) / n - 1) <= 4 * std::sqrt(2 / n));
  };
  const auto check_all = [&](std::size_t count, double value) {
    for (std::size_t i = 0; i < count; ++i) CHECK(w[at++] == value);
  };
  for (const auto& [in, out] : convolutions) {
    check_variance(9 * in, out);
    check_all(out, 0), check_all(out, 1);
  }
  check_variance(64, 5);
  check_all(5, 0);
  for (const auto& [in, out] : convolutions) check_all(out, 0), check_all(out, 1);
  CHECK(at == w.size());
}

}  // namespace gradrace::resnet_test
