"""Plots and pages of results, which a notebook shows."""

from __future__ import annotations

import base64
import dataclasses
import html
import pathlib
from typing import Any

from gradrace.calls import Folders, Path, call, folder_path, several


@dataclasses.dataclass(frozen=True)
class Page:
    """A page of HTML, and its answers, a sentence each."""

    path: pathlib.Path
    answers: list[str]

    def __str__(self) -> str:
        return "\n".join(self.answers)

    def _repr_html_(self) -> str:
        told = "".join(f"<p>{html.escape(one)}</p>" for one in self.answers)
        page = html.escape(self.path.read_text(encoding="utf-8"))
        return (
            f'{told}<iframe srcdoc="{page}" width="100%" height="720" style="border: 0"></iframe>'
        )


class Plots(list):
    """Paths of figures, of which a notebook shows those in PNG."""

    def _repr_html_(self) -> str:
        return "".join(
            f'<img alt="{html.escape(path.stem)}" style="max-width: 100%"'
            f' src="data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}">'
            for path in self
            if path.suffix == ".png"
        )


def plot(folders: Folders, **options: Any) -> Plots:
    """Draws the plots of folders of runs, fits, searches or advice, and returns the files.  options: x="updates", format=["pdf"],
    size="column".  GradraceError where they cannot be drawn."""
    operands = several(folders)
    call("plot", operands, options)
    places = [folder_path(one) / "plots" for one in operands]
    return Plots(sorted(file for place in places for file in place.iterdir() if file.is_file()))


def report(folders: Folders, out: Path | None = None, *, plot: bool = False) -> Page:
    """Writes the page that answers which point is best, by how much and how sure: its `answers` and its `path`; with plot=True its
    figures, too, beside it."""
    lines = call("report", several(folders), {"out": out, "plot": plot}).splitlines()
    at = max(i for i, line in enumerate(lines) if line.startswith("report: "))
    return Page(pathlib.Path(lines[at].removeprefix("report: ")), lines[:at])
