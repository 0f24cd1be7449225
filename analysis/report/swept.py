"""Swept numbers, and which value of each looks best."""

from plots.choices import is_choice
from plots.final import other_keys
from plots.sweep import keys_of
from report.tables import Table
from report.text import number, plus_minus
from results import Label
from results.label import shared_parts

MOST_KEYS = 3


def swept_numbers(folder):
    """The Keys of the swept numbers that take several values."""
    keys = [key for key in keys_of(folder.points) if key.is_number and len(key.numbers) > 1]
    return keys[:MOST_KEYS]


def curves(folder, key):
    """{Label: points, ascending}: a curve's name is what its points' labels share."""
    points, groups, found = folder.points, {}, {}
    having = [n for n in points if key.of[n] is not None]
    others = other_keys(points, key, having)
    for n in having:
        groups.setdefault(tuple(other.of[n] for other in others), []).append(n)
    for group in groups.values():
        if len(group) < 2:
            continue
        parts = shared_parts([points[n].label for n in group]) or [("", "all")]
        more = [("", f"({len(found)})")] if Label(parts) in found else []
        found[Label([*parts, *more])] = sorted(group, key=key.of.get)
    return found


def best_text(case, measure, key, points):
    """The value of a curve that looks best and the Sample there; of a measure that no run got to, not
    which value that is."""
    best = min(points, key=lambda point: case.order(measure, point))
    found = measure.value(best)
    if found.never and not found.replicas:
        return "no value got there"
    return f"{number(key.of[best])} ({plus_minus(found)})"


def best_table(case, key):
    """Which value of each curve looks best; None of what one cannot choose."""
    if not is_choice(key.path):
        return None
    rows = [
        [name, *(best_text(case, measure, key, points) for measure in case.measures)]
        for name, points in curves(case.folder, key).items()
    ]
    return Table(["curve", *(f"best for {measure.name}" for measure in case.measures)], rows)
