"""The figures of a report, in the order of the page: what each is called, what it says, who draws
it."""

from dataclasses import dataclass
from itertools import count

from plots import style
from plots.curves import draw_curves
from plots.encoding import Curve, Panel, Plan
from plots.final import draw_final
from plots.price import spent
from plots.shares import draw_shares, rows_of
from plots.staleness import draw_staleness
from plots.sweep import has_values
from plots.timeline import draw_timeline
from plots.trade_off import draw_trade_off
from report.case import Case, names_of
from report.means import error_column, runs_of
from report.swept import best_table, swept_numbers


def plan_of(case, points, title=""):
    """A panel of some of the case's points, which look the same in all figures."""
    names = {n: case.label(n) for n in points}
    curves = [Curve(n, names[n], names[n], style.line_style(i)) for i, n in enumerate(points)]
    return Plan([Panel("", curves)], title, case.points, left_out(case, points))


def left_out(case, shown):
    """A line where points are left out."""
    left = len(case.points) - len(shown)
    which = "those that look best, and the best of each protocol, are shown"
    where = f" ({case.where})" if case.where else ""
    return [f"{left} of {len(case.points)} points are left out{where}: {which}."] if left else []


def draw_column(case, column, x="time"):
    """A column of curve.csv against x, one of AXES, of points of which some run did not diverge; None
    where runs were not evaluated on the way."""
    plan = plan_of(case, case.shown)
    (panel,) = plan.panels
    panel.curves = [one for one in panel.curves if runs_of(case, one.number, column)]
    return draw_curves(case.folder, plan, x, column) if panel.curves else None


def draw_bytes(case):
    """None where no run has bytes."""
    known = has_values(case.folder, "bytes")
    return draw_column(case, error_column(case), "bytes") if known else None


def draw_cost(case):
    """None where nothing has a price."""
    return draw_column(case, error_column(case), "cost") if spent(case.folder) else None


def bars_of(case):
    """Which points have bars, the title, and a line where some have none."""
    rows = rows_of(case.points, case.shown)
    return {point: case.label(point) for point in rows}, "", left_out(case, rows)


def draw_losses(case):
    """Beside what theory says, or beside the test error; None where that is the same figure."""
    is_other = error_column(case) != "loss" and not case.folder.theory.empty
    return draw_column(case, "loss") if is_other else None


@dataclass
class Kind:
    """A kind of figure, of which there is one for each case: draw(case) or None."""

    name: str
    title: str
    note: str
    draw: object


KINDS = [
    Kind(
        "trade_off", "Soon or good?",
        "Lower and further left is better. Full marks: no other point is better in both (the "
        "Pareto front, joined by the line). Crosses are 95 % intervals. A triangle at the right "
        "edge: not every run reached the target.",
        lambda case: draw_trade_off(plan_of(case, case.shown), *case.measures)
        if len(case.measures) == 2 else None,
    ),
    Kind(
        "error_time", "Error against time", "Runs that diverged are left out of means.",
        lambda case: draw_column(case, error_column(case)),
    ),
    Kind("error_bytes", "Error against bytes", "Of all learners, both ways.", draw_bytes),
    Kind(
        "error_cost", "Error against cost",
        "By cluster.price of machines and cluster.price_per_gigabyte of bytes, as far as they are given.",
        draw_cost,
    ),
    Kind("loss_time", "Loss against time, theory beside it", "", draw_losses),
    Kind(
        "staleness", "Staleness",
        "How many updates were made between the reading of a model and the use of its gradient.",
        lambda case: draw_staleness(case.folder, plan_of(case, case.shown))[0],
    ),
    Kind(
        "learners", "Where the learners' time went", "The mean over learners and replicas.",
        lambda case: draw_shares(case.facts, *bars_of(case)),
    ),
]  # fmt: skip


@dataclass
class Drawn:
    """A figure at its sizes: [(name of style.SIZES, matplotlib's figure)], what it is of; or a
    table beside figures."""

    name: str
    of: str
    figures: list
    table: object = None


@dataclass
class Section:
    name: str
    title: str
    note: str
    drawn: list


def at_sizes(draw, sizes):
    """[(size, figure)] of those that there are."""
    found = []
    for size in sizes:
        with style.sized(size):
            found.append((size, draw()))
    return [(size, figure) for size, figure in found if figure]


def case_sections(cases, sizes):
    """The sections with a figure a case."""
    found, names = [], names_of(cases)
    for kind in KINDS:
        drawn = []
        for number_of, case in enumerate(cases):
            figures = at_sizes(lambda one=case, kind=kind: kind.draw(one), sizes)
            name = kind.name if len(cases) == 1 else f"{kind.name}_{number_of}"
            if figures and case.measures:
                drawn.append(Drawn(name, names[number_of], figures))
        if drawn:
            found.append(Section(kind.name, kind.title, kind.note, drawn))
    return found


def sweep_sections(folders, sizes):
    """Measures against swept numbers."""
    drawn, names = [], (f"swept_{i}" for i in count())
    for folder in folders:
        case = Case(folder, "", list(folder.points))
        for key in swept_numbers(folder) if case.measures else []:
            for measure in case.measures:
                draw = lambda key=key, of=measure: draw_final(folder, key, of, "")
                figures = at_sizes(draw, sizes)
                of = f"{measure.name} against {key.path}"
                drawn.append(Drawn(next(names), of, figures))
            if table := best_table(case, key):
                drawn.append(Drawn("", f"the best of {key.path}", [], table))
    return [Section("swept", "Against what was swept", "", drawn)] if drawn else []


def timeline_sections(folders):
    """Who did what when, where it was recorded."""
    drawn = []
    for folder in folders:
        case = Case(folder, "", list(folder.points))
        points = sorted(case.leaders if case.measures else case.points)
        curves = plan_of(case, points).curves
        figures = at_sizes(lambda of=folder, few=curves: draw_timeline(of, few, "")[0], ["page"])
        if figures:
            drawn.append(Drawn(f"timeline_{len(drawn)}", folder.name, figures))
    note = "The beginning of replica 0, of each protocol at its best learning rate."
    return [Section("timeline", "Timeline", note, drawn)] if drawn else []


def sections(folders, cases, sizes, sizes_of_swept):
    """All of the page's; `sizes` of every figure but those of swept numbers and the timeline."""
    found = case_sections(cases, sizes)
    swept = sweep_sections(folders, sizes_of_swept)
    lead = 2 + sum(one.name in ("error_bytes", "error_cost") for one in found)
    return [*found[:lead], *swept, *found[lead:], *timeline_sections(folders)]


def page_sizes(cases):
    """A case alone is as wide as the page; several stand side by side."""
    return ("page", "column") if len(cases) == 1 else ("column",)
