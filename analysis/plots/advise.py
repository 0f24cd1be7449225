"""What gradrace advise found: each candidate as foretold and as measured, and what it pays to be soon."""

import math

from plots import style
from printed import count_text
from results.advise import read_advice

MOST_ROWS = 24
COLOURS = {"best": style.BLUE, "no better": style.GREEN}
ROW = 0.22  # inches
LINE = 9  # points, of a label


def colour_of(one):
    return COLOURS.get(one.verdict, style.VERMILION)


def middle(one):
    """What it is known by: as measured, else as foretold."""
    return one.foretold if math.isnan(one.measured) else one.measured


def known(rows):
    """Those with a number, the best first; of many the first ones."""
    there = [one for one in rows if math.isfinite(middle(one))]
    return sorted(there, key=lambda one: (one.verdict != "best", middle(one)))[:MOST_ROWS]


def scale_by(axis, places):
    """Logarithmic where they span more than a factor of 5."""
    if places and max(places) > 5 * min(places) > 0:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
        style.label_log_axis(axis)


def draw_candidates(advice, title):
    """A row a candidate: the interval that was foretold, and the mean of its runs with its own."""
    rows = known(advice.rows)
    figure = style.new_figure(title, 1.2 + ROW * len(rows))
    axes = figure.subplots()
    for y, one in enumerate(rows):
        if math.isfinite(one.foretold):
            axes.barh(
                y,
                one.foretold_high - one.foretold_low,
                0.6,
                one.foretold_low,
                color=style.GREY,
                alpha=style.BAR_ALPHA,
            )
        if math.isfinite(one.measured):
            half = 0.0 if math.isnan(one.measured_95) else min(one.measured_95, one.measured)
            axes.errorbar(
                [one.measured],
                [y],
                xerr=[half],
                marker="o",
                markersize=4.5,
                elinewidth=1,
                color=colour_of(one),
            )
    axes.set_yticks(range(len(rows)), [one.label for one in rows])
    axes.invert_yaxis()
    scale_by(axes.xaxis, [middle(one) for one in rows])
    axes.set_xlabel(advice.measure)
    style.add_text(
        figure,
        [
            "Grey: as foretold, with its interval. Marks: means of runs, 95 % intervals (Student's t)."
        ],
    )
    return figure


def front(places):
    """Of (x, y): those that none beats in both."""
    kept = []
    for x, y in sorted(map(tuple, places)):
        if not kept or y < kept[-1][1]:
            kept.append((x, y))
    return kept


def pareto_of(advice):
    """What stands against what, and [(candidate, x, y)] of those that ran to their end: money, or else gradients,
    against the time to a target, or what is left within a budget."""
    priced = any(not math.isnan(one.cost) for one in advice.rows)
    price = (lambda one: one.cost) if priced else (lambda one: one.gradients / one.runs)
    words = "cost of a run" if priced else "gradients of a run"
    x_of, x = (
        ((lambda one: one.value), advice.measure)
        if advice.facts["is_budget"]
        else ((lambda one: one.time), "time to the target")
    )
    ran = [one for one in advice.rows if one.runs and not one.never]
    found = [(one, x_of(one), price(one)) for one in ran]
    return x, words, [each for each in found if all(map(math.isfinite, each[1:]))]


def name_front(axes, named):
    """Labels at their points, one above the other; named: [(label, point)]."""
    scale, highest = 72 / axes.figure.dpi, -math.inf  # of a label, in points
    for label, place in sorted(named, key=lambda one: one[1][1]):
        height = axes.transData.transform(place)[1] * scale
        highest = max(height, highest + LINE)
        axes.annotate(
            label,
            place,
            xytext=(6, highest - height - 3),
            textcoords="offset points",
            fontsize="x-small",
        )


def draw_pareto(advice, title):
    """The figure; None where fewer than two got there."""
    words, price, found = pareto_of(advice)
    if len(found) < 2:
        return None
    figure = style.new_figure(title, 4.2)
    axes = figure.subplots()
    best = front([place for _, *place in found])
    for one, *place in found:
        axes.plot(*([x] for x in place), "o", markersize=5.5, color=colour_of(one))
    axes.step(*zip(*best), where="post", color=style.GREY, linewidth=0.9, zorder=1)
    axes.margins(x=0.15)
    for i, axis in enumerate((axes.xaxis, axes.yaxis)):
        scale_by(axis, [place[i] for _, *place in found])
    name_front(axes, [(one.label, place) for one, *place in found if tuple(place) in best])
    axes.set_xlabel(words)
    axes.set_ylabel(price)
    style.add_text(
        figure, ["Named, and joined by the line: none is better in both (Pareto front)."]
    )
    return figure


def draw_folder(folder):
    """The figures of an output folder of advise by name, and what they leave out."""
    advice = read_advice(folder)
    figures = {"candidates": draw_candidates(advice, advice.title)}
    if pareto := draw_pareto(advice, advice.title):
        figures["pareto"] = pareto
    left = len(advice.rows) - len(known(advice.rows))
    return figures, [
        f"{count_text(left, 'candidate')} left out: the worst, or without a number"
    ] if left else []
