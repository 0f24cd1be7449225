"""A measure against a swept number, a curve for each combination of the other keys."""

from dataclasses import dataclass

import matplotlib
import pandas as pd
from plots import style
from plots.choices import is_choice
from report import drawing
from report.measure import headline_measures
from results import Label
from results.label import shared_parts

MOST_CURVES = 8
MOST_KEYS = 3


@dataclass
class Sweep:
    """A swept number: `values` by point, and {name of a curve: its points in order}."""

    key: str
    values: pd.Series
    curves: dict


def sweeps(folder):
    """The swept numbers of a folder that take several values."""
    found = []
    for key in folder.swept:
        values = folder.numbers(key)
        if values.notna().all() and values.nunique() > 1:
            others = [other for other in folder.swept if other != key]
            found.append(Sweep(key, values, curves(folder, values, others)))
    return [one for one in found if one.curves][:MOST_KEYS]


def curves(folder, values, others):
    """{Label: points}: a curve's name is what its points' labels share."""
    groups, found = {}, {}
    for number, point in folder.points.items():
        groups.setdefault(tuple(point.texts.get(key) for key in others), []).append(number)
    for group in groups.values():
        if len(group) < 2:
            continue
        parts = shared_parts([folder.points[point].label for point in group]) or [("", "all")]
        more = [("", f"({len(found)})")] if Label(parts) in found else []
        found[Label([*parts, *more])] = sorted(group, key=lambda point: values[point])
    return found


def best_of(case, measure, points):
    """The point of a curve that looks best."""
    return min(points, key=lambda point: case.order(measure, point))


def best_values(case, sweep, measure):
    """{curve: (its best value, the Sample there)}."""
    found = {}
    for name, points in sweep.curves.items():
        best = best_of(case, measure, points)
        found[name] = sweep.values[best], case.value(measure, best)
    return found


def drawn_curves(case, sweep):
    """[(name, points)] of the curves that look best, in their order."""
    measure = case.measures[0]
    best = sorted(
        sweep.curves,
        key=lambda name: case.order(measure, best_of(case, measure, sweep.curves[name])),
    )[:MOST_CURVES]
    return [(name, points) for name, points in sweep.curves.items() if name in best]


def draw_panel(axes, case, sweep, measure):
    for index, (name, points) in enumerate(drawn_curves(case, sweep)):
        looks = style.line_style(index)
        told = [(sweep.values[p], case.value(measure, p)) for p in points]
        told = [(x, one) for x, one in told if one.replicas and not one.never]
        if not told:
            continue
        x, found = zip(*told)
        mean, half = [one.mean for one in found], [one.half for one in found]
        axes.errorbar(
            x, mean, yerr=half, marker="o", markersize=3.5, linewidth=1.2, elinewidth=0.8,
            label=drawing.in_lines(name), **looks,
        )  # fmt: skip
        if not is_choice(sweep.key):
            continue
        best = best_of(case, measure, points)
        ring = {"markersize": 10, "markerfacecolor": "none", "color": looks["color"]}
        axes.plot(sweep.values[best], case.value(measure, best).mean, "o", **ring)
    drawing.set_log(axes.xaxis, sweep.values)
    axes.set_xlabel(sweep.key)
    axes.set_ylabel(measure.head)


def draw_sweep(case, sweep, size):
    """The figure: a panel for each measure of the answer, side by side on a page. `case`: all of
    the folder's points."""
    measures = headline_measures(case.folder, case.points)
    if not measures:
        return None
    with matplotlib.rc_context(drawing.LOOKS):
        wide = size is drawing.PAGE
        figure = drawing.new_figure(size, 1.1 if wide else 0.5 + 0.75 * len(measures))
        shape = (1, len(measures)) if wide else (len(measures), 1)
        for axes, measure in zip(figure.subplots(*shape, squeeze=False).flat, measures):
            draw_panel(axes, case, sweep, measure)
        if len(sweep.curves) > 1:
            drawing.legend_below(figure, axes, size)
        return figure
