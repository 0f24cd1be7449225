"""Several papers at once: the page that links theirs, and the table of their verdicts."""

import pandas as pd
from reproduce.claims import FAIL, INCONSISTENT, KINDS, PASS, SKIPPED
from reproduce.origins import duration, read_origins
from reproduce.page import VERDICTS, render

HEADS = (PASS, FAIL, SKIPPED, INCONSISTENT)


def counts_of(folder):
    """{verdict: how many claims}, and {kind: how many of them hold}; none of a paper without claims.csv."""
    path, columns = folder / "claims.csv", ["verdict", "kind"]
    claims = pd.read_csv(path)[columns] if path.is_file() else pd.DataFrame(columns=columns)
    holding = claims["kind"][claims["verdict"] == PASS]
    count = lambda cells, names: {name: int((cells == name).sum()) for name in names}
    return {"counts": count(claims["verdict"], VERDICTS), "kinds": count(holding, KINDS)}


def seconds_of(folder):
    """What the runs of a paper took."""
    return sum(origin.manifest["elapsed"] for origin in read_origins(folder))


def print_table(papers):
    table = pd.DataFrame([one["counts"] for one in papers], [one["folder"] for one in papers])
    kinds = [", ".join(f"{n} {kind}" for kind, n in one["kinds"].items() if n) for one in papers]
    times = [duration(one["seconds"]) for one in papers]
    table = table[list(HEADS)].assign(**{"of those that hold": kinds, "time of runs": times})
    print(f"\nPapers\n{table.to_string()}")


def write_overview(page, papers):
    """The page of {folder beside it: what the page of its paper says}, and the table on stdout."""
    found = [
        {
            "folder": name,
            "title": of["title"],
            "question": of["question"],
            **counts_of(page.parent / name),
            "seconds": seconds_of(page.parent / name),
        }
        for name, of in papers.items()
    ]
    render(page, "papers.html", title="Papers that gradrace reproduces", papers=found)
    print_table(found)
    print(f"page: {page}")
