"""Several papers at once: the page that links theirs, and the table of their verdicts."""

import pandas
from reproduce.claims import FAIL, INCONSISTENT, KINDS, PASS, SKIPPED
from reproduce.origins import duration, read_origins
from reproduce.page import VERDICTS, render
from results.folder import read_records

HEADS = (PASS, FAIL, SKIPPED, INCONSISTENT)


def claims_of(folder):
    """Rows of the claims.csv of a paper's folder; a paper without one has no claims."""
    return read_records(folder / "claims.csv")


def counts_of(claims):
    """{verdict: how many}."""
    verdicts = [row["verdict"] for row in claims]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def kinds_of(claims):
    """{kind: how many hold}."""
    kinds = [row["kind"] for row in claims if row["verdict"] == PASS]
    return {kind: kinds.count(kind) for kind in KINDS}


def seconds_of(folder):
    """What the runs of a paper took."""
    return sum(origin.manifest["elapsed"] for origin in read_origins(folder))


def print_table(papers):
    table = pandas.DataFrame([one["counts"] for one in papers], [one["folder"] for one in papers])
    kinds = [", ".join(f"{n} {kind}" for kind, n in one["kinds"].items() if n) for one in papers]
    times = [duration(one["seconds"]) for one in papers]
    table = table[list(HEADS)].assign(**{"of those that hold": kinds, "time of runs": times})
    print(f"\nPapers\n{table.to_string()}")


def write_overview(page, papers):
    """The page of {folder beside it: its paper}, and the table on stdout."""
    found = [
        {
            "folder": name,
            "title": paper.TITLE,
            "question": paper.QUESTION,
            "counts": counts_of(claims_of(page.parent / name)),
            "kinds": kinds_of(claims_of(page.parent / name)),
            "seconds": seconds_of(page.parent / name),
        }
        for name, paper in papers.items()
    ]
    render(page, "papers.html", title="Papers that gradrace reproduces", papers=found)
    print_table(found)
    print(f"page: {page}")
