"""The tables of a report: heads and rows of texts."""

import math
from dataclasses import dataclass

from plots.learners import PARTS, SHARED
from plots.measure import final_value, headline_time
from plots.price import cost
from report.rivals import is_unlikely
from report.text import chance, interval, number, percent, plus_minus, rounded
from results.sample import sample_of_runs

BASES = {
    "exact": "exact",
    "upper": "an upper bound",
    "lower": "a lower bound",
    "approximate": "an approximation",
}


@dataclass
class Table:
    heads: list
    rows: list


def without_empty(table):
    """Without columns that say nothing."""
    says = lambda i: any(row[i] not in ("", "-", "0 %") for row in table.rows)
    kept = [i for i in range(len(table.heads)) if says(i)]
    return Table([table.heads[i] for i in kept], [[row[i] for i in kept] for row in table.rows])


def measures_of(case):
    """What the table of points has: all targets, the final value, what the target costs."""
    found = list(case.targets)
    time = headline_time(case.folder, case.points)
    priced = cost(case, time) if time else None
    if priced:
        found.append(priced)
    final = final_value(case.folder)
    return [*found, final.of(case.points)] if final is not None else found


def standing(case, contest, point):
    """How a point came out of a contest."""
    if contest is None or (not contest.comparisons):
        return ""
    if point == contest.front:
        return "best" if not contest.open else "looks best"
    if point not in contest.comparisons:
        return "no run finished"
    if point in contest.same:
        return "equal in every replica" + (", diverged" if case.diverged[point] else "")
    if contest.is_beaten(point):
        return "worse"
    return "likely worse" if is_unlikely(case, contest, point) else "open"


def points_table(case):
    """A row a point."""
    measures = measures_of(case)
    heads = [
        "point",
        *(one.head for one in measures),
        *(f"{m.name}: is it best?" for m, _ in case.contests),
    ]
    heads += [f"gradients per {case.folder.time_unit or 'unit of time'}", "staleness"]
    heads += [*PARTS.values(), "server's link, busier direction", "server"]
    heads += ["slowest learner's gradients, of an even share"]
    rows = []
    for point in case.points:
        facts = case.facts.loc[point]
        row = [case.label(point), *(plus_minus(one.value(point)) for one in measures)]
        row += [standing(case, contest, point) for _, contest in case.contests]
        row += [known(facts.get("rate")), known(facts.get("mean_staleness"))]
        row += [percent(facts.get(part, math.nan)) for part in (*PARTS, *SHARED)]
        row += [percent(facts["least"])]
        rows.append(row)
    return without_empty(Table(heads, rows))


def known(value):
    return "-" if value is None or math.isnan(value) else number(value)


def contest_table(case, contest):
    """How each point compares with the front-runner."""
    measure = contest.measure
    heads = [
        "point",
        measure.head,
        f"{case.label(contest.front)} is {measure.better} by",
        "95 % interval",
    ]
    heads += ["better in", "p, corrected", "verdict"]
    rows = []
    for point in [contest.front, *contest.comparisons]:
        row = [case.label(point), plus_minus(measure.value(point))]
        rows.append(row + told(case, contest, point))
    return Table(heads, rows)


def told(case, contest, point):
    """The cells of a comparison."""
    if point == contest.front:
        return ["", "", "", "", standing(case, contest, point)]
    one = contest.comparisons[point]
    lead, sure = "-", "-"
    if one.difference:
        lead = rounded(one.difference.mean, one.difference.half)
        sure = interval(one.difference)
        if one.is_bound:
            lead, sure = f"at least {lead}", f"of the bound: {sure}"
    verdict = standing(case, contest, point)
    if verdict in ("open", "likely worse"):
        more = one.needed - one.pairs if one.needed else 0
        verdict += f": {more} more replica{'' if more == 1 else 's'}" if more else ""
    return [lead, sure, f"{one.wins} of {one.pairs}", chance(contest.corrected(point)), verdict]


def theory_table(case):
    """Iteration times beside theory; None where none is known."""
    runs = case.folder.runs
    if "theory_iteration_time" not in runs or runs["theory_iteration_time"].isna().all():
        return None
    rows = []
    of_point = runs.groupby("point")
    for point in case.points:
        mine = of_point.get_group(point)
        theory, basis = mine["theory_iteration_time"].iloc[0], mine["theory_basis"].iloc[0]
        if math.isnan(theory):
            continue
        found = sample_of_runs(mine["mean_iteration_time"])
        ratio = f"{found.mean / theory:.3f}" if theory > 0 else "-"
        told_basis = BASES.get(basis, basis)
        rows.append([case.label(point), plus_minus(found), number(theory, 4), told_basis, ratio])
    heads = ["point", "measured time of an iteration", "theory", "theory is", "measured / theory"]
    return Table(heads, rows) if rows else None
