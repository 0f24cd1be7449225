"""An output folder of gradrace advise, as data."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .folder import read_json, read_table, reading
from .search import checked
from .shape import check

VERDICTS = "best", "no better", "worse", "foretold worse", "open", "never", "failed"
TEXTS = "label", "verdict", "folder"


class Row(NamedTuple):
    """Of advise.csv: a candidate; NaN where something is not known."""

    candidate: int
    label: str
    foretold: float
    foretold_low: float
    foretold_high: float
    measured: float
    measured_95: float
    runs: int
    never: int
    time: float
    value: float
    cost: float
    gradients: int
    verdict: str
    folder: str


@dataclass
class Advice:
    """What advise.json says, and the candidates by their numbers."""

    folder: Path
    facts: dict
    rows: list

    @property
    def title(self):
        scenario = self.facts["scenario"]
        return scenario.get("title") or scenario.get("name") or self.folder.name

    @property
    def measure(self):
        """What candidates are compared by."""
        facts, unit = self.facts, self.facts["scenario"].get("time_unit", "")
        goal = f"{facts['key'].replace('_', ' ')} {facts['level']:g}"
        if facts["is_budget"]:
            return f"{facts['column'].replace('_', ' ')} within {goal}"
        return f"{facts['by']} to {goal}" + (f" ({unit})" if unit and facts["by"] == "time" else "")


SHAPE = {
    "scenario": {"title?": str, "name?": str, "time_unit?": str},
    "key": str, "level": float, "is_budget": bool, "by": str, "column": str, "answer": str, "best": (int, None),
    "sure": bool, "gradients": float, "all_gradients": (float, None), "notes": [str], "file?": str,
}  # fmt: skip


def check_rows(rows, best):
    """Raises ValueError where advise.csv is not as gradrace writes it."""
    for number, one in enumerate(rows):
        if one.candidate != number:
            raise ValueError(f"row {number} is of candidate {one.candidate}")
        if one.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {one.verdict:.40}")
        checked("never", one.never, 0, checked("runs", one.runs, 0, 1e9))
    if best is not None and not 0 <= best < len(rows):
        raise ValueError(f"advise.json's best is {best}, and there is no such candidate")


def read_advice(folder):
    """The Advice of an output folder; raises ResultsError."""
    folder = Path(folder)
    facts = read_json(folder / "advise.json")
    with reading(folder / "advise.json"):
        check(facts, SHAPE)
    with reading(folder / "advise.csv"):
        table = read_table(folder / "advise.csv", TEXTS)
        table[list(TEXTS)] = table[list(TEXTS)].fillna("")
        rows = list(map(Row._make, table[list(Row._fields)].itertuples(index=False)))
        check_rows(rows, facts["best"])
    return Advice(folder, facts, rows)
