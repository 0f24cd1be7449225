"""Draws the plots of gradrace output folders: plot.py DIR... writes DIR/plots/*.png and .svg."""

import argparse
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from plots import fit
from plots import packed
from plots import style
from plots.curves import disagrees, draw_curves, has_values, is_watched
from plots.results import ResultsError, read_results
from plots.staleness import MOST_PANELS, draw_staleness
from plots.timeline import MOST_POINTS, draw_timeline


def curve_plots(results):
    """(name, x, y) of the curve plots there is data for."""
    main = "test_error" if has_values(results, "test_error") else "loss"
    if not has_values(results, main):
        return []
    plots = [("error_time", "time", main), ("error_updates", "update", main)]
    if main == "test_error" and has_values(results, "loss"):
        plots.append(("loss_time", "time", "loss"))
    if disagrees(results):
        plots.append(("disagreement_time", "time", "disagreement"))
    return plots


def curve_figures(results):
    """The curve plots by name, and a word on why there are none."""
    plots = curve_plots(results)
    if not plots:
        return {}, "no losses or errors recorded (timing only): error plots left out"
    if not is_watched(results):
        return {}, "evaluated at start and end only (see record.every_time): error plots left out"
    return {name: draw_curves(results, x, y) for name, x, y in plots}, ""


def run_figures(folder):
    """The figures of a run's output folder by name, and what they leave out."""
    results = read_results(folder)
    if not any(packed.find(folder / name) for name in ("curve.csv", "staleness.csv", "trace.json")):
        return {}, ["a summary only (record.details is false): nothing to draw"]
    figures, note = curve_figures(results)
    notes = [note] if note else []
    for name, figure in (
        ("staleness", draw_staleness(results)),
        ("timeline", draw_timeline(results)),
    ):
        if figure:
            figures[name] = figure
        elif name == "staleness":
            applied = any(point.staleness.total() for point in results.points.values())
            why = "every applied gradient was fresh" if applied else "no gradient was applied"
            notes.append(f"{why}: staleness plot left out")
    notes += [
        f"{len(results.points)} points: {name} shows the first {most}"
        for name, most in (("staleness", MOST_PANELS), ("timeline", MOST_POINTS))
        if name in figures and len(results.points) > most
    ]
    return figures, notes


def draw_folder(folder):
    """Draws one output folder; returns the files written and what was left out."""
    folder = Path(folder)
    is_fit = (folder / "fit.json").is_file()
    figures, notes = fit.draw_folder(folder) if is_fit else run_figures(folder)
    plots = folder / "plots"
    plots.mkdir(exist_ok=True)
    return [
        path for name, figure in figures.items() for path in style.save(figure, plots / name)
    ], notes


def main():
    parser = argparse.ArgumentParser(prog="plot.py", description=__doc__)
    parser.add_argument("folders", metavar="DIR", nargs="+", help="an output folder of gradrace")
    status = 0
    for folder in parser.parse_args().folders:
        try:
            paths, notes = draw_folder(folder)
        except (ResultsError, OSError) as problem:
            print(f"plot: {problem}", file=sys.stderr)
            status = 1
            continue
        for note in notes:
            print(f"plot: {folder}: {note}")
        names = ", ".join(dict.fromkeys(path.stem for path in paths))
        print(f"plots: {os.path.join(folder, 'plots', '')} ({names}; .png and .svg)")
    return status


if __name__ == "__main__":
    sys.exit(main())
