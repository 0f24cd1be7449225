"""One self-contained HTML page: interactive figures (plotly, its JavaScript inside) and the table of
claims."""

import html
import math

import plotly.graph_objects as go
import style
from claims import FAIL, INCONSISTENT, PASS, SKIPPED, count
from figures import PLOTTED, SIMULATED, THEORY
from plotly.offline import get_plotlyjs

MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon")
VERDICTS = {PASS: style.GREEN, FAIL: style.VERMILION, SKIPPED: "#777777", INCONSISTENT: style.PURPLE}

STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .5rem; border-bottom: 1px solid #ddd; }
td { overflow-wrap: anywhere; }
.note { color: #555; font-size: 14px; margin-top: 0; }
.figure { height: 30rem; }
.verdict { color: white; padding: .05rem .4rem; border-radius: .3rem; white-space: nowrap; }
"""

SCALES = ("linear", "log")


def faint(colour):
    """The colour of a band."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.18)"


def numbers(values):
    """Plain floats; what is no number is left out of the line."""
    return [float(v) if math.isfinite(v) else None for v in values]


def band_trace(series, colour):
    """Under a curve: its 95 % band."""
    low = [y - b for y, b in zip(series.y, series.band)]
    high = [y + b for y, b in zip(series.y, series.band)]
    return go.Scatter(
        x=numbers([*series.x, *reversed(series.x)]),
        y=numbers([*high, *reversed(low)]),
        fill="toself",
        fillcolor=faint(colour),
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        legendgroup=series.group,
    )


def series_traces(series, colour, mark):
    looks = {"name": series.name, "legendgroup": series.group}
    looks |= {"x": numbers(series.x), "y": numbers(series.y)}
    if series.kind == THEORY:
        return [go.Scatter(mode="lines", line={"color": colour, "dash": "dash"}, **looks)]
    if series.kind == PLOTTED:
        shape = {"color": colour, "symbol": "x-thin", "size": 9, "line": {"width": 2, "color": colour}}
        return [go.Scatter(mode="markers", marker=shape, **looks)]
    if series.is_curve:
        below = [band_trace(series, colour)] if series.band else []
        return [*below, go.Scatter(mode="lines", line={"color": colour}, **looks)]
    error = {"array": numbers(series.band), "color": colour} if series.band else None
    shape = {"color": colour, "symbol": mark, "size": 7}
    return [go.Scatter(mode="markers", marker=shape, error_y=error, **looks)]


def bar_traces(bars):
    kinds = list(dict.fromkeys(bar.kind for bar in bars))
    colours = {kind: style.COLOURS[i % len(style.COLOURS)] for i, kind in enumerate(sorted(kinds))}
    return [
        go.Bar(
            orientation="h",
            name=kind,
            x=[bar.end - bar.start for bar in bars if bar.kind == kind],
            base=[bar.start for bar in bars if bar.kind == kind],
            y=[bar.row for bar in bars if bar.kind == kind],
            text=[bar.label for bar in bars if bar.kind == kind],
            textposition="inside",
            marker={"color": colours[kind], "line": {"color": "white", "width": 1}},
        )
        for kind in kinds
    ]


def scale_menu(axis, start, place):
    """Buttons for a linear and a logarithmic axis."""
    order = SCALES if not start else SCALES[::-1]
    return {
        "type": "buttons",
        "direction": "left",
        "x": place,
        "y": 1.12,
        "xanchor": "left",
        "font": {"size": 11},
        "pad": {"r": 4, "t": 0},
        "buttons": [
            {
                "label": f"{axis} {scale}",
                "method": "relayout",
                "args": [{f"{axis}axis.type": scale, f"{axis}axis.autorange": True}],
            }
            for scale in order
        ],
    }


def plotly_figure(figure):
    groups = list(dict.fromkeys(one.group for one in figure.series))
    traces = bar_traces(figure.bars)
    for one in figure.series:
        i = groups.index(one.group)
        traces += series_traces(one, style.COLOURS[i % len(style.COLOURS)], MARKS[i % len(MARKS)])
    drawn = go.Figure(traces)
    drawn.update_layout(
        template="plotly_white",
        margin={"t": 60, "r": 10, "b": 50, "l": 70},
        hovermode="closest",
        barmode="overlay",
        legend={"groupclick": "togglegroup", "font": {"size": 11}},
    )
    axes = {"title": {"text": figure.x_label}}, {"title": {"text": figure.y_label}}
    drawn.update_xaxes(type="log" if figure.log_x else "linear", **axes[0])
    if figure.bars:
        drawn.update_yaxes(type="category", autorange="reversed", title={"text": figure.y_label})
        return drawn
    drawn.update_yaxes(type="log" if figure.log_y else "linear", exponentformat="power", **axes[1])
    menus = [scale_menu("x", figure.log_x, 0.0), scale_menu("y", figure.log_y, 0.25)]
    drawn.update_layout(updatemenus=menus)
    for place in figure.marks:
        drawn.add_vline(place, line={"color": style.GREY, "dash": "dot"})
    return drawn


def figure_html(figure):
    body = plotly_figure(figure).to_html(
        full_html=False, include_plotlyjs=False, div_id=figure.name, config={"displaylogo": False}
    )
    note = f'<p class="note">{html.escape(figure.note)}</p>' if figure.note else ""
    return f"<section><h3>{html.escape(figure.title)}</h3>{note}{body}</section>"


def claim_row(claim):
    cells = [claim.id, claim.claim, claim.source, claim.expected, claim.tolerance, claim.measured]
    colour = VERDICTS[claim.verdict]
    mark = f'<span class="verdict" style="background:{colour}">{claim.verdict}</span>'
    return "<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + f"<td>{mark}</td></tr>"


def claims_html(claims):
    heads = ("id", "claim", "source", "expected", "tolerance", "measured", "verdict")
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "\n".join(claim_row(claim) for claim in claims)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def missing_html(missing):
    if not missing:
        return ""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in missing)
    return f"<h2>Left out</h2><ul>{items}</ul>"


def write_page(path, title, notes, figures, claims, missing):
    """Figures, claims and what is left out, in one file that loads nothing."""
    said = "\n".join(f"<p>{html.escape(note)}</p>" for note in notes)
    told = ", ".join(f"{n} {name}" for name, n in count(claims).items())
    drawn = "\n".join(figure_html(figure) for figure in figures)
    path.write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
<script>{get_plotlyjs()}</script></head><body>
<h1>{html.escape(title)}</h1>
<p>Claims: {told}.</p>
{said}
<p class="note">Dashed lines: {THEORY}. Points and full lines: {SIMULATED}, with 95 % bands over
replicas. Crosses: values {PLOTTED} in the paper. A click in a legend takes a protocol away and
brings it back.</p>
{missing_html(missing)}
<h2>Figures</h2>
{drawn}
<h2>Claims</h2>
{claims_html(claims)}
</body></html>
""",
        encoding="utf-8",
    )
