"""More updates or better ones: item 6."""

import math
from itertools import pairwise

from papers.ho2013 import claim, figure_of
from reproduce.claims import is_above, paired_difference, paired_ratio, plus, sample, scaled
from reproduce.figures import curve_series, sampled
from reproduce.replicas import first_recorded, late

SCENARIO = "which_bound_is_best"
TARGET = 0.005
TASK = "quadratic in place of LDA, P = 32, normal, 30 % of jitter"


def name_of(s):
    return "no bound" if s == 1000 else f"s = {s}"


def best_bound(outputs):
    key = lambda row: row["protocol.bound"]
    by_time = outputs.curves(SCENARIO, key, "time", "loss")
    by_update = outputs.curves(SCENARIO, key, "update", "loss")
    times, clocks = to_target(by_time), scaled(to_target(by_update), 1 / 32)
    rates = {
        s: sample([x[-1] / 32 / t[-1] for (x, _), (t, _) in zip(by_update[s], by_time[s])])
        for s in times
    }
    figures = [*curve_figures(by_time, by_update), trade_off(times, clocks, rates)]
    floors = claim("6.floor").rising(late(found, 0.5) for found in by_update.values())
    return figures, [*quantity_and_quality(clocks, rates), floors, *interior(times)]


def to_target(curves):
    """{s: the Sample of where runs first are down at the target}."""
    return {s: sample([first_recorded(*one, TARGET) for one in of]) for s, of in curves.items()}


def curve_figures(by_time, by_update):
    shown = {0, 1, 2, 8, 1000}
    for figure, curves, factor in (
        (figure_of("loss_time", task=TASK), by_time, 1),
        (figure_of("loss_clock", task=TASK), by_update, 32),
    ):
        for s in sorted(shown & set(curves)):
            limit = min(x[-1] for x, _ in curves[s]) / 2
            cut = [(x[x <= limit] / factor, y[x <= limit]) for x, y in curves[s]]
            figure.series.append(curve_series(name_of(s), cut))
        yield figure


def trade_off(times, clocks, rates):
    bounds = sorted(times)
    figure = figure_of("trade_off", task=TASK, target=TARGET)
    for name, values in (
        ("clocks in a unit of time", rates),
        ("clocks to the target", clocks),
        ("time to the target", times),
    ):
        samples = [paired_ratio(values[s], values[0]) for s in bounds]
        places = [min(s, 16) for s in bounds]
        figure.series.append(sampled(name, places, samples))
    return figure


def quantity_and_quality(clocks, rates):
    bounds = sorted(rates)
    yield claim("6.quantity").rising(rates[s] for s in bounds)
    yield claim("6.quality").ordered(
        (f"{name_of(low)} and {name_of(high)}", clocks[low], clocks[high])
        for low, high in pairwise(bounds)
    )
    for name, values, least in (("quantity", rates, 1.5), ("quality", clocks, 1.25)):
        found = paired_ratio(values[bounds[-1]], values[0])
        yield claim(f"6.{name}-ends").above(plus(found, -least), told=found)


def interior(times):
    best = min(times, key=lambda s: (math.isnan(times[s].mean), times[s].mean))
    last = max(times)
    for name, other in (("sync", 0), ("async", last)):
        gap = paired_difference(times[other], times[best])
        yield claim(f"6.best-{name}").holds(
            best not in (0, last) and is_above(gap),
            f"s = {best}: {times[best]}, {name_of(other)}: {times[other]}: by {gap}",
            gap=gap,
        )
