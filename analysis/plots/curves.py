"""Error, loss and disagreement against simulated time, updates, gradients, epochs, bytes or cost."""

from functools import cache

import numpy as np
from plots import style
from plots.bands import MOST_POINTS, band, linear, step
from plots.panels import Panels
from plots.price import curves_of, spent
from plots.sweep import DIVERGED
from matplotlib.ticker import EngFormatter

# what curves are drawn against -> column of curve.csv, words
AXES = {
    "time": ("time", style.TIME),
    "updates": ("update", "updates"),
    "gradients": ("gradients", "gradients that entered updates"),
    "epochs": ("epoch", "epochs"),
    "bytes": ("bytes", "bytes that learners sent and received, all together"),
    "cost": ("cost", "cost of machines and bytes, in the currency of their prices"),
}
VALUES = {
    "test_error": "test error (fraction)",
    "loss": "training loss",
    "disagreement": "disagreement: mean of ||x_i - mean||\u00b2",
}
BAND_ALPHA = 0.15
ALL_BANDS = 0.7  # of a panel, lest they hide each other
MOST_PLACES = 4000  # of all curves of a panel


def interpolate(x):
    """Replicas are evaluated at the same times but, their runtimes being random, never at the same
    updates, where steps would make a saw of the mean."""
    return step if x == "time" else linear


@cache
def values_of(folder, column):
    """{(point, replica): its evaluations in a column of curve.csv, or what they had cost}; none where
    that is not there."""
    return spent(folder) if column == "cost" else curves_of(folder, column)


def disagrees(folder):
    """Did learners' values ever differ?"""
    curve = folder.evaluations
    return "disagreement" in curve and bool((curve["disagreement"] > 0).any())


def is_watched(folder):
    """Was any run evaluated between its start and its end?"""
    return any(len(values) > 2 for values in values_of(folder, "time").values())


@cache
def kept_curves(folder, number, x, y):
    """The finite evaluations (x, y) of a point's replicas that did not diverge; of all where all did.
    x: of AXES, y: a column of curve.csv."""
    xs, ys = values_of(folder, AXES[x][0]), values_of(folder, y)
    runs = {(number, replica): status for replica, status in folder.statuses[number].items()}
    found = []
    for run in [run for run, status in runs.items() if status != DIVERGED] or runs:
        if run in xs and run in ys:
            finite = np.isfinite(xs[run]) & np.isfinite(ys[run])
            found += [(xs[run][finite], ys[run][finite])] if finite.any() else []
    return found


def families(numbers, folder, x, y):
    """{number: the numbers of the other points, of these, whose every replica has the same
    curve}, under the first of each."""
    found = {}
    for number in numbers:
        curves = kept_curves(folder, number, x, y)
        same = tuple(values.tobytes() for one in curves for values in one) or number
        found.setdefault(same, []).append(number)
    return {first: twins for first, *twins in found.values()}


def legend_label(labels, statuses, replicas=0):
    """The names of points of one curve, and how many of its runs there are if not all, or diverged
    (not in the mean, unless all did)."""
    diverged = list(statuses.values()).count(DIVERGED)
    note = f"\n({diverged} of {len(statuses)} diverged)" if diverged else ""
    if len(statuses) < replicas:
        note = f"\n({len(statuses)} of {replicas} runs)" + note
    return "\n= ".join(labels) + note


def draw_point(axes, label, looks, curves, x, alpha=BAND_ALPHA, places=MOST_POINTS):
    """Draws mean and band of a point: solid while all its replicas run, faint where some have
    ended. Returns the Band, None where there is nothing finite to draw."""
    if not curves:
        axes.plot([], [], label=label, **looks)
        return None
    found = band(curves, interpolate(x), places)
    whole = found.running == len(curves)
    tail = np.maximum.accumulate(~whole) | np.append(~whole[1:], False)
    axes.plot(found.x[whole], found.mean[whole], label=label, linewidth=1.5, **looks)
    axes.plot(found.x[tail], found.mean[tail], alpha=0.35, linewidth=1.2, **looks)
    low, high = found.mean - found.half, found.mean + found.half
    for part, depth in ((whole, alpha), (tail, 0.4 * alpha)):
        axes.fill_between(
            found.x, low, high, where=part, color=looks["color"], alpha=depth, linewidth=0
        )
    return found


