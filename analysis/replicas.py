"""Numbers taken from the curves [(x, y)] of the replicas of one point."""

import numpy as np
from claims import sample


def mean_at(curves, place):
    """The Sample of the curves at a place."""
    return sample([np.interp(place, x, y) for x, y in curves])


def late_mean(curve, share=0.5):
    """Of the last share of one run."""
    x, y = curve
    return y[x > (1 - share) * x[-1]].mean()


def smoothed(curves, grid, width):
    """The mean over replicas, averaged over `width` of x around each place of the grid."""
    mean = np.mean([np.interp(grid, x, y) for x, y in curves], axis=0)
    inside = np.abs(grid[:, None] - grid[None, :]) <= width / 2
    return (inside @ mean) / inside.sum(axis=1)
