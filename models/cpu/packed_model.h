#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/cpu/aligned.h"
#include "models/cpu/dense_rows.h"
#include "models/cpu/kernels/kernels.h"
#include "models/layers/network.h"
#include "models/model/supervised_model.h"
#include "sim/random.h"

namespace gradrace {

/// A supervised model by kernels of its own, whose values are packed.
class PackedModel : public SupervisedModel<float> {
 public:
  PackedModel(const SupervisedParts& parts, Packing packing)
      : SupervisedModel(parts), packing_(std::move(packing)) {}

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<float> w) override {
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    Network<float>(parts_.spec).initialise(words, w.data());
  }

  Packing packing() const override { return packing_; }

  void expect(const MinibatchName& name) override { expected_ = name; }

  void gradient(std::span<const float> w, const MinibatchName& name, std::span<float> g) override {
    Aligned<float> packed = pack(w.data()), of_packed(packing_.numbers());
    gradient_of_packed(packed.data(), name, {1, nullptr, nullptr, of_packed.data()});
    packing_.unpack(of_packed.data(), g.data());
  }

  void evaluate(std::span<const float* const> values, std::span<Evaluation> results) override {
    std::vector<Aligned<float>> packed;
    std::vector<const float*> pointers;
    for (const float* w : values) pointers.push_back(packed.emplace_back(pack(w)).data());
    evaluate_packed(pointers, results);
  }

 protected:
  /// The gradient at w of a minibatch, whose rows are gathered as many at once as it says:
  /// add(where the numbers of these go) computes over them.
  template <class Minibatch, class Add>
  void over_rows(Minibatch& minibatch, const MinibatchName& name, const float* w,
                 const Fold<float>& into, const Add& add) {
    auto left = draw_rows(name);
    const float* before = nullptr;
    for (auto n = minibatch.at_once(left); n < left.size(); n = minibatch.at_once(left)) {
      minibatch.gather(left.first(n));
      left = left.subspan(n);
      minibatch.expect(left.first(minibatch.at_once(left)));
      chains_.resize(packing_.numbers());
      add({{1, nullptr, nullptr, chains_.data()}, 0, w, before});
      before = chains_.data();
    }
    minibatch.gather(left);
    if (expected_) {
      const auto next = draw_rows(*std::exchange(expected_, {}));
      minibatch.expect(next.first(minibatch.at_once(next)));
    }
    add({into, static_cast<float>(2 * parts_.l2), w, before});
  }

  /// Goes over rows of a split: add() over those in `block`.
  template <class Add>
  static void each_block(DenseRows& block, bool test, std::span<const std::uint32_t> rows,
                         const Add& add) {
    constexpr std::size_t block_rows = 128;
    const auto first = [&] { return rows.first(std::min(block_rows, rows.size())); };
    while (!rows.empty()) {
      const auto own = first();
      rows = rows.subspan(own.size());
      block.gather(own, test);
      block.expect(first(), test);
      add();
    }
  }

  /// Of the values of a single layer, some at once, whose scores stand side by side.
  std::vector<LossSum> pass_side_by_side(DenseRows& block, bool test,
                                         std::span<const std::uint32_t> rows,
                                         std::span<const float* const> values) {
    std::vector<LossSum> sums(values.size());
    for (std::size_t v = 0; v < values.size(); v += kernels::lane_count) {
      const std::size_t count = std::min(kernels::lane_count, values.size() - v);
      put_side_by_side(values.subspan(v, count));
      each_block(block, test, rows,
                 [&] { add_side_by_side(block, std::span(sums).subspan(v, count)); });
    }
    return sums;
  }

  /// The losses of n rows, the first at `at` and each so far from the one before.
  void add_losses(LossSum& sum, std::size_t n, std::size_t at = 0, std::size_t apart = 1) const {
    float wrong = 0;
    for (std::size_t r = 0; r < n; ++r, at += apart) {
      sum.loss += static_cast<double>(losses_[at]);
      wrong += wrong_[at];
    }
    sum.wrong += parts_.loss == LossKind::half_square ? std::numeric_limits<double>::quiet_NaN()
                                                      : static_cast<double>(wrong);
  }

  double regulariser(const float* w) const override {
    const auto finite = [](float x) { return std::isfinite(x); };
    if (!std::all_of(w, w + packing_.numbers(), finite))
      return std::numeric_limits<double>::quiet_NaN();
    if (parts_.l2 == 0) return 0;
    unpacked_.resize(packing_.parameters());
    packing_.unpack(w, unpacked_.data());
    double sums[kernels::lane_count] = {};
    for (const LayerSpec& layer : parts_.spec.layers())
      for (std::size_t j = 0; j < layer.kernel.weights(); ++j) {
        const double x = unpacked_[layer.kernel.first + j];
        sums[j % kernels::lane_count] += x * x;
      }
    return parts_.l2 * std::accumulate(std::begin(sums), std::end(sums), 0.0);
  }

  Aligned<float> pack(const float* w) const {
    Aligned<float> packed(packing_.numbers());
    packing_.pack(w, packed.data());
    return packed;
  }

  const kernels::Kernels& kernels_ = kernels::chosen_kernels();
  const Packing packing_;
  Aligned<float> losses_, wrong_;  // of the rows of a block

 private:
  std::size_t outputs() const { return parts_.spec.output().numbers(); }

  /// W [features + 1, columns], of which [outputs, values] are used.
  void put_side_by_side(std::span<const float* const> values) {
    const std::size_t features = parts_.data->features;
    const std::size_t columns = kernels::in_lanes(outputs() * values.size());
    side_by_side_.assign((features + 1) * columns, 0);
    unpacked_.resize(packing_.parameters());
    for (std::size_t v = 0; v < values.size(); ++v) {
      packing_.unpack(values[v], unpacked_.data());
      for (std::size_t o = 0; o < outputs(); ++o) {
        float* const to = side_by_side_.data() + o * values.size() + v;
        for (std::size_t k = 0; k < features; ++k) to[k * columns] = unpacked_[o * features + k];
        to[features * columns] = unpacked_[outputs() * features + o];
      }
    }
  }

  void add_side_by_side(const DenseRows& block, std::span<LossSum> sums) {
    const kernels::InputRows& x = block.x();
    const std::size_t columns = kernels::in_lanes(outputs() * sums.size());
    scores_.resize(x.n * columns + kernels::lane_count);
    losses_.resize(x.n * kernels::lane_count), wrong_.resize(x.n * kernels::lane_count);
    kernels_.forward(x, side_by_side_.data(), columns, scores_.data());
    if (sums.size() == 1 && outputs() > 1) {
      kernels_.softmax_losses(scores_.data(), x.n, columns, outputs(), block.labels().classes,
                              losses_.data(), wrong_.data());
      return add_losses(sums.front(), x.n);
    }
    kernels_.losses_of_values(parts_.loss, scores_.data(), x.n, outputs(), sums.size(),
                              block.labels(), losses_.data(), wrong_.data());
    for (std::size_t v = 0; v < sums.size(); ++v) add_losses(sums[v], x.n, v, kernels::lane_count);
  }

  std::optional<MinibatchName> expected_;
  Aligned<float> chains_;  // of a gradient over the rows so far
  mutable Aligned<float> unpacked_;
  Aligned<float> side_by_side_, scores_;
};

}  // namespace gradrace
