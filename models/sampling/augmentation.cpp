#include "models/sampling/augmentation.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/sampling/cut.h"

namespace gradrace {

template <class Real>
void augment(const MinibatchName& name, const ImageShape& images, RowMajor<Real>& x) {
  constexpr std::size_t padding = kernels::Cut::padding;
  const auto [channels, height, width] = images;
  const std::size_t stride = width + 2 * padding;
  std::vector<Real> padded((height + 2 * padding) * stride);
  for (std::uint32_t r = 0; r < name.size; ++r) {
    const kernels::Cut cut(name, r);
    for (std::size_t c = 0; c < channels; ++c) {
      Real* const image = x.data() + r * images.numbers() + c * height * width;
      const auto at = [&](std::size_t i, std::size_t j) { return padded.data() + i * stride + j; };
      for (std::size_t i = 0; i < height; ++i)
        std::copy_n(image + i * width, width, at(i + padding, padding));
      for (std::size_t i = 0; i < height; ++i) {
        Real* const row = std::copy_n(at(i + cut.top, cut.left), width, image + i * width) - width;
        if (cut.mirrored) std::reverse(row, row + width);
      }
    }
  }
}

template void augment(const MinibatchName&, const ImageShape&, RowMajor<float>&);
template void augment(const MinibatchName&, const ImageShape&, RowMajor<double>&);

}  // namespace gradrace
