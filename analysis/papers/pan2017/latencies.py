"""What a minibatch of the 100 workers of Pan et al., 2017, takes: closed forms of the law that is
fitted to the paper's Figs 3 and 4, apart from the program's own theory.

A worker takes normally distributed 1.6 s +- 0.08 s; with some probability it straggles and takes at
least 2 s, by a Pareto law of shape 2 that is cut off at 310 s. The normal times end before 2 s (but
for 3 in 10 million), so that where s of n workers straggle the others are the first n - s."""

from functools import cache
from math import erf, lgamma

import numpy as np

WORKERS = 100
MEAN, DEVIATION, LEAST_STRAGGLER, LONGEST = 1.6, 0.08, 2.0, 310.0
STRAGGLERS = 0.0146
CROWDS = {"shape": 3.2, "scale": 0.0045625}  # of the probability that a worker straggles

FAST = np.linspace(1.2, LEAST_STRAGGLER, 801)
SLOW = np.geomspace(LEAST_STRAGGLER, LONGEST, 2001)
TIMES = np.append(FAST, SLOW[1:])


def choices(n):
    """Logarithms of the binomial coefficients [n + 1]."""
    return np.array([lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) for i in range(n + 1)])


def binomial(n, p):
    """[n + 1, len(p)]: P(i of n) for each probability."""
    p = np.clip(np.asarray(p, float), 1e-300, 1 - 1e-16)
    i = np.arange(n + 1)[:, None]
    return np.exp(choices(n)[:, None] + i * np.log(p) + (n - i) * np.log1p(-p))


def at_least(n, k, p):
    """P(at least k of n) for each probability."""
    return binomial(n, p)[k:].sum(axis=0)


@cache
def straggling(n=WORKERS):
    """[n + 1]: P(s of n workers straggle), each with the same probability."""
    return tuple(binomial(n, [STRAGGLERS])[:, 0])


@cache
def straggling_in_crowds(n=WORKERS):
    """The same where the probability is drawn for each iteration, from a gamma law."""
    q = np.linspace(0, 0.3, 3002)[1:]
    shape, scale = CROWDS["shape"], CROWDS["scale"]
    log_density = (shape - 1) * np.log(q / scale) - q / scale - lgamma(shape) - np.log(scale)
    return tuple(binomial(n, q) @ np.exp(log_density) * (q[1] - q[0]))


@cache
def arrival(k, stragglers):
    """[len(TIMES)]: P(T_(k) <= t), the k-th of len(stragglers) - 1 workers' gradients."""
    n = len(stragglers) - 1
    normal = np.array([(1 + erf((t - MEAN) / DEVIATION / 2**0.5)) / 2 for t in FAST])
    pareto = 1 - (LEAST_STRAGGLER / SLOW[1:]) ** 2
    fast, slow = np.zeros(len(FAST)), np.zeros(len(SLOW) - 1)
    for s, probability in enumerate(stragglers):
        if probability < 1e-9:
            continue
        if k <= n - s:
            fast += probability * at_least(n - s, k, normal)
            slow += probability
        else:
            slow += probability * at_least(s, k - (n - s), pareto)
    slow[-1] = 1.0  # none takes longer
    return np.append(fast, slow)


def mean_arrival(k, stragglers):
    """E[T_(k)]."""
    late = 1 - arrival(k, stragglers)
    return TIMES[0] + float(np.trapezoid(late, TIMES))


def median_arrival(k, stragglers):
    return float(np.interp(0.5, arrival(k, stragglers), TIMES))


def within(k, stragglers, time=LEAST_STRAGGLER):
    """P(T_(k) < time)."""
    return float(np.interp(time, TIMES, arrival(k, stragglers)))


# Updates until Inception converges with N gradients each (Fig 5); between them the paper's estimate
# of Fig 6 interpolates on straight lines between five N, of which two are known.
ITERATIONS = {50: 137.5e3, 100: 76.2e3}


def iterations(n):
    """By the power law through both."""
    return ITERATIONS[100] * (100 / n) ** 0.852


def iterations_on_a_line(n):
    return float(np.interp(n, [50, 100], [ITERATIONS[50], ITERATIONS[100]]))
