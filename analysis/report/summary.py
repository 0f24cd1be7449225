"""Many circumstances at a glance: which point is best under how many of them."""

from collections import Counter

from markupsafe import Markup
from report.tables import Table

MOST_CASES = 24  # that a page tells in whole
MOST_WINNERS = 6  # that a sentence names


def tally(name, found):
    """Of one measure: how many circumstances each point is best under. `found`: their Verdicts."""
    winners = Counter(str(one.who) for one in found if one.who)
    of_all = f"of {len(found):,} circumstances"
    if not winners:
        return Markup("For {}, it is not decided under any {}.").format(name, of_all)
    named = winners.most_common(MOST_WINNERS)
    (best, times), *rest = named
    parts = [Markup("{} is best under {:,} {}").format(Markup(best), times, of_all)]
    parts += [Markup("{} under {:,}").format(Markup(who), count) for who, count in rest]
    if others := winners.total() - sum(count for _, count in named):
        parts.append(f"others under {others:,}")
    if undecided := len(found) - winners.total():
        parts.append(f"under {undecided:,} it is not decided")
    return Markup("For {}, {}.").format(name, Markup("; ").join(parts))


def outcome(verdict):
    """The point that is best, or why none is called so."""
    if verdict.who:
        return verdict.who
    if verdict.contest is None:
        return "no run got there"
    comparisons = verdict.contest.comparisons
    is_tie = comparisons and len(verdict.contest.same) == len(comparisons)
    return "all are equal" if is_tie else "not decided"


def by_measure(answers):
    """{name of a measure: {number of a case: its Verdict}}. `answers`: the Verdicts of each case."""
    found = {}
    for number_of, verdicts in enumerate(answers):
        for one in verdicts:
            found.setdefault(one.measure.name, {})[number_of] = one
    return found


def tallies(answers):
    """A sentence for each measure."""
    return [tally(name, list(found.values())) for name, found in by_measure(answers).items()]


def outcomes(names, answers):
    """A row for each circumstance."""
    columns = by_measure(answers)
    rows = []
    for i, name in enumerate(names):
        found = [column.get(i) for column in columns.values()]
        rows.append([name, *(outcome(one) if one else "" for one in found)])
    return Table(["circumstance", *(f"best for {name}" for name in columns)], rows)
