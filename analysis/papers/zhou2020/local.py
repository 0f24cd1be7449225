"""Local SGD: what it saves in time and costs in error: item 2."""

import math

import numpy as np
from papers.zhou2020 import claim, figure_of
from papers.zhou2020.protocols import measured_round, protocol_of
from reproduce.claims import Sample, difference, sample
from reproduce.figures import THEORY, Series, sampled
from reproduce.outputs import law_of
from reproduce.replicas import late

LEARNERS = 16
LAW_NAMES = {"exponential": "exp(1)", "gamma": "gamma, 20 %"}


def speedup(outputs):
    steps = {}
    for row in outputs.runs("how_much_faster_is_local_sgd"):
        protocol = protocol_of(row)
        r = 8 * row["cluster.network.latency"]
        steps[r, protocol] = measured_round(protocol, row, 1) / protocol.tau
    syncs = {r: one for (r, protocol), one in steps.items() if protocol.kind == "all-reduce"}
    found = {
        (r, protocol.tau): Sample(syncs[r] / one)
        for (r, protocol), one in steps.items()
        if protocol.kind == "local-sgd"
    }
    taus = sorted({tau for _, tau in found})
    formula = lambda r, tau: (1 + r) / (1 + r / tau)
    figure = figure_of("speedup")
    for r in syncs:
        fine = np.geomspace(1, taus[-1], 50)
        figure.series += [
            Series(f"r = {r:g}", THEORY, list(fine), list(formula(r, fine))),
            sampled(f"r = {r:g}", taus, [found[r, tau] for tau in taus]),
        ]
    return [figure], [
        claim("2.speedup").all_near(
            (f"r = {r:g}, tau = {tau}", formula(r, tau), one) for (r, tau), one in found.items()
        ),
        claim("2.monotone").holds(
            all(
                found[r, low].mean < found[r, high].mean < 1 + r
                for r in syncs
                for low, high in zip(taus, taus[1:])
            ),
            "; ".join(f"r = {r:g}: {found[r, taus[-1]].mean:.4g} at most" for r in syncs),
        ),
    ]


def longest_of_sums(shape, scale, learners):
    """E of the longest of so many gamma(shape, scale) times, shape a whole number, by the
    trapezoidal rule."""
    most = shape + 12 * math.sqrt(shape) + 40
    x, width = np.linspace(most / 4000, most, 4000, retstep=True)
    terms = np.cumsum([np.zeros_like(x)] + [np.log(x / j) for j in range(1, shape)], axis=0)
    later = np.clip(np.exp(terms - x).sum(axis=0), 0, 1)
    above = 1 - (1 - later) ** learners
    return scale * width * (0.5 + above.sum() - above[-1] / 2)


def longest_round(law, tau):
    if law["distribution"] == "exponential":
        return longest_of_sums(tau, law["mean"], LEARNERS)
    return longest_of_sums(tau * law["shape"], law["scale"], LEARNERS)


def waiting(outputs):
    scenario = "how_long_do_learners_wait_for_each_other"
    key = lambda row: (law_of(row), protocol_of(row).tau)
    found = outputs.samples(scenario, key, "mean_iteration_time")
    laws = {law_of(row): row["cluster.runtime"] for row in outputs.runs(scenario)}
    taus = sorted({tau for _, tau in found})
    expected = {(law, tau): longest_round(laws[law], tau) / tau for law, tau in found}
    figure = figure_of("waiting", learners=LEARNERS)
    for law in laws:
        figure.series += [
            Series(LAW_NAMES[law], THEORY, taus, [expected[law, tau] for tau in taus]),
            sampled(LAW_NAMES[law], taus, [found[law, tau] for tau in taus]),
        ]
    claims = [
        claim("2.waiting").all_near(
            (f"{LAW_NAMES[law]}, tau = {tau}", expected[law, tau], one)
            for (law, tau), one in found.items()
        )
    ]
    claims += [
        claim(f"2.waits-less-{law}").rising(
            [found[law, tau] for tau in reversed(taus)], gap=difference
        )
        for law in laws
    ]
    return [figure], claims


ETA, VALUES = 0.05, 8


def expected_drift(step):
    """The mean over learners of the squared distance from their mean, so many steps after an
    average: curvature 1, variance 1 of a gradient."""
    shrink = (1 - ETA) ** 2
    return (1 - 1 / VALUES) * ETA**2 * (1 - shrink**step) / (1 - shrink)


def drift(outputs):
    scenario = "how_far_apart_do_learners_drift"
    curves = outputs.curves(scenario, lambda row: protocol_of(row).tau, "update", "disagreement")
    taus = sorted(curves)
    after = {
        (tau, step): sample([y[step::tau].mean() for _, y in curves[tau]])
        for tau in taus
        for step in range(1, tau + 1)
    }
    within = figure_of("drift", values=VALUES, eta=ETA)
    fine = list(range(taus[-1] + 1))
    within.series.append(Series("derived", THEORY, fine, [expected_drift(s) for s in fine]))
    for tau in taus:
        steps = list(range(1, tau + 1))
        within.series.append(sampled(f"tau = {tau}", steps, [after[tau, s] for s in steps]))
    over = figure_of("disagreement", values=VALUES)
    over.series = [
        Series("Local SGD", THEORY, taus, [expected_drift(tau) for tau in taus]),
        sampled("Local SGD", taus, [after[tau, tau] for tau in taus]),
    ]
    return [over, within], [
        claim("2.drift").all_near(
            (f"tau = {tau}, s = {s}", expected_drift(s), one) for (tau, s), one in after.items()
        ),
        claim("2.drift-rises").rising([after[tau, tau] for tau in taus], gap=difference),
    ]


def floor(outputs):
    curves = outputs.curves("does_the_floor_rise_with_tau", protocol_of, "update", "loss")
    left = {one: late(found) for one, found in curves.items()}
    sync = next(one for one in left if one.kind == "all-reduce")
    local = sorted((one for one in left if one != sync), key=lambda one: one.tau)
    taus = [one.tau for one in local]
    figure = figure_of("floor")
    figure.series.append(sampled("of the mean", [1, *taus], [left[one] for one in (sync, *local)]))
    return [figure], [
        claim("2.floor").rising(left[one] for one in local),
        claim("2.floor-sync").ordered((one.name, left[sync], left[one]) for one in local),
    ]
