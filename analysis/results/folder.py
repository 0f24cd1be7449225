"""An output folder of runs, as data. Its files may come from anybody."""

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

import numpy as np

from . import packed
from .characters import printable, printable_texts
from .label import Label
from .sample import sample
from .shape import check
from .target import Target, in_order


class ResultsError(Exception):
    """The folder holds no results, or something that cannot be read."""


class NoResults(ResultsError, FileNotFoundError):
    """It is no output folder, or not one of files that are read."""


# What goes wrong where a file, or a value in it, is not as gradrace writes it.
OF_EDITED_FILES = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, NotImplementedError,
)  # fmt: skip
KEYS = ["point", "replica"]
COUNTS = *KEYS, "staleness", "count"  # columns that are known in every row
MOST_COUNTED = 2.0**53
FILE_NAME = re.compile(r"\w[\w.-]*", re.ASCII)  # of a result
BEFORE = "an older gradrace wrote it; gradrace run --force makes it anew"


def words_of(problem):
    """What it says; with its type where that alone says nothing."""
    if isinstance(problem, RecursionError):
        return "its JSON is nested too deep"
    if isinstance(problem, MemoryError):
        return "out of memory"
    tells = isinstance(problem, ValueError) and not isinstance(problem, UnicodeError)
    return printable(str(problem).strip() if tells else f"{type(problem).__name__}: {problem}")


def edited(folder, problem):
    """What is told of such a problem, which no file in particular has."""
    return f"{folder}: its files are not as gradrace writes them: {words_of(problem)}"


@contextmanager
def reading(path):
    """What goes wrong with the file's content is a ResultsError, which names it."""
    try:
        yield
    except (*OF_EDITED_FILES, EOFError, MemoryError) as problem:
        raise ResultsError(f"{path}: cannot be read: {words_of(problem)}") from problem


# ---- tables


def read_json(path):
    """A JSON object, whose texts are printable; raises ResultsError."""
    with reading(path):
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("expected an object")
        return printable_texts(found)


def as_numbers(name, cells):
    """A column of which some cell is no number; raises ValueError, but for empty ones."""
    try:
        return cells.replace("", "nan").astype(float)
    except ValueError as problem:
        raise ValueError(f"column {name}: {problem}") from problem


def with_printable_texts(table):
    """A table of pyarrow whose texts, and names of columns, are printable."""
    import pyarrow as pa  # which takes a while

    for i, column in enumerate(table.columns):
        if pa.types.is_primitive(column.type) or pa.types.is_null(column.type):
            continue
        column = column.cast(pa.string())
        if any(text and printable(text) != text for text in column.unique().to_pylist()):
            texts = [text and printable(text) for text in column.to_pylist()]
            table = table.set_column(i, table.column_names[i], pa.array(texts, pa.string()))
    return table.rename_columns([printable(name) for name in table.column_names])


def read_columns(path, texts):
    """A CSV file as pyarrow reads it; columns are of numbers but for those that are texts."""
    from pyarrow import csv, string

    with packed.opened(path) as file:
        table = csv.read_csv(
            file,
            csv.ReadOptions(use_threads=False),  # which tells lines
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(
                column_types=dict.fromkeys(texts, string()), null_values=["", "nan"]
            ),
        )
    return with_printable_texts(table)


def read_table(path, texts):
    """A CSV file as a table: numbers (NaN where empty) but for the columns that are texts."""
    table = read_columns(path, texts).to_pandas()
    for name in table.columns.difference(texts):
        if table[name].dtype.kind not in "iuf":
            table[name] = as_numbers(name, table[name])
    return table


def check_counts(table, names):
    """Raises ValueError where one of those columns, which may be empty in places, has what is no count; nor
    may COUNTS be empty anywhere."""
    for name in table.columns.intersection([*names, *COUNTS]):
        if table[name].dtype.kind not in "iuf":
            raise ValueError(f"column {name}: expected numbers")
        values = table[name].to_numpy(float)
        good = (values >= 0) & (values <= MOST_COUNTED) & (values == np.floor(values))
        if name not in COUNTS:
            good |= np.isnan(values)
        if not good.all():
            bad = values[~good][0]
            raise ValueError(f"column {name}: expected whole numbers from 0 to 2^53, got {bad:g}")


