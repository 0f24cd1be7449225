#include "models/supervised.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/cnn.h"
#include "models/linear.h"
#include "models/mlp.h"
#include "models/resnet.h"
#include "tests/support/model_checks.h"
#include "tests/support/skip.h"

namespace gradrace::supervised_test {

namespace {

/// A model on data made of as many rows as one likes.
struct Subject {
  std::string name;
  std::function<std::unique_ptr<Model<double>>(std::uint32_t rows, double l2)> exact;
  std::function<std::unique_ptr<Model<float>>(std::uint32_t rows, double l2)> fast;
};

template <class Config>
Subject subject(std::string name, const std::string& data, Config config,
                ModelProduct (*make)(const Config&)) {
  const auto with = [=](std::uint32_t rows, double l2) {
    Config all = config;
    const auto dataset = made("{" + data + ", \"rows\": " + std::to_string(rows) + "}");
    all.dataset = [dataset] { return dataset; };
    all.sampling = "epoch";
    all.l2 = l2;
    return all;
  };
  return {std::move(name),
          [=](std::uint32_t rows, double l2) { return make(with(rows, l2))->make_float64(); },
          [=](std::uint32_t rows, double l2) { return make(with(rows, l2))->make_float32(); }};
}

/// No size is a multiple of a block.
std::vector<Subject> subjects() {
  const std::string classes =
      R"("kind": "synthetic", "test_rows": 41, "features": 13, "classes": 5)";
  const std::string wide = R"("kind": "synthetic", "test_rows": 41, "features": 150)";
  const std::string two = R"("kind": "synthetic", "test_rows": 41, "features": 13, "classes": 2)";
  const std::string targets = R"("kind": "synthetic-regression", "test_rows": 41, "features": 13)";
  MlpConfig relu, tanh;
  relu.widths = {7};
  tanh.widths = {9, 6};
  tanh.activation = "tanh";
  const std::string images =
      R"("kind": "synthetic", "test_rows": 41, "features": 198, "height": 9, "width": 11, "classes": 5)";
  CnnConfig small, deep;
  small.channels = {3};
  small.kernel = 4;
  small.dense = {};
  deep.channels = {3, 4};
  deep.kernel = 2;
  deep.dense = {6};
  deep.activation = "tanh";
  ResnetConfig residual;
  residual.depth = 8;
  residual.width = 3;
  ResnetConfig grouped = residual;
  grouped.normalisation = "group";
  return {
      subject("softmax", classes, SoftmaxConfig{}, make_softmax),
      subject("softmax, wide", wide, SoftmaxConfig{}, make_softmax),
      subject("logistic", two, LogisticConfig{}, make_logistic),
      subject("svm", two, SvmConfig{}, make_svm),
      subject("least-squares", targets, LeastSquaresConfig{}, make_least_squares),
      subject("mlp, relu", classes, relu, make_mlp),
      subject("mlp, tanh", classes, tanh, make_mlp),
      subject("cnn, relu", images, small, make_cnn),
      subject("cnn, tanh", images, deep, make_cnn),
      subject("resnet", images, residual, make_resnet),
      subject("resnet, groups", images, grouped, make_resnet),
  };
}

}  // namespace

TEST_CASE("models of data: gradient against central differences, for data sets of many sizes") {
  for (const Subject& subject : subjects()) {
    const bool has_maps = subject.name.starts_with("cnn") || subject.name.starts_with("resnet");
    for (const std::uint32_t n : {1u, 2u, has_maps ? 9u : 33u}) {
      if (has_maps && n != 9 && !is_long_form()) continue;
      for (const double l2 : {0.1, 0.0}) {
        if (l2 == 0 && n != 2) continue;
        const auto model = subject.exact(n, l2);
        if (model->statistics().count > 0) continue;  // an evaluation takes others than a gradient
        const Vector w = some_point(model->parameters(), 0.5, 1 + n);
        const Vector g = gradient(*model, w, {1, 0, 0, 0, n});
        const double error = distance(central_differences(*model, w, 1e-6), g);
        CAPTURE(subject.name);
        CAPTURE(n);
        CAPTURE(l2);
        CHECK(error <= 1e-7 * norm(g));
      }
    }
  }
}

TEST_CASE("models of data: gradients are unbiased: their mean over an epoch is the full one") {
  for (const Subject& subject : subjects()) {
    const auto model = subject.exact(60, 0.1);
    if (model->statistics().count > 0) continue;  // a minibatch is normalised by itself
    const Vector w = some_point(model->parameters());
    const Vector full = gradient(*model, w, {1, 0, 0, 0, 60});
    for (const std::uint32_t m : {1u, 3u, 4u, 15u, 30u}) {
      Vector mean(w.size());
      for (std::uint32_t draw = 0; draw < 60 / m; ++draw) {
        const Vector g = gradient(*model, w, {1, 0, 0, draw, m});
        for (std::size_t i = 0; i < g.size(); ++i) mean[i] += g[i] * m / 60;
      }
      CAPTURE(subject.name);
      CAPTURE(m);
      CHECK(distance(full, mean) <= 1e-12 * norm(full));
    }
  }
}

TEST_CASE("models of data: float32 is float64 to 1e-5 of the norm") {
  for (const Subject& subject : subjects()) {
    const auto exact = subject.exact(700, 0.01);
    const auto fast = subject.fast(700, 0.01);
    const Vector point = some_value(*exact);
    const std::vector<float> w(point.begin(), point.end());
    const Vector rounded(w.begin(), w.end());
    CAPTURE(subject.name);
    for (const std::uint32_t m : {1u, 31u, 128u}) {
      const Vector g = gradient(*exact, rounded, {1, 0, 0, 0, m});
      CHECK(distance(g, gradient(*fast, w, {1, 0, 0, 0, m})) <= 1e-5 * norm(g));
    }
    const Evaluation a = evaluate(*exact, rounded), b = evaluate(*fast, w);
    CHECK(std::abs(b.loss / a.loss - 1) <= 1e-5);
    CHECK(std::abs(b.test_loss / a.test_loss - 1) <= 1e-5);
  }
}

/// The same, and the same where there is none.
static bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST_CASE("models of data: many values at once are the values one by one, bit for bit") {
  for (const Subject& subject : subjects()) {
    const auto model = subject.fast(1000, 0.1);  // whole blocks and a rest
    std::vector<std::vector<float>> values;
    std::vector<const float*> pointers;
    for (int v = 0; v < 5; ++v) {
      const Vector point = some_value(*model, 0.2, 1 + v);
      values.emplace_back(point.begin(), point.end());
    }
    for (const auto& w : values) pointers.push_back(w.data());
    std::vector<Evaluation> together(5);
    model->evaluate(pointers, together);
    CAPTURE(subject.name);
    for (std::size_t v = 0; v < 5; ++v) {
      const Evaluation alone = evaluate(*model, values[v]);
      CHECK(together[v].loss == alone.loss);
      CHECK(together[v].test_loss == alone.test_loss);
      CHECK(same(together[v].test_error, alone.test_error));
    }
    CHECK(together[0].loss != together[1].loss);
  }
}

TEST_CASE("models of data: a gradient has the same bits after any call, anywhere in memory") {
  for (const Subject& subject : subjects()) {
    const auto model = subject.fast(100, 0.1), fresh = subject.fast(100, 0.1);
    const std::size_t d = model->parameters();
    const Vector point = some_value(*model);
    const std::vector<float> w(point.begin(), point.end());
    CAPTURE(subject.name);
    for (const std::uint32_t m : {1u, 3u, 30u}) {
      const auto expected = gradient(*fresh, w, {1, 0, 0, 5, m});
      for (std::size_t shift = 0; shift < 8; ++shift) {
        gradient(*model, w, {1, 0, 0, static_cast<std::uint32_t>(shift), 64});
        evaluate(*model, w);
        std::vector<float> w_there(d + shift), g_there(d + 8);
        std::ranges::copy(w, w_there.begin() + static_cast<std::ptrdiff_t>(shift));
        const std::span<float> g(g_there.data() + 7 - shift, d);
        model->gradient(std::span<const float>(w_there).subspan(shift), {1, 0, 0, 5, m}, g);
        CHECK(std::ranges::equal(g, expected));
      }
    }
  }
}

TEST_CASE("models of data: values that are not finite give losses that are not finite") {
  for (const Subject& subject : subjects()) {
    const auto model = subject.fast(60, 0);
    const std::size_t d = model->parameters();
    CAPTURE(subject.name);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      for (const std::size_t where : {std::size_t{0}, d / 2, d - 1}) {
        std::vector<float> w(d);
        w[where] = bad;
        const Evaluation at = evaluate(*model, w);
        CHECK(!std::isfinite(at.loss));
        CHECK(!std::isfinite(at.test_loss));
        CHECK(gradient(*model, w, {1, 0, 0, 0, 32}).size() == d);
      }
    }
    // Finite, but the scores overflow.
    const std::vector<float> w(d, 3e38f);
    CHECK(!std::isfinite(evaluate(*model, w).loss));
  }
}

}  // namespace gradrace::supervised_test
