#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gradrace {

/// How a device keeps the numbers of a model, where that is not the definition's order: each
/// parameter at a place of its own, and between them padding, which is 0 and stays so under every
/// optimiser.
class Packing {
 public:
  /// As the definition has them.
  explicit Packing(std::size_t parameters) : parameters_(parameters), numbers_(parameters) {}
  /// place_of [parameters], each below `numbers`.
  Packing(std::vector<std::uint32_t> place_of, std::size_t numbers)
      : parameters_(place_of.size()),
        numbers_(numbers),
        place_of_(std::make_shared<const std::vector<std::uint32_t>>(std::move(place_of))) {}

  /// Of the model.
  std::size_t parameters() const { return parameters_; }
  /// Stored, padding included.
  std::size_t numbers() const { return numbers_; }

  /// packed [numbers] from w [parameters], and back.
  template <class Real>
  void pack(const Real* w, Real* packed) const {
    if (!place_of_) return void(std::copy_n(w, parameters_, packed));
    std::fill_n(packed, numbers_, Real{0});
    for (const std::uint32_t place : *place_of_) packed[place] = *w++;
  }
  template <class Real>
  void unpack(const Real* packed, Real* w) const {
    if (!place_of_) return void(std::copy_n(packed, parameters_, w));
    for (const std::uint32_t place : *place_of_) *w++ = packed[place];
  }

 private:
  std::size_t parameters_ = 0, numbers_ = 0;
  std::shared_ptr<const std::vector<std::uint32_t>> place_of_;  // null: as the definition has them
};

}  // namespace gradrace
