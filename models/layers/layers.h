#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/layers/network_spec.h"

namespace gradrace {

/// y = x W^T + b of n rows at once, x as numbers beside each other.  Parameters: W [outputs,
/// inputs], row-major, then b [outputs].
LayerSpec dense(const ImageShape& x, std::size_t outputs, double sd);

/// Adds hidden layers y = f(W x + b) of those widths, then the scores, without f.
void add_dense_layers(NetworkSpec& network, std::span<const std::uint64_t> widths, Activation f,
                      std::size_t outputs);

/// y = the greatest of each 2 x 2 of the convolution W * x, plus b: with images x [channels,
/// height, width],
///
///     z[o, i, j] = sum_{c, k, l} W[o, c, k, l] x[c, i + k, j + l]      (no padding)
///     y[o, i, j] = max of z[o, 2i + {0, 1}, 2j + {0, 1}] + b[o]
///
/// The first in reading order wins ties; an odd last row or column of z is left out.  Parameters: W
/// [outputs, channels, kernel, kernel], then b [outputs].  std::runtime_error where nothing is left
/// of the images.
LayerSpec convolution(const ImageShape& images, std::size_t outputs, std::size_t kernel, double sd);

struct PaddedConvolution {
  std::size_t outputs, kernel, padding, stride = 1;
  bool bias = true;  // else b is left to the layer that follows
};

/// y = W * x + b with zeros around the images: with images x [channels, height, width],
///
///     y[o, i, j] = b[o] + sum_{c, k, l} W[o, c, k, l] x[c, stride i + k - padding, stride j + l -
///                  padding]
///
/// Parameters: W [outputs, channels, kernel, kernel], then b [outputs], if there is one.
LayerSpec padded_convolution(const ImageShape& images, const PaddedConvolution& shape, double sd);

/// y[c, i, j] = the greatest, or the mean, of what there is of x[c, 2i ... 2i + 2, 2j ... 2j + 2].
/// As in Caffe the last window may reach over the edge, so that of a length of n there are
/// ceil((n - 3) / 2) + 1; a mean divides by the pixels that there are.  Of equal numbers the first
/// in reading order is the greatest.  std::runtime_error where nothing is left of the images.
LayerSpec greatest_pooling(const ImageShape& images);
LayerSpec mean_pooling(const ImageShape& images);

/// y [channels] = the mean of each channel of the images x.
LayerSpec pixel_mean(const ImageShape& images);

/// Local response normalisation within each channel:
///
///     y[c, i, j] = x[c, i, j] s^-beta,  s = 1 + alpha / 9 sum of x[c, i - 1 ... i + 1, j - 1 ... j
///                  + 1]^2
///
/// over what there is of those pixels (always divided by 9), alpha = 5e-5, beta = 3/4.  Source:
/// Krizhevsky, cuda-convnet, 2011; Caffe's layer LRN with WITHIN_CHANNEL, local_size 3, and the
/// constants of its CIFAR-10 examples.
LayerSpec response_normalisation(const ImageShape& images);

/// y = gamma u + b,  u = (x - mean) / sqrt(variance + 1e-5), channel by channel: in a gradient with
/// mean and variance of the channel's pixels in the whole batch (the variance divides by their
/// number), in an evaluation with those that the value carries.  Source: Ioffe, Szegedy, ICML 2015.
///
/// Parameters: b [channels], then gamma [channels]; statistics, which decay as said: mean
/// [channels], then variance [channels].
LayerSpec batch_normalisation(const ImageShape& images, double decay);

/// y = gamma u + b,  u = (x - mean) / sqrt(variance + 1e-5), image by image and group by group,
/// with mean and variance of the pixels of the group's channels (the variance divides by their
/// number), in a gradient and in an evaluation alike.  A group is of channels beside each other;
/// there are as many as the greatest divisor of the channels that is at most `groups`.  Source: Wu,
/// He, ECCV 2018.
///
/// Parameters: b [channels], then gamma [channels].
LayerSpec group_normalisation(const ImageShape& images, std::size_t groups);

/// y, which is the map before it, becomes y + x: every stride-th row and column of the maps of
/// layer number `from`, which are x, and nothing for the channels that x has not (He et al., CVPR
/// 2016, option A).  On the way back dx is added to.
LayerSpec shortcut(const ImageShape& x, const ImageShape& y, std::size_t from, std::size_t stride);

}  // namespace gradrace
