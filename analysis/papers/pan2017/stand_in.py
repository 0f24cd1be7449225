"""What stands in for Inception on ImageNet, and how its curves are judged."""

import numpy as np
from bands import band, linear
from claims import sample, skipped

NAME = "stand-in: quadratic, curvatures 1 and 0.1, momentum 0.5"
# The loss that counts as converged: 1.55 times the 0.004 that small steps settle at.
TARGET = 0.0062


def place_of(curves, level):
    """Where the mean of the curves [(x, loss)] first falls to the level, on straight lines through
    its logarithm; infinity where it does not."""
    mean = band(curves, linear)
    whole = mean.running == len(curves)
    x, loss = mean.x[whole], mean.mean[whole]
    below = np.flatnonzero(loss <= level)
    if len(below) == 0:
        return float("inf")
    after = below[0]
    if after == 0:
        return float(x[0])
    share = np.log(loss[after - 1] / level) / np.log(loss[after - 1] / loss[after])
    return float(x[after - 1] + share * (x[after] - x[after - 1]))


def late_mean(curve, start):
    """Of one run after that share of it."""
    x, y = curve
    return y[x > start * x[-1]].mean()


def late_means(curves, start):
    """The Sample over replicas."""
    return sample([late_mean(curve, start) for curve in curves])


def left_to_a_gpu(id, source, claim):
    """The row of a scenario in the folder gpu."""
    reason = "takes a GPU: scenarios/papers/pan2017/gpu"
    return skipped(id, source, claim, reason)