def read_parquet(path):
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        shape = file.metadata
        packed.check_fits(shape.num_rows * shape.num_columns, 0, packed.memory_left())
        return with_printable_texts(file.read()).to_pandas()


# ---- points


def text_of(value):
    """A setting's value as it stands in CSV."""
    is_text = isinstance(value, str)
    return value if is_text else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@dataclass(eq=False)
class Point:
    """One combination of a sweep: its number, the kind of its protocol, its Label and {swept path: its
    value, any that JSON has}."""

    number: int
    protocol: str
    label: Label
    settings: dict

    @cached_property
    def texts(self):
        """{swept path: its value as text}."""
        return {path: text_of(value) for path, value in self.settings.items()}


def read_point(told):
    for part in told["parts"]:
        if len(part) != 2:
            raise ValueError(f"points[{told['number']}].parts: expected pairs, got {part!r:.40}")
    settings = {one["path"]: one["value"] for one in told["settings"]}
    return Point(told["number"], told["protocol"], Label(list(map(tuple, told["parts"]))), settings)


SHAPE = {
    "scenario": {
        "title?": str, "name?": str, "notes?": str, "time_unit?": str, "sweep?": dict, "targets?": dict,
        "cluster?": {"price?": (float, None), "price_per_gigabyte?": (float, None)}, "record?": {"every_time?": (float, None)},
    },
    "points": [{"number": int, "protocol": str, "parts": [[str]], "settings": [{"path": str, "value": object}]}],
    "targets": [{"of": str, "level": float, "column": str, "resolution": str}],
    "columns": {str: [{"name": str, "type?": str, "unit?": str, "role": str, "definition?": str, "formula?": str}]},
    "files?": {str: str}, "notes?": [str], "hashes?": {"data?": object}, "version?": {"number?": str, "revision?": str, "dirty?": bool},
    "elapsed?": (float, None), "file?": str, "runs?": int, "runs_finished?": int, "seed?": int, "machine?": dict, "device?": str,
}  # fmt: skip


# What a notebook shows of runs, beside the times to targets.
SHOWN = "mean_iteration_time", "mean_staleness", "final_loss", "final_test_error"


def mean_text(values):
    """The mean over replicas and half of its 95 % interval; how many have no value."""
    known = values[np.isfinite(values)]
    lacking = f"{len(values) - len(known)} of {len(values)} without"
    if known.empty:
        return lacking
    one = sample(known)
    text = f"{one.mean:.4g}" + (f" ± {one.half:.2g}" if len(known) > 1 else "")
    return text if len(known) == len(values) else f"{text} ({lacking})"


