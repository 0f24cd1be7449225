#pragma once

#include <cstdint>

#include "models/datasets/image_shape.h"
#include "models/sampling/minibatch.h"
#include "sim/host_device.h"

namespace gradrace::kernels {

/// What augmentation makes of an image of a minibatch; see models/sampling/augmentation.h.
struct Cut {
  static constexpr std::uint32_t padding = 4;

  std::uint32_t top, left;  // in the padded image
  bool mirrored;

  GRADRACE_HD Cut(const MinibatchName& name, std::uint32_t image)
      : top(edge(name, 2 * image)),
        left(edge(name, 2 * image + 1)),
        mirrored(word(name, Purpose::flip, image) >= 1u << 31) {}

 private:
  GRADRACE_HD static std::uint32_t word(const MinibatchName& name, Purpose purpose,
                                        std::uint32_t number) {
    return philox_block({name.seed, name.replica, purpose, name.learner, name.draw},
                        number / 4)[number % 4];
  }
  GRADRACE_HD static std::uint32_t edge(const MinibatchName& name, std::uint32_t number) {
    const std::uint64_t word_of = word(name, Purpose::crop, number);
    return static_cast<std::uint32_t>((word_of * (2 * padding + 1)) >> 32);
  }
};

/// Row of pixels `number` of the minibatch x of that name, augmented, at its place in to [n,
/// numbers of an image].
template <class Real, class X>
GRADRACE_HD void augment_row(const MinibatchName& name, const ImageShape& images, const X& x,
                             std::uint32_t number, Real* to) {
  const auto height = static_cast<std::uint32_t>(images.height);
  const auto width = static_cast<std::uint32_t>(images.width);
  const std::uint32_t rows = static_cast<std::uint32_t>(images.channels) * height;  // in an image
  const std::uint32_t image = number / rows, row = number % rows;
  const Cut cut(name, image);
  const std::uint32_t i = row % height + cut.top;  // in the padded image
  for (std::uint32_t j = 0; j < width; ++j) {
    const std::uint32_t column = (cut.mirrored ? width - 1 - j : j) + cut.left;
    const bool inside = i >= Cut::padding && i - Cut::padding < height && column >= Cut::padding &&
                        column - Cut::padding < width;
    const std::uint32_t from =
        (row - row % height + i - Cut::padding) * width + column - Cut::padding;
    to[number * width + j] = inside ? x(image, from) : Real{0};
  }
}

}  // namespace gradrace::kernels
