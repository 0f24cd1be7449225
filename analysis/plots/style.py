"""How every plot looks: colours that colour-blind readers tell apart (Okabe and Ito 2008), sizes,
file formats."""

import os
import textwrap

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams.update(
    {
        "font.size": 10,
        "axes.titlesize": 10,
        "legend.fontsize": 9,
        "legend.title_fontsize": 8.5,
        "figure.titlesize": 11.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "0.9",
        "grid.linewidth": 0.7,
        "hatch.linewidth": 0.7,
        "svg.hashsalt": "gradrace",
    }
)

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#BBBBBB"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MORE_COLOURS = (*COLOURS, "#7A4B1E", "#8A8A8A", "#5B3A94")  # where one dash is taken
LINES = ("-", "--", ":", "-.")
BAR_ALPHA = 0.45  # what is plotted shows on bars
WIDTH = 8.0
DPI = 150
MARGIN = 0.3  # inches
MOST_COLUMNS = 4  # of a legend
MOST_GROWTH = 1.6  # of a figure, by its legend
TIME = "simulated time (unit of the runtime)"


def line_style(index):
    """Colour and dashes of the index-th point: 28 different ones."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": LINES[index // len(COLOURS) % len(LINES)],
    }


def new_figure(results, height):
    """A figure under the scenario's title."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.suptitle("\n".join(textwrap.fill(line, 90) for line in results.title.splitlines()))
    return figure


def label_log_axis(axis):
    """Plain numbers on a logarithmic axis that reaches over less than three powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high < 1000 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def legend_below(figure, handles, words, **looks):
    """A legend under the axes, in as many columns as the figure is wide, which grows by it."""
    looks["frameon"] = False
    for columns in range(min(len(words), MOST_COLUMNS), 0, -1):
        tried = figure.legend(handles, words, loc="lower center", ncols=columns, **looks)
        box = tried.get_window_extent()
        tried.remove()
        if columns == 1 or box.width < 0.98 * figure.bbox.width:
            break
    figure.set_figheight(figure.get_figheight() + box.height / figure.dpi)
    return figure.legend(handles, words, loc="outside lower center", ncols=columns, **looks)


def legend_beside(figure, handles, words, **looks):
    """A legend to the right of the figure's only axes, for which the figure grows; below them where
    it is much higher than the figure."""
    (axes,) = figure.axes
    figure.draw_without_rendering()  # places the axes below the title
    above = (1 - axes.get_position().y1) * figure.get_figheight()
    legend = axes.legend(
        handles, words, loc="upper left", bbox_to_anchor=(1.01, 1.01), frameon=False, **looks
    )
    needed = above + legend.get_window_extent().height / figure.dpi + MARGIN
    if needed > MOST_GROWTH * figure.get_figheight():
        legend.remove()
        return legend_below(figure, handles, words, **looks)
    figure.set_figheight(max(needed, figure.get_figheight()))
    return legend


def save(figure, stem, endings=("png", "svg")):
    """Writes stem.png and stem.svg whole or not at all, the same bytes for the same figure; returns
    the paths."""
    paths = []
    for ending in endings:
        path = stem.with_name(f"{stem.name}.{ending}")
        aside = path.with_name(f".{path.name}.new")
        metadata = {"Date": None} if ending == "svg" else {"Software": None}
        figure.savefig(aside, format=ending, dpi=DPI, metadata=metadata)
        os.replace(aside, path)
        paths.append(path)
    return paths
