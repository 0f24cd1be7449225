"""A row for each point: where its learners' time went, and how stale its gradients were."""

import matplotlib
import numpy as np
from plots import style
from report import drawing
from report.learners import PARTS

MOST_ROWS = 24
COLOURS = {
    "useful": style.BLUE,
    "wasted": style.VERMILION,
    "communicating": style.ORANGE,
    "waiting": "#D9D9D9",
    "down": style.GREY,
}
LEVELS = 0.05, 0.5, 0.95


def rows_of(case):
    return case.points if len(case.points) <= MOST_ROWS else case.shown


def row_figure(case, rows, size, legend=0):
    """A figure with a labelled row for each point, the first one above, and so many lines of
    legend."""
    labels = [drawing.in_lines(case.label(point)) for point in rows]
    lines = len(rows) * max(1 + label.count("\n") for label in labels)
    figure = drawing.new_figure(size, (0.75 + 0.2 * lines + 0.18 * legend) / size.height)
    axes = figure.add_subplot()
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    return figure, axes


def draw_learners(case, size):
    """The figure; None where learners.csv says nothing."""
    rows = rows_of(case)
    shares = case.facts.loc[rows, list(PARTS)]
    if shares.isna().all(axis=None):
        return None
    with matplotlib.rc_context(drawing.LOOKS):
        figure, axes = row_figure(case, rows, size, len(PARTS))
        left = np.zeros(len(rows))
        for part, words in PARTS.items():
            width = 100 * shares[part].fillna(0).to_numpy()
            if width.max() > 0.05:
                axes.barh(range(len(rows)), width, 0.72, left, color=COLOURS[part], label=words)
            left += width
        axes.set_xlim(0, 100)
        axes.set_xlabel("learners' time (%)")
        drawing.legend_below(figure, axes, size)
        return figure


def quantiles(counts):
    """Staleness at LEVELS, and the mean, of {staleness: count} as a sorted Series."""
    share = counts.cumsum() / counts.sum()
    found = [counts.index[np.searchsorted(share, level)] for level in LEVELS]
    return found, float((counts.index * counts).sum() / counts.sum())


def draw_staleness(case, size):
    """The figure; None where no gradient was stale."""
    table = case.folder.staleness
    if table.empty:
        return None
    counts = table.groupby(["point", "staleness"])["count"].sum()
    known = [p for p in rows_of(case) if p in counts.index]
    if not known or all(counts[p].index.max() == 0 for p in known):
        return None
    with matplotlib.rc_context(drawing.LOOKS):
        figure, axes = row_figure(case, known, size)
        for row, point in enumerate(known):
            (low, middle, high), mean = quantiles(counts[point].sort_index())
            colour = drawing.looks_of(case, point)["color"]
            axes.plot(
                [low, high],
                [row, row],
                color=colour,
                linewidth=5,
                alpha=0.35,
                solid_capstyle="butt",
            )
            axes.plot([middle], [row], "|", color=colour, markersize=9, markeredgewidth=1.6)
            axes.plot([mean], [row], "o", color=colour, markersize=4)
        axes.set_xlim(left=-0.3)
        axes.set_xlabel("staleness (updates)")
        return figure
