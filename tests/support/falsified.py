"""The judging, tested: a paper's claims are judged again on results of which one column is falsified.  A claim whose verdict changes
has noticed it.  falsified.py PAPER DIR prints {claim: {way of falsifying: columns}} as JSON, of those that notice any."""

import contextlib
import io
import json
import sys
import warnings
import zlib
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "analysis"))

import numpy as np
from reproduce.outputs import Files, Outputs
from reproduce.paper import read_paper

# What becomes of the points of a scenario: all have the values of the first; the order of the points
# is reversed; each has those of the next; each is 1.5 times as large; each is off by a normal number
# of half the standard deviation between points, of a thousandth of their mean at the least.
EQUAL, REVERSED, ROTATED, SCALED, NOISE = WAYS = ("equal", "reversed", "rotated", "scaled", "noise")
FACTOR, SHARE, LEAST_SHARE = 1.5, 0.5, 0.001
# Columns that say which run it is.
LABELS = set("point replica seed protocol learners k label learner first_runs runs".split())
EXPECTED = {"theory_iteration_time", "theory_basis"}


class Reading(NamedTuple):
    """A column that claims are judged by; of a trace there is none."""

    scenario: str
    table: str
    column: str = ""

    def __str__(self):
        return f"{self.scenario}/{self.table}" + (f": {self.column}" if self.column else "")


# ---- what is read


class NotedRow(Mapping):
    """A row that notes in `seen` which columns are looked at."""

    def __init__(self, row, seen):
        self.row, self.seen = row, seen

    def __getitem__(self, column):
        value = self.row[column]
        self.seen.add(column)
        return value

    def __iter__(self):
        return iter(self.row)

    def __len__(self):
        return len(self.row)


class NotedFiles:
    """Files that note what is read: {(scenario, table): columns}."""

    def __init__(self, files):
        self.files = files
        self.in_rows, self.in_series = defaultdict(set), defaultdict(set)

    def of(self, scenario):
        return self.files.of(scenario)

    def rows(self, scenario, table):
        seen = self.in_rows[scenario, table]
        return [NotedRow(row, seen) for row in self.files.rows(scenario, table)]

    def series(self, scenario, table, column):
        self.in_series[scenario, table].add(column)
        return self.files.series(scenario, table, column)

    def events(self, scenario):
        self.in_series[scenario, "trace"].add("")
        return self.files.events(scenario)

    def readings(self):
        """The Readings that are results, and no labels of them; of each whether rows are read."""
        for scenario, table in dict.fromkeys([*self.in_rows, *self.in_series]):
            rows, series = self.in_rows[scenario, table], self.in_series[scenario, table]
            for column in sorted((rows | series) - self._labels(scenario, table)):
                yield Reading(scenario, table, column), column in rows

    def _labels(self, scenario, table):
        if table == "curve":
            return {"learner"}
        settings = self.files.of(scenario).names("runs", "setting") if table == "runs" else []
        return LABELS | EXPECTED | {*settings}


# ---- falsified numbers: {(point, replica): an array}


def stretched(values, length):
    """The same course in another number of rows."""
    if len(values) == length:
        return values
    return values[np.linspace(0, len(values) - 1, length).round().astype(int)]


def by_point(values):
    """{point: {replica: its array}}, in order."""
    of = defaultdict(dict)
    for point, replica in sorted(values):
        of[point][replica] = values[point, replica]
    return of


def permuted(values, way):
    """Each point has the values of another, replica by replica."""
    of = by_point(values)
    points = list(of)
    order = {
        EQUAL: points[:1] * len(points),
        REVERSED: points[::-1],
        ROTATED: points[1:] + points[:1],
    }
    found = {}
    for point, source in zip(points, order[way]):
        others = list(of[source].values())
        for i, (replica, own) in enumerate(of[point].items()):
            found[point, replica] = stretched(others[i % len(others)], len(own))
    return found


def level(arrays):
    """Their mean; NaN where nothing is finite."""
    flat = np.concatenate(list(arrays))
    flat = flat[np.isfinite(flat)]
    return flat.mean() if len(flat) else np.nan


def moved(values, seed):
    """Each point is off by a normal number."""
    of = by_point(values)
    levels = [level(one.values()) for one in of.values()]
    scale = max(SHARE * np.nanstd(levels), LEAST_SHARE * abs(np.nanmean(levels)))
    draws = np.random.default_rng(seed).normal(scale=scale, size=len(of))
    off = dict(zip(of, draws))
    return {at: one + off[at[0]] for at, one in values.items()}


def is_whole(values):
    """All that is finite."""
    finite = values[np.isfinite(values)]
    return bool((finite == finite.round()).all())


