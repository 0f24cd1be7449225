"""Writes a page that answers what gradrace output folders were made for: report.py DIR... [--out
FILE] [--plot]."""

import argparse
import importlib
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from guarded import told
from plots.stamp import refuse_others
from plots.whole import NotWritten, made_folder, writing
from results import OF_EDITED_FILES, NoResults, ResultsError, edited, read_folder

NAME = "report.html"
MANY = 3000  # points, which take some 10 s


def save_figures(page, out):
    """Writes the page's figures as PNG, SVG and PDF, as wide as a column and as a page, into the
    folder of the page's name; returns it."""
    from plots import style

    place = made_folder(out.with_name(f"{out.stem}-figures"), ResultsError)
    for section in page.drawn_sections():
        for drawn in section.drawn:
            for size, figure in drawn.figures:
                with style.sized(size):
                    style.save(figure, place / f"{drawn.name}_{size}", style.FORMATS)
    return place


def place_of(out):
    """Where the page goes."""
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    if out.is_dir():
        raise ResultsError(f"{out}: is a folder; --out takes the name of a file")
    return out


# {record: (what it is of, the module that makes its page)}
OTHERS = {"search.json": ("a search", "report.search"), "advise.json": ("advice", "report.advise")}


def other_of(folder):
    """What an output folder is of that has no runs of its own, and the module of its page; None of runs."""
    there = (one for name, one in OTHERS.items() if (folder / name).is_file())
    return None if (folder / "runs.csv").is_file() else next(there, None)


def report_other(folder, out, plot):
    """The page of such a folder."""
    of, module = other_of(folder)
    if plot:
        raise ResultsError(f"{folder}: is of {of}; gradrace plot draws its figure")
    from pages.maker import write
    from report.page import TEMPLATES

    out = place_of(out or folder / NAME)
    text, said = importlib.import_module(module).render(TEMPLATES, folder)
    write(out, text)
    print(f"{said}\nreport: {out}")


def report(paths, out, plot, changed=()):
    others = [path for path in paths if other_of(path)]
    if others:
        if len(paths) > 1:
            of, _ = other_of(others[0])
            raise ResultsError(f"{others[0]}: is of {of}, which has a page of its own")
        return report_other(others[0], out, plot)
    folders = [read_folder(path) for path in paths]
    points = sum(len(folder.points) for folder in folders)
    if points > MANY and sys.stderr.isatty():
        print(f"report: {points:,} points, some {points / MANY * 10:.0f} s", file=sys.stderr)
    from pages.maker import write  # which take a while
    from report.page import Page

    page = Page(folders, changed)
    out = place_of(out or (folders[0].path / NAME if len(folders) == 1 else Path(NAME)))
    refuse_others(out)
    write(out, page.render())
    for line in page.said():
        print(line)
    print(f"report: {out}")
    if plot:
        print(f"figures: {save_figures(page, out)}/ (.png, .svg and .pdf)")
    return None


def main():
    parser = argparse.ArgumentParser(prog="report.py", description=__doc__)
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="an output folder")
    parser.add_argument("--out", metavar="FILE", type=Path)
    parser.add_argument("--plot", action="store_true")
    parser.add_argument("--changed", metavar="DIR", action="append", default=[], type=Path)
    words = parser.parse_args()
    try:
        report(words.folders, words.out, words.plot, words.changed)
    except (ResultsError, OSError) as problem:
        if getattr(problem, "errno", None) and not problem.filename:
            raise  # of stdout
        said = told(problem) if getattr(problem, "errno", None) else problem
        is_own = isinstance(problem, NotWritten) and not words.out
        cure = "; use --out FILE for a page where you may write" if is_own else ""
        print(f"report: {said}{cure}", file=sys.stderr)
        return 2 if isinstance(problem, NoResults) else 1
    except OF_EDITED_FILES as problem:
        print(f"report: {edited(' '.join(map(str, words.folders)), problem)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
