"""Figures for papers and slides: PNG files, drawn by matplotlib."""

import textwrap
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from matplotlib.figure import Figure
from plots import style
from reproduce.figures import LEVEL, PLOTTED, THEORY, Table

MARKS = "osD^*hpvXP"
HEIGHT = 4.2


def draw_series(axes, series, colour, mark):
    looks = {"color": colour, "label": series.name}
    if series.kind in (THEORY, LEVEL):
        axes.plot(series.x, series.y, "--", linewidth=1.3, **looks)
    elif series.kind == PLOTTED:
        axes.plot(series.x, series.y, "x", markersize=6, markeredgewidth=1.4, zorder=3, **looks)
    elif series.is_curve:
        axes.plot(series.x, series.y, linewidth=1.3, **looks)
        if series.band is not None:
            y, band = np.asarray(series.y, float), np.asarray(series.band, float)
            axes.fill_between(series.x, y - band, y + band, color=colour, alpha=0.18, linewidth=0)
    elif series.width:
        looks["alpha"] = style.BAR_ALPHA
        axes.bar(series.x, series.y, series.width, yerr=series.band, capsize=2, **looks)
    else:
        axes.errorbar(
            series.x, series.y, series.band, fmt=mark, markersize=5, markerfacecolor="none",
            markeredgewidth=1.2, elinewidth=1, **looks,
        )  # fmt: skip


def add_legend(canvas, axes, names):
    """In the order of the names; matplotlib would put points last."""
    handles, labels = axes.get_legend_handles_labels()
    if names:
        found = dict(zip(labels, handles))
        handles, labels = [found[name] for name in names], names
    words = [textwrap.fill(label, 34) for label in labels]
    style.legend_beside(canvas, handles, words, fontsize=8)


def draw(figure):
    """A matplotlib figure with what this one shows."""
    if figure.drawn:
        return figure.drawn
    canvas = Figure(figsize=(style.WIDTH, HEIGHT), layout=style.Layout())
    axes = canvas.subplots()
    title = f"{figure.in_paper}: {figure.title}" if figure.in_paper else figure.title
    axes.set_title(textwrap.fill(title, 65), loc="left")
    groups = figure.groups()
    # A start at x = 0 would be a level line; a band that reaches below 0 goes down to the edge.
    for axis, is_log, below in (("x", figure.log_x, "mask"), ("y", figure.log_y, "clip")):
        if is_log:
            getattr(axes, f"set_{axis}scale")("log", nonpositive=below)
        else:
            axes.locator_params(axis, steps=[1, 2, 5, 10])
    for one in figure.series:
        i = groups.index(one.group)
        colour = style.MORE_COLOURS[i % len(style.MORE_COLOURS)]
        draw_series(axes, one, colour, MARKS[i % len(MARKS)])
    if figure.ticks:
        size = 10 if len(figure.ticks) < 8 else 7
        words = [textwrap.fill(one, 9) for one in figure.ticks] if size < 10 else figure.ticks
        axes.set_xticks(range(len(figure.ticks)), words, fontsize=size)
        axes.grid(False, axis="x")
    for place in figure.marks:
        axes.axvline(place, color=style.GREY, linestyle=":")
    axes.set(xlabel=figure.x_label, ylabel=figure.y_label)
    for axis, is_log in ((axes.xaxis, figure.log_x), (axes.yaxis, figure.log_y)):
        if is_log:
            style.label_log_axis(axis)
    add_legend(canvas, axes, [one.name for one in figure.series])
    return canvas


def draw_figures(figures, folder):
    """FOLDER/<name>.png of each that is no table; what else of the kind was there goes."""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.png"):
        stale.unlink()
    drawn = [figure for figure in figures if not isinstance(figure, Table)]
    with ProcessPoolExecutor() as pool:
        list(pool.map(draw_figure, drawn, [folder] * len(drawn)))


def draw_figure(figure, folder):
    style.save(draw(figure), folder / figure.name, endings=("png",))
