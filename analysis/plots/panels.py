"""Panels that share their axes and, where they can, their legend."""

import math
import textwrap

from plots import style

SINGLE = 4.2  # inches, the height of the only panel
HEIGHT = 1.9
LINE = 0.14  # of a legend, inches
LONGEST = 24  # letters of a legend's line
MOST_SHARED = 12  # entries of a legend that panels share
LOOKS = {"alignment": "left", "handlelength": 2.2}


def shown_words(label):
    """A legend's entry in lines."""
    return "\n".join(textwrap.fill(line, LONGEST) for line in label.splitlines())


def is_shared(legends):
    """Whether one legend can stand for those of all panels, each {look: label}."""
    entries = {(look, label) for legend in legends for look, label in legend.items()}
    return len(entries) <= MOST_SHARED and len({look for look, _ in entries}) == len(entries)


class Panels:
    """A figure of panels. legends: of each panel what it names, {look: label}; one of all panels
    where they agree, below them, else one beside each."""

    def __init__(self, title, titles, legends):
        self.shared = is_shared(legends)
        self.single = len(titles) == 1
        columns = 1 if self.single else min(len(titles), self.most_columns())
        rows = math.ceil(len(titles) / columns)
        lines = 0 if self.shared else max(map(len, legends))
        height = SINGLE * style.width() / 7 if self.single else max(HEIGHT, LINE * (2 + lines))
        self.figure = style.new_figure(title, 0.9 + height * rows)
        grid = self.figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
        grid = list(grid)
        for i in range(len(titles), len(grid)):
            grid[i].set_axis_off()
            grid[i - columns].tick_params(labelbottom=True)
        self.axes = grid[: len(titles)]
        for axes, title in zip(self.axes, titles):
            axes.set_title(textwrap.fill(title, 40), loc="left")

    def most_columns(self):
        """As many as leave each panel room for itself, and for its legend if it has one."""
        return style.beside(1.6, 3) if self.shared else style.beside(3, 2)

    def finish(self, x, y, caption):
        """Names the axes, adds the legends of what has a label, and says what the caption's lines
        say."""
        style.add_text(self.figure, caption)
        for axes in self.axes:
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel(y)
        named = [axes.get_legend_handles_labels() for axes in self.axes]
        if self.single or self.shared:
            self.add_legend(named)
        else:
            self.add_legends(named)
        if self.single:
            self.axes[0].set_xlabel(x)
        else:
            style.add_text(self.figure, [x], "medium")

    def add_legend(self, named):
        """One of all panels; named: of each panel its handles and labels."""
        entries = {label: one for legend in named for one, label in zip(*legend)}
        place = style.legend_beside if self.single else style.legend_below
        if entries:
            place(self.figure, list(entries.values()), list(map(shown_words, entries)), **LOOKS)

    def add_legends(self, named):
        """One beside each panel."""
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.05), "frameon": False}
        for axes, (handles, labels) in zip(self.axes, named):
            if labels:
                labels = list(map(shown_words, labels))
                axes.legend(handles, labels, fontsize="x-small", **LOOKS, **place)
