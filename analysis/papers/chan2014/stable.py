"""The largest stable rate at a constant staleness, on a quadratic of curvature 1: item X2."""

import math

import numpy as np
from papers.chan2014 import claim, figure_of
from reproduce.claims import Sample
from reproduce.figures import SIMULATED, THEORY, Series

MOMENTA = (0.0, 0.9)


def radius(eta, tau, momentum):
    """Of the largest root: what w grows by an update where v = m v + eta w(k - tau), w = w - v."""
    polynomial = np.zeros(tau + 3)
    polynomial[:3] = 1, -1 - momentum, momentum
    polynomial[tau + 1] += eta
    return float(abs(np.roots(polynomial)).max())


def limit(tau, momentum):
    """The rate up to which it is below 1."""
    low, high = 0.0, 4.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if radius(middle, tau, momentum) < 1 else (low, middle)
    return low


def stable(outputs):
    scenario = "which_rate_is_stable"
    key = lambda row: (
        row["optimiser.momentum"],
        row["cluster.learners"] - 1,
        row["learning_rate.eta"],
    )
    found = {at: y for at, [(_, y), *_] in outputs.curves(scenario, key, "update", "loss").items()}
    claims = [formula_claim(sorted({tau for _, tau, _ in found}))]
    for momentum in MOMENTA:
        claims += of_momentum(momentum, {at[1:]: y for at, y in found.items() if at[0] == momentum})
    return [stable_figure(found)], claims


def formula_claim(taus):
    return claim("X2.formula").all_near(
        (f"tau = {tau}", 2 * math.sin(math.pi / (2 * (2 * tau + 1))), Sample(limit(tau, 0)))
        for tau in taus
    )


def of_momentum(momentum, found):
    """found: {(tau, eta): losses}."""
    last = lambda losses: float(losses[-1] / losses[0]) if np.isfinite(losses[-1]) else math.inf
    below = [last(y) for (tau, eta), y in found.items() if eta < limit(tau, momentum)]
    above = [last(y) for (tau, eta), y in found.items() if eta >= limit(tau, momentum)]
    yield claim(f"X2.below-{momentum:g}").holds(
        len(below) == len(above) and max(below) < 1e-6, f"at most {max(below):.3g}"
    )
    yield claim(f"X2.above-{momentum:g}").holds(
        len(below) == len(above) and min(above) > 1e6, f"at least {min(above):.3g}"
    )


def stable_figure(found):
    figure = figure_of("stable")
    for momentum in MOMENTA:
        of = [at for at in found if at[0] == momentum]
        taus = sorted({tau for _, tau, _ in of})
        group = f"momentum {momentum:g}"
        limits = [limit(tau, momentum) for tau in taus]
        figure.series.append(Series(group, THEORY, taus, limits))
        for name, falls in (("converges", True), ("diverges", False)):
            points = [at[1:] for at in of if (found[at][-1] < found[at][0]) == falls]
            x, y = zip(*sorted(points))
            figure.series.append(Series(f"{group}: {name}", SIMULATED, list(x), list(y)))
    return figure
