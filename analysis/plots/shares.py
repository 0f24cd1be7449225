"""Where the learners' time went: a bar for each point."""

import textwrap

import numpy as np
from plots import style
from plots.learners import PARTS

MOST_ROWS = 24
COLOURS = {
    "useful": style.BLUE,
    "wasted": style.VERMILION,
    "communicating": style.ORANGE,
    "encoding": style.PURPLE,
    "waiting": "#D9D9D9",
    "down": style.GREY,
}
LINE_LENGTH = 34


def rows_of(points, shown):
    """All points where they are few, else those that other figures show."""
    return points if len(points) <= MOST_ROWS else shown


def draw_shares(facts, names, title, notes):
    """The figure of facts [point x part], a bar a name; None where learners.csv says nothing."""
    rows, shares = list(names), facts.loc[list(names), list(PARTS)]
    if shares.isna().all(axis=None):
        return None
    fill = lambda name: textwrap.fill(name, LINE_LENGTH, break_long_words=False)
    labels = list(map(fill, names.values()))
    lines = len(rows) * max(1 + label.count("\n") for label in labels)
    figure = style.new_figure(title, 1.15 + 0.2 * lines)
    axes = figure.subplots()
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    left = np.zeros(len(rows))
    for part, words in PARTS.items():
        width = 100 * shares[part].fillna(0).to_numpy()
        if width.max() > 0.05:
            axes.barh(range(len(rows)), width, 0.72, left, color=COLOURS[part], label=words)
        left += width
    axes.set_xlim(0, 100)
    axes.set_xlabel("learners' time (%)")
    style.add_text(figure, notes)
    style.legend_below(figure, *axes.get_legend_handles_labels())
    return figure
