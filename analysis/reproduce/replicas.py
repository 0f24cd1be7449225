"""Numbers taken from the curves [(x, y)] of the replicas of one point."""

import math

import numpy as np
from plots.bands import common_grid, linear
from reproduce.claims import Sample, left_open, sample


def mean_at(curves, place):
    """The Sample of the curves at a place."""
    return sample([np.interp(place, x, y) for x, y in curves])


def mean_curve(curves):
    """(x, mean) where all replicas run, on straight lines."""
    grid = common_grid(curves)
    mean = np.mean([linear(x, y, grid) for x, y in curves], axis=0)
    whole = ~np.isnan(mean)
    return grid[whole], mean[whole]


def late_mean(curve, share=0.5):
    """Of the last share of one run."""
    x, y = curve
    return y[x > (1 - share) * x[-1]].mean()


def late(curves, share=0.5):
    """The Sample of the late means."""
    return sample([late_mean(one, share) for one in curves])


def first_at(x, y, level):
    """Where y first comes down to the level, on straight lines; infinity where it does not."""
    below = np.flatnonzero(y <= level)
    if len(below) == 0:
        return math.inf
    i = below[0]
    if i == 0:
        return float(x[0])
    return float(x[i - 1] + (x[i] - x[i - 1]) * (y[i - 1] - level) / (y[i - 1] - y[i]))


def first_recorded(x, y, level):
    """The first recorded place of one run at which y is down at the level; infinity if none."""
    below = np.flatnonzero(y <= level)
    return float(x[below[0]]) if len(below) else math.inf


def smoothed(curves, grid, width):
    """The mean over replicas, averaged over `width` of x around each place of the grid."""
    mean = np.mean([np.interp(grid, x, y) for x, y in curves], axis=0)
    inside = np.abs(grid[:, None] - grid[None, :]) <= width / 2
    return (inside @ mean) / inside.sum(axis=1)


def jackknife(statistic, *curves):
    """The Sample of statistic(*curves), each the curves of replicas that share their seeds: its
    error is that of leaving out one replica after another. Infinity is certain where it stays."""
    count = len(curves[0])
    whole = statistic(*curves)
    left = [statistic(*(one[:i] + one[i + 1 :] for one in curves)) for i in range(count)]
    if all(one == whole for one in left):
        return Sample(whole, replicas=count)
    if not np.isfinite([whole, *left]).all():
        return Sample(whole, math.inf, count - 1, replicas=count)
    error = math.sqrt((count - 1) / count * np.square(np.subtract(left, np.mean(left))).sum())
    return Sample(whole, error, count - 1, replicas=count)


def best_of(errors):
    """Of {rate: Sample of errors} the rate of the least mean, by every third replica."""
    means = {rate: one.values[::3].mean() for rate, one in errors.items()}
    return min(means, key=lambda rate: math.inf if math.isnan(means[rate]) else means[rate])


def judging(one):
    """The Sample of the replicas that choose nothing."""
    return sample(np.delete(one.values, np.s_[::3]))


def decided(claims, judges):
    """The claims; skipped where fewer than 8 replicas judge, of the Sample `judges`."""
    if judges.replicas >= 8:
        return claims
    reason = f"replicas that chose no rate: {judges.replicas}; it takes 8 to tell"
    return [left_open(one, reason) for one in claims]
