"""How many estimated standard errors are as unlikely as so many known ones: Student's t."""

import math
from functools import cache

import numpy as np

MANY = 2000  # degrees of freedom, from which on the error counts as known
NODES, WEIGHTS = np.polynomial.legendre.leggauss(100)


def tail(t, freedom):
    """P(T > t), t > 0: the integral of sin^(freedom - 1) up to the angle atan(sqrt(freedom) / t)."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    half = math.atan(math.sqrt(freedom) / t) / 2
    return scale * half * float(WEIGHTS @ np.sin(half * (NODES + 1)) ** (freedom - 1))


@cache
def standard_errors(known, freedom):
    """The t that T passes as seldom as a normal variable passes `known`."""
    if freedom > MANY or known == 0:
        return known
    wanted = math.erfc(known / math.sqrt(2)) / 2
    low, high = known, known + 1
    while tail(high, freedom) > wanted:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, freedom) > wanted else (low, middle)
    return high
