"""A quadratic with noise: floors of the error, and Lemma 2's bound on it."""

import numpy as np
from papers.dutta2018 import claim, figure_of
from plots.bands import band, linear
from reproduce.claims import Sample, difference, paired_difference, paired_ratio, ratio
from reproduce.figures import SIMULATED, THEORY, Series
from reproduce.replicas import late

SCENARIO, REPLICAS = "how_high_is_the_floor", 14


def quadratic_key(row):
    return row["learning_rate.eta"], row["protocol"], row["k"]


def place(eta, protocol, k):
    return f"{protocol}, K = {k}, eta = {eta:g}"


def of_sync(values):
    """Of {(eta, protocol, K): value}: those of protocols without staleness."""
    return {at: one for at, one in values.items() if at[1] in ("k-sync", "k-batch-sync")}


def sync_floor(eta, k):
    return eta / (2 * k * (2 - eta))


def async_floor(eta, learners=8):
    """Of exponential runtimes: the stationary second moments of w and of the learners' versions."""
    return eta / (4 * (1 + eta) / (1 + learners * eta) - 2 * eta)


def floors(outputs):
    outputs.need(SCENARIO, REPLICAS)
    curves = outputs.curves(SCENARIO, quadratic_key, "update", "loss")
    measured = {key: late(found) for key, found in curves.items()}
    figure = figure_of("floors")
    for (eta, protocol, k), found in curves.items():
        if eta != 0.05:
            continue
        mean = band(found, linear)
        shown = mean.x <= 600
        x = mean.x[shown]
        name = "async" if protocol == "async" else f"{protocol}, K = {k}"
        half = list(mean.half[shown])
        figure.series.append(Series(name, SIMULATED, list(x), list(mean.mean[shown]), half, True))
        if protocol == "k-sync":
            figure.series.append(Series(name, THEORY, list(x), list(lemma_2(eta, k, x))))
    return [figure], [*floor_claims(measured), bound_claim(curves), tight_claim(measured)]


def lemma_2(eta, k, updates):
    """c = L = sigma = m = 1, F(w_0) - F* = 1."""
    floor = eta / (2 * k)
    return floor + (1 - eta) ** np.asarray(updates) * (1 - floor)


def floor_claims(measured):
    sync = of_sync(measured)
    yield claim("12.sync").all_near(
        (place(*at), sync_floor(at[0], at[2]), one) for at, one in sync.items()
    )
    stale = {
        (0.05, "async", 1): 1.73e-2,
        (0.05, "k-async", 4): 3.4e-3,
        (0.05, "k-batch-async", 4): 3.6e-3,
        (0.005, "async", 1): 1.34e-3,
        (0.005, "k-async", 4): 3.1e-4,
    }
    yield claim("12.async").all_near((place(*at), x, measured[at]) for at, x in stale.items())
    gap = {
        eta: paired_ratio(measured[eta, "async", 1], measured[eta, "k-sync", 1])
        for eta in (0.005, 0.05)
    }
    for eta in gap:
        yield claim(f"12.above-{eta:g}").above(
            paired_difference(measured[eta, "async", 1], measured[eta, "k-sync", 1])
        )
        yield claim(f"12.inflation-{eta:g}").near(gap[eta], async_floor(eta) / sync_floor(eta, 1))
    yield claim("12.gap").above(difference(gap[0.05], gap[0.005]))


def tight_claim(measured):
    """The bound is not idle: its floor is nearly twice the exact one."""
    bound = lambda eta, _, k: Sample(float(lemma_2(eta, k, 1e6)))
    over = {at: ratio(bound(*at), one) for at, one in of_sync(measured).items()}
    return claim("13.floor").all_near((place(*at), 2 - at[0], one) for at, one in over.items())


def bound_claim(curves):
    """Item 13, at every evaluation after the start, where both are 1."""
    values = []
    for (eta, protocol, k), found in of_sync(curves).items():
        mean = band(found, linear)
        limit = lemma_2(eta, k, mean.x)
        worst = 1 + int(np.argmax(mean.mean[1:] / limit[1:]))
        where = f"{place(eta, protocol, k)}, iteration {mean.x[worst]:g}"
        values.append((where, float(mean.mean[worst]), float(limit[worst])))
    where, error, limit = max(values, key=lambda one: one[1] / one[2])
    return claim("13").holds(error <= limit * (1 + 1e-6), f"at most {error / limit:.4f} ({where})")
