"""How stale the applied gradients were: one histogram for each point."""

import math
import textwrap

import numpy as np
from matplotlib.patheffects import withStroke
from plots import style

MOST_PANELS = 24
MOST_BARS = 40
SHOWN_SHARE = 0.995
LINE = 0.16  # inches


def mean(counts):
    """The mean staleness of {staleness: count}."""
    return sum(tau * n for tau, n in counts.items()) / sum(counts.values())


def reach(counts):
    """The staleness at or below which SHOWN_SHARE of the gradients lie."""
    total, seen = sum(counts.values()), 0
    for tau in sorted(counts):
        seen += counts[tau]
        if seen >= SHOWN_SHARE * total:
            return tau
    return max(counts)


def shares(counts, width, bars):
    """Share of the gradients in each bar: bar i holds staleness i * width to (i + 1) * width -
    1."""
    found = np.zeros(bars)
    for tau, n in counts.items():
        if tau < bars * width:
            found[tau // width] += n
    return found / sum(counts.values())


def wrapped(label):
    """A panel's name, in lines."""
    return textwrap.fill(label, 32)


def draw_panel(axes, point, colour, width, bars):
    """Draws the histogram of one point, its mean, and what lies past the axis."""
    share = shares(point.staleness, width, bars)
    middle = np.arange(bars) * width + (width - 1) / 2
    axes.bar(middle, share, 0.9 * width, color=colour)
    average = mean(point.staleness)
    outline = withStroke(linewidth=2.6, foreground="white")
    axes.axvline(average, color=style.BLACK, linewidth=1.1, linestyle="--", path_effects=[outline])
    beyond = 1 - share.sum()
    note = f"mean {average:.3g}"
    if beyond > 1e-9:
        note += f", {100 * beyond:.2g} % beyond {bars * width - 1}"
    axes.set_title(f"{wrapped(point.label)}\n{note}", fontsize=9)
    axes.grid(axis="x", visible=False)


def draw_staleness(results):
    """The figure, None where no gradient was stale. All panels share the staleness axis."""
    points = [
        (i, point) for i, point in enumerate(results.points.values()) if point.staleness.total()
    ]
    if not any(tau > 0 for _, point in points for tau in point.staleness):
        return None
    points = points[:MOST_PANELS]
    longest = max(reach(point.staleness) for _, point in points)
    width = math.ceil((longest + 1) / MOST_BARS)
    bars = math.ceil((longest + 1) / width)
    columns = 2 if len(points) == 4 else min(len(points), 3)
    rows = math.ceil(len(points) / columns)
    lines = max(wrapped(point.label).count("\n") for _, point in points)
    figure = style.new_figure(results, 1.2 + (2.1 + LINE * lines) * rows)
    grid = list(figure.subplots(rows, columns, sharex=True, squeeze=False).flat)
    for axes, (i, point) in zip(grid, points):
        draw_panel(axes, point, style.COLOURS[i % len(style.COLOURS)], width, bars)
        axes.xaxis.get_major_locator().set_params(integer=True)
    for i in range(len(points), len(grid)):
        grid[i].set_axis_off()
        grid[i - columns].tick_params(labelbottom=True)
    unit = "updates" if width == 1 else f"updates, {width} to a bar"
    figure.supxlabel(f"staleness of a gradient ({unit}); dashed: mean", fontsize=10)
    figure.supylabel("share of applied gradients", fontsize=10)
    return figure
