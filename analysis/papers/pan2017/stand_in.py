"""What stands in for Inception on ImageNet, and how its curves are judged."""

import math

import numpy as np
from reproduce.replicas import first_at, mean_curve

# The loss that counts as converged: 1.55 times the 0.004 that small steps settle at.
TARGET = 0.0062


def place_of(curves, level):
    """Where the mean of the curves [(x, loss)] first falls to the level, on straight lines through
    its logarithm; infinity where it does not."""
    x, loss = mean_curve(curves)
    return first_at(x, np.log(loss), math.log(level))
