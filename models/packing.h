#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gradrace {

/// How a device keeps the numbers of a model, where that is not the definition's order: W of a
/// dense layer [inputs, columns], so that outputs stand side by side, and b [columns] after it, as
/// the weights of an input that is 1.  Columns beyond the outputs are 0 and stay so under every
/// optimiser.
class Packing {
 public:
  /// [outputs, inputs] and [outputs] from `first` on are [inputs + 1, columns] from `packed` on.
  struct Layer {
    std::size_t first, packed, outputs, inputs, columns;
  };

  /// As the definition has them.
  explicit Packing(std::size_t parameters) : parameters_(parameters), numbers_(parameters) {}
  /// All parameters are those layers'.
  explicit Packing(std::vector<Layer> layers) : layers_(std::move(layers)) {
    for (const Layer& layer : layers_) {
      parameters_ = layer.first + layer.outputs * (layer.inputs + 1);
      numbers_ = layer.packed + layer.columns * (layer.inputs + 1);
    }
  }

  /// Of the model.
  std::size_t parameters() const { return parameters_; }
  /// Stored, padding included.
  std::size_t numbers() const { return numbers_; }
  const std::vector<Layer>& layers() const { return layers_; }

  /// packed [numbers] from w [parameters], and back.
  template <class Real>
  void pack(const Real* w, Real* packed) const {
    if (!layers_.empty()) std::fill_n(packed, numbers_, Real{0});
    each([&](std::size_t of_w, std::size_t of_packed) { packed[of_packed] = w[of_w]; });
  }
  template <class Real>
  void unpack(const Real* packed, Real* w) const {
    each([&](std::size_t of_w, std::size_t of_packed) { w[of_w] = packed[of_packed]; });
  }

 private:
  template <class Use>
  void each(const Use& use) const {
    if (layers_.empty())
      for (std::size_t j = 0; j < parameters_; ++j) use(j, j);
    for (const Layer& layer : layers_) {
      std::size_t j = layer.first;
      for (std::size_t o = 0; o < layer.outputs; ++o)
        for (std::size_t i = 0; i < layer.inputs; ++i)
          use(j++, layer.packed + i * layer.columns + o);
      for (std::size_t o = 0; o < layer.outputs; ++o)
        use(j++, layer.packed + layer.inputs * layer.columns + o);
    }
  }

  std::vector<Layer> layers_;
  std::size_t parameters_ = 0, numbers_ = 0;
};

}  // namespace gradrace
