"""The final error against a swept number, a curve for each value of another key."""

import math
import re

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.transforms import offset_copy
from plots import style
from plots.encoding import MOST_PANELS, best_of_each, left_out_words, looks_of
from plots.encoding import shown_values, split_labels
from plots.panels import Panels
from plots.sweep import keys_of, ranking

LEAST_NUMBERS = 3  # of a swept number that is worth a plot
MOST_TICKS = 6
ASIDE = 1.5  # between the curves of a panel


def numbers_of(keys):
    """The swept numbers with values enough."""
    return [key for key in keys if key.is_number and len(key.numbers) >= LEAST_NUMBERS]


def figure_name(key):
    return "final_error_by_" + re.sub(r"[^\w.-]", "_", key.name)


def is_log_spaced(values):
    """Whether ascending numbers, all above 0, are more even in their logarithms."""
    if values[0] <= 0 or values[-1] < 8 * values[0]:
        return False
    gaps, ratios = np.diff(values), np.diff(np.log(values))
    return ratios.std() / ratios.mean() < gaps.std() / gaps.mean()


def draw_line(axes, samples, key, label, looks, aside):
    """Draws points' Samples against their values of the key, so many typographic points aside, lest
    intervals hide each other; returns the means."""
    found = sorted((key.of[n], one.mean, one.half, one.never > 0) for n, one in samples.items())
    if not found:
        return []
    x, mean, half, never = (np.array(column) for column in zip(*found))
    place = offset_copy(axes.transData, axes.figure, aside, 0, "points")
    looks |= {"label": label or None, "transform": place, "linewidth": 1.3, "elinewidth": 0.8}
    looks["ecolor"] = to_rgba(looks["color"], 0.5)
    half = np.nan_to_num(half)
    axes.errorbar(x, mean, half, **looks)
    axes.update_datalim(np.column_stack([np.tile(x, 2), np.append(mean - half, mean + half)]))
    dots = {"color": looks["color"], "markersize": 3.5, "transform": place}
    for which, face in ((~never, looks["color"]), (never, "white")):
        axes.plot(x[which], mean[which], "o", markerfacecolor=face, **dots)
    return list(mean)


def marks_of(values):
    """Some of the values, ascending, that are far enough from each other on a logarithmic axis."""
    marks = [values[0]]
    for value in values[1:]:
        if math.log(value / marks[-1]) > 0.99 * math.log(values[-1] / values[0]) / MOST_TICKS:
            marks.append(value)
    return marks


def lines_of(points, inside, key, colour, shown, ranks):
    """[(label, look, numbers)] of the curves of a panel of the points inside: for each of the shown
    values of the key of colours the best point at each value of the key; all points where there is
    no key of colours."""
    if colour is None:
        return [("", {"color": style.BLUE, "linestyle": "-"}, inside)]
    looks, lines = looks_of(colour, shown), []
    for value in shown:
        numbers = [n for n in inside if colour.of[n] == value]
        best = best_of_each(key, key.numbers, numbers, ranks)
        label = colour.text(value)
        if numbers and not colour.is_number:
            label, _ = split_labels(points, numbers, label)
        if best:
            lines.append((label, looks[value], best))
    return lines


def caption(folder, key, measure, others, thinned, drawn, ranks):
    """Says what points and bars are, and what is left out."""
    points = folder.points
    replicas = max(map(len, folder.statuses.values()))
    told = "One run each."
    if replicas > 1:
        told = f"Mean over {replicas} replicas and its 95 % interval (Student's t)."
    if any(0 < measure.samples[n].replicas and measure.samples[n].never for n in drawn):
        told += f" White: over the runs that {measure.did}."
    without = [n for n in points if key.of[n] is None]
    notes = [told]
    if without:
        which = f"have no {key.name} and are left out"
        notes.append(f"{len(without)} of {len(points)} points {which}.")
    left = len(points) - len(without) - len(drawn)
    if left:
        which = left_out_words(others, thinned, ranks)
        notes.append(f"{left} of {len(points)} points are left out: {which}.")
    return notes


def other_keys(points, key, having):
    """The keys that differ between the points having the key, besides it."""
    keys = keys_of({number: points[number] for number in having})
    return [one for one in keys if one.path != key.path]


def draw_lines(axes, measure, key, lines):
    """Draws the curves of a panel side by side; returns the means."""
    means = []
    for i, (label, looks, inside) in enumerate(lines):
        aside = ASIDE * (i - (len(lines) - 1) / 2)
        of_line = {n: measure.value(n) for n in inside if measure.samples[n].replicas}
        means += draw_line(axes, of_line, key, label, looks, aside)
    return means


def draw_final(folder, key, measure, title):
    """The figure: a Measure against the values of a swept number, over the runs that have it, in panels
    for the first of two or more further keys."""
    points, ranks = folder.points, ranking(folder)
    having = [n for n in points if key.of[n] is not None]
    keys = other_keys(points, key, having)
    panel, colour = keys[:2] if len(keys) > 1 else (None, *keys, None)[:2]
    values = shown_values(panel, having, ranks, MOST_PANELS) if panel else [None]
    insides = [[n for n in having if not panel or panel.of[n] == value] for value in values]
    shown = shown_values(colour, having, ranks) if colour else []
    lines = [lines_of(points, inside, key, colour, shown, ranks) for inside in insides]
    titles = [panel.text(value) if panel else "" for value in values]
    legends = [{tuple(look.values()): label for label, look, _ in of_one} for of_one in lines]
    panels = Panels(title, titles, legends)
    means = []
    for axes, of_one in zip(panels.axes, lines):
        means += draw_lines(axes, measure, key, of_one)
    for axes in panels.axes:
        set_axes(axes, key.numbers, means)
    drawn = [n for of_one in lines for *_, inside in of_one for n in inside]
    thinned = [one for one in keys[:2] if len({one.of[n] for n in drawn}) < len(one.values)]
    told = caption(folder, key, measure, keys[2:], thinned, drawn, ranks)
    panels.finish(key.path, measure.head, told)
    return panels.figure


def set_axes(axes, values, means):
    """Logarithmic where values are spaced so, or means span more than a factor of 5; marked at
    values, or at integers where all are."""
    if is_log_spaced(values):
        axes.set_xscale("log")
        axes.set_xticks(marks_of(values))
        axes.set_xticks([], minor=True)
        axes.xaxis.set_major_formatter("{x:g}")
    elif all(float(value).is_integer() for value in values):
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.autoscale_view()
    style.set_value_scale(axes, np.array(means), axes.get_ylim()[1])
