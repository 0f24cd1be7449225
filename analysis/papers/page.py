"""What a paper's page says beside its figures and claims, which stands in tables beside its package."""

from reproduce.outputs import PAPERS
from reproduce.table import read_table


def caveats_of(paper):
    """The paragraphs of caveats.csv: what a reader should know; raises WrongTable."""
    return [row["caveat"] for _, row in read_table(PAPERS / paper / "caveats.csv", ["caveat"])]


def checklist_of(paper):
    """{item: what it is about}, of checklist.csv; raises WrongTable."""
    rows = read_table(PAPERS / paper / "checklist.csv", ["item", "about"])
    return {row["item"]: row["about"] for _, row in rows}
