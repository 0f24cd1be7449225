"""Several papers at once: the page that links theirs, and the table of their verdicts."""

import pandas
from plots.results import read_records
from reproduce.claims import FAIL, INCONSISTENT, PASS, SKIPPED
from reproduce.origins import duration, read_origins
from reproduce.page import VERDICTS, render

HEADS = (PASS, FAIL, SKIPPED, INCONSISTENT)


def counts_of(folder):
    """{verdict: how many} in the claims.csv of a paper's folder; a paper without one has no claims."""
    path = folder / "claims.csv"
    verdicts = [row["verdict"] for row in read_records(path)] if path.is_file() else []
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def seconds_of(folder):
    """What the runs of a paper took."""
    return sum(origin.manifest["elapsed"] for origin in read_origins(folder))


def print_table(papers):
    table = pandas.DataFrame([one["counts"] for one in papers], [one["folder"] for one in papers])
    table = table[list(HEADS)].assign(**{"time of runs": [duration(one["seconds"]) for one in papers]})
    print(f"\nPapers\n{table.to_string()}")


def write_overview(page, papers):
    """The page of {folder beside it: its paper}, and the table on stdout."""
    found = [
        {
            "folder": name,
            "title": paper.TITLE,
            "question": paper.QUESTION,
            "counts": counts_of(page.parent / name),
            "seconds": seconds_of(page.parent / name),
        }
        for name, paper in papers.items()
    ]
    render(page, "papers.html", title="Papers that gradrace reproduces", papers=found)
    print_table(found)
    print(f"page: {page}")
