"""Closed forms of the laws that papers use, apart from the program's own theory; theorems are of
Dutta et al., 2018 (sections 3 and 4)."""

from math import exp, lgamma

import numpy as np

LAWS = ("exponential", "shifted-exponential", "pareto", "hyperexponential")
MEAN = {"exponential": 1.0, "shifted-exponential": 2.0, "pareto": 2.0, "hyperexponential": 1.0}
NAME = {
    "exponential": "exp(1)",
    "shifted-exponential": "1 + exp(1)",
    "pareto": "Pareto(2, 1)",
    "hyperexponential": "hyperexponential",
}


def harmonic(n):
    return sum(1 / i for i in range(1, n + 1))


def order_statistic(law, k, n):
    """E[X_{k:n}] of exp(1), 1 + exp(1) or Pareto(2, 1)."""
    if law == "exponential":
        return harmonic(n) - harmonic(n - k)
    if law == "shifted-exponential":
        return 1 + harmonic(n) - harmonic(n - k)
    assert law == "pareto", law
    return exp(lgamma(n + 1) + lgamma(n - k + 0.5) - lgamma(n - k + 1) - lgamma(n + 0.5))


def normal_maximum(mean, sd, n):
    """E[X_{n:n}] of a normal law cut off at 0, by the trapezoidal rule."""
    x, step = np.linspace(0, mean + 12 * sd, 200_001, retstep=True)
    density = np.exp(-0.5 * ((x - mean) / sd) ** 2)
    below = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    above = 1 - (below / below[-1]) ** n
    return float(step * (above.sum() - (above[0] + above[-1]) / 2))


def speedup(law, learners):
    """Theorem 1: sync's time of an update over async's."""
    return learners * order_statistic(law, learners, learners) / MEAN[law]


def theorem_2(k, n):
    """What waiting costs exp: P (H_P - H_{P-K}) / K."""
    return n * order_statistic("exponential", k, n) / k
