#include <algorithm>

#include "models/cpu/kernels/convolution_kernels.h"

namespace gradrace::kernels {

namespace {

Taps taps(std::size_t first, std::size_t step, std::size_t end, std::size_t most,
          std::size_t source, std::int32_t direction) {
  const std::size_t count = first < end ? std::min((end - 1 - first) / step + 1, most) : 0;
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(step),
          static_cast<std::uint32_t>(count), static_cast<std::int32_t>(source), direction};
}

}  // namespace

Taps taps_of_output(const ConvolutionShape& shape, std::size_t i, std::size_t pixels_of_x) {
  const std::size_t start = shape.stride * i;  // in x with its padding
  const std::size_t first = std::max(start, shape.padding) - start;
  const std::size_t past = std::max(pixels_of_x + shape.padding, start) - start;
  return taps(first, 1, std::min(shape.kernel, past), pixels_of_x, start + first - shape.padding,
              1);
}

Taps taps_of_input(const ConvolutionShape& shape, std::size_t u, std::size_t pixels_of_z) {
  const std::size_t place = u + shape.padding, nearest = place / shape.stride;
  const std::size_t source = std::min(nearest, pixels_of_z - 1);
  const std::size_t first = place - source * shape.stride;
  return taps(first, shape.stride, shape.kernel, source + 1, source, -1);
}

}  // namespace gradrace::kernels
