"""The words of a paper's page and figures, which stand in tables beside its package."""

from functools import cache

from reproduce.figures import Figure
from reproduce.outputs import PAPERS
from reproduce.table import WrongTable, read_table

COLUMNS = ["figure", "in_paper", "title", "x_label", "y_label", "log", "note"]


def answers_of(paper):
    """{name of a figure: what came out, in a sentence}, of answers.csv; raises WrongTable."""
    rows = read_table(PAPERS / paper / "answers.csv", ["figure", "answer"])
    return {row["figure"]: row["answer"] for _, row in rows}


def caveats_of(paper):
    """The paragraphs of caveats.csv: what a reader should know; raises WrongTable."""
    return [row["caveat"] for _, row in read_table(PAPERS / paper / "caveats.csv", ["caveat"])]


def checklist_of(paper):
    """{item: what it is about}, of checklist.csv; raises WrongTable."""
    rows = read_table(PAPERS / paper / "checklist.csv", ["item", "about"])
    return {row["item"]: row["about"] for _, row in rows}


def read_figures(path):
    """{name of a figure: its row}; raises WrongTable."""
    found = {}
    for place, row in read_table(path, COLUMNS):
        if row["log"] not in ("", "x", "y", "x y"):
            raise WrongTable(f"{place}: log: {row['log']}; allowed: x, y, x y or nothing")
        found[row["figure"]] = row
    return found


def figures_of(paper):
    """figure(name, **facts): the Figure of that row of figures.csv, with those marks, ticks and series;
    facts stand in place of what is in braces, of the name too; raises WrongTable."""
    path = PAPERS / paper / "figures.csv"
    rows = cache(lambda: read_figures(path))

    def figure(name, /, marks=(), ticks=(), series=(), **facts):
        if name not in rows():
            raise WrongTable(f"{path}: has no row {name}")
        told = {column: text.format(**facts) for column, text in rows()[name].items()}
        log, name = told.pop("log"), told.pop("figure")
        told |= {"log_x": "x" in log, "log_y": "y" in log}
        told["title"] = told["title"][0].upper() + told["title"][1:]
        return Figure(name, **told, marks=list(marks), ticks=list(ticks), series=list(series))

    return figure
