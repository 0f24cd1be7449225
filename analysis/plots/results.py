"""Reads what the plots need of a gradrace output folder."""

import csv
import json
import math
import re
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from plots import packed


class ResultsError(Exception):
    """The folder holds nothing to draw, or something that cannot be read."""


# What goes wrong where a file, or a value in it, is not as gradrace writes it.
OF_EDITED_FILES = ValueError, LookupError, TypeError, AttributeError, RecursionError

DIVERGED = "diverged"
EVALUATED = ("time", "update", "gradients", "epoch", "loss", "test_error", "disagreement")


@dataclass
class Run:
    """One replica: its status, its row of runs.csv, and its evaluations, a list of floats for each
    column of curve.csv."""

    status: str
    row: dict = field(default_factory=dict)
    curve: dict = field(default_factory=lambda: defaultdict(list))

    def number(self, column):
        """That of runs.csv; NaN where there is none."""
        return number(self.row.get(column, ""))


@dataclass
class Point:
    """One combination of a sweep: its label, the values of the swept paths, its runs by replica, its
    staleness counts over all replicas, and what theory says of its loss: (basis, source) -> a list
    of floats for each column of theory.csv."""

    label: str
    swept: dict = field(default_factory=dict)
    runs: dict = field(default_factory=dict)
    staleness: Counter = field(default_factory=Counter)
    theory: dict = field(default_factory=dict)


def unpacked(name):
    """Of a file, compressed or not."""
    return re.sub(r"\.(gz|zst)$", "", name)


@dataclass
class Results:
    """An output folder: the title, with a line below it if the runs were interrupted, the points by
    number, the trace events (None without a trace), the name of the unit of time ("": none), and
    files that the manifest names and that are not there."""

    folder: Path
    title: str
    points: dict
    trace: list | None
    time_unit: str = ""
    missing: list = field(default_factory=list)


def shown_label(label):
    """A point's label for readers: "k-async, k = 4" of "k-async k=4", "sync until work = 0.5" of
    "sync until work=0.5"."""
    return re.sub(r"(until)?,? ([\w.]+)=", lambda one: f"{one[1] or ','} {one[2]} = ", label)


def has_values(results, column):
    """Whether any run has a finite evaluation in that column of curve.csv."""
    return any(
        math.isfinite(value)
        for point in results.points.values()
        for run in point.runs.values()
        for value in run.curve[column]
    )


def has_finals(results, value):
    """Whether any run has a finite final value of that name in runs.csv."""
    return any(
        math.isfinite(run.number(f"final_{value}"))
        for point in results.points.values()
        for run in point.runs.values()
    )


def main_value(results):
    """What points are compared by: the test error where there is one, else the loss."""
    is_there = has_values(results, "test_error") or has_finals(results, "test_error")
    return "test_error" if is_there else "loss"


def name_of(value):
    return value.replace("_", " ")


def number(text):
    """A CSV field as a float; NaN where it is empty."""
    return float(text) if text else math.nan


def read_table(path):
    """Header and rows of a CSV file, both as lists."""
    with packed.open_text(path) as file:
        lines = csv.reader(file)
        rows = [(lines.line_num, row) for row in lines if row]
    if not rows:
        raise ResultsError(f"{path}: the file is empty")
    header = rows[0][1]
    for line, row in rows:
        if len(row) != len(header):
            raise ValueError(f"line {line} has {len(row)} cells of {len(header)}")
    return header, [row for _, row in rows[1:]]


def read_records(path):
    """Rows of a CSV file as dictionaries; nothing where there is no file."""
    if not packed.find(path):
        return []
    header, rows = read_table(path)
    return [dict(zip(header, row)) for row in rows]


def read_evaluations(path):
    """Rows of curve.csv, without those of single learners' values."""
    return [row for row in read_records(path) if not row.get("learner")]


def swept_paths(manifest):
    """The dotted paths of the scenario's sweep, in its order."""
    sweep = manifest.get("scenario", {}).get("sweep", {})
    return [path for key, value in sweep.items() for path in (value if key == "zip" else [key])]


