#include "models/cpu/dense_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "models/cpu/dense_rows.h"
#include "models/layers/network.h"
#include "sim/random.h"

namespace gradrace {

namespace {

using kernels::in_lanes;
using kernels::lane_count;

class DenseModel final : public SupervisedModel<float> {
 public:
  explicit DenseModel(SupervisedParts parts)
      : SupervisedModel(std::move(parts)),
        network_(parts_.spec, kernels_),
        packing_(network_.packing()),
        minibatch_(*parts_.data, kernels_),
        block_(*parts_.data, kernels_) {}

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<float> w) override {
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    Network<float>(parts_.spec).initialise(words, w.data());
  }

  Packing packing() const override { return packing_; }

  void expect(const MinibatchName& name) override { expected_ = name; }

  void gradient_of_packed(const float* w, const MinibatchName& name,
                          const Fold<float>& into) override {
    auto left = draw_rows(name);
    const float* before = nullptr;
    for (auto n = minibatch_.at_once(left); n < left.size(); n = minibatch_.at_once(left)) {
      minibatch_.gather(false, left.first(n));
      left = left.subspan(n);
      minibatch_.expect(false, left.first(minibatch_.at_once(left)));
      chains_.resize(packing_.numbers());
      add_rows(name.size, {{1, nullptr, nullptr, chains_.data()}, 0, w, before});
      before = chains_.data();
    }
    minibatch_.gather(false, left);
    if (expected_) {
      const auto next = draw_rows(*std::exchange(expected_, {}));
      minibatch_.expect(false, next.first(minibatch_.at_once(next)));
    }
    add_rows(name.size, {into, static_cast<float>(2 * parts_.l2), w, before});
  }

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

 private:
  /// Goes on with the gradient of a minibatch over the rows gathered last.
  void add_rows(std::size_t minibatch, const kernels::WeightFold& g) {
    const kernels::InputRows& x = minibatch_.x();
    differentiate(network_.forward(g.w, x), x.n, 1 / static_cast<float>(minibatch));
    network_.backward(x, g);
  }

  Aligned<float> pack(const float* w) const {
    Aligned<float> packed(packing_.numbers());
    packing_.pack(w, packed.data());
    return packed;
  }

  void differentiate(float* scores, std::size_t n, float share) const {
    const DenseNetwork::Layer& last = network_.layers().back();
    if (network_.has_one_output())
      return kernels_.slopes_of_one(parts_.loss, scores, n, minibatch_.labels(), share);
    kernels_.softmax_slopes(scores, n, last.columns, last.outputs, minibatch_.labels().classes,
                            share);
  }

  // ---- evaluations

  static constexpr std::size_t block_rows = 128;

  std::vector<LossSum> pass(bool test, std::span<const std::uint32_t> rows,
                            std::span<const float* const> values) override {
    std::vector<LossSum> sums(values.size());
    for (std::size_t v = 0; v < values.size(); v += lane_count) {
      const std::size_t count = std::min(lane_count, values.size() - v);
      const auto some = values.subspan(v, count);
      const bool together = are_side_by_side(count);
      if (together) put_side_by_side(some);
      auto block = first_block(rows);
      for (auto left = rows; !left.empty(); block = first_block(left)) {
        left = left.subspan(block.size());
        block_.gather(test, block);
        block_.expect(test, first_block(left));
        const auto of_some = std::span(sums).subspan(v, count);
        together ? add_together(of_some) : add_one_by_one(some, of_some);
      }
    }
    return sums;
  }

  static std::span<const std::uint32_t> first_block(std::span<const std::uint32_t> rows) {
    return rows.first(std::min(block_rows, rows.size()));
  }

  /// Whether the scores of so many values take no more lanes side by side.
  bool are_side_by_side(std::size_t values) const {
    if (network_.layers().size() > 1) return false;
    return network_.has_one_output() ||
           (values > 1 && columns_of(values) <= values * network_.layers().back().columns);
  }

  /// Of so many values side by side.
  std::size_t columns_of(std::size_t values) const {
    return in_lanes(network_.layers().back().outputs * values);
  }

  /// W [inputs + 1, columns], of which [outputs, values] are used.
  void put_side_by_side(std::span<const float* const> values) {
    const DenseNetwork::Layer& layer = network_.layers().back();
    const std::size_t columns = columns_of(values.size());
    together_.assign((layer.inputs + 1) * columns, 0);
    for (std::size_t i = 0; i <= layer.inputs; ++i) {
      float* to = together_.data() + i * columns;
      for (std::size_t o = 0; o < layer.outputs; ++o)
        for (const float* w : values) *to++ = w[i * layer.columns + o];
    }
  }

  void add_together(std::span<LossSum> sums) {
    const std::size_t n = block_.x().n, columns = columns_of(sums.size());
    scores_.resize(n * columns + lane_count);
    losses_.resize(n * lane_count), wrong_.resize(n * lane_count);
    kernels_.forward(block_.x(), together_.data(), columns, scores_.data());
    kernels_.losses_of_values(parts_.loss, scores_.data(), n, network_.layers().back().outputs,
                              sums.size(), block_.labels(), losses_.data(), wrong_.data());
    for (std::size_t v = 0; v < sums.size(); ++v) add(sums[v], v, lane_count, n);
  }

  void add_one_by_one(std::span<const float* const> values, std::span<LossSum> sums) {
    kernels::InputRows x = block_.x();
    const std::size_t n = x.n;
    const DenseNetwork::Layer& last = network_.layers().back();
    losses_.resize(in_lanes(n)), wrong_.resize(in_lanes(n));
    for (std::size_t v = 0; v < values.size(); ++v) {
      const float* const scores = network_.forward(values[v], x);
      x.soon = {};  // fetched once
      kernels_.softmax_losses(scores, n, last.columns, last.outputs, block_.labels().classes,
                              losses_.data(), wrong_.data());
      add(sums[v], 0, 1, n);
    }
  }

  /// The losses of the block's rows, the first at `at` and each so far from the one before.
  void add(LossSum& sum, std::size_t at, std::size_t apart, std::size_t n) const {
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
    double sums[lane_count] = {};
    for (const DenseNetwork::Layer& layer : network_.layers())
      for (std::size_t j = 0; j < layer.inputs * layer.columns; ++j) {
        const double x = w[layer.packed + j];
        sums[j % lane_count] += x * x;
      }
    return parts_.l2 * std::accumulate(std::begin(sums), std::end(sums), 0.0);
  }

  const kernels::Kernels& kernels_ = kernels::chosen_kernels();
  std::optional<MinibatchName> expected_;
  DenseNetwork network_;
  Packing packing_;
  DenseRows minibatch_, block_;
  Aligned<float> chains_;  // of a gradient over the rows so far
  Aligned<float> together_, scores_, losses_, wrong_;
};

}  // namespace

std::unique_ptr<Model<float>> make_dense_model(SupervisedParts parts) {
  return std::make_unique<DenseModel>(std::move(parts));
}

}  // namespace gradrace