class Folder:
    """The output folder of a scenario's runs. `manifest` says what made them, `whole_sweep` {number: Point}
    and `targets` what is compared; each table is read when it is asked for, compressed or not, CSV or Parquet."""

    def __init__(self, path):
        self.path = Path(path)
        self.name = self.path.resolve().name
        self.tables = {}  # that were read
        if not self.file_of("runs"):
            raise NoResults(f"{path}: holds no results of gradrace: {self._why()}")
        file = self.path / "manifest.json"
        if not file.is_file():
            raise NoResults(f"{path}: holds no results of gradrace: no manifest.json there")
        self.manifest = read_json(file)
        with reading(file):
            self._take(self.manifest)

    def _why(self):
        """There is no table of runs, and what to do."""
        if (self.path / "results.sqlite").is_file():
            return f"a database, results.sqlite; gradrace collect {self.path} --format csv writes tables"
        return "no runs.csv there; give the output folder of a run"

    def _take(self, manifest):
        """What the manifest says of points, targets and columns."""
        for key in ("points", "targets", "columns"):
            if key not in manifest:
                raise ValueError(f'it has no "{key}": {BEFORE}')
        check(manifest, SHAPE)
        for name in manifest.get("files", {}):
            if not FILE_NAME.fullmatch(name):
                raise ValueError(f'files: expected names of files, got "{name:.40}"')
        points = [read_point(told) for told in manifest["points"]]
        self.whole_sweep = {one.number: one for one in points}
        if len(self.whole_sweep) < len(points):
            raise ValueError("it has a point twice")
        keys = Target._fields
        self.targets = in_order(
            Target(*(told[key] for key in keys)) for told in manifest["targets"]
        )
        self.columns = {
            file.partition(".")[0]: {one["name"]: one for one in columns}
            for file, columns in manifest["columns"].items()
        }

    def __repr__(self):
        return f"Folder({str(self.path)!r})"

    def _repr_html_(self):
        """What a notebook shows: the title, and by point the means over replicas."""
        targets = [target.column for target in self.targets]
        columns = [c for c in (*SHOWN, *targets) if c in self.runs and self.runs[c].notna().any()]
        head = "".join(f"<th>{escape(column)}</th>" for column in ("point", *columns))
        rows = (
            f"<tr><th>{escape(point.label)}</th>"
            + "".join(f"<td>{mean_text(runs[column])}</td>" for column in columns)
            + "</tr>"
            for point in self.points.values()
            for runs in [self.runs[self.runs["point"] == point.number]]
        )
        title = escape(self.heading).replace("\n", "<br>")
        return f"<b>{title}</b><table><tr>{head}</tr>{''.join(rows)}</table>"

    # ---- what is said of all runs

    @property
    def scenario(self):
        return self.manifest.get("scenario", {})

    @property
    def title(self):
        """The scenario's title, else its name, else the folder's."""
        return str(self.scenario.get("title") or self.scenario.get("name") or self.name)

    @property
    def heading(self):
        """The title; below it how many runs are missing."""
        return f"{self.title}\ninterrupted: {self.unfinished}" if self.unfinished else self.title

    @property
    def time_unit(self):
        """The scenario's name of the unit of time; "" where it has none."""
        return self.scenario.get("time_unit", "")

    @property
    def unfinished(self):
        """ "9 of 24 runs", as many as are there; empty where all are."""
        runs, finished = self.manifest.get("runs"), self.manifest.get("runs_finished")
        return "" if finished == runs else f"{finished} of {runs} runs"

    @cached_property
    def points(self):
        """Those that have runs."""
        there = set(self.runs["point"])
        return {number: one for number, one in self.whole_sweep.items() if number in there}

    @cached_property
    def swept(self):
        """The swept paths, in the order of the sweep."""
        return list(next(iter(self.whole_sweep.values())).settings)

    def numbers(self, path):
        """By point: the value of a swept path; NaN where it is no number."""
        import pandas as pd

        values = {number: point.settings.get(path) for number, point in self.points.items()}
        is_number = lambda value: isinstance(value, int | float) and not isinstance(value, bool)
        told = {number: value if is_number(value) else np.nan for number, value in values.items()}
        return pd.Series(told, dtype=float)

    # ---- tables

    def names(self, table, role):
        """The columns of a table that have that role."""
        return [name for name, one in self.columns.get(table, {}).items() if one["role"] == role]

    def file_of(self, table):
        """The file of a table, whatever its form; None where there is none."""
        parquet = self.path / f"{table}.parquet"
        return parquet if parquet.is_file() else packed.find(self.path / f"{table}.csv")

    @cached_property
    def missing(self):
        """{table, or "trace": its file}, which the manifest names and which is in no form there."""
        named = {file.partition(".")[0]: file for file in self.manifest.get("files", {})}
        return {one: file for one, file in named.items() if not any(self.path.glob(f"{one}.*"))}

    def table(self, name):
        """The table of that name, "curve" of curve.csv; KeyError where the runs did not record it."""
        if name not in self.tables:
            file, path = self.file_of(name), self.path / f"{name}.csv"
            if not file:
                raise KeyError(f"{self.path}: has no {path.name}")
            with reading(file):
                told = self.columns.get(name, {})
                of_type = lambda kind: [c for c, one in told.items() if one.get("type") == kind]
                is_csv = file.suffix != ".parquet"
                table = read_table(path, of_type("text")) if is_csv else read_parquet(file)
                check_counts(table, of_type("integer"))
                self.tables[name] = self.checked(name, table)
        return self.tables[name]

    def checked(self, name, table):
        """The table, whose runs and points are there."""
        if name == "runs":
            lost = table["point"][~table["point"].isin(list(self.whole_sweep))]
            if len(lost):
                raise ValueError(f"manifest.json has no point {lost.iloc[0]}")
            if table.empty:
                raise ValueError("no runs in it")
            if table.duplicated(KEYS).any():
                raise ValueError("has a run twice (the same point and replica)")
        elif set(KEYS) <= set(table.columns):
            found = table[KEYS].drop_duplicates()
            known = found.merge(self.runs[KEYS], how="left", indicator=True)["_merge"] == "both"
            if not known.all():
                point, replica = found[~known.to_numpy()].iloc[0]
                raise ValueError(f"runs.csv has no replica {replica} of point {point}")
        return table

    def found(self, name):
        """The table; an empty one where there is none."""
        import pandas as pd

        return self.table(name) if self.file_of(name) else pd.DataFrame()

    @cached_property
    def runs(self):
        """A row a run (point x replica)."""
        return self.table("runs")

    @cached_property
    def run_rows(self):
        """Those of runs as dictionaries, in which settings have the values that JSON gives them."""
        names = self.names("runs", "setting")
        settings = {n: dict(zip(names, one.settings.values())) for n, one in self.points.items()}
        return [row | settings[row["point"]] for row in self.runs.to_dict("records")]

    @cached_property
    def statuses(self):
        """{point: {replica: how that run ended}}."""
        found = {}
        for point, replica, status in zip(*(self.runs[name] for name in [*KEYS, "status"])):
            found.setdefault(point, {})[replica] = status
        return found

    @property
    def learners_of(self):
        """By point: how many learners it has."""
        return self.runs.groupby("point")["learners"].first()

    @property
    def rates(self):
        """By run: gradients applied in a unit of simulated time."""
        time = self.runs["sim_time"].where(self.runs["sim_time"] > 0)
        return self.runs["gradients_applied"] / time

    def means(self, column):
        """By point: the mean of a column of runs; infinite where one has no finite value."""
        import pandas as pd

        values = self.runs.get(column, pd.Series(np.nan, self.runs.index))
        return values.where(np.isfinite(values), np.inf).groupby(self.runs["point"]).mean()

    @property
    def curve(self):
        """A row an evaluation; empty where there are none, as the tables below."""
        return self.found("curve")

    @cached_property
    def evaluations(self):
        """The curve without rows of single learners' values."""
        curve = self.curve
        return curve[curve["learner"].isna()] if "learner" in curve else curve

    @property
    def staleness(self):
        return self.found("staleness")

    @property
    def learners(self):
        return self.found("learners")

    @property
    def updates(self):
        return self.found("updates")

    @property
    def theory(self):
        return self.found("theory")

    def series(self, name, column):
        """{(point, replica): a column of a table as an array of numbers}, without rows of single learners'
        values."""
        return by_run(self.evaluations if name == "curve" else self.table(name), column)

    @cached_property
    def events(self):
        """Of trace.json; none where it is not there."""
        path = self.path / "trace.json"
        if not packed.find(path):
            return []
        with reading(path), packed.opened(path) as file:
            return json.load(file)["traceEvents"]


def by_run(table, column):
    """{(point, replica): a column as an array of numbers}."""
    table = table.sort_values(KEYS, kind="stable")
    runs, first, count = np.unique(
        table[KEYS].to_numpy(int), axis=0, return_index=True, return_counts=True
    )
    values = table[column].to_numpy(float)
    return {
        (int(point), int(replica)): values[begin : begin + length]
        for (point, replica), begin, length in zip(runs, first, count)
    }


def read_folder(path):
    """The Folder, whose runs can be read; raises ResultsError."""
    folder = Folder(path)
    folder.runs  # pylint: disable=pointless-statement
    return folder
