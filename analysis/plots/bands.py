"""Means over replicas whose evaluations lie at different times."""

from dataclasses import dataclass

import numpy as np
from results.sample import unit_of
from scipy.special import stdtrit

MOST_POINTS = 1000


@dataclass
class Band:
    """On the grid x [n]: mean and half of its 95 % interval (NaN for one replica) over the replicas
    that still run, and how many those are."""

    x: np.ndarray
    mean: np.ndarray
    half: np.ndarray
    running: np.ndarray


def common_grid(curves, most=MOST_POINTS):
    """All the places at which any curve was evaluated; `most` evenly spaced ones where they are
    more."""
    grid = np.unique(np.concatenate([x for x, _ in curves]))
    return grid if len(grid) <= most else np.linspace(grid[0], grid[-1], most)


def step(x, y, grid):
    """y as a step function of x (ascending): the last evaluation at or before each place of the
    grid. NaN before the first and after the last one, where the run has ended."""
    last = np.searchsorted(x, grid, side="right") - 1
    inside = (last >= 0) & (grid <= x[-1])
    return np.where(inside, y[np.maximum(last, 0)], np.nan)


def linear(x, y, grid):
    """y on straight lines between its evaluations (the later one where two share an x), NaN outside
    of them."""
    last = np.append(x[1:] > x[:-1], True)
    return np.interp(grid, x[last], y[last], left=np.nan, right=np.nan)


def mean_and_half(values):
    """Over the first axis, NaN left out: the mean of independent values and half of its 95 % interval, by
    Student's t (NaN of one value)."""
    unit = unit_of(values, axis=0)
    scaled = np.asarray(values) / unit
    count = np.sum(~np.isnan(scaled), axis=0)
    mean = np.nansum(scaled, axis=0) / np.where(count > 0, count, np.nan)
    freedom = np.maximum(count - 1, 1)
    deviations = np.nansum((scaled - mean) ** 2, axis=0)
    half = stdtrit(freedom, 0.975) * np.sqrt(deviations / freedom / np.maximum(count, 1))
    return mean * unit, np.where(count > 1, half, np.nan) * unit


def band(curves, interpolate=step, places=MOST_POINTS):
    """The Band of curves [(x, y)] of the replicas of one point."""
    grid = common_grid(curves, places)
    values = np.array([interpolate(x, y, grid) for x, y in curves])
    running = np.sum(~np.isnan(values), axis=0)
    kept = running > 0
    grid, values, running = grid[kept], values[:, kept], running[kept]
    return Band(grid, *mean_and_half(values), running)
