"""The time of a round on m machines, and the model of it: items 1 and 2."""

import math

import numpy as np
from advise.system import fit_system
from papers.laws import harmonic
from papers.pan2016hemingway import claim, machines
from reproduce.claims import Sample, difference

ROWS_A_SECOND, CHANCE_DELAY, HOP = 128, 0.05, 0.02  # of the scenarios' cluster
POWERS = [1, 2, 4, 8, 16, 32, 64]  # to which the model is fitted
SCENARIO = "how_long_is_a_round"


def time_of(theta, m):
    return theta[0] + theta[1] / m + theta[2] * np.log(m) + theta[3] * m


def recovered():
    random, sizes = np.random.default_rng(1), np.array(POWERS)
    fine = np.geomspace(0.05, 20, 10_001)
    far, least, ratios = [], [], []
    for theta in random.uniform(0.1, 1, (20, 4)) * (random.random((20, 4)) < [0.7, 1, 0.7, 1]):
        exact, rough = (
            fit_system(sizes, time_of(theta, sizes) * by) for by in (1, random.uniform(0.5, 1.5, 7))
        )
        far.append(float(np.abs(exact.theta - theta).max()))
        least.append(float(rough.theta.min()))
        ratios.append(exact.fastest / fine[np.argmin(time_of(theta, fine))])
    return [
        claim("1.recovers").near(Sample(max(far))),
        claim("1.positive").holds(min(least) >= 0, Sample(min(least))),
        claim("1.least").near(Sample(max(ratios, key=lambda one: abs(one - 1)))),
    ]


def expected_time(row):
    """Of a round: the pass, the slowest of m delays, a hop up and one down for each level of the tree."""
    m = row["learners"]
    delay = row["cluster.runtime.shift"] + CHANCE_DELAY * harmonic(m)
    levels = math.ceil(math.log2(m))
    return row["protocol.local_steps"] / ROWS_A_SECOND + delay + 2 * levels * HOP


def round_times(outputs):
    """{m: the Sample of a round's time}, and the system model of powers of two."""
    found = outputs.samples(SCENARIO, lambda row: int(row["learners"]), "mean_iteration_time")
    return found, fit_system(POWERS, [found[m].mean for m in POWERS])


def times(outputs):
    found, system = round_times(outputs)
    expected = {row["learners"]: expected_time(row) for row in outputs.runs(SCENARIO)}
    told = {m: float(system.time(m)) for m in found if m not in POWERS}
    return [], [
        *recovered(),
        claim("2.time").all_near((machines(m), expected[m], found[m]) for m in found),
        claim("2.u-shape").all_above([difference(found[m], found[32]) for m in (8, 128)]),
        claim("2.held-out").all_near((machines(m), told[m], found[m]) for m in told),
    ]
