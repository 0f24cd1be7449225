"""Reads what the plots need of a gradrace output folder."""

import csv
import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from plots import packed


class ResultsError(Exception):
    """The folder holds nothing to draw, or something that cannot be read."""


@dataclass
class Run:
    """One replica: its status and its evaluations, a list of floats for each column of
    curve.csv."""

    status: str
    curve: dict = field(default_factory=lambda: defaultdict(list))


@dataclass
class Point:
    """One combination of a sweep: its label, its runs by replica, its staleness counts over all
    replicas, and what theory says of its loss: (basis, source) -> a list of floats for each column
    of theory.csv."""

    label: str
    runs: dict = field(default_factory=dict)
    staleness: Counter = field(default_factory=Counter)
    theory: dict = field(default_factory=dict)


@dataclass
class Results:
    """An output folder: the title, with a line below it if the runs were interrupted, the points by
    number, the trace events (None without a trace)."""

    folder: Path
    title: str
    points: dict
    trace: list | None


def number(text):
    """A CSV field as a float; NaN where it is empty."""
    return float(text) if text else math.nan


def read_table(path):
    """Header and rows of a CSV file, both as lists."""
    with packed.open_text(path) as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        raise ResultsError(f"{path}: the file is empty")
    return rows[0], rows[1:]


def read_records(path):
    """Rows of a CSV file as dictionaries; nothing where there is no file."""
    if not packed.find(path):
        return []
    header, rows = read_table(path)
    return [dict(zip(header, row)) for row in rows]


def read_evaluations(path):
    """Rows of curve.csv, without those of single learners' values."""
    return [row for row in read_records(path) if not row.get("learner")]


def read_points(path):
    """The points of runs.csv with their runs, without evaluations."""
    header, rows = read_table(path)
    if "label" not in header:
        raise ResultsError(
            f"{path}: no column label: an older gradrace wrote it; run the scenario again"
        )
    if not rows:
        raise ResultsError(f"{path}: no runs in it")
    points = {}
    for row in (dict(zip(header, row)) for row in rows):
        point = points.setdefault(int(row["point"]), Point(row["label"]))
        point.runs[int(row["replica"])] = Run(row["status"])
    return dict(sorted(points.items()))


def add_curves(points, path):
    """Adds the rows of curve.csv to their runs."""
    columns = ("time", "update", "loss", "test_error", "disagreement")
    for row in read_evaluations(path):
        curve = points[int(row["point"])].runs[int(row["replica"])].curve
        for name in columns:
            curve[name].append(number(row.get(name, "")))


def add_staleness(points, path):
    """Adds the counts of staleness.csv to their points."""
    for row in read_records(path):
        points[int(row["point"])].staleness[int(row["staleness"])] += int(row["count"])


def add_theory(points, path):
    """Adds the rows of theory.csv to their points."""
    for row in read_records(path):
        if not row["loss"]:
            continue  # of the gradient
        key = row["basis"], row["source"]
        curve = points[int(row["point"])].theory.setdefault(key, defaultdict(list))
        for name in ("time", "update", "loss"):
            curve[name].append(number(row[name]))


def read_events(path):
    """Events of trace.json."""
    with packed.open_text(path) as file:
        return json.load(file)["traceEvents"]


def read_title(folder):
    """The scenario's title, else its name, else the folder's; below it how many runs are missing."""
    path = folder / "manifest.json"
    if not path.is_file():
        return folder.resolve().name
    manifest = json.loads(path.read_text(encoding="utf-8"))
    scenario = manifest.get("scenario", {})
    title = scenario.get("title") or scenario.get("name") or folder.resolve().name
    runs, finished = manifest.get("runs"), manifest.get("runs_finished")
    return title if finished == runs else f"{title}\ninterrupted: {finished} of {runs} runs"


def read_results(folder):
    """Everything the plots need of an output folder; raises ResultsError."""
    folder = Path(folder)
    runs = folder / "runs.csv"
    if not runs.is_file():
        raise ResultsError(
            f"{folder}: no runs.csv there, so this is not an output folder of gradrace"
        )
    try:
        points = read_points(runs)
        add_curves(points, folder / "curve.csv")
        add_staleness(points, folder / "staleness.csv")
        add_theory(points, folder / "theory.csv")
        trace = folder / "trace.json"
        events = read_events(trace) if packed.find(trace) else None
        return Results(folder, read_title(folder), points, events)
    except (ValueError, KeyError) as problem:
        raise ResultsError(
            f"{folder}: cannot be read: {type(problem).__name__}: {problem}"
        ) from problem
