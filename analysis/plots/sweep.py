"""The keys that tell the points of a sweep apart, and which of its points do best."""

import json
import math
from dataclasses import dataclass

from plots.choices import is_choice, is_rate
from plots.results import DIVERGED, main_value, name_of
from plots.targets import headline_target, target_of

NAMED_BY = ("kind", "distribution")  # keys whose value names the object that they stand in


@dataclass(eq=False)
class Key:
    """A key of the scenario that differs between points: its dotted path (that of the object where
    it is a kind), its value for each point's number, None where the point has none."""

    path: str
    of: dict

    @property
    def name(self):
        """The path without its first part: k of protocol.k."""
        return self.path.partition(".")[2] or self.path

    @property
    def values(self):
        """Its different values: numbers ascending, others in the order of the points, None last."""
        found = [value for value in dict.fromkeys(self.of.values()) if value is not None]
        found = sorted(found) if self.is_number else found
        return found + ([None] if None in self.of.values() else [])

    @property
    def numbers(self):
        """Its values, ascending, where it is one."""
        return [value for value in self.values if value is not None]

    @property
    def is_number(self):
        return all(
            isinstance(value, int | float) and not isinstance(value, bool)
            for value in self.of.values()
            if value is not None
        )

    @property
    def is_rate(self):
        return is_rate(self.path)

    @property
    def is_choice(self):
        return is_choice(self.path)

    def text(self, value):
        """ "k = 4"; a kind stands for itself."""
        if value is None:
            return f"no {self.name}"
        return str(value) if self.path == "protocol" else f"{self.name} = {value}"


def leaves(path, value):
    """[(path, value)] of what stands in a swept value; a list is its text."""
    if isinstance(value, dict):
        return [
            leaf
            for key, inner in value.items()
            for leaf in leaves(path if key in NAMED_BY else f"{path}.{key}", inner)
        ]
    path, _, last = path.rpartition(".") if path.endswith(NAMED_BY) else (path, "", "")
    return [(path, json.dumps(value) if isinstance(value, list) else value)]


def all_keys(points):
    """Every key that differs between points, in the order of the sweep."""
    of_point = {
        number: dict(leaf for path, value in point.swept.items() for leaf in leaves(path, value))
        for number, point in points.items()
    }
    paths = dict.fromkeys(path for values in of_point.values() for path in values)
    keys = [Key(path, {n: values.get(path) for n, values in of_point.items()}) for path in paths]
    return [key for key in keys if len(key.values) > 1]


def order(key):
    """The protocol first, words before numbers, what all points have before what some have, rates
    last."""
    return key.path != "protocol", key.is_rate, key.is_number, None in key.values


def keys_of(points):
    """As few keys as tell the points apart, in that order: one that follows from those before it is
    none of them. Nothing where no keys do."""
    kept, groups = [], {}
    for key in sorted(all_keys(points), key=order):
        split = {n: (groups.get(n, ()), key.of[n]) for n in points}
        if len(set(split.values())) > len(set(groups.values()) or {()}):
            kept, groups = [*kept, key], split
    return kept if len(set(groups.values())) == len(points) else []


def mean_of(runs, column):
    """The mean of a column of runs.csv over runs; infinite where one has none."""
    values = [run.number(column) for run in runs]
    good = values and all(math.isfinite(value) for value in values)
    return sum(values) / len(values) if good else math.inf


@dataclass
class Ranking:
    """The rank of each point, 0 the best, and what it goes by, in words."""

    rank: dict
    words: str

    def best(self, numbers):
        return min(numbers, key=self.rank.get)


def reached_target(results):
    """The headline target if every run of some point reached it; None if no target is such."""
    points = results.points.values()

    def share(column):
        return max(
            sum(math.isfinite(run.number(column)) for run in point.runs.values()) / len(point.runs)
            for point in points
        )

    first = next(iter(next(iter(points)).runs.values()))
    column = headline_target(first.row, share)
    return column if column and share(column) == 1 else None


def ranking(results):
    """Points without diverged runs first, then who reaches the target first, then who ends lowest."""
    y = main_value(results)
    target = reached_target(results)

    def goodness(number):
        runs = results.points[number].runs.values()
        diverged = any(run.status == DIVERGED for run in runs)
        reached = mean_of(runs, target) if target else 0.0
        return diverged, reached, mean_of(runs, f"final_{y}"), number

    ordered = sorted(results.points, key=goodness)
    words = f"lowest final {name_of(y)}"
    if target:
        words = f"first to reach {target_of(target)}, else {words}"
    return Ranking({number: rank for rank, number in enumerate(ordered)}, words)
