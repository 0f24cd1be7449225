#pragma once

namespace gradrace {

/// The largest alpha h at which
///
///     v' = momentum v + alpha h w_(j-tau),   w_(j+1) = w_j - v'
///
/// is stable: SGD on a quadratic of curvature h whose gradients are all tau >= 0 updates old.  At
/// the limit a root z = e^(i theta) of z^tau (z - 1 - b + b/z) = -alpha h, b the momentum in [0,
/// 1), stands on the unit circle, the least such theta solving
///
///     tau theta = atan((1 - b)/(1 + b) cot(theta/2)),   0 < theta <= pi,
///     (alpha h)^2 = (1 + b)^2 (1 - cos theta)^2 + (1 - b)^2 sin^2 theta.
///
/// b = 0: 2 sin(pi / (2 (2 tau + 1))).  tau = 0: 2 (1 + b).  Exact; a tau between two whole numbers
/// is interpolated by the same formula.
/// Source: derived; tau = 0: Polyak, USSR Comp. Math. Math. Phys. 4(5), 1964.
double largest_stable_step(double staleness, double momentum);

}  // namespace gradrace
