"""How stale the applied gradients were: one histogram for each point."""

import math

import numpy as np
from matplotlib.patheffects import withStroke
from plots import style

MOST_PANELS = 12
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


def title_of(curve, columns):
    """A panel's name, in lines that fit its column."""
    return style.wrapped(curve.name, 0.85 / columns, 0.83)


def draw_panel(axes, counts, title, colour, width, bars):
    """Draws the histogram of one point, its mean, and what lies past the axis."""
    share = shares(counts, width, bars)
    middle = np.arange(bars) * width + (width - 1) / 2
    axes.bar(middle, share, 0.9 * width, color=colour)
    average = mean(counts)
    outline = withStroke(linewidth=2.6, foreground="white")
    axes.axvline(average, color=style.BLACK, linewidth=1.1, linestyle="--", path_effects=[outline])
    beyond = 1 - share.sum()
    note = f"mean {average:.3g}"
    if beyond > 1e-9:
        note += f", {100 * beyond:.2g} % beyond {bars * width - 1}"
    axes.set_title(f"{title}\n{note}", fontsize="small")
    axes.grid(axis="x", visible=False)


def counts_of(folder, points):
    """{point: {staleness: count}} of these points over all replicas."""
    found, table = {number: {} for number in points}, folder.staleness
    if not table.empty:
        table = table[table["point"].isin(points)]
        for (point, tau), count in table.groupby(["point", "staleness"])["count"].sum().items():
            found[point][int(tau)] = int(count)
    return found


def notes_of(counts, plan, shown):
    """What is said of the points without a panel."""
    points = counts
    fresh = sum(not any(of_one) for of_one in counts.values())
    if fresh == len(points):
        applied = any(sum(of_one.values()) for of_one in counts.values())
        why = "every applied gradient was fresh" if applied else "no gradient was applied"
        return [f"{why}: plot left out"]
    notes = []
    if fresh:
        notes.append(f"{fresh} of {len(points)} points are left out: nothing stale.")
    left = len(points) - fresh - len(shown)
    if left:
        which = "those in colour in the plots of errors are shown" if plan.notes else "the first"
        notes.append(f"{left} of {len(points)} points are left out: {which}.")
    return notes


def draw_staleness(folder, plan):
    """The figure, None where no gradient was stale, and what it leaves out. All panels share the
    staleness axis."""
    counts = counts_of(folder, plan.points)
    shown = [curve for curve in plan.curves if any(counts[curve.number])][:MOST_PANELS]
    notes = notes_of(counts, plan, shown)
    if not shown:
        return None, notes
    longest = max(reach(counts[curve.number]) for curve in shown)
    width = math.ceil((longest + 1) / MOST_BARS)
    bars = math.ceil((longest + 1) / width)
    columns = style.beside(1.6, 2 if len(shown) == 4 else min(len(shown), 3))
    titles = [title_of(curve, columns) for curve in shown]
    lines = max(title.count("\n") for title in titles)
    rows = math.ceil(len(shown) / columns)
    figure = style.new_figure(plan.title, 0.9 + (1.7 + LINE * lines) * rows)
    grid = list(figure.subplots(rows, columns, sharex=True, squeeze=False).flat)
    for axes, curve, title in zip(grid, shown, titles):
        draw_panel(axes, counts[curve.number], title, curve.looks["color"], width, bars)
        axes.xaxis.get_major_locator().set_params(integer=True)
    for i in range(len(shown), len(grid)):
        grid[i].set_axis_off()
        if i >= columns:
            grid[i - columns].tick_params(labelbottom=True)
    unit = "updates" if width == 1 else f"updates, {width} to a bar"
    style.add_text(figure, notes)
    style.add_text(figure, [f"staleness of a gradient ({unit}); dashed: mean"], "medium")
    figure.supylabel("share of applied gradients", fontsize="medium")
    return figure, notes
