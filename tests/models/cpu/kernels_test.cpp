#include "models/cpu/kernels/kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/linear.h"
#include "models/mlp.h"
#include "tests/support/forced_kernels.h"
#include "tests/support/model_checks.h"

namespace gradrace::kernels_test {

namespace {

using kernels::chosen_kernels;
using kernels::Kernels;
using kernels::runnable_kernels;

/// Bytes of which that share is not 0.
std::shared_ptr<const Dataset> bytes(double density, std::size_t features, std::size_t classes) {
  std::mt19937 random(1);
  auto data = std::make_shared<Dataset>();
  data->features = features;
  data->classes = classes;
  data->byte_scale = 1.0f / 255;
  for (Rows* rows : {&data->train, &data->test}) {
    rows->count = 150;
    for (std::size_t i = 0; i < rows->count * features; ++i)
      rows->bytes.push_back(static_cast<std::uint8_t>(
          static_cast<double>(random() % 1000) < 1000 * density ? 1 + random() % 255 : 0));
    for (std::size_t i = 0; i < rows->count; ++i)
      rows->classes.push_back(static_cast<std::uint8_t>(random() % classes));
  }
  return data;
}

/// Of images, the upper half of every third of which is 0.
std::shared_ptr<const Dataset> images(double density, const ImageShape& shape) {
  const std::size_t features = shape.numbers();
  auto data = std::make_shared<Dataset>(*bytes(density, features, 10));
  data->image = shape;
  for (Rows* rows : {&data->train, &data->test})
    for (std::size_t row = 0; row < rows->count; row += 3)
      std::fill_n(rows->bytes.begin() + static_cast<std::ptrdiff_t>(row * features), features / 2,
                  std::uint8_t{0});
  return data;
}

/// The same numbers as floats.
std::shared_ptr<const Dataset> as_floats(const Dataset& from) {
  auto data = std::make_shared<Dataset>(from);
  for (Rows* rows : {&data->train, &data->test}) {
    for (const std::uint8_t byte : rows->bytes)
      rows->floats.push_back(static_cast<float>(byte) * from.byte_scale);
    rows->bytes.clear();
  }
  return data;
}

/// The same, of which so many numbers of no row that is drawn hide the zeros: all are multiplied.
std::shared_ptr<const Dataset> dense_beside(const Dataset& from) {
  auto data = std::make_shared<Dataset>(from);
  data->test = from.train;
  for (std::uint8_t& byte : data->train.bytes) byte = 255;
  return data;
}

std::vector<ModelProduct> models_on(std::shared_ptr<const Dataset> data) {
  auto softmax = on<SoftmaxConfig>(data);
  softmax.l2 = 0.01;
  auto relu = on<MlpConfig>(data);
  relu.widths = {40, 17};
  auto narrow = relu;
  narrow.widths = {9};
  auto tanh = relu;
  tanh.activation = "tanh";
  tanh.l2 = 0.01;
  std::vector<ModelProduct> models{make_softmax(on<SoftmaxConfig>(data)), make_softmax(softmax),
                                   make_mlp(relu), make_mlp(tanh), make_mlp(narrow)};
  if (data->classes == 2) models.push_back(make_logistic(on<LogisticConfig>(data)));
  return models;
}

std::vector<float> point_of(const Model<float>& model) {
  const Vector w = some_point(model.parameters(), 0.2);
  return {w.begin(), w.end()};
}

/// Bits of a gradient and of evaluations of so many values.
std::vector<std::uint64_t> bits_of(const ModelProduct& product, std::uint32_t minibatch,
                                   std::size_t values) {
  const auto model = product->make_float32();
  const std::vector<float> w = point_of(*model);
  std::vector<std::uint64_t> bits;
  for (const float g : gradient(*model, w, {1, 0, 0, 0, minibatch}))
    bits.push_back(std::bit_cast<std::uint32_t>(g + 0.0f));
  std::vector<std::vector<float>> all;
  std::vector<const float*> pointers;
  for (std::size_t v = 0; v < values; ++v) {
    all.push_back(w);
    for (float& x : all.back()) x *= 1 + 0.1f * static_cast<float>(v);
  }
  for (const auto& each : all) pointers.push_back(each.data());
  std::vector<Evaluation> results(values);
  model->evaluate(pointers, results);
  for (const Evaluation& each : results)
    for (const double x : {each.loss, each.test_loss, each.test_error})
      bits.push_back(std::bit_cast<std::uint64_t>(x));
  return bits;
}

const std::vector<std::shared_ptr<const Dataset>>& data_sets() {
  static const std::vector all{bytes(0.2, 131, 10),
                               as_floats(*bytes(0.2, 131, 10)),
                               bytes(0.9, 131, 10),
                               bytes(0.9, 131, 13) /* one more than inputs are lanes for */,
                               as_floats(*bytes(0.9, 50, 2)),
                               bytes(0.2, 700, 2),
                               bytes(0.2, 31, 40),
                               bytes(0.002, 5000, 10),
                               images(0.6, {2, 11, 11}),
                               bytes(0.002, 131, 2) /* most rows are 0 */,
                               bytes(0.2, 100, 20)};
  return all;
}

}  // namespace

TEST_CASE("kernels: every instruction set with fused multiply-adds gives the same bits") {
  for (const auto& data : data_sets()) {
    for (const ModelProduct& product : models_on(data)) {
      for (const std::uint32_t m : {1u, 5u, 33u}) {
        const auto expected = bits_of(product, m, 17);
        for (const Kernels* kernels : runnable_kernels()) {
          const Forced forced(kernels->name);
          CAPTURE(kernels->name);
          if (kernels->fused) CHECK(bits_of(product, m, 17) == expected);
        }
      }
    }
  }
}

TEST_CASE("kernels: every instruction set conforms to float64") {
  for (const Kernels* kernels : runnable_kernels()) {
    const Forced forced(kernels->name);
    CAPTURE(kernels->name);
    for (const auto& data : data_sets()) {
      for (const ModelProduct& product : models_on(data)) {
        const auto fast = product->make_float32();
        const auto exact = product->make_float64();
        const std::vector<float> w = point_of(*fast);
        const Vector same(w.begin(), w.end());
        for (const std::uint32_t m : {33u, 300u}) {
          const Vector g = gradient(*exact, same, {1, 0, 0, 0, m});
          CHECK(distance(g, gradient(*fast, w, {1, 0, 0, 0, m})) <= 1e-5 * norm(g));
        }
        const Evaluation a = evaluate(*exact, same), b = evaluate(*fast, w);
        CHECK(std::abs(b.loss / a.loss - 1) <= 1e-5);
        CHECK(std::abs(b.test_loss / a.test_loss - 1) <= 1e-5);
        CHECK(b.test_error == a.test_error);
      }
    }
  }
}

TEST_CASE("kernels: a value has the same bits alone and beside others") {
  for (const auto& data : data_sets()) {
    for (const ModelProduct& product : models_on(data)) {
      const auto all = bits_of(product, 5, 40);
      for (const std::size_t values : {1u, 2u, 3u, 9u, 16u}) {
        const auto some = bits_of(product, 5, values);
        CHECK(std::equal(some.begin(), some.end(), all.begin()));
      }
    }
  }
}

TEST_CASE("kernels: zeros that are left out change no bit") {
  // The numbers of the second are often more than 255 places apart; the third's are in groups.
  for (const auto& sparse :
       {bytes(0.2, 131, 10), bytes(0.002, 5000, 10), images(0.4, {2, 11, 11})}) {
    REQUIRE(sparse_rows(*sparse) != nullptr);
    REQUIRE(groups_pay(*sparse, 10) == sparse->image.has_value());
    const auto dense = dense_beside(*sparse);
    REQUIRE(sparse_rows(*dense) == nullptr);
    const auto entries = as_floats(*sparse);
    REQUIRE(sparse_rows(*entries) != nullptr);
    for (std::size_t i = 0; i < models_on(sparse).size(); ++i) {
      const auto skipping = models_on(sparse)[i]->make_float32();
      const auto all = models_on(dense)[i]->make_float32();
      const auto floats = models_on(entries)[i]->make_float32();
      const std::vector<float> w = point_of(*skipping);
      CHECK(evaluate(*skipping, w).loss == evaluate(*all, w).test_loss);
      CHECK(evaluate(*skipping, w).loss == evaluate(*floats, w).loss);
      CHECK(gradient(*skipping, w, {1, 0, 0, 0, 32}) == gradient(*floats, w, {1, 0, 0, 0, 32}));
    }
  }
}

namespace {

/// With as many features more, all of them 255: all numbers are multiplied.
std::shared_ptr<const Dataset> beside_full_features(const Dataset& from) {
  auto data = std::make_shared<Dataset>(from);
  data->features = 2 * from.features;
  for (Rows* rows : {&data->train, &data->test}) {
    const Bytes own = std::exchange(rows->bytes, {});
    for (std::size_t i = 0; i < rows->count; ++i) {
      const auto row = own.begin() + static_cast<std::ptrdiff_t>(i * from.features);
      rows->bytes.insert(rows->bytes.end(), row, row + static_cast<std::ptrdiff_t>(from.features));
      rows->bytes.insert(rows->bytes.end(), from.features, 255);
    }
  }
  return data;
}

/// Softmax, and where there are two classes logistic regression: of one output.
std::vector<ModelProduct> linear_models_on(std::shared_ptr<const Dataset> data) {
  std::vector<ModelProduct> models{make_softmax(on<SoftmaxConfig>(data))};
  if (data->classes == 2) models.push_back(make_logistic(on<LogisticConfig>(data)));
  return models;
}

}  // namespace

TEST_CASE("kernels: a gradient of many rows of all numbers has the bits of one of entries") {
  // One output is in groups in both; of two and of three lanes, the most rows have 78,000 entries,
  // more than are turned at once.
  for (const std::size_t classes : {2u, 17u, 40u}) {
    const auto entries = bytes(0.2, 131, classes);
    const auto all = beside_full_features(*entries);
    REQUIRE(sparse_rows(*all) == nullptr);
    for (std::size_t i = 0; i < linear_models_on(entries).size(); ++i) {
      const auto few = linear_models_on(entries)[i]->make_float32();
      const auto full = linear_models_on(all)[i]->make_float32();
      const std::vector<float> w = point_of(*few);
      const std::size_t features = entries->features, outputs = w.size() / (features + 1);
      std::vector<float> wide(full->parameters());  // 0 of the other features
      for (std::size_t j = 0; j < w.size(); ++j)
        wide[j < outputs * features ? j + j / features * features : j + outputs * features] = w[j];
      for (const std::uint32_t m : {127u, 128u, 129u, 300u, 3'000u}) {
        const auto g = gradient(*few, w, {1, 0, 0, 0, m});
        const auto of_all = gradient(*full, wide, {1, 0, 0, 0, m});
        for (std::size_t j = 0; j < outputs * features; ++j)
          REQUIRE(of_all[j + j / features * features] == g[j]);
        for (std::size_t o = 0; o < outputs; ++o)
          CHECK(of_all[2 * outputs * features + o] == g[outputs * features + o]);
      }
    }
  }
}

TEST_CASE("kernels: what fills up the lanes of a packed gradient is 0") {
  const auto entries = bytes(0.2, 131, 10), groups = bytes(0.9, 131, 10);
  REQUIRE(!groups_pay(*entries, 10));
  REQUIRE(groups_pay(*groups, 10));
  auto products = models_on(entries);
  std::ranges::copy(models_on(groups), std::back_inserter(products));
  for (const ModelProduct& product : products) {
    const auto model = product->make_float32();
    const Packing packing = model->packing();
    REQUIRE(packing.numbers() > packing.parameters());
    const std::vector<float> w = point_of(*model);
    std::vector<float> packed(packing.numbers()), moved(packing.numbers(), 7), back(w.size());
    packing.pack(w.data(), packed.data());
    packing.unpack(packed.data(), back.data());
    CHECK(back == w);
    model->gradient_of_packed(packed.data(), {1, 0, 0, 0, 32},
                              {0.1f, nullptr, packed.data(), moved.data()});
    packing.unpack(moved.data(), back.data());
    std::vector<float> again(packing.numbers());
    packing.pack(back.data(), again.data());
    CHECK(again == moved);
  }
}

TEST_CASE("kernels: ranges of the parameters are where a packed value has them, each number once") {
  const Packing by_hand({{0, 4, 2}, {1, 3, 2}}, 9);
  const std::vector<double> shares{4.0 / 7, 0.0, 3.0 / 7};
  const auto ranges = by_hand.ranges(shares);
  const auto listed = [](const std::vector<NumberRun>& runs) {
    std::string text;
    for (const auto [first, last] : runs)
      text += std::to_string(first) + "-" + std::to_string(last) + " ";
    return text;
  };
  CHECK(listed(ranges[0]) == "0-1 2-3 4-5 6-9 ");  // what fills up is with what comes before
  CHECK(ranges[1].empty());
  CHECK(listed(ranges[2]) == "1-2 3-4 5-6 ");
  for (const ModelProduct& product : models_on(bytes(0.2, 131, 10))) {
    const Packing packing = product->make_float32()->packing();
    const auto halves = packing.ranges(std::vector<double>{0.5, 0.5});
    std::vector<float> packed(packing.numbers()), w(packing.parameters());
    for (std::size_t half = 0; half < 2; ++half)
      for (const auto [first, last] : halves[half])
        for (std::uint32_t j = first; j < last; ++j) packed[j] += static_cast<float>(half + 1);
    packing.unpack(packed.data(), w.data());
    const auto d = static_cast<double>(w.size());
    for (std::size_t i = 0; i < w.size(); ++i)
      REQUIRE(w[i] == (i < static_cast<std::size_t>(std::llround(d / 2)) ? 1 : 2));
    CHECK(std::ranges::count(packed, 0.0f) == 0);
  }
}

TEST_CASE("kernels: a fold is the gradient, scaled, added and taken off, bit for bit") {
  for (const auto& [density, m] : {std::pair{0.2, 32u}, {0.9, 300u}}) {
    auto products = models_on(bytes(density, 131, 10));
    for (const ModelProduct& one_output : models_on(bytes(density, 131, 2)))
      products.push_back(one_output);
    for (const ModelProduct& product : products) {
      const auto model = product->make_float32();
      const std::size_t d = model->packing().numbers();
      std::vector<float> w(d), g(d), sum(d), out(d);
      model->packing().pack(point_of(*model).data(), w.data());
      for (std::size_t j = 0; j < d; ++j) sum[j] = w[d - 1 - j];
      model->gradient_of_packed(w.data(), {1, 0, 0, 0, m}, {1, nullptr, nullptr, g.data()});
      for (const float* added : {std::as_const(sum).data(), static_cast<const float*>(nullptr)}) {
        for (const float* base : {std::as_const(w).data(), static_cast<const float*>(nullptr)}) {
          const Fold<float> into{0.3f, added, base, out.data()};
          model->gradient_of_packed(w.data(), {1, 0, 0, 0, m}, into);
          for (std::size_t j = 0; j < d; ++j) REQUIRE(out[j] == folded(into, j, g[j]));
          // Over the value that it is computed at, and over the sum.
          std::vector<float> at = w;
          model->gradient_of_packed(at.data(), {1, 0, 0, 0, m}, {0.3f, added, base, at.data()});
          CHECK(at == out);
          if (added == nullptr) continue;
          std::vector<float> over = sum;
          const Fold<float> over_sum{0.3f, over.data(), base, over.data()};
          model->gradient_of_packed(w.data(), {1, 0, 0, 0, m}, over_sum);
          CHECK(over == out);
        }
      }
    }
  }
}

TEST_CASE("kernels: what is expected after a gradient, rightly or not, changes no bit") {
  for (const auto& data : data_sets()) {
    for (const ModelProduct& product : models_on(data)) {
      const auto model = product->make_float32(), told = product->make_float32();
      const std::vector<float> w = point_of(*model);
      std::vector<float> packed(model->packing().numbers()), g(packed.size());
      model->packing().pack(w.data(), packed.data());
      const auto draw = [](std::uint32_t n, std::uint32_t m) {
        return MinibatchName{1, 0, 2, n, m};
      };
      told->expect(draw(1, 32));
      for (const auto& [now, expected] : {std::pair{draw(1, 32), draw(2, 5)},
                                          {draw(2, 5), draw(3, 40)},
                                          {draw(4, 40), draw(4, 40)},
                                          {draw(4, 40), draw(0, 1)}}) {
        told->expect(expected);
        told->gradient_of_packed(packed.data(), now, {1, nullptr, nullptr, g.data()});
        std::vector<float> unpacked(w.size());
        told->packing().unpack(g.data(), unpacked.data());
        CHECK(unpacked == gradient(*product->make_float32(), w, now));
      }
    }
  }
}

namespace {

/// The greatest distance to what `exact` gives of each, in units of the last place of that.
template <class Exact>
double error_of(void (*Kernels::*which)(float*, std::size_t), const std::vector<float>& x,
                const Exact& exact) {
  double worst = 0;
  for (const Kernels* kernels : runnable_kernels()) {
    std::vector<float> y = x;
    (kernels->*which)(y.data(), y.size() / kernels::lane_count);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double wanted = exact(static_cast<double>(x[i]));
      const auto near = static_cast<float>(std::abs(wanted));
      const double unit = std::nextafter(near, std::numeric_limits<float>::infinity()) - near;
      worst = std::max(worst, std::abs(y[i] - wanted) / unit);
    }
  }
  return worst;
}

std::vector<float> spread(double low, double high) {
  std::vector<float> x;
  for (int i = 0; i < 160'000; ++i)
    x.push_back(static_cast<float>(low + (high - low) * i / 159'999));
  return x;
}

}  // namespace

TEST_CASE("kernels: exp, ln and tanh are right to some units in the last place") {
  const auto exp = [](double x) { return std::exp(x); };
  CHECK(error_of(&Kernels::exponentials, spread(-87.3, 88.7), exp) <= 2);
  CHECK(error_of(&Kernels::exponentials, spread(-1, 1), exp) <= 2);
  CHECK(error_of(&Kernels::exponentials, spread(-103, -87.3), exp) <= 1);  // subnormal
  const auto log = [](double x) { return std::log(x); };
  CHECK(error_of(&Kernels::logarithms, spread(1, 3), log) <= 2);
  CHECK(error_of(&Kernels::logarithms, spread(3, 1e6), log) <= 2);
  const auto tanh = [](double x) { return std::tanh(x); };
  CHECK(error_of(&Kernels::tanhs, spread(-12, 12), tanh) <= 3);
  CHECK(error_of(&Kernels::tanhs, spread(-0.7, 0.7), tanh) <= 3);
}

TEST_CASE("kernels: exp, ln and tanh of what is too small, too large or NaN") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const Kernels* kernels : runnable_kernels()) {
    CAPTURE(kernels->name);
    std::vector<float> x(16, std::numeric_limits<float>::quiet_NaN());
    x[0] = infinity, x[1] = -infinity, x[2] = 0, x[3] = 89, x[4] = -104;
    auto y = x;
    kernels->exponentials(y.data(), 1);
    CHECK(y[0] == infinity);
    CHECK(y[1] == 0);
    CHECK(y[2] == 1);
    CHECK(y[3] == infinity);
    CHECK(y[4] == 0);
    CHECK(std::isnan(y[5]));
    y = x;
    kernels->tanhs(y.data(), 1);
    CHECK(y[0] == 1);
    CHECK(y[1] == -1);
    CHECK(y[2] == 0);
    CHECK(std::isnan(y[5]));
    y = x, y[1] = 1;
    kernels->logarithms(y.data(), 1);
    CHECK(y[0] == infinity);
    CHECK(y[1] == 0);
    CHECK(std::isnan(y[5]));
  }
}

TEST_CASE("kernels: GRADRACE_CPU chooses, and what this machine has not is refused by name") {
  for (const Kernels* kernels : runnable_kernels()) {
    const Forced forced(kernels->name);
    CHECK(&chosen_kernels() == kernels);
  }
  CHECK(&chosen_kernels() == runnable_kernels().front());
  const Forced forced("sse9");
  CHECK_THROWS_WITH(chosen_kernels(), doctest::Contains("GRADRACE_CPU: \"sse9\"; allowed: "));
}

}  // namespace gradrace::kernels_test
