"""The keys that tell the points of a sweep apart, and which of its points do best."""

import json
from dataclasses import dataclass

import numpy as np
from plots.choices import is_choice, is_rate
from plots.measure import headline_target

DIVERGED = "diverged"
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
        """ "k=4"; a kind stands for itself."""
        if value is None:
            return f"no {self.name}"
        return str(value) if self.path == "protocol" else f"{self.name}={value}"


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
        number: dict(leaf for path, value in point.settings.items() for leaf in leaves(path, value))
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


def has_values(folder, column):
    """Whether any run has a finite evaluation in that column of curve.csv."""
    curve = folder.evaluations
    return column in curve and bool(np.isfinite(curve[column]).any())


def has_finals(folder, value):
    """Whether any run has a finite final value of that name in runs.csv."""
    return f"final_{value}" in folder.runs and bool(
        np.isfinite(folder.runs[f"final_{value}"]).any()
    )


def main_value(folder):
    """What points are compared by: the test error where there is one, else the loss."""
    is_there = has_values(folder, "test_error") or has_finals(folder, "test_error")
    return "test_error" if is_there else "loss"


def name_of(value):
    return value.replace("_", " ")


@dataclass
class Ranking:
    """The rank of each point, 0 the best, and what it goes by, in words."""

    rank: dict
    words: str

    def best(self, numbers):
        return min(numbers, key=self.rank.get)


def ranking(folder):
    """Points without diverged runs first, then who reaches the target first, then who ends lowest."""
    y, (target, share) = main_value(folder), headline_target(folder, list(folder.points))
    target = target if share == 1 else None
    reached = folder.means(target.column) if target else dict.fromkeys(folder.points, 0.0)
    ends = folder.means(f"final_{y}")

    def goodness(number):
        diverged = DIVERGED in folder.statuses[number].values()
        return diverged, reached[number], ends[number], number

    ordered = sorted(folder.points, key=goodness)
    words = f"lowest final {name_of(y)}"
    if target:
        words = f"first to reach {target}, else {words}"
    return Ranking({number: rank for rank, number in enumerate(ordered)}, words)
