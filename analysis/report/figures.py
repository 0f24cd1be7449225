"""The figures of a report, in the order of the page: what each is called, what it says, who draws
it."""

from dataclasses import dataclass
from typing import NamedTuple

from plots import style
from plots.choices import is_choice
from plots.timeline import draw_timeline
from report import drawing
from report.bars import draw_learners, draw_staleness, rows_of
from report.case import Case, names_of
from report.curves import draw_errors, draw_losses
from report.swept import MOST_CURVES, best_values, draw_sweep, sweeps
from report.tables import Table
from report.text import number, plus_minus
from report.trade_off import draw_trade_off


@dataclass
class Kind:
    """A kind of figure, of which there is one for each case: draw(case, size) or None."""

    name: str
    title: str
    note: str
    draw: object
    points: object = lambda case: case.shown  # that are drawn with a name or a curve


KINDS = [
    Kind(
        "trade_off", "Soon or good?",
        "Lower and further left is better. Full marks: no other point is better in both (the "
        "Pareto front, joined by the line). Crosses are 95 % intervals. A triangle at the right "
        "edge: not every run reached the target.", draw_trade_off, lambda case: case.points,
    ),
    Kind(
        "error_time", "Error against time",
        "Means over replicas with 95 % bands, as long as all replicas run; diverged runs are left "
        "out.", draw_errors,
    ),
    Kind(
        "loss_time", "Loss against time, theory beside it",
        "Black dashes: exact theory; dotted in a point's colour: a bound.", draw_losses,
    ),
    Kind(
        "staleness", "Staleness",
        "How many updates were made between the reading of a model and the use of its gradient. "
        "Bar: from 5 % to 95 % of the applied gradients; stroke: median; dot: mean.",
        draw_staleness, rows_of,
    ),
    Kind(
        "learners", "Where the learners' time went",
        "The mean over learners and replicas.", draw_learners, rows_of,
    ),
]  # fmt: skip


@dataclass
class Drawn:
    """A figure at its sizes: [(Size or None, matplotlib's figure)], what it is of, and a table
    below it."""

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
    found = [(size, draw(size)) for size in sizes]
    return [(size, figure) for size, figure in found if figure]


def case_sections(cases, sizes):
    """The sections with a figure a case."""
    found = []
    names = names_of(cases)
    for kind in KINDS:
        drawn = []
        for number_of, case in enumerate(cases):
            figures = at_sizes(lambda size, case=case, kind=kind: kind.draw(case, size), sizes)
            name = kind.name if len(cases) == 1 else f"{kind.name}_{number_of}"
            if figures and case.measures:
                drawn.append(Drawn(name, names[number_of], figures))
        if drawn:
            note = " ".join([kind.note, *(left_out(case, kind.points(case)) for case in cases)])
            found.append(Section(kind.name, kind.title, note.strip(), drawn))
    return found


def left_out(case, drawn):
    """How many points are not drawn; empty: none."""
    left = len(case.points) - len(drawn)
    where = f" ({case.where})" if case.where else ""
    if not left:
        return ""
    return (
        f"{left} of {len(case.points)} points {'is' if left == 1 else 'are'} left out{where}: those that look best, and the "
        "best of each protocol, are shown."
    )


def best_text(value, found):
    """A value and the Sample there; of a measure that no run got to, not which value that is."""
    if found.never and not found.replicas:
        return "no value got there"
    return f"{number(value)} ({plus_minus(found)})"


def best_table(case, sweep):
    """Which value of each curve looks best; None of what one cannot choose."""
    if not is_choice(sweep.key):
        return None
    columns = [best_values(case, sweep, measure) for measure in case.measures]
    rows = [[name, *(best_text(*found[name]) for found in columns)] for name in sweep.curves]
    return Table(["curve", *(f"best for {measure.name}" for measure in case.measures)], rows)


def sweep_sections(folders, sizes):
    """Measures against swept numbers."""
    drawn = []
    for folder in folders:
        case = Case(folder, "", list(folder.points))
        for sweep in sweeps(folder) if case.measures else []:
            figures = at_sizes(lambda size, c=case, s=sweep: draw_sweep(c, s, size), sizes)
            name = f"swept_{len(drawn)}"
            if figures:
                drawn.append(Drawn(name, sweep.key, figures, best_table(case, sweep)))
    note = "Means with 95 % intervals; rings mark the best values, where one may choose."
    if any(len(one.table.rows) > MOST_CURVES for one in drawn):
        note += f" The best {MOST_CURVES} curves are drawn, and the table has all."
    return [Section("swept", "Against what was swept", note, drawn)] if drawn else []


class Traced(NamedTuple):
    """A point in a timeline."""

    number: int
    name: str


def timeline_sections(folders):
    """Who did what when, where it was recorded."""
    drawn = []
    for folder in folders:
        case = Case(folder, "", list(folder.points))
        points = sorted(case.leaders if case.measures else case.points)
        curves = [Traced(point, case.label(point)) for point in points]
        with style.sized("page"):
            figure, _ = draw_timeline(folder, curves, "")
        if figure:
            drawn.append(Drawn(f"timeline_{len(drawn)}", folder.name, [(None, figure)]))
    note = "The beginning of replica 0, of each protocol at its best learning rate."
    return [Section("timeline", "Timeline", note, drawn)] if drawn else []


def sections(folders, cases, sizes):
    """All of the page's; `sizes` of every figure but the timeline."""
    found = case_sections(cases, sizes)
    swept = sweep_sections(folders, sizes)
    return [*found[:2], *swept, *found[2:], *timeline_sections(folders)]


def page_sizes(cases):
    """A case alone is as wide as the page; several stand side by side."""
    return (drawing.PAGE, drawing.COLUMN) if len(cases) == 1 else (drawing.COLUMN,)
