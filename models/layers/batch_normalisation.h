#pragma once

#include "models/layers/network_spec.h"

namespace gradrace {

/// y = gamma u + b,  u = (x - mean) / sqrt(variance + 1e-5), channel by channel: in a gradient with
/// mean and variance of the channel's pixels in the whole batch (the variance divides by their
/// number), in an evaluation with those that the value carries.  Source: Ioffe, Szegedy, ICML 2015.
///
/// Parameters: b [channels], then gamma [channels]; statistics, which decay as said: mean
/// [channels], then variance [channels].
LayerSpec batch_normalisation(const ImageShape& images, double decay);

}  // namespace gradrace
