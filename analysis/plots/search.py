"""Accuracy and time of each setting that gradrace search tried, against when the job switches."""

import math

from plots import style
from results.search import read_search

COLOURS = {"target": style.BLACK, "pass": style.BLUE, "fail": style.VERMILION}
WORDS = {"target": "the first protocol alone", "pass": "passes", "fail": "does not pass"}


def draw_settings(axes, search, value, half):
    """The settings of each verdict as points with their intervals."""
    for verdict, colour in COLOURS.items():
        mine = [one for one in search.settings if one.verdict == verdict]
        if not mine:
            continue
        errors = [0.0 if math.isnan(half(one)) else half(one) for one in mine]
        axes.errorbar(
            [100 * one.share for one in mine], [value(one) for one in mine], yerr=errors, marker="o",
            markersize=4.5, linestyle="", elinewidth=1, color=colour, label=WORDS[verdict],
        )  # fmt: skip


def draw_search(search, title):
    """The figure: accuracy above, time below; both against the share of the work before the
    switch."""
    figure = style.new_figure(title, 5.6)
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.axhline(
        search.passing, color=style.GREY, linewidth=1, linestyle="--", label="passes from here"
    )
    draw_settings(upper, search, lambda one: one.accuracy, lambda one: one.accuracy_95)
    upper.set_ylabel("accuracy (mean, 95 % interval)")
    upper.legend(frameon=False, loc="lower right")
    draw_settings(lower, search, lambda one: one.relative_time, lambda one: math.nan)
    lower.set_ylim(bottom=0)
    lower.set_ylabel("time, of the first protocol's")
    lower.set_xlabel("work before the switch (%)")
    return figure


def draw_folder(folder):
    """The figures of a search's output folder by name, and what they leave out."""
    search = read_search(folder)
    lost = [one for one in search.settings if math.isnan(one.accuracy)]
    notes = [f"{len(lost)} settings have no accuracy: runs diverged"] if lost else []
    return {"search": draw_search(search, search.title)}, notes
