"""What a reader of a paper's page should know, which stands in a table beside its package."""

from reproduce.outputs import PAPERS
from reproduce.table import read_table


def caveats_of(paper):
    """The paragraphs of caveats.csv; raises WrongTable."""
    return [row["caveat"] for _, row in read_table(PAPERS / paper / "caveats.csv", ["caveat"])]
