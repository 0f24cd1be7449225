"""Draws the plots of gradrace output folders: plot.py DIR... writes them into DIR/plots."""

import argparse
import importlib
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from guarded import told
from plots.whole import made_folder
from results import OF_EDITED_FILES, Folder, NoResults, ResultsError, edited

# {record of a command but run: the module that draws its folders}
OTHERS = {"fit.json": "plots.fit", "search.json": "plots.search", "advise.json": "plots.advise"}


def figures_of(folder, xs):
    """The figures of an output folder of a run or of another command, and what they leave out."""
    for name, module in OTHERS.items():
        if (folder / name).is_file():
            return importlib.import_module(module).draw_folder(folder)  # which takes a while
    from plots import run

    return run.draw_folder(folder, xs)


def draw_folder(folder, xs=("time",), endings=("png", "svg"), size="page"):
    """Draws one output folder; returns the files written and what was left out."""
    folder = Path(folder)
    if not any((folder / name).is_file() for name in OTHERS):
        Folder(folder)  # which refuses what is none, ahead of what takes a while
    from plots import style

    with style.sized(size):
        figures, notes = figures_of(folder, xs)
        plots = made_folder(folder / "plots", ResultsError)
        return [
            path
            for name, figure in figures.items()
            for path in style.save(figure, plots / name, endings)
        ], notes


def read_options(words):
    """Of the command line."""
    parser = argparse.ArgumentParser(prog="plot.py", description=__doc__)
    parser.add_argument("folders", metavar="DIR", nargs="+", help="an output folder of gradrace")
    add = parser.add_argument
    add("--x", action="append", help="what curves are drawn against (time)")
    add("--format", action="append", help="of files (png and svg)")
    add("--size", default="page", help="what figures are as wide as (page)")
    options = parser.parse_args(words)
    options.x = list(dict.fromkeys(options.x or ["time"]))
    options.format = list(dict.fromkeys(options.format or ["png", "svg"]))
    return options


def main():
    options = read_options(sys.argv[1:])
    status = 0
    for folder in options.folders:
        try:
            paths, notes = draw_folder(folder, options.x, options.format, options.size)
        except (ResultsError, OSError, *OF_EDITED_FILES) as problem:
            said = told(problem) if getattr(problem, "errno", None) else problem
            if isinstance(problem, OF_EDITED_FILES):
                said = edited(folder, problem)
            print(f"plot: {said}", file=sys.stderr)
            status = max(status, 2 if isinstance(problem, NoResults) else 1)
            continue
        for note in notes:
            print(f"plot: {folder}: {note}")
        if not paths:
            reason = "" if notes else ": the runs have no errors, staleness or trace to draw"
            print(f"plots: none of {folder}{reason}")
            continue
        names = ", ".join(dict.fromkeys(path.stem for path in paths))
        endings = " and ".join("." + ending for ending in options.format)
        print(f"plots: {os.path.join(folder, 'plots', '')} ({names}; {endings})")
    return status


if __name__ == "__main__":
    sys.exit(main())
