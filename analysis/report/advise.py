"""The page of gradrace advise: which candidate, how sure, and what that rests on."""

import json
import math

from plots import style
from plots.advise import draw_candidates, draw_pareto
from report.figures import Drawn, at_sizes
from report.page import images_of
from report.text import number
from results.advise import read_advice

NOTE = (
    "Candidates are the points of the sweep. Grey bars are what models foretell of each without its own runs; marks are "
    "means of runs with 95 % intervals. The other figure: what one pays to be soon, of those that ran to the target (Pareto front: "
    "the line)."
)
HEADS = "candidate", "foretold", "measured", "runs", "gradients", "verdict"


def foretold(one):
    """Of a run that was too short for a number, what that is above."""
    if math.isnan(one.foretold):
        return "-"
    if math.isfinite(one.foretold):
        return number(one.foretold, 4)
    return f"> {number(one.foretold_low, 3)}" if math.isfinite(one.foretold_low) else "never"


def measured(one):
    if one.never:
        return f"in {one.runs - one.never} of {one.runs} runs"
    half = "" if math.isnan(one.measured_95) else f" \u00b1 {number(one.measured_95, 2)}"
    return "-" if math.isnan(one.measured) else number(one.measured, 4) + half


def table_of(advice):
    ordered = sorted(
        advice.rows, key=lambda one: (one.verdict != "best", not one.runs, one.candidate)
    )
    rows = [
        [
            one.label, foretold(one), measured(one), f"{one.runs}", f"{one.gradients:,}", one.verdict,
        ]
        for one in ordered
    ]  # fmt: skip
    return {"title": "Candidates", "heads": list(HEADS), "rows": rows}


def images(advice, name, draw):
    """A figure at the two widths of a page; none where it is not drawn."""
    figures = at_sizes(lambda: draw(advice, ""), style.SIZES)
    return (
        images_of(Drawn(name, advice.title, figures), style.SIZES, f"{name}: {advice.title}")
        if figures
        else []
    )


def render(environment, folder):
    """The page's text, and its first sentence."""
    advice = read_advice(folder)
    drawn = [images(advice, "candidates", draw_candidates), images(advice, "pareto", draw_pareto)]
    text = environment.get_template("found.html").render(
        title=advice.title,
        sentence=advice.facts["answer"],
        lines=advice.facts["notes"],
        heading="Every candidate",
        note=NOTE,
        figures=[one for one in drawn if one],
        tables=[table_of(advice)],
        path=str(folder),
        call=f"gradrace advise {advice.facts.get('file', '')}",
        scenario=json.dumps(advice.facts["scenario"], indent=2, ensure_ascii=False),
    )
    return text, advice.facts["answer"]
