"""Figures for the page: plotly's, which a reader hovers, zooms and picks protocols from."""

import math
from dataclasses import replace

import plotly.graph_objects as go
from pages.maker import svg
from plots import style
from reproduce.figures import LEVEL, PLOTTED, THEORY

MARKS = (
    "circle-open square-open diamond-open triangle-up-open star-open hexagon-open pentagon-open"
    " triangle-down-open hourglass-open bowtie-open"
).split()
HEIGHT, NARROW_HEIGHT = 460, 400
LEFT = 80
SCALES = ("linear", "log")
NARROW = "(max-width: 40rem)"  # a page on a phone
# On a narrow page the legends stand below the figures, which grow by a line for each of their words.
ARRANGE = """
const narrow = matchMedia("%s");
function arrange() {
  for (const figure of document.querySelectorAll(".plotly-graph-div")) {
    const words = figure.data.filter(trace => trace.name && trace.showlegend !== false).length;
    const height = narrow.matches ? %d + 21 * words : %d;
    figure.style.height = height + "px";
    Plotly.relayout(figure, narrow.matches ?
      {height, "legend.orientation": "h", "legend.xref": "container", "legend.x": 0,
       "legend.yref": "container", "legend.y": 0, "legend.yanchor": "bottom", "margin.l": 60} :
      {height, "legend.orientation": "v", "legend.xref": "paper", "legend.x": 1.02,
       "legend.yref": "paper", "legend.y": 1, "legend.yanchor": "auto", "margin.l": %d});
  }
}
if (narrow.matches) arrange();
narrow.addEventListener("change", arrange);
"""


def faint(colour):
    """The colour of a band."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.18)"


def numbers(values):
    """Plain floats; NaN is left out of the line."""
    return [float(v) if math.isfinite(v) else None for v in values]


def band_trace(series, colour):
    """Under a curve: its 95 % band, where it has one."""
    places = [place for place in zip(series.x, series.y, series.band) if math.isfinite(sum(place))]
    x = [x for x, _, _ in places]
    low, high = [y - b for _, y, b in places], [y + b for _, y, b in places]
    return go.Scatter(
        x=numbers([*x, *reversed(x)]),
        y=numbers([*high, *reversed(low)]),
        mode="lines",
        fill="toself",
        fillcolor=faint(colour),
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        legendgroup=series.group,
    )


def without_start(series):
    """A curve without its points at x = 0, from which a logarithmic axis draws a level line."""
    band = series.band or [0.0] * len(series.x)
    places = [place for place in zip(series.x, series.y, band) if place[0] != 0]
    x, y, half = map(list, zip(*places)) if places else ([], [], [])
    return replace(series, x=x, y=y, band=half if series.band else None)


def series_traces(series, colour, mark):
    looks = {"name": series.name, "legendgroup": series.group}
    looks |= {"x": numbers(series.x), "y": numbers(series.y)}
    if series.kind in (THEORY, LEVEL):
        return [go.Scatter(mode="lines", line={"color": colour, "dash": "dash"}, **looks)]
    if series.kind == PLOTTED:
        shape = {
            "color": colour,
            "symbol": "x-thin",
            "size": 9,
            "line": {"width": 2, "color": colour},
        }
        return [go.Scatter(mode="markers", marker=shape, **looks)]
    if series.is_curve:
        below = [band_trace(series, colour)] if series.band else []
        return [*below, go.Scatter(mode="lines", line={"color": colour}, **looks)]
    error = {"array": numbers(series.band), "color": colour} if series.band else None
    if series.width:
        shape = {"color": colour, "opacity": style.BAR_ALPHA}
        return [go.Bar(width=series.width, marker=shape, error_y=error, **looks)]
    shape = {"color": colour, "symbol": mark, "size": 8, "line": {"width": 1.6}}
    return [go.Scatter(mode="markers", marker=shape, error_y=error, **looks)]


def axis_looks(is_log):
    """Whole labels, and few of them where they are powers."""
    return {"type": "log" if is_log else "linear", "nticks": 4 if is_log else 0}


def scale_menu(axis, is_log, left):
    """Buttons for a linear and a logarithmic axis, so many pixels from the left."""
    buttons = []
    for scale in SCALES:
        looks = axis_looks(scale == "log") | {"autorange": True}
        changes = {f"{axis}axis.{key}": value for key, value in looks.items()}
        buttons.append({"label": f"{axis} {scale}", "method": "relayout", "args": [changes]})
    return {
        "type": "buttons",
        "direction": "left",
        "active": SCALES.index("log" if is_log else "linear"),
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "font": {"size": 11},
        "pad": {"l": left, "b": 6, "t": 0, "r": 0},
        "buttons": buttons,
    }


def plotly_figure(figure):
    groups = figure.groups()
    traces = []
    for one in figure.series:
        i = groups.index(one.group)
        colour = style.MORE_COLOURS[i % len(style.MORE_COLOURS)]
        if one.is_curve and figure.may_be_log("x"):
            one = without_start(one)
        traces += series_traces(one, colour, MARKS[i % len(MARKS)])
    drawn = go.Figure(traces)
    drawn.update_layout(
        template="plotly_white",
        height=HEIGHT,
        margin={"t": 40, "r": 10, "b": 50, "l": LEFT},
        hovermode="closest",
        barmode="overlay",
        font={"color": "#222222"},
        legend={"groupclick": "togglegroup", "font": {"size": 11}, "tracegroupgap": 6},
    )
    drawn.update_xaxes(title={"text": figure.x_label}, tickformat=",~g", **axis_looks(figure.log_x))
    drawn.update_yaxes(title={"text": figure.y_label}, tickformat=",~g", **axis_looks(figure.log_y))
    starts = {"x": figure.log_x, "y": figure.log_y}
    if figure.ticks:
        places = list(range(len(figure.ticks)))
        drawn.update_xaxes(tickvals=places, ticktext=figure.ticks, showgrid=False, zeroline=False)
    menus = [
        scale_menu(axis, starts[axis], 120 * place)
        for place, axis in enumerate(axis for axis in "xy" if figure.may_be_log(axis))
    ]
    drawn.update_layout(updatemenus=menus)
    for place in figure.marks:
        drawn.add_vline(place, line={"color": style.GREY, "dash": "dot"})
    return drawn


def plotly_html(figure):
    """The element that shows it, named as the figure."""
    if figure.drawn:
        return f'<div id="{figure.name}">{svg(figure.drawn, figure.name, figure.title)}</div>'
    config = {"displaylogo": False, "responsive": True}
    return plotly_figure(figure).to_html(
        full_html=False, include_plotlyjs=False, div_id=figure.name, config=config
    )


def arrange_script():
    """What follows the figures of a page."""
    return ARRANGE % (NARROW, NARROW_HEIGHT, HEIGHT, LEFT)
