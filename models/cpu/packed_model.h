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
#include "models/supervised_model.h"
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

  /// What is regularised of a packed value.
  virtual std::vector<std::span<const float>> weights(const float* w) const = 0;

  double regulariser(const float* w) const override {
    const auto finite = [](float x) { return std::isfinite(x); };
    if (!std::all_of(w, w + packing_.numbers(), finite))
      return std::numeric_limits<double>::quiet_NaN();
    if (parts_.l2 == 0) return 0;
    double sums[kernels::lane_count] = {};
    for (const std::span<const float> part : weights(w))
      for (std::size_t j = 0; j < part.size(); ++j) {
        const double x = part[j];
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
  std::optional<MinibatchName> expected_;
  Aligned<float> chains_;  // of a gradient over the rows so far
};

}  // namespace gradrace
