#pragma once

#include <cstddef>

/// What is done between the convolutions with maps [channels, pixels, n] in float32: batch
/// normalisation, pooling, response normalisation.  The layers' classes in float64 are the
/// definitions.
///
/// A sum over a map is 32 chains, one for the numbers with the same place mod 32, and then a tree
/// over the chains; a sum over a window is one chain in reading order.  With roots and quotients,
/// which are rounded as IEEE 754 says, that gives the same bits on every instruction set that has
/// fused multiply-adds.
namespace gradrace::kernels {

/// Pixel [i, j] of y [channels, out_height, out_width] sees what there is of the pixels [step i
/// ... step i + window - 1, step j ... step j + window - 1] of x [channels, height, width].
struct PoolingShape {
  std::size_t channels, height, width, out_height, out_width, window, step;
};

/// Each pixel sees what there is of the 3 x 3 around it.
struct Neighbourhood {
  std::size_t channels, height, width;
};

struct Moments {
  float mean, variance;  // of all numbers; divides by their count
};
struct NormalisedSums {
  float dy, dy_x;  // of dy, and of dy (x - mean)
};

struct MapKernels {
  /// Of one map of so many numbers.
  Moments (*moments)(const float* x, std::size_t numbers);
  /// y = (x - mean) factor + b
  void (*normalise)(const float* x, std::size_t numbers, float mean, float factor, float b,
                    float* y);
  NormalisedSums (*normalised_sums)(const float* x, const float* dy, std::size_t numbers,
                                    float mean);
  /// dx = (x - mean) by_x + dy factor + constant
  void (*normalise_back)(const float* x, const float* dy, std::size_t numbers, float mean,
                         float by_x, float factor, float constant, float* dx);

  /// The greatest number of each window, the first of equal ones; NaN propagates.  places, as y:
  /// window k + l of what was the greatest.
  void (*greatest)(const PoolingShape& shape, std::size_t n, const float* x, float* y,
                   float* places);
  void (*greatest_back)(const PoolingShape& shape, std::size_t n, const float* dy,
                        const float* places, float* dx);
  void (*mean)(const PoolingShape& shape, std::size_t n, const float* x, float* y);
  void (*mean_back)(const PoolingShape& shape, std::size_t n, const float* dy, float* dx);

  /// y = x p, p = s^(-3/4), s = 1 + alpha (sum of the squares of x around); ratio = y / s.
  void (*respond)(const Neighbourhood& shape, std::size_t n, float alpha, const float* x, float* y,
                  float* p, float* ratio);
  /// dx = dy p - factor x (sum of dy ratio around)
  void (*respond_back)(const Neighbourhood& shape, std::size_t n, float factor, const float* x,
                       const float* dy, const float* p, const float* ratio, float* dx);
};

}  // namespace gradrace::kernels
