"""One self-contained HTML page of a paper: interactive figures (plotly, its JavaScript inside), the
table of claims, and where every result comes from."""

import html
from dataclasses import astuple

from plots import style
from reproduce.claims import FAIL, INCONSISTENT, PASS, SKIPPED, count
from reproduce.figures import PLOTTED, SIMULATED, THEORY, Table
from reproduce.interactive import NARROW, arrange_script, plotly_html
from reproduce.origins import duration
from plotly.offline import get_plotlyjs
from plots.whole import write_whole

# What a reader should see first comes first.
VERDICTS = {FAIL: style.VERMILION, INCONSISTENT: "#A8467E", PASS: "#007A59", SKIPPED: "#666666"}

STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
h3 { margin-bottom: .2rem; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .5rem; border-bottom: 1px solid #ddd; }
thead th { position: sticky; top: 0; background: white; }
td { overflow-wrap: break-word; }
.claims { table-layout: fixed; }
.claims td { overflow-wrap: anywhere; }
.claims .source { color: #555; }
.claims .verdict { font-size: 12px; }
td.number { text-align: right; white-space: nowrap; }
.hash { font: 12px monospace; white-space: nowrap; }
code { font-size: .9em; overflow-wrap: anywhere; }
pre { font-size: 12px; background: #f6f6f6; padding: .6rem; overflow: auto; }
nav a { margin-right: 1rem; display: inline-block; }
.note { color: #555; font-size: 14px; margin: .2rem 0; }
.verdict { color: white; padding: .05rem .4rem; border-radius: .3rem; white-space: nowrap; }
.filter label { margin-right: 1rem; cursor: pointer; }
"""
# On a phone a claim is a block of lines, and other tables scroll.
NARROW_STYLE = f"""
@media {NARROW} {{
  body {{ margin: 1rem auto; padding: 0 .6rem; }}
  h1 {{ font-size: 1.3rem; }}
  .wide {{ overflow-x: auto; }}
  .modebar {{ display: none; }}
  .claims, .claims tbody, .claims tr, .claims td {{ display: block; }}
  .claims thead {{ display: none; }}
  .claims tr {{ padding: .4rem 0; border-bottom: 1px solid #ddd; }}
  .claims td {{ padding: .05rem 0; border: 0; }}
  .claims td:nth-child(3)::before {{ content: "expected: "; }}
  .claims td:nth-child(4)::before {{ content: "measured: "; }}
}}
"""
WIDTHS = 11, 30, 18, 18, 13, 10  # of the table of claims
# A box that is not ticked hides the claims of its verdict.
FILTER_STYLE = "\n".join(
    f"body:has(#show-{name}:not(:checked)) tr.{name} {{ display: none; }}" for name in VERDICTS
)


def document(title, body, script=""):
    """A page that loads nothing."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<style>{STYLE}{NARROW_STYLE}{FILTER_STYLE}</style>
{f"<script>{script}</script>" if script else ""}</head><body>
<h1>{html.escape(title)}</h1>
{body}
</body></html>
"""


def badge(verdict, words=""):
    colour = VERDICTS[verdict]
    return f'<span class="verdict" style="background:{colour}">{words or verdict}</span>'


def counts_html(claims):
    """How many claims have each verdict."""
    counts = count(claims)
    return " ".join(badge(name, f"{counts[name]} {name}") for name in VERDICTS if counts[name])


def list_of(lines):
    return "<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"


def table_of(heads, rows, kind="", widths=()):
    """Rows are whole <tr> elements; widths in percent."""
    looks = [f' style="width: {width}%"' for width in widths] or [""] * len(heads)
    head = "".join(f"<th{look}>{name}</th>" for name, look in zip(heads, looks))
    body = "\n".join(rows)
    table = f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'
    return f'<div class="wide">{table}</div>'


# ---- figures


def figure_html(figure, scenarios):
    note = f'<p class="note">{html.escape(figure.note)}</p>' if figure.note else ""
    made = ", ".join(f'<a href="#run-{name}">{name}</a>' for name in scenarios) or "theory alone"
    is_table = isinstance(figure, Table)
    png = "" if is_table else f'; <a href="figures/{figure.name}.png">PNG</a>'
    links = f'<p class="note">From {made}{png}</p>'
    title = f'<h3 id="figure-{figure.name}">{html.escape(figure.title)}</h3>'
    shown = cells_html(figure) if is_table else plotly_html(figure)
    return f"<section>{title}{note}{links}{shown}</section>"


def cells_html(table):
    row = lambda cells: "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
    rows = [f"<tr>{row(cells)}</tr>" for cells in table.rows]
    return table_of([html.escape(head) for head in table.heads], rows)


def figures_html(judged):
    return "\n".join(figure_html(one, judged.sources[one.name]) for one in judged.figures)


# ---- claims


def claim_row(claim, figures):
    cells = map(html.escape, astuple(claim))
    id, source, words, expected, tolerance, measured, verdict = cells
    within = f'<div class="source">within {tolerance}</div>' if tolerance else ""
    told = (
        f'<td>{id}</td><td>{words}<div class="source">{source}</div></td>'
        f"<td>{expected}{within}</td><td>{measured}</td>"
    )
    seen = " ".join(f'<a href="#figure-{name}">{name}</a>' for name in figures)
    ends = f"<td>{badge(verdict)}</td><td>{seen}</td>"
    return f'<tr class="{verdict}" id="claim-{claim.id}">{told}{ends}</tr>'


def claims_html(judged):
    """The table, failing claims first, and boxes that hide the claims of a verdict."""
    counts = count(judged.claims)
    boxes = "".join(
        f'<label><input type="checkbox" id="show-{name}" checked> {badge(name)} {counts[name]}</label>'
        for name in VERDICTS
        if counts[name]
    )
    order = list(VERDICTS)
    claims = sorted(judged.claims, key=lambda claim: order.index(claim.verdict))
    rows = [claim_row(claim, judged.figures_of.get(claim.id, [])) for claim in claims]
    heads = ("id", "claim, source", "expected", "measured", "verdict", "see also")
    return f'<p class="filter">Show: {boxes}</p>' + table_of(heads, rows, "claims", WIDTHS)


# ---- where it comes from


def origin_row(origin, quick):
    facts = origin.manifest
    data = "<br>".join(facts["hashes"]["data"]) or "none"
    command = origin.command + (" --quick" if quick else "")
    words = "; ".join(facts["notes"])
    note = f'<p class="note">{html.escape(words)}</p>' if words else ""
    text = f"<details><summary>the whole scenario</summary><pre>{html.escape(origin.text)}</pre></details>"
    told = f"{html.escape(origin.title)}<br><code>{html.escape(command)}</code>{note}{text}"
    files = f'<a href="{origin.folder}/runs.csv">runs.csv</a> <a href="{origin.folder}/manifest.json">manifest</a>'
    return (
        f'<tr id="run-{origin.scenario}"><td>{origin.scenario}<br>{files}</td><td>{told}</td>'
        f'<td class="number">{facts["seed"]}</td><td class="number">{facts["runs_finished"]:,}</td>'
        f'<td class="number">{duration(facts["elapsed"])}</td>'
        f'<td class="hash">{facts["hashes"]["scenario"]}</td><td class="hash">{data}</td></tr>'
    )


def origins_html(origins, command, quick):
    versions = list(dict.fromkeys(origin.version for origin in origins))
    machines = list(dict.fromkeys(origin.machine for origin in origins))
    took = duration(sum(origin.manifest["elapsed"] for origin in origins))
    said = [
        f"Command: <code>{html.escape(command)}</code>",
        *(html.escape(version) for version in versions),
        *(html.escape(machine) for machine in machines),
        f"The runs took {took}.",
    ]
    heads = ("scenario", "what it asks", "seed", "runs", "time", "scenario's hash", "data's hash")
    return list_of(said) + table_of(heads, [origin_row(one, quick) for one in origins])


def missing_html(missing):
    if not missing:
        return ""
    lines = [f"{name}: {html.escape(reason)}" for name, reason in missing.items()]
    return f'<h2 id="missing">Left out</h2>{list_of(lines)}'


def write_page(path, paper, judged, origins, command, quick):
    """Figures, claims, what is left out and where it all comes from, in one file. `paper` has the
    TITLE and the NOTES."""
    words = "Quick form: few replicas, short runs." if quick else "Full form."
    said = "\n".join(f"<p>{html.escape(note)}</p>" for note in (words, *paper.NOTES))
    links = " ".join(f'<a href="#figure-{one.name}">{one.name}</a>' for one in judged.figures)
    body = f"""<p>Claims: {counts_html(judged.claims)}</p>
<nav><a href="#figures">Figures</a><a href="#claims">Claims</a><a href="#origins">How it was made</a></nav>
{said}
{missing_html(judged.missing)}
<h2 id="figures">Figures</h2>
<p class="note">Dashed lines: {THEORY}, or a level to compare with. Open marks and full lines:
{SIMULATED}, with 95 % bands over replicas; bars are simulated too. Crosses: the paper's values,
{PLOTTED} or in its authors' logs. A click in a legend takes a protocol away and brings it back; a
double click leaves it alone.</p>
<nav class="note">{links}</nav>
{figures_html(judged)}
<h2 id="claims">Claims</h2>
{claims_html(judged)}
<h2 id="origins">How it was made</h2>
{origins_html(origins, command, quick)}"""
    drawn = not all(isinstance(figure, Table) for figure in judged.figures)
    script = get_plotlyjs() if drawn else ""
    body += f"<script>{arrange_script()}</script>" if drawn else ""
    write_whole(path, document(paper.TITLE, body, script))
