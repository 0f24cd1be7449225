"""The program's commands as functions.  Their options are those of the command, with _ for -: timing_only=True, x=["time", "cost"].
None and False leave an option out; a list gives it several times."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from gradrace import drawn
from gradrace.calls import Folders, Path, Scenario, call, folder_path, plain, several, warn
from gradrace.results import read_folder
from gradrace.results.advise import Advice, read_advice
from gradrace.results.folder import read_json
from gradrace.results.search import Search, read_search

if TYPE_CHECKING:
    import pandas as pd

Progress = Union[bool, Callable[[dict], object], None]
A_RUN_FAILED = 1  # an exit status
NOT_SURE = 1  # of advise
WITHOUT_TABLE = ("dry_run", "shard", "help")  # options of `gradrace run`


@contextlib.contextmanager
def folder_of(out: Path | None, plot: bool = False) -> Iterator[pathlib.Path]:
    """The folder of results: `out`, or one that is gone afterwards, in which plots are of no use."""
    if out is not None:
        yield pathlib.Path(out)
        return
    if plot:
        raise ValueError("plot=True needs out=, the folder in which results and plots are kept")
    with tempfile.TemporaryDirectory() as nowhere:
        yield pathlib.Path(nowhere) / "out"


@contextlib.contextmanager
def file_of(scenario: Scenario) -> Iterator[Path]:
    """Of a scenario that is read more than once: that of a dict is gone afterwards."""
    if not isinstance(scenario, Mapping):
        yield scenario
        return
    with tempfile.TemporaryDirectory() as nowhere:
        file = pathlib.Path(nowhere) / "scenario.json"
        file.write_text(json.dumps(plain(scenario)), encoding="utf-8")
        yield file


def show_progress(told: dict) -> None:
    """A line on stderr, which the next one replaces."""
    left = told.get("seconds_left")
    ends = f", {left:.0f} s left" if isinstance(left, (int, float)) else ""
    text = f"{told['done']} of {told['total']} runs, {told['share']:.0%}{ends}"
    is_last = told["state"] != "running"
    sys.stderr.write(f"\r{text:<60}" + ("\n" if is_last else ""))
    sys.stderr.flush()


def run(
    scenario: Scenario,
    out: Path | None = None,
    *,
    plot: bool = False,
    progress: Progress = None,
    **options: Any,
) -> pd.DataFrame:
    """Runs a scenario and returns runs.csv, a row a run; a run that failed is a row, too (column status).

    scenario: a dict with the keys of a scenario file, or the path of one, or the name of one that comes with gradrace.  out: the folder of
    results, where finished runs are found again and `read` finds the other tables; without it nothing is kept.  progress: True shows a
    line, a function gets what `--progress json` tells, as a dict.  options: those of `gradrace run`: set={"learning_rate.eta": 0.1},
    replicas=10, jobs=2.  Notes are warnings.  GradraceError where the program refuses or a plot cannot be drawn, ValueError of
    an option that gives no table."""
    for name in WITHOUT_TABLE:
        if options.get(name):
            raise ValueError(f"gradrace.run: {name} gives no table of runs; call the program")
    on_progress = show_progress if progress is True else progress or None
    telling = {"progress": "json"} if on_progress else {}
    with folder_of(out, plot) as folder:
        options = {"quiet": True, "out": folder, **telling, **options}
        call("run", [scenario], options, (0, A_RUN_FAILED), on_progress)
        results = read_folder(folder)
        warn(results.manifest.get("notes", []))
        if plot:
            drawn.plot(folder)
        return results.runs


def validate(scenario: Scenario, **options: Any) -> str:
    """What `gradrace validate` says of a scenario that is fine; GradraceError with every mistake else."""
    return call("validate", [scenario], options).strip()


def theory(scenario: Scenario, **options: Any) -> pd.DataFrame:
    """What theory says of each point, a row a point; with curves=True a row a number of updates."""
    import pandas as pd  # pylint: disable=import-outside-toplevel

    text = call("theory", [scenario], {"csv": not options.get("curves"), **options})
    return pd.read_csv(io.StringIO(text)) if text.strip() else pd.DataFrame()


def fit(
    times: Path | Sequence[Path], out: Path | None = None, *, plot: bool = False, **options: Any
) -> dict:
    """Fits laws to measured times, of one file or several, and returns what fit.json says: "cluster" is that of a scenario,
    "families" are ranked by AIC, "words" say whether slow machines stay slow."""
    with folder_of(out, plot) as folder:
        call("fit", several(times), {"out": folder, **options})
        if plot:
            drawn.plot(folder)
        return read_json(folder / "fit.json")


def search(scenario: Scenario, out: Path | None = None, **options: Any) -> Search:
    """How early a job may switch from its first protocol to its second: `facts["switch_point"]`, and the `settings` tried."""
    with folder_of(out) as folder, file_of(scenario) as file:
        call("search", [file], {"quiet": True, "out": folder, **options})
        return read_search(folder)


def advise(scenario: Scenario, out: Path | None = None, **options: Any) -> Advice:
    """Which point of a sweep reaches its target first, by few runs: `facts["answer"]` in a sentence (`facts["sure"]`), and the `rows`."""
    with folder_of(out) as folder, file_of(scenario) as file:
        call("advise", [file], {"quiet": True, "out": folder, **options}, (0, NOT_SURE))
        return read_advice(folder)


def collect(
    folders: Folders, out: Path | None = None, **options: Any
) -> pd.DataFrame | pathlib.Path:
    """Puts the shards of a sweep together, or writes a folder's files in another format, and returns runs.csv; of format="sqlite" the
    path of the database."""
    operands = several(folders)
    call("collect", operands, {"quiet": True, "out": out, **options})
    folder = folder_path(out if out is not None else operands[0])
    if options.get("format") == "sqlite":
        return folder / "results.sqlite"
    results = read_folder(folder)
    warn(results.manifest.get("notes", []))
    return results.runs
