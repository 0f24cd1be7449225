"""A made-up paper: all kinds of figures and of verdicts."""

from plots import style
from reproduce.claims import FITTED, Sample, Tolerance
from reproduce.figures import PLOTTED, SIMULATED, THEORY, Figure, Series, Table, side_by_side
from reproduce.paper import Paper
from reproduce.reproduce import Judged
from reproduce.rows import Row

GROUPS = [f"k = {k}" for k in range(1, 10)]


def points():
    """Theory, simulation and plotted values of nine groups, on a logarithmic axis."""
    figure = Figure("points", "Times & <orders>", "K", "time", log_y=True, note="A note.", in_paper="Fig 8a")
    for k, name in enumerate(GROUPS, 1):
        x, y = [1, 2, 3], [10.0 * k, 100.0 * k, 3000.0 * k]
        figure.series += [
            Series(name, THEORY, x, y),
            Series(name, SIMULATED, x, y, [1.0, 2.0, 3.0]),
            Series(name, PLOTTED, [2], [90.0 * k]),
        ]
    return figure


def curves():
    """Values below 0, which no logarithmic axis shows."""
    figure = Figure("curves", "Curves", "time", "ln loss", marks=[1.5])
    for shift, name in enumerate(("sync", "async")):
        x, y = [0.0, 1.0, 2.0], [1.0 - shift, -0.5, float("nan")]
        figure.series.append(Series(name, SIMULATED, x, y, [0.1, 0.1, 0.0], True))
    return figure


def bars():
    """A figure of plots."""
    drawn = style.new_figure("", 3)
    drawn.subplots().barh([0, 1], [1, 1.5], left=[0, 0.5])
    return Figure("bars", "Bars", "time", "learner", drawn=drawn)


def columns():
    """Bars of two groups over two words, what is plotted beside them."""
    figure = Figure("columns", "Columns", "", "time", ticks=["setup 1", "setup 2"])
    places, width = side_by_side(("sync", "async"))
    for height, (name, shift) in enumerate(places.items(), 1):
        xs = [shift, 1 + shift]
        figure.series += [
            Series(name, SIMULATED, xs, [height, 2 * height], [0.1, 0.2], width=width),
            Series(name, PLOTTED, xs[:1], [height + 0.5]),
        ]
    return figure


def cells():
    return Table("cells", "Cells", ["a <head>", "b"], [["1 < 2", "x"], ["3", "y"]])


PAPER = Paper(
    title="A paper",
    link="https://example.org/paper",
    question="Is 1 < 2, & why?",
    answers={"points": "It rises with <k>.", "curves": "It falls.", "cells": "There are two rows."},
    caveats=["It says 1 < 2."],
)


def judged():
    """What is made of it."""
    figures = [points(), curves(), bars(), columns(), cells()]
    claims = [
        Row("1.passes", "Fig 1", kind=FITTED, claim="a < b").near(Sample(1, 0.05), 1, Tolerance(errors=4)),
        Row("2.fails", "Fig 2", claim="it fails").near(Sample(2), 1, Tolerance(relative=0.1)),
        Row("3.skipped", "Fig 3", claim="left out").skipped("no data"),
        Row("4.theirs", "Fig 4", claim="theirs", tolerance=Tolerance(relative=0.1)).disagrees(2, 1),
    ]
    return Judged(
        figures,
        claims,
        missing={"gpu/race": "takes a GPU"},
        sources={figure.name: ["race"] for figure in figures},
        figures_of={"1.passes": ["points", "curves"]},
    )
