"""Reads what the plots need of a gradrace output folder."""

import csv
import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

SECTIONS = {
    "cluster",
    "model",
    "protocol",
    "learning_rate",
    "optimiser",
    "stop",
    "record",
    "seed",
    "device",
}


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
    """An output folder: the title, the points by number, the trace events (None without a
    trace)."""

    folder: Path
    title: str
    points: dict
    trace: list | None


def number(text):
    """A CSV field as a float; NaN where it is empty."""
    return float(text) if text else math.nan


def read_table(path):
    """Header and rows of a CSV file, both as lists."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        raise ResultsError(f"{path}: the file is empty")
    return rows[0], rows[1:]


def read_records(path):
    """Rows of a CSV file as dictionaries; nothing where there is no file."""
    if not path.is_file():
        return []
    header, rows = read_table(path)
    return [dict(zip(header, row)) for row in rows]


def swept_columns(header):
    """Positions of the swept paths."""
    first = header.index("theory_basis") + 1
    return [
        i
        for i in range(first, len(header))
        if not header[i].startswith("time_to_") and ("." in header[i] or header[i] in SECTIONS)
    ]


def parsed(text):
    """A swept value: an object or a list where the field is compact JSON, else its text."""
    return json.loads(text) if text[:1] in ("{", "[") else text


def short_label(protocol, k, swept):
    """Protocol and what was swept by a plain value; K where the protocol is named by it."""
    parts = [protocol]
    if protocol.startswith("k-") and k and "protocol.k" not in swept:
        parts.append(f"k = {k}")
    parts += [
        f"{path.split('.', 1)[-1]} = {value}"
        for path, value in swept.items()
        if isinstance(value, str)
    ]
    return ", ".join(parts)


def leaves(path, value):
    """The scalars of a swept object as `name = value`, kinds by their value alone; objects of a list
    one after another."""
    if isinstance(value, dict):
        told = [leaf for key, below in value.items() for leaf in leaves(key, below)]
        return ["until " + told[0]] + told[1:] if path == "end" and told else told
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [" then ".join(", ".join(leaves(path, item)) for item in value)]
    text = value if isinstance(value, str) else json.dumps(value)
    name = path.split(".")[-1]
    return [text] if name in ("kind", "distribution") else [f"{name} = {text}"]


def long_label(protocol, swept):
    """Protocol and every scalar that was swept."""
    told = [leaf for path, value in swept.items() for leaf in leaves(path, value)]
    return ", ".join([protocol] + [leaf for leaf in told if leaf != protocol])


def without_shared(swept, values):
    """Swept objects without what all values of their path have as well, kinds apart."""
    told = {}
    for path, value in swept.items():
        others = [json.loads(other) for other in values[path]]
        if all(isinstance(other, dict) for other in others):
            value = {
                key: part
                for key, part in value.items()
                if key in ("kind", "distribution")
                or any(key not in other or other[key] != part for other in others)
            }
        told[path] = value
    return told


def labels(facts):
    """A label of its own for each point; facts: point -> (protocol, k, {swept path: value})."""
    values = defaultdict(set)
    for _, _, swept in facts.values():
        for path, value in swept.items():
            values[path].add(json.dumps(value))
    told = {
        point: (
            protocol,
            k,
            without_shared(
                {path: value for path, value in swept.items() if len(values[path]) > 1}, values
            ),
        )
        for point, (protocol, k, swept) in facts.items()
    }
    short = {point: short_label(*fact) for point, fact in told.items()}
    used = Counter(short.values())
    full = {
        p: text if used[text] == 1 else long_label(told[p][0], told[p][2])
        for p, text in short.items()
    }
    used = Counter(full.values())
    return {p: text if used[text] == 1 else f"{text} (point {p})" for p, text in full.items()}


def read_points(path):
    """The points of runs.csv with their runs, without evaluations."""
    header, rows = read_table(path)
    needed = {"point", "replica", "protocol", "k", "status", "theory_basis"}
    if missing := needed - set(header):
        raise ResultsError(f"{path}: no column {', '.join(sorted(missing))}")
    if not rows:
        raise ResultsError(f"{path}: no runs in it")
    at = {name: header.index(name) for name in needed}
    swept = swept_columns(header)
    facts, runs = {}, defaultdict(dict)
    for row in rows:
        point = int(row[at["point"]])
        values = {header[i]: parsed(row[i]) for i in swept}
        facts.setdefault(point, (row[at["protocol"]], row[at["k"]], values))
        runs[point][int(row[at["replica"]])] = Run(row[at["status"]])
    names = labels(facts)
    return {point: Point(names[point], runs[point]) for point in sorted(facts)}


def add_curves(points, path):
    """Adds the rows of curve.csv to their runs."""
    columns = ("time", "update", "loss", "test_error")
    for row in read_records(path):
        curve = points[int(row["point"])].runs[int(row["replica"])].curve
        for name in columns:
            curve[name].append(number(row[name]))


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


def read_title(folder):
    """The scenario's title, else its name, else the folder's."""
    path = folder / "manifest.json"
    if not path.is_file():
        return folder.resolve().name
    scenario = json.loads(path.read_text(encoding="utf-8")).get("scenario", {})
    return scenario.get("title") or scenario.get("name") or folder.resolve().name


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
        events = (
            json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
            if trace.is_file()
            else None
        )
        return Results(folder, read_title(folder), points, events)
    except (ValueError, KeyError) as problem:
        raise ResultsError(
            f"{folder}: cannot be read: {type(problem).__name__}: {problem}"
        ) from problem
