#include "models/augmentation.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/random.h"

namespace gradrace {

namespace {

constexpr std::size_t padding = 4;

std::uint32_t word(const MinibatchName& name, Purpose purpose, std::uint32_t number) {
  return philox_block({name.seed, name.replica, purpose, name.learner, name.draw},
                      number / 4)[number % 4];
}

std::size_t edge(const MinibatchName& name, std::uint32_t number) {
  return (word(name, Purpose::crop, number) * std::uint64_t{2 * padding + 1}) >> 32;
}

}  // namespace

template <class Real>
void augment(const MinibatchName& name, const ImageShape& images, RowMajor<Real>& x) {
  const auto [channels, height, width] = images;
  std::vector<Real> padded((height + 2 * padding) * (width + 2 * padding));
  for (std::uint32_t r = 0; r < name.size; ++r) {
    const std::size_t top = edge(name, 2 * r), left = edge(name, 2 * r + 1);
    const bool mirrored = word(name, Purpose::flip, r) >= 1u << 31;
    for (std::size_t c = 0; c < channels; ++c) {
      Real* const image = x.data() + r * images.numbers() + c * height * width;
      const auto at = [&](std::size_t i, std::size_t j) {
        return padded.data() + i * (width + 2 * padding) + j;
      };
      for (std::size_t i = 0; i < height; ++i)
        std::copy_n(image + i * width, width, at(i + padding, padding));
      for (std::size_t i = 0; i < height; ++i) {
        Real* const row = std::copy_n(at(i + top, left), width, image + i * width) - width;
        if (mirrored) std::reverse(row, row + width);
      }
    }
  }
}

template void augment(const MinibatchName&, const ImageShape&, RowMajor<float>&);
template void augment(const MinibatchName&, const ImageShape&, RowMajor<double>&);

}  // namespace gradrace
