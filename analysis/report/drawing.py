"""How the figures of a report look: at two widths, a column's and a page's."""

import re
import textwrap
from dataclasses import dataclass
from io import StringIO

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from plots import style

LOOKS = {
    "font.size": 8.5,
    "axes.labelsize": 8.5,
    "axes.titlesize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "font.family": "sans-serif",
    "svg.fonttype": "none",
}
GREY = "#8A8A8A"
FONT = re.compile(r"font: ([\d.]+)px [^;\"]*")
ATTRIBUTE = re.compile(r' (?:d|x|y|transform)="[^"]*"')
DECIMALS = re.compile(r"(\d\.\d{2})\d+")
LINE_LENGTH = 34


@dataclass(frozen=True)
class Size:
    """Of a figure, in inches."""

    name: str
    width: float
    height: float


COLUMN = Size("column", style.SIZES["column"].width, 2.7)
PAGE = Size("page", style.SIZES["page"].width, 3.5)


def new_figure(size, taller=1.0):
    return Figure(figsize=(size.width, size.height * taller), layout=style.Layout())


def looks_of(case, point):
    """Colour and dashes of a point, the same in all figures; grey where it is not among those
    shown."""
    if point not in case.shown:
        return {"color": style.GREY, "linestyle": "-"}
    return style.line_style(case.shown.index(point))


def in_lines(label):
    """As figures name a point: "k-async k=4", a long name in several lines."""
    return "\n".join(textwrap.wrap(label, LINE_LENGTH, break_long_words=False))


def length(label):
    """Of its longest line."""
    return max(map(len, label.split("\n")))


def legend_below(figure, axes, size):
    """A legend under the axes where there is anything to name, in as many columns as fit."""
    handles, words = axes.get_legend_handles_labels()
    if not handles:
        return
    columns = max(1, int(size.width / (0.6 + 0.068 * max(map(length, words)))))
    figure.legend(handles, words, loc="outside lower left", ncols=columns, frameon=False)


def set_log(axis, values):
    """A logarithmic axis where positive values span more than a factor of 5."""
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if not len(values) or values.min() <= 0 or values.max() <= 5 * values.min():
        return
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    style.label_log_axis(axis)


def svg(figure, name, words):
    """The figure as an element of a page, its ids made its own by the name; `words` say what it
    shows to who does not see it."""
    file = StringIO()
    with matplotlib.rc_context(LOOKS):
        figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", text)
    text = re.sub(r'(<svg [^>]*?)width="[^"]*" |height="[\d.]+pt" ', r"\1", text, count=2)
    text = FONT.sub(r"font: \1px sans-serif", text)
    text = text.replace("<svg ", Markup('<svg role="img" aria-label="{}" ').format(words), 1)
    return Markup(ATTRIBUTE.sub(lambda found: DECIMALS.sub(r"\1", found[0]), text))


def save(figure, stem):
    """Writes stem.png, .svg and .pdf; returns the paths."""
    with matplotlib.rc_context(LOOKS):
        return style.save(figure, stem, ("png", "svg", "pdf"))
