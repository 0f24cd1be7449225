"""An output folder of gradrace search, as data."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .folder import read_json, read_table, reading
from .shape import check

VERDICTS = "target", "pass", "fail"


class Setting(NamedTuple):
    """A row of search.csv: the share of the work before the switch, mean accuracy with half of its
    95 % interval (NaN of one run), the time over that of the first protocol alone."""

    share: float
    accuracy: float
    accuracy_95: float
    relative_time: float
    verdict: str
    runs: int
    diverged: int


@dataclass
class Search:
    """An output folder of gradrace search: what search.json says, and its settings by share."""

    folder: Path
    facts: dict
    settings: list
    costs: list  # rows of costs.csv, {column: number}; none where it is not there

    @property
    def title(self):
        scenario = self.facts["scenario"]
        return scenario.get("title") or scenario.get("name") or self.folder.name

    @property
    def passing(self):
        """The least accuracy that passes."""
        return self.facts["target"] - self.facts["beta"]

    @property
    def unclear(self):
        """Settings whose interval holds the least accuracy that passes."""
        return [
            one
            for one in self.settings
            if one.verdict != "target" and abs(one.accuracy - self.passing) <= one.accuracy_95
        ]


def checked(what, value, low, high):
    """A number that is in that range; raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ValueError(f"{what} must be a number from {low:g} to {high:g}, got {value!r:.40}")
    return value


MOST = 1e300
FACTS = {
    "target": (0, 1), "beta": (0, 1), "switch_point": (0, 1), "cost": (0, MOST), "runs": (1, MOST), "searches": (0, MOST),
}  # fmt: skip
FACTS_OR_NONE = {"recurrences": (0, MOST), "success": (0, 1)}  # null: not known


SHAPE = {
    "scenario": {"title?": str, "name?": str},
    **dict.fromkeys(FACTS, float),
    **dict.fromkeys(FACTS_OR_NONE, (float, None)),
    "success_95?": ([(float, None)], None),
}


def check_facts(facts):
    """Raises ValueError or KeyError where search.json is not as gradrace writes it."""
    check(facts, SHAPE)
    for name, limits in FACTS.items():
        checked(name, facts[name], *limits)
    for name, limits in FACTS_OR_NONE.items():
        if facts[name] is not None:
            checked(name, facts[name], *limits)
    if facts["success"] is not None:
        low, high = facts["success_95"]
        checked("success_95", low, 0, checked("success_95", high, 0, 1))


def check_settings(settings, switch_point):
    """Raises ValueError where search.csv is not as gradrace writes it."""
    for one in settings:
        checked("share", one.share, 0, 1)
        checked("runs", one.runs, 0, MOST)
        checked("diverged", one.diverged, 0, one.runs)
        for name, value in (("accuracy", one.accuracy), ("relative_time", one.relative_time)):
            if not math.isnan(value):
                checked(name, value, 0, 1 if name == "accuracy" else MOST)
        if one.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {one.verdict:.40}")
    if [one.share for one in settings if one.verdict == "target"] != [1]:
        raise ValueError("there is not one row of verdict target, with share 1")
    passed = {one.share for one in settings if one.verdict == "pass"}
    if switch_point < 1 and switch_point not in passed:
        raise ValueError(f"no row of verdict pass has the share {switch_point:g}, search.json's")


def read_search(folder):
    """The Search of an output folder; raises ResultsError."""
    folder = Path(folder)
    facts = read_json(folder / "search.json")
    with reading(folder / "search.json"):
        check_facts(facts)
    with reading(folder / "search.csv"):
        table = read_table(folder / "search.csv", ["verdict", "folder"])
        rows = table[list(Setting._fields)].sort_values("share").itertuples(index=False)
        settings = list(map(Setting._make, rows))
        check_settings(settings, facts["switch_point"])
    costs = folder / "costs.csv"
    with reading(costs):
        costs = read_table(costs, ()).to_dict("records") if costs.is_file() else []
    return Search(folder, facts, settings, costs)
