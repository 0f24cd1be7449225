"""Table 2 and Fig 7: which learning rate converges soonest, and which lowest."""

import math

from papers.pan2017 import claim, figure_of
from papers.pan2017.stand_in import place_of
from reproduce.claims import paired_difference
from reproduce.figures import curve_series
from reproduce.replicas import late

FACTORS = {0.00125: "x 1/4", 0.0025: "x 1/2", 0.005: "x 1", 0.01: "x 2"}
SMALL, PLAIN = 0.00125, 0.005
LEVELS = (0.01, 0.005)  # the curves of the rates x 1/4 and x 1 cross between them


def fig7(outputs):
    rate_of = lambda row: row["learning_rate.eta"]
    curves = outputs.curves("fig7_which_rate_is_best", rate_of, "update", "loss")
    figure = figure_of("fig7")
    figure.series = [curve_series(f"rate {FACTORS[rate]}", curves[rate]) for rate in FACTORS]
    return [figure], [*optima(curves), *crossing(curves)]


def optima(curves):
    final = {rate: late(curves[rate], 0.05) for rate in FACTORS}
    updates = {rate: place_of(curves[rate], 1.1 * final[rate].mean) for rate in FACTORS}
    pairs = list(zip(FACTORS, list(FACTORS)[1:]))
    yield claim("12.optimum").ordered(
        (f"{FACTORS[small]} and {FACTORS[large]}", final[large], final[small])
        for small, large in pairs
    )
    yield claim("12.worse").above(paired_difference(final[SMALL], final[PLAIN]))
    yield claim("12.updates").holds(
        all(updates[small] < updates[large] for small, large in pairs),
        ", ".join(f"{updates[rate]:.0f}" for rate in FACTORS),
    )


def told(updates):
    return f"{updates:.0f}" if math.isfinite(updates) else "never"


def crossing(curves):
    for level, sooner in zip(LEVELS, (SMALL, PLAIN)):
        reached = {rate: place_of(curves[rate], level) for rate in (SMALL, PLAIN)}
        yield claim(f"12.cross-{level:g}").holds(
            reached[sooner] < max(reached.values()),
            ", ".join(f"{FACTORS[rate]}: {told(place)}" for rate, place in reached.items()),
        )
