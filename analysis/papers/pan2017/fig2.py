"""Fig 2: what staleness costs, on MNIST and on a quadratic."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
from papers.pan2017 import claim, figure_of
from reproduce.claims import difference, paired_difference, paired_ratio, plus, times
from reproduce.figures import PLOTTED, SIMULATED, THEORY, Series, sampled
from reproduce.outputs import least, means
from reproduce.replicas import late

DELAYS = (0, 5, 15, 20, 50)
ERRORS = {0: 0.36, 20: 0.47, 50: 0.79}  # test errors of the text, in percent
FULL_RATE = 0.1  # the paper's


def delay_and_rate(row):
    return row["learners"] - 1, row["learning_rate.eta"]


# ---- MNIST


def fig2(outputs):
    errors = outputs.samples("fig2_how_stale_is_too_stale", delay_and_rate, "final_test_error")
    rates = sorted({rate for _, rate in errors})
    best = {d: least(errors[d, rate] for rate in rates) for d in DELAYS}
    figure = figure_of("fig2")
    percent = lambda samples: [times(one, 100) for one in samples]
    for rate in rates:
        found = percent(errors[d, rate] for d in DELAYS)
        figure.series.append(sampled(f"rate {rate:g}", list(DELAYS), found))
    figure.series.append(
        Series("best rate", SIMULATED, list(DELAYS), means(percent(best.values())))
    )
    figure.series.append(Series("paper", PLOTTED, list(ERRORS), list(ERRORS.values())))
    return [figure], [*at_the_best(best), *at_the_full(errors, rates)]


def at_the_best(best):
    tie = paired_difference(best[5], best[0])
    yield claim("11.monotone").all_above(
        [paired_difference(best[high], best[low]) for low, high in pairwise(DELAYS[1:])],
        told=f"{', '.join(str(best[delay]) for delay in DELAYS[1:])}; at 5 less that at 0: {tie}",
    )
    over = {d: paired_ratio(best[d], best[0]) for d in ERRORS}
    yield claim("11.ratios").all_above(
        [plus(over[20], -1), paired_difference(over[50], over[20])],
        told=" : ".join(f"{one.mean:.2f}" for one in over.values()),
    )
    for delay in (5, 15):
        over_0 = paired_ratio(best[delay], best[0])
        yield claim(f"11.mild-{delay}").above(plus(times(over_0, -1), 2))


def at_the_full(errors, rates):
    full = {d: errors[d, FULL_RATE] for d in DELAYS}
    yield claim("11.explosion").holds(full[50].mean > 0.8, f"{100 * full[50].mean:.1f} %")
    small = errors[50, rates[0]]
    yield claim("11.lower-rate").holds(small.mean < full[50].mean / 2, f"{small}, {full[50]}")


def ramp(outputs):
    errors = outputs.samples(
        "fig2_does_a_ramp_help",
        lambda row: (row["learners"] - 1, row["protocol"]),
        "final_test_error",
    )
    cold, warm = ({d: errors[d, name] for d in (5, 20)} for name in ("async", "switch"))
    over = {d: paired_ratio(warm[d], cold[d]) for d in (5, 20)}
    gain = paired_difference(cold[20], warm[20])
    return [], [
        claim("11.ramp-20").above(gain, told=f"{gain}; {cold[20]} without, {warm[20]} with"),
        claim("11.ramp-5").holds(
            over[5].mean > max(0.8, over[20].mean), f"{over[5]}; at 20: {over[20]}"
        ),
    ]


# ---- a quadratic

RATE, LARGE = 0.013, 0.065


@cache
def delayed_floor(rate, delay, steps=200_000):
    """Half the sum of the squares of what a unit of noise leaves: the loss that w settles at when
    every gradient is so many updates old, curvature 1, noise of variance 1."""
    w = np.zeros(steps)
    w[0] = -rate
    for i in range(1, min(steps, 40_000)):
        w[i] = w[i - 1] - (rate * w[i - 1 - delay] if i > delay else 0.0)
        if i % 1000 == 0 and np.abs(w[i - 500 : i]).max() < 1e-12:
            break
    return float((w**2).sum() / 2)


def stable_rate(delay):
    """Times the curvature: the largest stable one."""
    return 2 * math.sin(math.pi / (2 * (2 * delay + 1)))


def fig2_quadratic(outputs):
    curves = outputs.curves("fig2_what_does_staleness_cost", delay_and_rate, "update", "loss")
    delays = sorted({d for d, _ in curves})
    fresh = delayed_floor(RATE, 0)
    over_fresh = {d: times(late(curves[d, RATE], 0.9), 1 / fresh) for d in delays}
    figure = figure_of("fig2_quadratic")
    line = list(range(0, 51, 2))
    figure.series = [
        Series("quadratic", THEORY, line, [delayed_floor(RATE, d) / fresh for d in line]),
        sampled("quadratic", delays, over_fresh.values()),
        Series("paper", PLOTTED, list(ERRORS), [x / ERRORS[0] for x in ERRORS.values()]),
    ]
    return [figure], [*quadratic_claims(over_fresh, fresh), *divergence(curves, delays, fresh)]


def quadratic_claims(over_fresh, fresh):
    yield claim("11.quadratic").all_near(
        (f"tau = {d}", delayed_floor(RATE, d) / fresh, one) for d, one in over_fresh.items()
    )
    yield claim("11.quadratic-monotone").rising(list(over_fresh.values()), gap=difference)
    yield claim("11.quadratic-mild").holds(over_fresh[15].mean <= 1.3, over_fresh[15])


def divergence(curves, delays, fresh):
    growth = {d: max(y[-1] for _, y in curves[d, LARGE]) / fresh for d in delays}
    expected = {d: stable_rate(d) < LARGE for d in delays}
    yield claim("11.stable-rate").holds(
        all(not growth[d] < 1e6 if expected[d] else growth[d] < 1e3 for d in delays),
        ", ".join(f"{d}: {growth[d]:.3g} x" for d in delays),
    )
