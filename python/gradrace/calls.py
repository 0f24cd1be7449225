"""Calls of the program."""

from __future__ import annotations

import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Union

from gradrace.results import Folder

Path = Union[str, "os.PathLike[str]"]
Scenario = Union[Mapping[str, Any], Path]
Folders = Union[Path, Folder, Sequence[Union[Path, Folder]]]
NOTE = re.compile(r"^\s*(?:gradrace: )?note: (.*)$", re.MULTILINE)


class GradraceError(Exception):
    """The program refused or failed; the text is what it said, `status` its exit status. None: it was not run."""

    def __init__(self, text: str, status: int | None = None):
        super().__init__(text)
        self.status = status


class GradraceWarning(UserWarning):
    """A note of the program on what was asked, or on its results."""


def program() -> str:
    """Path of the program that calls use."""
    inside = pathlib.Path(__file__).parent / "bin" / "gradrace"
    if inside.is_file():
        return str(inside)
    found = os.environ.get("GRADRACE_PROGRAM") or shutil.which("gradrace")
    if not found:
        raise GradraceError("gradrace is not on the PATH; GRADRACE_PROGRAM may name it")
    return found


def plain(value: Any, path: str = "") -> Any:
    """A value as JSON has it: NumPy's numbers and arrays, ranges, and paths, which become absolute.  GradraceError names the path of what
    is none."""
    if isinstance(value, Mapping):
        begin = path and path + "."
        return {name: plain(one, f"{begin}{name}") for name, one in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(one, f"{path}.{i}") for i, one in enumerate(value)]
    if isinstance(value, os.PathLike):
        return os.path.abspath(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist(), path)
    is_finite = isinstance(value, float) and math.isfinite(value)
    if value is None or isinstance(value, (str, int)) or is_finite:
        return value
    got = f"{value!r:.40} ({type(value).__name__})"
    raise GradraceError(f"{path}: expected what JSON has, got {got}")


def words_of(options: Mapping[str, Any]) -> list[str]:
    """{"timing_only": True, "x": ["time", "updates"], "set": {"seed": 3}} ->
    ["--timing-only", "--x", "time", "--x", "updates", "--set", "seed=3"]; None and False give no word."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, Mapping):
            given = [f"{path}={json.dumps(plain(one, path))}" for path, one in value.items()]
        else:
            given = plain(value, name)
        if given is True:
            words.append(flag)
        elif given is not None and given is not False:
            for one in given if isinstance(given, list) else [given]:
                words += [flag, str(one)]
    return words


def several(operands: Any) -> list:
    """What may be one or several, as a list."""
    return list(operands) if isinstance(operands, (list, tuple)) else [operands]


def folder_path(value: Any) -> pathlib.Path:
    """Of results, or of a path."""
    return pathlib.Path(getattr(value, "path", value))


def operand(value: Any) -> str:
    """What names a dict (standard input), a file, a folder or results on the command line."""
    if isinstance(value, Mapping):
        return "-"
    path = os.fspath(folder_path(value))
    return os.path.join(".", path) if path.startswith("-") else path  # no option


def call(
    command: str,
    operands: Iterable[Any],
    options: Mapping[str, Any],
    allowed: tuple[int, ...] = (0,),
    on_progress: Callable[[dict], object] | None = None,
) -> str:
    """What the program prints.  operands: paths, results, or a scenario's dict; options: as words_of() takes them; allowed: the
    exit statuses that are no error; on_progress: gets what `--progress json` tells.  An interruption is handed on, and waited for."""
    operands = list(operands)
    words = [program(), command, *map(operand, operands), *words_of(options)]
    given = [json.dumps(plain(one)) for one in operands if isinstance(one, Mapping)]
    with tempfile.TemporaryFile("w+") as asked, tempfile.TemporaryFile("w+") as printed:
        asked.write("".join(given))
        asked.seek(0)
        try:
            process = subprocess.Popen(  # pylint: disable=consider-using-with
                words, stdin=asked, stdout=printed, stderr=subprocess.PIPE, text=True, errors="replace",
                start_new_session=True, env={"GRADRACE_PYTHON": sys.executable, **os.environ},
            )  # fmt: skip
        except OSError as problem:
            why = f"{words[0]}: cannot be run: {problem.strerror}"
            raise GradraceError(f"{why}; GRADRACE_PROGRAM may name the program") from problem
        told = []
        with process:
            try:
                for line in process.stderr or ():
                    if on_progress and line.startswith("{"):
                        on_progress(json.loads(line))
                    else:
                        told.append(line)
            except BaseException:
                process.send_signal(signal.SIGINT)
                process.communicate()
                raise
        printed.seek(0)
        out, err = printed.read(), "".join(told)
    if process.returncode not in allowed:
        raise GradraceError(err.strip() or out.strip(), process.returncode)
    warn(NOTE.findall(out) + NOTE.findall(err))
    return out


def warn(notes: Iterable[str]) -> None:
    """Each as a GradraceWarning of the line outside this package that called it."""
    here, depth, frame = os.path.dirname(__file__), 1, sys._getframe()  # pylint: disable=protected-access
    while frame.f_back and os.path.dirname(frame.f_code.co_filename) == here:
        depth, frame = depth + 1, frame.f_back
    for note in notes:
        warnings.warn(note, GradraceWarning, stacklevel=depth)
