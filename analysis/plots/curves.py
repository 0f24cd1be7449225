"""Error, loss and disagreement against simulated time and against updates."""

import textwrap

import numpy as np
from plots import style
from plots.bands import band, linear, step

AXES = {"time": style.TIME, "update": "updates"}
VALUES = {
    "test_error": "test error (fraction)",
    "loss": "training loss",
    "disagreement": "disagreement: mean of ||x_i - mean||\u00b2",
}
HEIGHT = 4.8
# Replicas are evaluated at the same times but, their runtimes being random, never at the same
# updates, where steps would make a saw of the mean.
INTERPOLATE = {"time": step, "update": linear}
DIVERGED = "diverged"


def curve(run, x, y):
    """The finite evaluations of a run as arrays, None where there are none."""
    at, value = np.array(run.curve[x]), np.array(run.curve[y])
    finite = np.isfinite(at) & np.isfinite(value)
    return (at[finite], value[finite]) if finite.any() else None


def has_values(results, y):
    """Is there anything of column y to draw?"""
    return any(
        curve(run, "time", y) for point in results.points.values() for run in point.runs.values()
    )


def disagrees(results):
    """Did learners' values ever differ?"""
    runs = [run for point in results.points.values() for run in point.runs.values()]
    return any(value > 0 for run in runs for value in run.curve["disagreement"])


def is_watched(results):
    """Was any run evaluated between its start and its end?"""
    return any(
        len(run.curve["time"]) > 2
        for point in results.points.values()
        for run in point.runs.values()
    )


def kept_curves(point, x, y):
    """The curves of the replicas that did not diverge; where all did, as far as they are finite."""
    runs = list(point.runs.values())
    kept = [run for run in runs if run.status != DIVERGED] or runs
    found = [curve(run, x, y) for run in kept]
    return [one for one in found if one is not None]


def legend_label(point, twins=(), replicas=0):
    """The point's label, those of points with the same curve, and how many of its runs there are if
    not all, or diverged (not in the mean, unless all did)."""
    words = " = ".join([point.label, *(twin.label for twin in twins)])
    diverged = sum(run.status == DIVERGED for run in point.runs.values())
    note = f"\n({diverged} of {len(point.runs)} diverged)" if diverged else ""
    if len(point.runs) < replicas:
        note = f"\n({len(point.runs)} of {replicas} runs)" + note
    return textwrap.fill(words, 30) + note


def families(points, x, y):
    """[(index, point, the later points whose every replica has the same curve)]."""
    found = {}
    for index, point in enumerate(points):
        curves = kept_curves(point, x, y)
        same = tuple(values.tobytes() for curve in curves for values in curve) or index
        found.setdefault(same, (index, point, []))[2].append(point)
    return [(index, point, twins[1:]) for index, point, twins in found.values()]


def is_zero(curves):
    """Whether a logarithmic axis shows nothing of them."""
    return bool(curves) and not any(y.any() for _, y in curves)


def draw_point(axes, index, label, curves, x):
    """Draws mean and band of a point: solid while all its replicas run, faint where some have
    ended. Returns the Band, None where there is nothing finite to draw."""
    looks = style.line_style(index)
    if not curves:
        axes.plot([], [], label=label, **looks)
        return None
    found = band(curves, INTERPOLATE[x])
    whole = found.running == len(curves)
    tail = np.maximum.accumulate(~whole) | np.append(~whole[1:], False)
    axes.plot(found.x[whole], found.mean[whole], label=label, linewidth=1.6, **looks)
    axes.plot(found.x[tail], found.mean[tail], alpha=0.35, linewidth=1.2, **looks)
    low, high = found.mean - found.error, found.mean + found.error
    for part, alpha in ((whole, 0.2), (tail, 0.07)):
        axes.fill_between(
            found.x, low, high, where=part, color=looks["color"], alpha=alpha, linewidth=0
        )
    return found


def draw_theory(axes, results, x):
    """Draws what theory says of the points' losses: thin lines, black and dashed where exact, else
    dotted in the point's colour; one entry in the legend for each kind."""
    kinds = {}
    for index, point in enumerate(results.points.values()):
        for (basis, source), curve in point.theory.items():
            looks = {"color": style.line_style(index)["color"], "linestyle": ":"}
            if basis == "exact":
                looks = {"color": style.BLACK, "linestyle": (0, (4, 3))}
            axes.plot(curve[x], curve["loss"], linewidth=0.9, label="_theory", **looks)
            kinds[f"theory: {source} ({basis})"] = looks["linestyle"]
    for label, dashes in kinds.items():
        label += "\nat the mean times of updates" if x == "time" else ""
        axes.plot([], [], label=label, linewidth=0.9, color=style.BLACK, linestyle=dashes)


def set_scale(axes, bands, zeros_fall_off):
    """A logarithmic axis where the means span more than a factor of 5, within their reach; where
    some mean is 0 only if zeros may fall off it."""
    means = np.concatenate([one.mean for one in bands])
    means = means[means != 0] if zeros_fall_off else means
    if not len(means) or means.min() <= 0 or means.max() <= 5 * means.min():
        return
    low, high = means.min(), means.max()
    top = max(np.nanmax(np.append(one.mean + one.error, one.mean)) for one in bands)
    axes.set_yscale("log", nonpositive="clip")
    axes.set_ylim(low / 1.3, top * 1.2)
    style.label_log_axis(axes.yaxis)


def legend_title(results, bands):
    """Says what line and band are."""
    replicas = max(len(point.runs) for point in results.points.values())
    if replicas == 1:
        return "one run each"
    words = f"mean of {replicas} replicas,\nband \u00b1 1 standard error"
    some_ended = any(one.running.min() < one.running.max() for one in bands)
    return words + ",\nfaint: some have ended" if some_ended else words


def draw_points(axes, results, x, y):
    """Draws the points, those of one curve once; returns the Bands that have something in them."""
    points = list(results.points.values())
    replicas = max(len(point.runs) for point in points)
    bands = []
    for index, point, twins in families(points, x, y):
        curves = kept_curves(point, x, y)
        label = legend_label(point, twins, replicas) + ("\n(always 0)" if is_zero(curves) else "")
        bands.append(draw_point(axes, index, label, curves, x))
    return [one for one in bands if one is not None]


def draw_curves(results, x, y):
    """The figure of column y against column x of curve.csv, one line for each point."""
    figure = style.new_figure(results, HEIGHT)
    axes = figure.add_subplot()
    bands = draw_points(axes, results, x, y)
    if y == "loss":
        draw_theory(axes, results, x)
    if bands:
        set_scale(axes, bands, zeros_fall_off=y == "disagreement")
    axes.set_xlabel(AXES[x])
    axes.set_ylabel(VALUES[y])
    axes.set_xlim(left=0)
    handles, words = axes.get_legend_handles_labels()
    title = legend_title(results, bands)
    style.legend_beside(figure, handles, words, title=title, alignment="left", handlelength=2.6)
    return figure