def draw_rest(axes, folder, numbers, x, y):
    """Draws the means of points that are left out: thin and grey, behind the others."""
    for number in numbers:
        curves = kept_curves(folder, number, x, y)
        if curves:
            found = band(curves, interpolate(x))
            axes.plot(found.x, found.mean, color="0.8", linewidth=0.5, zorder=0.5)


def draw_theory(axes, shown, folder, x):
    """Draws what theory says of the points' losses: thin lines, black and dashed where exact, else
    dotted in the point's colour; one entry in the legend for each kind."""
    kinds, theory = {}, folder.theory
    if theory.empty:
        return
    theory = theory[theory["loss"].notna()]  # the rest is of the gradient
    for one in shown:
        mine = theory[theory["point"] == one.number]
        for (basis, source), found in mine.groupby(["basis", "source"], sort=False):
            looks = {"color": one.looks["color"], "linestyle": ":"}
            if basis == "exact":
                looks = {"color": style.BLACK, "linestyle": (0, (4, 3))}
            column = AXES[x][0]
            axes.plot(found[column], found["loss"], linewidth=0.9, label="_theory", **looks)
            kinds[f"theory: {source} ({basis})"] = looks["linestyle"]
    for label, dashes in kinds.items():
        label += "\nat the mean times of updates" if x == "time" else ""
        axes.plot([], [], label=label, linewidth=0.9, color=style.BLACK, linestyle=dashes)


def legend_of(panel, folder, x, y):
    """{number: label} of the points of a panel, those of one curve once."""
    replicas = max(map(len, folder.statuses.values()))
    labels = {one.number: one.label for one in panel.curves}
    legend = {}
    for number, twins in families(labels, folder, x, y).items():
        names = [labels[n] for n in (number, *twins)]
        legend[number] = legend_label(names, folder.statuses[number], replicas)
        curves = kept_curves(folder, number, x, y)
        if curves and not any(values.any() for _, values in curves):
            legend[number] += "\n(always 0)"
    return legend


def draw_panel(axes, panel, legend, folder, x, y):
    """Draws the points that the legend names, in front of the grey ones; returns the Bands that
    have something in them."""
    draw_rest(axes, folder, panel.rest, x, y)
    alpha = min(BAND_ALPHA, ALL_BANDS / max(1, len(legend)))
    places = min(MOST_POINTS, MOST_PLACES // max(1, len(legend)))
    bands = []
    for number, label in legend.items():
        curves = kept_curves(folder, number, x, y)
        bands.append(draw_point(axes, label, panel.looks[number], curves, x, alpha, places))
    if y == "loss" and x in ("time", "updates"):
        draw_theory(axes, panel.curves, folder, x)
    return [one for one in bands if one is not None]


def caption(folder, bands):
    """Says what line and band are."""
    replicas = max(map(len, folder.statuses.values()))
    if replicas == 1:
        return "One run each."
    told = f"Mean of {replicas} replicas, band: its 95 % interval (Student's t)"
    some_ended = any(one.running.min() < one.running.max() for one in bands)
    return told + ("; faint: some replicas have ended." if some_ended else ".")


def draw_curves(folder, plan, x, y):
    """The figure of column y of curve.csv against x, one of AXES: what the plan shows."""
    legends = [legend_of(panel, folder, x, y) for panel in plan.panels]
    named = [
        {tuple(panel.looks[number].values()): label for number, label in legend.items()}
        for panel, legend in zip(plan.panels, legends)
    ]
    panels = Panels(plan.title, [panel.title for panel in plan.panels], named)
    bands = []
    for axes, panel, legend in zip(panels.axes, plan.panels, legends):
        bands += draw_panel(axes, panel, legend, folder, x, y)
    if bands:
        means = np.concatenate([one.mean for one in bands])
        highs = max(np.nanmax(np.append(one.mean + one.half, one.mean)) for one in bands)
        for axes in panels.axes:
            style.set_value_scale(axes, means, highs, zeros_fall_off=y == "disagreement")
            axes.set_xlim(0, max(one.x[-1] for one in bands))
            if x == "bytes":
                axes.xaxis.set_major_formatter(EngFormatter("B"))
    words = style.time_axis(folder.time_unit) if x == "time" else AXES[x][1]
    panels.finish(words, VALUES[y], [*plan.notes, caption(folder, bands)])
    return panels.figure
