"""Calls of the program."""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from gradrace.results import read_folder


A_RUN_FAILED = 1  # an exit status
WITHOUT_TABLE = ("dry_run", "shard", "help")  # options of `gradrace run`


class GradraceError(Exception):
    """The program refused or failed; the text is what it said, `status` its exit status. None: it was not run."""

    def __init__(self, text, status=None):
        super().__init__(text)
        self.status = status


def program():
    """Path of the program that calls use."""
    inside = pathlib.Path(__file__).parent / "bin" / "gradrace"
    if inside.is_file():
        return str(inside)
    found = os.environ.get("GRADRACE_PROGRAM") or shutil.which("gradrace")
    if not found:
        raise GradraceError("gradrace is not on the PATH; GRADRACE_PROGRAM may name it")
    return found


def plain(value, path=""):
    """A value as JSON has it, NumPy's numbers and arrays too.  GradraceError names the path of what is none."""
    if isinstance(value, dict):
        begin = path and path + "."
        return {name: plain(one, f"{begin}{name}") for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, f"{path}.{i}") for i, one in enumerate(value)]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), path)
    if isinstance(value, str | int | None) or isinstance(value, float) and math.isfinite(value):
        return value
    got = f"{value!r:.40} ({type(value).__name__})"
    raise GradraceError(f"{path}: expected what JSON has, got {got}")


def call(words, scenario, allowed=(0,)):
    """What the program prints.  scenario: a dict, which goes to standard input, or the path of a file; allowed: the exit
    statuses that are no error."""
    is_dict = isinstance(scenario, dict)
    path = "-" if is_dict else os.fspath(scenario)
    if path.startswith("-") and not is_dict:
        path = os.path.join(".", path)  # no option
    command = [program(), words[0], path, *words[1:]]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(plain(scenario)) if is_dict else None,
            stdin=None if is_dict else subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
            env={"GRADRACE_PYTHON": sys.executable, **os.environ},
        )  # fmt: skip
    except OSError as problem:
        why = f"{command[0]}: cannot be run: {problem.strerror}"
        raise GradraceError(f"{why}; GRADRACE_PROGRAM may name the program") from problem
    if done.returncode not in allowed:
        raise GradraceError(done.stderr.strip() or done.stdout.strip(), done.returncode)
    return done.stdout


def options_of(changes):
    """{"timing_only": True, "replicas": 3} -> ["--timing-only", "--replicas", "3"]."""
    words = []
    for name, value in changes.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def run(scenario, out=None, *, set=None, **options):  # noqa: A002 (the option's name)
    """Runs a scenario and returns runs.csv as a DataFrame, a row a run.

    scenario: a dict with the keys of a scenario file, whose values may be NumPy's, or the path of one.  out: the folder of the results, where finished
    runs are found again and `read` finds the other tables; without it nothing is kept.  set: {dotted path: value}, as --set.  options: those of
    `gradrace run`, with _ for -: replicas=10, timing_only=True, jobs=2.  A run that failed is a row (column status).
    GradraceError where the program refuses, ValueError of an option that gives no table."""
    for name in WITHOUT_TABLE:
        if options.get(name):
            raise ValueError(f"gradrace.run: {name} gives no table of runs; call the program")
    words = [
        word
        for path, value in (set or {}).items()
        for word in ("--set", f"{path}={json.dumps(plain(value, path))}")
    ]
    words += options_of(options)
    with tempfile.TemporaryDirectory() as nowhere:
        folder = os.fspath(out) if out is not None else f"{nowhere}/out"
        call(["run", "--quiet", "--out", folder, *words], scenario, allowed=(0, A_RUN_FAILED))
        return read_folder(folder).runs


def validate(scenario):
    """What `gradrace validate` says of a scenario that is fine; GradraceError with every mistake else."""
    return call(["validate"], scenario).strip()
