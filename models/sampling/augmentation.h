#pragma once

#include "models/datasets/image_shape.h"
#include "models/sampling/batch.h"
#include "models/sampling/minibatch.h"

namespace gradrace {

/// Four zeros on every side of an image, of which its own size is cut out anywhere, and half of
/// the images, by chance, are mirrored left to right.  Source: Lee et al., Deeply-Supervised Nets,
/// AISTATS 2015, as He et al., CVPR 2016, sec. 4.2 have it.
///
/// Image i of the minibatch begins at row floor(9 u_{2 i} / 2^32) and column floor(9 u_{2 i + 1} /
/// 2^32) of the padded one, u the words of the stream (seed, replica, crop, learner, draw); it is
/// mirrored where word i of the stream (seed, replica, flip, learner, draw) is 2^31 or more.
///
/// x [m, features]: the minibatch of that name.
template <class Real>
void augment(const MinibatchName& name, const ImageShape& images, RowMajor<Real>& x);

}  // namespace gradrace