def swept_value(text):
    """A swept value as it stands in CSV, where texts are bare; None where it is empty."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def read_points(path, swept=()):
    """The points of runs.csv with their runs, without evaluations; swept: the swept paths."""
    header, rows = read_table(path)
    if "label" not in header:
        raise ResultsError(
            f"{path}: no column label: an older gradrace wrote it; run the scenario again"
        )
    if not rows:
        raise ResultsError(f"{path}: no runs in it")
    columns = {path: name for path in swept for name in (path, f"sweep.{path}") if name in header}
    points = {}
    for row in (dict(zip(header, row)) for row in rows):
        number = int(row["point"])
        if number not in points:
            values = {path: swept_value(row[name]) for path, name in columns.items()}
            points[number] = Point(row["label"], values)
        points[number].runs[int(row["replica"])] = Run(row["status"], row)
    return dict(sorted(points.items()))


def point_of(points, row):
    """Of a row of another file than runs.csv."""
    number = int(row["point"])
    if number not in points:
        raise ValueError(f"runs.csv has no point {number}")
    return points[number]


def add_curves(points, path):
    """Adds the rows of curve.csv to their runs."""
    for row in read_evaluations(path):
        run = point_of(points, row).runs.get(int(row["replica"]))
        if run is None:
            raise ValueError(f"runs.csv has no replica {row['replica']} of point {row['point']}")
        curve = run.curve
        for name in EVALUATED:
            curve[name].append(number(row.get(name, "")))


def add_staleness(points, path):
    """Adds the counts of staleness.csv to their points."""
    for row in read_records(path):
        point_of(points, row).staleness[int(row["staleness"])] += int(row["count"])


def add_theory(points, path):
    """Adds the rows of theory.csv to their points."""
    for row in read_records(path):
        if not row["loss"]:
            continue  # of the gradient
        key = row["basis"], row["source"]
        curve = point_of(points, row).theory.setdefault(key, defaultdict(list))
        for name in ("time", "update", "loss"):
            curve[name].append(number(row[name]))


def read_events(path):
    """Events of trace.json."""
    with packed.open_text(path) as file:
        return json.load(file)["traceEvents"]


def read_manifest(folder):
    """manifest.json; nothing where there is none."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if not isinstance(manifest, dict) or not isinstance(manifest.get("scenario", {}), dict):
        raise ValueError(f"{path.name} is not as gradrace writes it")
    return manifest


def title_of(manifest, folder):
    """The scenario's title, else its name, else the folder's; below it how many runs are missing."""
    scenario = manifest.get("scenario", {})
    title = str(scenario.get("title", "")) or scenario.get("name") or folder.resolve().name
    runs, finished = manifest.get("runs"), manifest.get("runs_finished")
    return title if finished == runs else f"{title}\ninterrupted: {finished} of {runs} runs"


def words_of(problem):
    """What it says; with its type where that alone says nothing."""
    if isinstance(problem, RecursionError):
        return "its JSON is nested too deep"
    tells = isinstance(problem, ValueError) and not isinstance(problem, UnicodeError)
    return str(problem) if tells else f"{type(problem).__name__}: {problem}"


def edited(folder, problem):
    """What is told of such a problem, which no file in particular has."""
    return f"{folder}: its files are not as gradrace writes them: {words_of(problem)}"


@contextmanager
def reading(path):
    """What goes wrong with the file's content is a ResultsError, which names it."""
    try:
        yield
    except (*OF_EDITED_FILES, EOFError) as problem:
        told = f"{path}: cannot be read: {words_of(problem)}"
        raise ResultsError(told) from problem


def read_results(folder):
    """Everything the plots need of an output folder; raises ResultsError."""
    folder = Path(folder)
    runs = folder / "runs.csv"
    if not runs.is_file():
        raise ResultsError(
            f"{folder}: no runs.csv there, so this is not an output folder of gradrace"
        )
    with reading(folder / "manifest.json"):
        manifest = read_manifest(folder)
        swept, title = swept_paths(manifest), title_of(manifest, folder)
        unit = manifest.get("scenario", {}).get("time_unit", "")
        missing = [
            name
            for name in map(unpacked, manifest.get("files", {}))
            if not packed.find(folder / name)
        ]
    with reading(runs):
        points = read_points(runs, swept)
    for name, add in (
        ("curve.csv", add_curves),
        ("staleness.csv", add_staleness),
        ("theory.csv", add_theory),
    ):
        with reading(folder / name):
            add(points, folder / name)
    trace = folder / "trace.json"
    with reading(trace):
        events = read_events(trace) if packed.find(trace) else None
    return Results(folder, title, points, events, unit, missing)
