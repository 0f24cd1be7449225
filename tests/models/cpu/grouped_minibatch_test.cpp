#include "models/cpu/grouped_minibatch.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "models/datasets/dataset.h"

namespace gradrace {

namespace {

using kernels::lane_count;

/// Rows of 28 x 28 pixels, two fifths of them 0, in runs.
Dataset images(std::size_t rows) {
  Dataset data;
  data.features = 784;
  data.image = {1, 28, 28};
  data.byte_scale = 1.0f / 255;
  data.train.count = rows;
  for (std::size_t k = 0; k < rows * 784; ++k)
    data.train.bytes.push_back(k / 37 % 5 < 2 ? 0 : static_cast<std::uint8_t>(1 + k * k % 255));
  data.train.classes.resize(rows);
  return data;
}

/// All numbers [n, places], those of no group 0.
std::vector<float> numbers_of(const kernels::InputGroups& x) {
  std::vector<float> numbers(x.n * x.places);
  for (std::size_t r = 0; r < x.n; ++r)
    for (const kernels::ByteGroup& group : std::span(x.bytes[r], x.counts[r]))
      for (std::size_t l = 0; l < lane_count; ++l)
        numbers[r * x.places + group.place + l] = static_cast<float>(group.x[l]) * x.scale;
  return numbers;
}

float by_tree(std::array<float, lane_count> lanes) {
  for (std::size_t half = lane_count / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

std::vector<std::uint32_t> first_rows(std::size_t n) {
  std::vector<std::uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

}  // namespace

TEST_CASE("grouped minibatch: a product's chains are those that kernels.h names, bit for bit") {
  const Dataset data = images(70);
  for (const std::size_t outputs : {1u, 2u, 7u, 10u, 11u, 16u}) {
    CAPTURE(outputs);
    for (const kernels::Kernels* kernels : kernels::runnable_kernels()) {
      if (!kernels->fused) continue;
      CAPTURE(kernels->name);
      GroupedMinibatch minibatch(data);
      minibatch.gather(first_rows(70));
      const kernels::InputGroups& x = minibatch.x();
      const std::vector<float> numbers = numbers_of(x);
      const std::size_t columns = kernels::columns_of_few(outputs);
      std::vector<float> w(outputs * x.places + columns), y(x.n * columns), dy(x.n * columns);
      for (std::size_t j = 0; j < w.size(); ++j) w[j] = std::sin(0.1f * static_cast<float>(j));
      for (std::size_t r = 0; r < x.n; ++r)
        for (std::size_t o = 0; o < outputs; ++o)
          dy[r * columns + o] = std::cos(static_cast<float>(r * outputs + o));
      kernels->forward_few(x, w.data(), outputs, y.data());
      std::vector<float> dw(w.size());
      kernels->backward_few(x, dy.data(), outputs,
                            {{1, nullptr, nullptr, dw.data()}, 0, w.data(), nullptr});
      const auto weight = [&](std::size_t place, std::size_t o) {
        return (place / lane_count * outputs + o) * lane_count + place % lane_count;
      };
      for (std::size_t o = 0; o < outputs; ++o) {
        for (std::size_t r = 0; r < x.n; ++r) {
          std::array<float, lane_count> lanes{};
          for (std::size_t place = 0; place < x.places; ++place)
            lanes[place % lane_count] = std::fma(numbers[r * x.places + place], w[weight(place, o)],
                                                 lanes[place % lane_count]);
          REQUIRE(y[r * columns + o] == by_tree(lanes) + w[outputs * x.places + o]);
        }
        float bias = 0;
        for (std::size_t r = 0; r < x.n; ++r) bias += dy[r * columns + o];
        CHECK(dw[outputs * x.places + o] == bias);
        for (std::size_t place = 0; place < x.places; place += 5) {
          float sum = 0;
          for (std::size_t r = 0; r < x.n; ++r)
            sum = std::fma(numbers[r * x.places + place], dy[r * columns + o], sum);
          REQUIRE(dw[weight(place, o)] == sum);
        }
      }
    }
  }
}

TEST_CASE("grouped minibatch: rows are grouped once, whatever threads ask, beside their entries") {
  for (int repetition = 0; repetition < 20; ++repetition) {
    const Dataset data = images(50);
    const GroupedRows* grouped[4];
    const SparseRows* sparse[4];
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        GroupedMinibatch minibatch(data);
        minibatch.prepare();
        grouped[i] = &grouped_rows(data);
        sparse[i] = sparse_rows(data);
      });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(grouped[i] == grouped[0]);
      CHECK(sparse[i] == sparse[0]);
    }
  }
}

TEST_CASE("grouped minibatch: who comes while rows are grouped makes their entries first") {
  const Dataset data = images(50);
  std::thread([&] {
    GroupedMinibatch(data).prepare();
    CHECK(!data.sparse.begun());
  }).join();
  GroupedMinibatch(data).prepare();
  CHECK(data.sparse.begun());
}

}  // namespace gradrace
