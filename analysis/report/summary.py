"""Many circumstances at a glance: which point is best under how many of them."""

from collections import Counter

from markupsafe import Markup
from report.rivals import more_replicas
from report.tables import Table
from report.text import bold

MOST_CASES = 24  # that a page tells in whole
MOST_WINNERS = 6  # that a sentence names


def counted(names, verb, tail=""):
    """ "A is best under 24 of 30 circumstances, B under 4, others under 2" of names, one for each."""
    named = Counter(names).most_common(MOST_WINNERS)
    (first, times), *rest = named
    parts = [Markup("{} {} under {:,}{}").format(Markup(first), verb, times, tail)]
    parts += [Markup("{} under {:,}").format(Markup(name), count) for name, count in rest]
    if others := len(names) - sum(count for _, count in named):
        parts.append(f"others under {others:,}")
    return Markup(", ").join(parts)


def winner(case, verdict):
    """The protocol that is best at its best learning rate, or looks so where none is called best;
    empty where no run got there."""
    if verdict.contest is None:
        return ""
    front = verdict.contest.front
    others = set(verdict.contest.same) - set(case.siblings(front))
    has_equals = verdict.best is not None and others
    return str(verdict.who if has_equals else bold(case.family_label(front)))


def tally(name, found):
    """Of one measure: under how many circumstances each protocol is best. `found`: [(Case, its
    Verdict)]."""
    best = [winner(*one) for one in found if one[1].best is not None]
    undecided = [one for one in found if one[1].best is None]
    looks_best = [winner(*one) for one in undecided if one[1].tells_apart]
    of_all = f" of {len(found):,} circumstances"
    parts = [counted(best, "is best", of_all)] if best else []
    if undecided:
        looks = Markup(" ({})").format(counted(looks_best, "looks best")) if looks_best else ""
        words = "under {:,}" if best else "under any of {:,} circumstances"
        words = f"{words} it is not decided{{}}" if best else f"it is not decided {words}{{}}"
        parts.append(Markup(words).format(len(undecided), looks))
    return Markup("For {}, {}.").format(name, Markup("; ").join(parts))


def outcome(case, verdict):
    """The protocol that is best, or looks so."""
    if verdict.contest is None:
        return "no run got there"
    if not verdict.tells_apart:
        return "all are equal"
    if verdict.best is not None:
        return verdict.who
    more = needed(verdict.contest)
    return Markup("not decided; {} looks best{}").format(Markup(winner(case, verdict)), more)


def needed(contest):
    """How many more replicas would decide, where that can be told."""
    more = more_replicas(contest, contest.open) if contest.open else None
    return f" ({more} more replica{'' if more == 1 else 's'})" if more else ""


def by_measure(answers):
    """{name of a measure: {number of a case: (Case, its Verdict)}}. `answers`: [(Case, Verdicts)]."""
    found = {}
    for number_of, (case, verdicts) in enumerate(answers):
        for one in verdicts:
            found.setdefault(one.measure.name, {})[number_of] = case, one
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
        rows.append([name, *(outcome(*one) if one else "" for one in found)])
    return Table(["circumstance", *(f"best for {name}" for name in columns)], rows)
