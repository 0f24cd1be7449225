"""One self-contained HTML page of a paper: what it asks and what came out, interactive figures
(plotly, its JavaScript inside), caveats, the table of claims, and where every result comes from."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from markupsafe import Markup
from pages.maker import templates, write
from plotly.offline import get_plotlyjs
from reproduce.claims import FAIL, FITTED, INCONSISTENT, KINDS, PASS, SKIPPED, count, count_kinds
from reproduce.figures import PLOTTED, SIMULATED, THEORY, Table
from reproduce.interactive import NARROW, arrange_script, plotly_html
from reproduce.origins import duration

# What a reader should see first comes first.
VERDICTS = (FAIL, INCONSISTENT, PASS, SKIPPED)


def render(path, template, **values):
    """Writes a page."""
    told = {"verdicts": VERDICTS, "narrow": NARROW, "kinds_of_claims": KINDS}
    found = templates(Path(__file__).parent / "templates", **told)
    found.filters["duration"] = duration
    write(path, found.get_template(template).render(values))


@dataclass
class Shown:
    """A figure on the page."""

    number: int
    figure: object  # a Figure or a Table
    answer: str  # what came out, in a sentence; empty where the paper's answers have none
    scenarios: list
    claims: list  # of its experiment

    @property
    def name(self):
        return self.figure.name

    @property
    def counts(self):
        return count(self.claims)

    @cached_property
    def plot(self):
        return None if isinstance(self.figure, Table) else Markup(plotly_html(self.figure))


def shown_figures(paper, judged):
    """With numbers, in the order of the page."""
    shown = []
    for number, figure in enumerate(judged.figures, 1):
        claims = [one for one in judged.claims if figure.name in judged.figures_of.get(one.id, [])]
        answer, scenarios = paper.answers.get(figure.name, ""), judged.sources[figure.name]
        shown.append(Shown(number, figure, answer, scenarios, claims))
    return shown


def by_reason(known, claims):
    """{why: the claims that are known to fail for it}."""
    reasons = {}
    for claim in claims:
        if claim.id in known:
            reasons.setdefault(known[claim.id], []).append(claim)
    return reasons


def how_made(origins):
    """Programs, machines and the time of all runs."""
    versions = dict.fromkeys(origin.version for origin in origins)
    machines = dict.fromkeys(origin.machine for origin in origins)
    took = duration(sum(origin.manifest["elapsed"] for origin in origins))
    return [*versions, *machines, f"The runs took {took}."]


def write_page(path, paper, judged, known, origins, command, quick):
    """The page of a Paper; known: {id of a claim that fails and is
    known to: why}."""
    figures = shown_figures(paper, judged)
    fitted = [one for one in judged.claims if one.kind == FITTED]
    not_fitted = [one for one in judged.claims if one.kind != FITTED]
    drawn = any(not isinstance(figure, Table) for figure in judged.figures)
    render(
        path, "paper.html", title=paper.title, paper=paper, quick=quick, figures=figures,
        all_counts=count(judged.claims), counts=count(not_fitted), fitted=count(fitted), holding=count_kinds(judged.claims, PASS),
        known=known, known_by_reason=by_reason(known, judged.claims),
        claims=sorted(judged.claims, key=lambda claim: VERDICTS.index(claim.verdict)),
        figures_of={
            claim.id: [one for one in figures if one.name in judged.figures_of.get(claim.id, [])]
            for claim in judged.claims
        },
        missing=judged.missing, origins=origins, made_by=how_made(origins), command=command,
        kinds={"theory": THEORY, "simulated": SIMULATED, "plotted": PLOTTED},
        plotly=Markup(get_plotlyjs()) if drawn else None, arrange=Markup(arrange_script()),
    )  # fmt: skip