def falsified(values, way, seed):
    """Numbers, whole ones as whole ones, or texts, which are not scaled and have no noise."""
    if way in (EQUAL, REVERSED, ROTATED):
        return permuted(values, way)
    flat = np.concatenate(list(values.values()))
    if flat.dtype.kind not in "fi":
        return values
    found = moved(values, seed) if way == NOISE else {at: FACTOR * one for at, one in values.items()}
    return {at: one.round() for at, one in found.items()} if is_whole(flat) else found


def is_same(one, other):
    flat = [np.concatenate([of[at] for at in one]) for of in (one, other)]
    return np.array_equal(*flat, equal_nan=flat[0].dtype.kind == "f")


def array_of(cells):
    """Of floats where all are numbers."""
    return np.array(cells, float if all(isinstance(one, int | float) for one in cells) else object)


def cells_of(values):
    """As rows have them."""
    is_int = values.dtype.kind == "f" and is_whole(values)
    return [int(one) if is_int and np.isfinite(one) else one for one in values.tolist()]


class FalsifiedFiles:
    """Files of which one column is not what the runs gave; `differs`: whether any value is
    another."""

    def __init__(self, files, reading, in_rows, way):
        self.files, self.reading, self.in_rows, self.way = files, reading, in_rows, way
        self.seed = zlib.crc32(str(reading).encode())
        self.differs = False
        self.false_rows = None

    def of(self, scenario):
        return self.files.of(scenario)

    def rows(self, scenario, table):
        rows = self.files.rows(scenario, table)
        if (scenario, table) != self.reading[:2] or not (rows and self.in_rows):
            return rows
        if self.false_rows is None:
            self.false_rows = self._falsified_rows(rows)
        return self.false_rows

    def _falsified_rows(self, rows):
        """Of a table without points, as that of costs, each row is a point."""
        column, places = self.reading.column, defaultdict(list)
        for i, row in enumerate(rows):
            places[int(row.get("point", i)), int(row.get("replica", 0))].append(i)
        values = array_of([row[column] for row in rows])
        found = self._falsified({at: values[of] for at, of in places.items()})
        order = np.concatenate(list(places.values()))
        false = dict(zip(order.tolist(), cells_of(np.concatenate([found[at] for at in places]))))
        return [row | {column: false[i]} for i, row in enumerate(rows)]

    def series(self, scenario, table, column):
        values = self.files.series(scenario, table, column)
        return self._falsified(values) if (scenario, table, column) == self.reading else values

    def events(self, scenario):
        events = self.files.events(scenario)
        if (scenario, "trace", "") != self.reading or self.way in (SCALED, NOISE):
            return events
        self.differs = True
        of = defaultdict(list)
        for event in events:
            of[event["pid"]] += [event] if event["ph"] == "X" else []
        names = [event for event in events if event["ph"] != "X"]
        whole = {(point, 0): np.fromiter([one], object, 1) for point, one in of.items()}
        found = permuted(whole, self.way)
        return names + [event | {"pid": point} for (point, _), (one,) in found.items() for event in one]

    def _falsified(self, values):
        found = falsified(values, self.way, self.seed)
        self.differs = self.differs or not is_same(values, found)
        return found


# ---- judging


@dataclass
class Notice:
    """A claim whose verdict changes."""

    claim: str
    way: str
    reading: Reading


@contextlib.contextmanager
def in_silence():
    """Falsified numbers may be divided by zero."""
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def verdicts(experiment, folder, files):
    """{id of a claim: its verdict}; None where the experiment cannot be judged."""
    try:
        return {claim.id: claim.verdict for claim in experiment(Outputs(folder, files))[1]}
    except Exception:
        return None


def notices_of(experiment, folder):
    """The Notices of an experiment's claims. What cannot be judged is noticed by none of them."""
    files, found = Files(folder), []
    noted = NotedFiles(files)
    with in_silence():
        true = verdicts(experiment, folder, noted) or {}
        for reading, in_rows in list(noted.readings()):
            for way in WAYS:
                false_files = FalsifiedFiles(files, reading, in_rows, way)
                false = verdicts(experiment, folder, false_files)
                if false is None or not false_files.differs:
                    continue
                changed = [id for id, verdict in true.items() if false.get(id) != verdict]
                found += [Notice(id, way, reading) for id in changed]
    return found


def falsify(paper, folder):
    """The Notices of all claims of a paper."""
    experiments = [experiment for experiment, _ in paper.experiments]
    with ProcessPoolExecutor() as pool:
        found = pool.map(notices_of, experiments, [folder] * len(experiments))
        return [one for notices in found for one in notices]


def main(name, folder):
    readings = defaultdict(lambda: defaultdict(list))
    for one in falsify(read_paper(name), Path(folder)):
        readings[one.claim][one.way].append(str(one.reading))
    print(json.dumps(readings, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
