"""How every plot looks: colours that colour-blind readers tell apart (Okabe and Ito 2008; viridis),
sizes, file formats. Text is drawn as it stands: no character of it is markup."""

import textwrap
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.backend_bases import get_registered_canvas_class
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import LogLocator, NullFormatter
from plots.stamp import refuse_others, stamp
from plots.whole import whole

WIDTH = 8.0  # inches, of a figure that is made for no other size

matplotlib.use("Agg")
matplotlib.rcdefaults()  # and not what a matplotlibrc of the user says
matplotlib.rcParams.update(
    {
        "figure.figsize": (WIDTH, 4.8),
        "font.size": 10,
        "axes.titlesize": "medium",
        "xtick.labelsize": "small",
        "ytick.labelsize": "small",
        "legend.fontsize": "small",
        "legend.title_fontsize": "small",
        "figure.titlesize": "large",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "0.9",
        "grid.linewidth": 0.7,
        "hatch.linewidth": 0.7,
        "text.parse_math": False,
        "svg.hashsalt": "gradrace",
        "pdf.fonttype": 42,
    }
)

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#BBBBBB"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MORE_COLOURS = (*COLOURS, "#7A4B1E", "#8A8A8A", "#5B3A94")  # where one dash is taken
LINES = ("-", "--", ":", "-.")
BAR_ALPHA = 0.45  # what is plotted shows on bars
LIGHTEST = 0.88  # of viridis, on white
DPI = 150
MARGIN = 0.3  # inches
TITLE = 0.4  # inches, of a figure's height
PAD = 0.08  # inches, between what stands on the foot of a figure
SHOWN_INTERVAL = 0.5  # of the means' reach, past it, on a linear axis
PLACE_DIGITS = 9  # of where axes are, as parts of a figure
MOST_COLUMNS = 4  # of a legend
MOST_GROWTH = 1.6  # of a figure, by its legend
LETTER = 0.0072  # mean width of a letter, inches per point of its font
TIME = "simulated time"


def time_axis(unit):
    """Words of a time axis; unit: the scenario's time_unit, "" where it names none."""
    return f"{TIME} ({unit or 'unit of the runtime'})"


class Size(NamedTuple):
    """What a figure is made for: its width in inches, the size of its font in points."""

    width: float
    font: float


SIZES = {"page": Size(7.0, 9), "column": Size(3.5, 8)}
# what a file says of itself but when and by which program it was made
FORMATS = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def sized(name):
    """A context in which figures are made for that size."""
    size = SIZES[name]
    return matplotlib.rc_context(
        {"figure.figsize": (size.width, size.width), "font.size": size.font}
    )


def width():
    """Of new figures, in inches."""
    return matplotlib.rcParams["figure.figsize"][0]


def beside(least, most):
    """How many panels of at least that width, in inches, stand side by side, and at most so many."""
    return max(1, min(most, int(width() / least)))


def wrapped(text, share=1.0, scale=1.0):
    """Lines of text that fill a share of the figure's width, in a font that much larger than its
    own."""
    letters = share * width() / (LETTER * scale * matplotlib.rcParams["font.size"])
    return "\n".join(textwrap.fill(line, int(letters)) for line in text.splitlines())


def line_style(index):
    """Colour and dashes of the index-th point: 28 different ones."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": LINES[index // len(COLOURS) % len(LINES)],
    }


def shade(index, count):
    """The colour of the index-th of so many ascending numbers."""
    return matplotlib.colormaps["viridis"](LIGHTEST * index / max(1, count - 1))


class Layout(ConstrainedLayoutEngine):
    """matplotlib's constrained layout, of the same digits each time: its solver leaves some 1e-14
    of a figure to the order of its constraints, which is that of addresses."""

    def execute(self, fig):
        super().execute(fig)
        for axes in fig.axes:
            axes.set_position(np.round(axes.get_position(original=True).bounds, PLACE_DIGITS))
            axes.set_in_layout(True)  # set_position takes them out


def new_figure(title, height):
    """A figure under the scenario's title; lower by its place where there is none."""
    height -= 0 if title else TITLE
    figure = Figure(figsize=(width(), height), layout=Layout())
    if title:
        figure.suptitle(wrapped(title, 0.95, 1.2))
    return figure


def foot_of(figure):
    """The height, in inches, of what stands below the axes and their labels."""
    return figure.get_layout_engine().get()["rect"][1] * figure.get_figheight()


