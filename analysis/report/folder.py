"""What a report needs of an output folder, as tables."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
from plots import packed

TEXTS = ("protocol", "status", "theory_basis", "label", "reason", "final_hash", "basis", "source")
KEYS = "point", "replica"
NEEDED = "point replica protocol status sim_time label".split()
BEFORE_SWEPT, AFTER_SWEPT = "theory_basis", ("time_to_", "gradients_computed", "final_hash")


class ReportError(Exception):
    """The folder holds nothing to report, or something that cannot be read."""


def read_table(path):
    """A CSV file, packed or not, as a table: numbers, but for texts and swept values; None where
    there is no file."""
    if not packed.find(path):
        return None
    try:
        with packed.open_text(path) as file:
            table = pd.read_csv(file, dtype=str, keep_default_na=False)
    except (ValueError, pd.errors.ParserError) as problem:
        raise ReportError(f"{path}: cannot be read: {str(problem).strip()}") from problem
    short = table.isna().any(axis=1).to_numpy().nonzero()[0]
    if len(short):
        raise ReportError(f"{path}: row {short[0] + 1} has fewer cells than the line of names")
    return table


def with_numbers(path, table, kept):
    """The table with every column as numbers (NaN where empty) but those that are kept as text."""
    table = table.copy()
    for name in table.columns.difference([*TEXTS, *kept]):
        numbers = table[name].where(table[name] != "", "nan")
        try:
            table[name] = numbers.astype(int if name in KEYS else float)
        except ValueError as problem:
            raise ReportError(f"{path}: column {name}: {problem}") from problem
    return table


def swept_columns(columns):
    """The columns of runs.csv that hold swept values."""
    columns = list(columns)
    if BEFORE_SWEPT not in columns:
        return []
    found = []
    for name in columns[columns.index(BEFORE_SWEPT) + 1 :]:
        if name.startswith(AFTER_SWEPT):
            break
        found.append(name)
    return found


@dataclass(eq=False)
class Folder:
    """An output folder: `runs` has a row a run, `swept` names its columns of swept values (texts),
    `points` is a table of them by point, with the label."""

    path: Path
    name: str
    manifest: dict
    runs: pd.DataFrame
    swept: list
    is_changed: bool = False  # since gradrace wrote its files, or these are half published

    @property
    def scenario(self):
        return self.manifest.get("scenario", {})

    @property
    def title(self):
        return self.scenario.get("title") or self.scenario.get("name") or self.name

    @property
    def time_unit(self):
        """The scenario's name of the unit of time; "" where it has none."""
        return self.scenario.get("time_unit", "")

    @cached_property
    def points(self):
        return self.runs.groupby("point")[["label", "protocol", *self.swept]].first()

    @cached_property
    def labels(self):
        return self.points["label"].to_dict()

    @cached_property
    def curve(self):
        """Evaluations, without those of single learners' values; empty where there are none."""
        table = self.table("curve.csv", ("learner",))
        if "learner" in table:
            table = table[table["learner"].fillna("") == ""]
        return table

    @cached_property
    def learners(self):
        return self.table("learners.csv")

    @cached_property
    def staleness(self):
        return self.table("staleness.csv")

    @cached_property
    def theory(self):
        return self.table("theory.csv")

    @cached_property
    def trace(self):
        """Events of trace.json; none where it is not there."""
        path = self.path / "trace.json"
        if not packed.find(path):
            return []
        try:
            with packed.open_text(path) as file:
                return json.load(file)["traceEvents"]
        except (ValueError, KeyError, TypeError) as problem:
            raise ReportError(f"{path}: cannot be read: {problem}") from problem

    def table(self, name, kept=()):
        """Another file of the folder; empty where it is not there."""
        path = self.path / name
        table = read_table(path)
        return pd.DataFrame() if table is None else with_numbers(path, table, kept)

    @property
    def unfinished(self):
        """ "9 of 24 runs are there"; empty where all are."""
        runs, finished = self.manifest.get("runs"), self.manifest.get("runs_finished")
        return "" if runs is None or finished == runs else f"{finished} of {runs} runs are there"

    def notes(self):
        """What a reader should know of these runs."""
        found = [f"Interrupted: {self.unfinished}."] if self.unfinished else []
        if self.is_changed:
            found.append(
                "Files of these results were changed since gradrace wrote them, or are half published: the "
                "numbers here are theirs."
            )
        counts = self.runs["status"].value_counts()
        for status in ("failed", "diverged", "deadlocked"):
            if counts.get(status, 0):
                found.append(f"{counts[status]} of {len(self.runs)} runs {status}.")
        worse = self.ended_worse
        if worse:
            found.append(
                f"{worse} of {len(self.runs)} runs ended with a greater error or loss than they began with: "
                "try lower learning rates."
            )
        return found + list(self.manifest.get("notes", []))

    @property
    def ended_worse(self):
        """How many runs did not diverge but ended with a greater test error, or else loss, than at
        their first evaluation."""
        curve = self.curve
        known = [
            name for name in ("test_error", "loss") if name in curve and curve[name].notna().any()
        ]
        if not known:
            return 0
        runs = curve.groupby(list(KEYS))[known[0]]
        worse = runs.last() > runs.first()
        status = self.runs.set_index(list(KEYS))["status"]
        return int((worse & (status.reindex(worse.index) == "finished")).sum())


def read_manifest(path):
    if not path.is_file():
        return {}
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(manifest, dict):
            return manifest
        raise ValueError("expected an object")
    except ValueError as problem:
        raise ReportError(f"{path}: cannot be read: {problem}") from problem


def read_folder(path):
    """The Folder; raises ReportError."""
    path = Path(path)
    file = path / "runs.csv"
    if not file.is_file():
        raise ReportError(f"{path}: no runs.csv there, so this is not an output folder of a run")
    table = read_table(file)
    missing = [name for name in NEEDED if name not in table]
    if missing:
        raise ReportError(
            f"{file}: no column {missing[0]}: an older gradrace wrote it; run the scenario again"
        )
    if table.empty:
        raise ReportError(f"{file}: no runs in it")
    swept = swept_columns(table.columns)
    runs = with_numbers(file, table, swept)
    if runs.duplicated(list(KEYS)).any():
        raise ReportError(f"{file}: has a run twice (the same point and replica)")
    return Folder(path, path.resolve().name, read_manifest(path / "manifest.json"), runs, swept)
