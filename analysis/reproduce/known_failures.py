"""Claims that are known to fail: known_failures.csv beside a paper's package, of a claim a row."""

from reproduce.claims import FAIL, PASS
from reproduce.outputs import PAPERS
from reproduce.table import WrongTable, read_table

COLUMNS = ["claim", "why"]


def path_of(paper):
    return PAPERS / paper / "known_failures.csv"


def read_known_failures(paper):
    """{id of a claim: why it fails}, empty where the paper has no list; raises WrongTable."""
    path = path_of(paper)
    if not path.is_file():
        return {}
    known = {}
    for place, row in read_table(path, COLUMNS):
        if not row["claim"] or not row["why"]:
            raise WrongTable(f"{place}: allowed: a claim's id and a sentence that says why")
        known[row["claim"]] = row["why"]
    return known


def told(paper, claims, known):
    """A line for each claim that fails, new ones last, and for each that is listed and holds."""
    fails = [claim for claim in claims if claim.verdict == FAIL]
    lines = [f"fails, as known: {one.id}: {known[one.id]}" for one in fails if one.id in known]
    lines += [
        f"holds now: {one.id}: take it off {path_of(paper)}"
        for one in claims
        if one.id in known and one.verdict == PASS
    ]
    return lines + [
        f"fails: {one.id}: {one.claim}: {one.measured}, expected {one.expected}"
        for one in new_failures(claims, known)
    ]


def new_failures(claims, known):
    return [claim for claim in claims if claim.verdict == FAIL and claim.id not in known]
