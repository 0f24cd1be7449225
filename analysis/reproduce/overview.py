"""Several papers at once: the page that links theirs, and the table of their verdicts."""

import html

from reproduce.claims import FAIL, INCONSISTENT, PASS, SKIPPED, Claim, count
from reproduce.origins import duration, read_origins
from reproduce.page import counts_html, document, table_of
from plots.results import read_records
from plots.whole import write_whole

HEADS = (PASS, FAIL, SKIPPED, INCONSISTENT)


def read_claims(path):
    return [Claim(**row) for row in read_records(path)] if path.is_file() else []


def seconds_of(folder):
    """What the runs of a paper took."""
    return sum(origin.manifest["elapsed"] for origin in read_origins(folder))


def paper_row(folder, name, title):
    claims = read_claims(folder / name / "claims.csv")
    link = f'<a href="{name}/index.html">{html.escape(title)}</a>'
    took = duration(seconds_of(folder / name))
    return f'<tr><td>{link}</td><td>{counts_html(claims)}</td><td class="number">{took}</td></tr>'


def print_table(folder, names):
    width = max(map(len, names))
    print("\nPapers")
    print("  ".join([" " * width, *HEADS, "time of runs"]))
    for name in names:
        counts = count(read_claims(folder / name / "claims.csv"))
        numbers = [str(counts[verdict]).rjust(len(verdict)) for verdict in HEADS]
        print("  ".join([name.ljust(width), *numbers, duration(seconds_of(folder / name))]))


def write_overview(page, titles):
    """The page of {folder beside it: title of its paper}, and the table on stdout."""
    folder = page.parent
    rows = [paper_row(folder, name, title) for name, title in titles.items()]
    body = table_of(("paper", "claims", "time of its runs"), rows)
    write_whole(page, document("Papers that gradrace reproduces", body))
    print_table(folder, list(titles))
    print(f"page: {page}")
