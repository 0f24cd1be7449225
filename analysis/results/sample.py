"""A mean over replicas, and how sure it is."""

import math
from dataclasses import dataclass, field, replace

import numpy as np


@dataclass(frozen=True)
class Sample:
    """A mean over replicas, its standard error (0 where it has none), the degrees of freedom that
    error is estimated with, the values of the replicas where they are known, and how many replicas
    it comes from (None: it is no mean; of several means, the fewest). `never` runs more have no value,
    and then there is no mean of all."""

    mean: float
    error: float = 0.0
    freedom: float = math.inf
    values: np.ndarray | None = field(default=None, repr=False, compare=False)
    replicas: int | None = field(default=None, repr=False, compare=False)
    never: int = 0

    @property
    def half(self):
        """Of the 95 % interval, by Student's t; NaN of one value."""
        from scipy.special import stdtrit

        known = self.replicas is None or self.replicas > 1
        return float(stdtrit(self.freedom, 0.975)) * self.error if known else math.nan

    def __str__(self):
        return f"{self.mean:.5g}" + (f" (se {self.error:.2g})" if self.error > 0 else "")


def unit_of(values, axis=None):
    """The power of two at or below the largest magnitude among values, 1 where all are 0 or NaN: in that
    unit their squares and sums are in the range of a double, whatever theirs is."""
    largest = np.max(np.abs(values), initial=0.0, where=np.isfinite(values), axis=axis)
    return np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)[()]


def sample(values):
    """The Sample of one value a replica."""
    values = np.asarray(values, float)
    count = len(values)
    if count < 2:
        return Sample(float(values[0]) if count else math.nan, values=values, replicas=count)
    unit = unit_of(values)
    scaled = values / unit
    error = scaled.std(ddof=1) / math.sqrt(count) * unit
    return Sample(float(scaled.mean() * unit), float(error), count - 1, values, count)


def sample_of_runs(values):
    """The same of values of which NaN is of no run, and inf of one that never got there."""
    values = np.asarray(values, float)
    known = values[np.isfinite(values)]
    return replace(sample(known), never=int(np.isinf(values).sum()))