def resize(figure, height, foot):
    """Makes a figure so high, with a foot so high, in inches."""
    figure.set_figheight(height)
    figure.get_layout_engine().set(rect=(0, foot / height, 1, 1 - foot / height))


def raise_foot(figure, artist):
    """Makes room for what stands on the foot; the figure grows by it."""
    inches = artist.get_window_extent().height / figure.dpi + PAD
    resize(figure, figure.get_figheight() + inches, foot_of(figure) + inches)


def add_text(figure, lines, size="small"):
    """Lines of text on the foot of a figure."""
    if lines:
        scale = {"small": 0.83, "medium": 1.0}[size]
        text = "\n".join(wrapped(line, 0.95, scale) for line in lines)
        place = width() / 2, foot_of(figure) + PAD
        looks = {"ha": "center", "va": "bottom", "fontsize": size, "in_layout": False}
        raise_foot(figure, figure.text(*place, text, transform=figure.dpi_scale_trans, **looks))


def label_log_axis(axis):
    """Plain numbers on a logarithmic axis: 1, 2 and 5 of each power of ten where it reaches over
    less than three of them."""
    low, high = axis.get_view_interval()
    if high < 1000 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def legend_below(figure, handles, words, **looks):
    """A legend on the foot of a figure, in as many columns as that is wide."""
    place = figure.get_figwidth() / 2, foot_of(figure)
    looks |= {"loc": "lower center", "bbox_to_anchor": place, "frameon": False}
    for columns in range(min(len(words), MOST_COLUMNS), 0, -1):
        legend = figure.legend(
            handles, words, bbox_transform=figure.dpi_scale_trans, ncols=columns, **looks
        )
        if columns == 1 or legend.get_window_extent().width < 0.98 * figure.bbox.width:
            break
        legend.remove()
    raise_foot(figure, legend)
    return legend


def legend_beside(figure, handles, words, **looks):
    """A legend to the right of the figure's only axes, for which the figure grows; below them where
    it is much higher than the figure, or the figure a column's."""
    (axes,) = figure.axes
    if figure.get_figwidth() < SIZES["page"].width:
        return legend_below(figure, handles, words, **looks)
    figure.get_layout_engine().execute(figure)  # places the axes below the title
    height, foot = figure.get_figheight(), foot_of(figure)
    above = (1 - axes.get_position().y1) * height
    legend = axes.legend(
        handles, words, loc="upper left", bbox_to_anchor=(1.01, 1.01), frameon=False, **looks
    )
    needed = above + legend.get_window_extent().height / figure.dpi + MARGIN
    if needed > MOST_GROWTH * (height - foot):
        legend.remove()
        return legend_below(figure, handles, words, **looks)
    resize(figure, max(needed + foot, height), foot)
    return legend


def set_value_scale(axes, values, highest, zeros_fall_off=False):
    """The y axis of means: logarithmic where they span more than a factor of 5, within their reach;
    where some mean is 0 only if zeros may fall off it. Intervals (which end at `highest`) may reach
    past the figure where few replicas make them long."""
    values = values[values != 0] if zeros_fall_off else values
    if not len(values):
        return
    low, high = values.min(), values.max()
    if low > 0 and high > 5 * low:
        axes.set_yscale("log", nonpositive="clip")
        axes.set_ylim(low / 1.3, min(highest, 3 * high) * 1.2)
        label_log_axis(axes.yaxis)
        return
    room = SHOWN_INTERVAL * ((high - low) or abs(high) or 1.0)
    bottom, top = axes.get_ylim()
    axes.set_ylim(max(bottom, low - room, 0 if low >= 0 else -np.inf), min(top, high + room))


def draw(figure, file, ending, dpi=DPI):
    """Writes a figure in a format of FORMATS: lays it out, then draws it once, where savefig draws it
    twice."""
    canvas, layout = get_registered_canvas_class(ending)(figure), figure.get_layout_engine()
    figure.set_dpi(dpi)
    layout.execute(figure)
    figure.set_dpi(dpi)  # a canvas that has its own leaves that
    figure.set_layout_engine("none")
    getattr(canvas, f"print_{ending}")(file, metadata=FORMATS[ending])
    figure.set_layout_engine(layout)


def save(figure, stem, endings=("png", "svg")):
    """Writes the stem with each ending of FORMATS, whole or not at all, the same bytes for the same
    figure; returns the paths. OSError where one is somebody else's."""
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in endings]
    for path, ending in zip(paths, endings):
        refuse_others(path)
        with whole(path) as aside:
            draw(figure, aside, ending)
            stamp(aside, path.name)
    return paths
