"""The page of a search for the switch point: when to switch, what that saves, how sure it is."""

import json
import math

from plots import style
from plots.search import draw_search
from report.figures import Drawn, at_sizes
from report.page import images_of
from report.text import number, percent
from results.search import read_search

MANY_RUNS = 20
COSTS = "first_runs", "runs", "cost", "recurrences", "success"  # columns of costs.csv


def share_text(share):
    return f"{100 * share:g} %"


def sentence(search):
    """When to switch, and what a run is then like."""
    share = search.facts["switch_point"]
    alone = next(one for one in search.settings if one.verdict == "target")
    if share >= 1:
        return "No switch that was tried keeps the accuracy of the first protocol alone."
    found = next(one for one in search.settings if one.share == share and one.verdict != "target")
    return (
        f"Switch after {share_text(share)} of the work: a run then takes {percent(found.relative_time)} of "
        f"the time, with an accuracy of {number(found.accuracy, 4)} in place of {number(alone.accuracy, 4)}."
    )


def doubts(search):
    """What would make the answer surer, a line each."""
    facts, lines = search.facts, []
    if search.unclear:
        shares = ", ".join(share_text(one.share) for one in search.unclear)
        lines.append(
            f"Unclear: {shares}. The 95 % interval of the accuracy there contains {number(search.passing, 4)}, from "
            "which a setting passes; more --runs narrow it."
        )
    if facts["success"] is not None:
        low, high = (percent(one) for one in facts["success_95"])
        lines.append(
            f"{percent(facts['success'])} of {facts['searches']:,} searches with runs drawn anew from these end "
            f"there too (95 % interval {low} to {high})."
        )
        if facts["runs"] < MANY_RUNS:
            lines.append(
                f"That is resampled from {facts['runs']} runs a setting, so only a rough guide."
            )
    cost = f"The search took as long as {number(facts['cost'])} runs of the first protocol alone"
    saved = facts["recurrences"]
    end = f"saves that in {number(saved)} runs of the job" if saved else "never saves that"
    return [*lines, f"{cost}; the switch {end}."]


def settings_table(search):
    rows = [
        [
            share_text(one.share), number(one.accuracy, 4),
            "-" if math.isnan(one.accuracy_95) else f"\u00b1 {number(one.accuracy_95, 2)}",
            percent(one.relative_time), one.verdict, f"{one.runs}", f"{one.diverged or ''}",
        ]
        for one in search.settings
    ]  # fmt: skip
    heads = [
        "work before the switch",
        "accuracy",
        "95 %",
        "time, of the first protocol's",
        "verdict",
    ]
    return {"title": "Settings", "heads": [*heads, "runs", "diverged"], "rows": rows}


def told(value):
    """A number with as many digits as are read; a search that saves nothing has paid never."""
    return "never" if math.isinf(value) else "-" if math.isnan(value) else number(value)


def costs_table(search):
    """Searches with fewer runs; nothing where costs.csv is not there."""
    if not search.costs:
        return []
    rows = [[told(row[name]) for name in COSTS] for row in search.costs]
    for row in rows:
        row[0] = "target known" if row[0] == "0" else row[0]
    heads = ["runs of the first protocol alone", "runs of each setting", "cost, in its runs"]
    heads += ["runs of the job that save that", "share that ends at the same setting"]
    return [{"title": "Cheaper searches", "heads": heads, "rows": rows}]


def images(search):
    """The figure at the two widths of a page."""
    figures = at_sizes(lambda: draw_search(search, ""), style.SIZES)
    words = f"Accuracy and time of each setting: {search.title}"
    return images_of(Drawn("search", search.title, figures), style.SIZES, words)


NOTE = (
    "A setting switches after that share of the work. Bars are 95 % intervals of the mean accuracy over runs (Student's "
    "t); an accuracy is 1 - final test error."
)


def render(environment, folder):
    """The page's text, and its first sentence."""
    search = read_search(folder)
    text = environment.get_template("found.html").render(
        title=search.title,
        sentence=sentence(search),
        lines=doubts(search),
        heading="Every setting",
        note=NOTE,
        figures=[images(search)],
        tables=[settings_table(search), *costs_table(search)],
        path=str(folder),
        call=f"gradrace search {search.facts.get('file', '')}",
        scenario=json.dumps(search.facts["scenario"], indent=2, ensure_ascii=False),
    )
    return text, sentence(search)
