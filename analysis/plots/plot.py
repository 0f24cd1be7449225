"""Draws the plots of gradrace output folders: plot.py DIR... writes them into DIR/plots."""

import argparse
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from plots import fit
from plots import search
from plots import style
from plots.curves import AXES, disagrees, draw_curves, is_watched
from plots.encoding import by_value, race
from plots.final import draw_final, figure_name, finals, numbers_of
from plots.staleness import draw_staleness
from plots.sweep import has_finals, has_values, keys_of, main_value
from plots.timeline import draw_timeline
from plots.whole import made_folder
from results import OF_EDITED_FILES, NoResults, ResultsError, edited, read_folder


def curve_columns(results):
    """{the first part of a plot's name: column of curve.csv} of what there is to draw."""
    main = main_value(results)
    if not has_values(results, main):
        return {}
    columns = {"error": main}
    if main == "test_error" and has_values(results, "loss"):
        columns["loss"] = "loss"
    if disagrees(results):
        columns["disagreement"] = "disagreement"
    return columns


def final_figures(results):
    """The plots of final errors against swept numbers, by name."""
    value = main_value(results)
    if not has_finals(results, value):
        return {}
    keys, ends = numbers_of(keys_of(results.points)), finals(results, value)
    return {figure_name(key): draw_final(results, key, ends, results.heading) for key in keys}


def curve_figures(results, plan, xs):
    """The plots of curves by name, and words on why there are none."""
    columns = curve_columns(results)
    if "curve" in results.missing:
        why = f"{results.missing['curve']} is not there, which the manifest names"
        return final_figures(results), [f"{why}: curves left out"]
    if not columns:
        return {}, ["no losses or errors recorded (timing only): error plots left out"]
    if not is_watched(results):
        why = "evaluated at start and end only (see record.every_time): curves left out"
        return final_figures(results), [why]
    figures, notes = {}, []
    panels = by_value(results)
    for x in xs:
        if not has_values(results, AXES[x][0]):
            notes.append(f"no {x} recorded: curves against {x} left out")
            continue
        for stem, y in columns.items():
            figures[f"{stem}_{x}"] = draw_curves(results, plan, x, y)
        if panels:
            figures[f"error_{x}_panels"] = draw_curves(results, panels, x, columns["error"])
    return figures | final_figures(results), notes


def run_figures(folder, xs=("time",)):
    """The figures of a run's output folder by name, and what they leave out; xs: what curves are
    drawn against, of AXES."""
    results = read_folder(folder)
    recorded = [results.curve, results.staleness, results.events]
    if not results.missing and not any(map(len, recorded)):
        figures = final_figures(results)
        drawn = "final errors alone are drawn" if figures else "nothing to draw"
        return figures, [f"a summary only (record.details is false): {drawn}"]
    plan = race(results)
    figures, notes = curve_figures(results, plan, xs)
    if figures:
        notes = plan.notes + notes
    for name, table, draw in (
        ("staleness", "staleness", lambda: draw_staleness(results, plan)),
        ("timeline", "trace", lambda: draw_timeline(results, plan.curves, results.heading)),
    ):
        if table in results.missing:
            why = f"{results.missing[table]} is not there, which the manifest names"
            notes.append(f"{name}: {why}: plot left out")
            continue
        figure, told = draw()
        notes += [f"{name}: {note}" for note in told]
        if figure:
            figures[name] = figure
    return figures, notes


def figures_of(folder, xs):
    """The figures of an output folder of a run, a fit or a search."""
    for name, drawn in (("fit.json", fit), ("search.json", search)):
        if (folder / name).is_file():
            return drawn.draw_folder(folder)
    return run_figures(folder, xs)


def draw_folder(folder, xs=("time",), endings=("png", "svg"), size="page"):
    """Draws one output folder; returns the files written and what was left out."""
    folder = Path(folder)
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
    add("--x", action="append", choices=AXES, help="what curves are drawn against (time)")
    add("--format", action="append", choices=style.FORMATS, help="of files (png and svg)")
    add("--size", choices=style.SIZES, default="page", help="what figures are as wide as (page)")
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
            told = edited(folder, problem) if isinstance(problem, OF_EDITED_FILES) else problem
            print(f"plot: {told}", file=sys.stderr)
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
