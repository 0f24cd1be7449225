"""What a paper claims: claims.csv beside its package, a row a claim."""

from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import pairwise

import numpy as np
from reproduce.claims import (
    INCONSISTENT, KINDS, PASS, SIMULATED, SKIPPED, THEORY, Claim, Sample, Tolerance, chance, disorder,
    excess, in_units, is_above, is_rough, nearest_to_0, paired_difference, times, verdict, with_numbers,
)  # fmt: skip
from reproduce.outputs import PAPERS
from reproduce.table import WrongTable, read_table


@dataclass
class Row:
    """Who says so, a figure or a section of a paper, or that it is derived; what is claimed; and what is
    expected: a number, a range (low and high), or words; empty where it is computed. Its methods judge it
    by what was measured. Standard errors are those of the tolerance, else 4; where they decide and are of
    fewer than 8 replicas, a claim is skipped that does not hold and is not refuted."""

    id: str
    source: str = ""
    kind: str = SIMULATED
    claim: str = ""
    expected: str = ""
    low: float | None = None
    high: float | None = None
    tolerance: Tolerance = Tolerance()
    item: str = ""  # of the checklist
    facts: dict = field(default_factory=dict)  # numbers of the runs, for what stands in braces

    def _words(self):
        return self.id, self.source, self.claim.format(**self.facts)

    def skipped(self, reason):
        """A claim that was not looked at, and why."""
        words = *self._words(), "", "", reason, SKIPPED
        return Claim(*words, kind=self.kind, item=self.item)

    def _undecided(self, measured):
        count = measured.replicas or round(measured.freedom) + 1
        return self.skipped(f"{measured}: {count} replicas do not tell; it takes 8")

    def _judged(self, is_met, measured, expected="", tolerance=None):
        tolerance = self.tolerance if tolerance is None else tolerance
        facts = self.facts | {"errors": self._errors, "tolerance": self.tolerance}
        expected = expected or self.expected.format(**facts)
        words = *self._words(), expected, str(tolerance), str(measured), verdict(is_met)
        one = Claim(*words, kind=self.kind, item=self.item)
        return with_numbers(one, None, measured) if isinstance(measured, Sample) else one

    def _number(self, expected):
        return float(self.expected) if expected is None else expected

    @property
    def _errors(self):
        return self.tolerance.errors or 4

    def holds(self, is_met, measured, gap=None):
        """What is expected, in words, is so; measured: in words, or a Sample. gap: the Sample that has
        to be above 0 for it."""
        if gap and not is_met and is_rough(gap) and not is_above(times(gap, -1)):
            return self._undecided(gap)
        return self._judged(is_met, measured)

    def within(self, measured, told=""):
        """The Sample lies in the expected range."""
        expected = f"{self.low:g} to {self.high:g}"
        is_met = self.low <= measured.mean <= self.high
        return replace(self, expected=expected).holds(is_met, told or measured)

    def near(self, measured, expected=None, tolerance=None):
        """The measured Sample is the expected number; both numbers may be computed."""
        expected = self._number(expected)
        return self._near([("", expected, measured)], tolerance, f"{expected:.5g}", measured)

    def all_near(self, values, tolerance=None):
        """Every one of values (place, expected, Sample) is near; tells the worst."""
        values = list(values)
        assert values, self.id
        slack = tolerance or self.tolerance
        far = [excess(expected, measured, slack) for _, expected, measured in values]
        place, expected, measured = values[int(np.argmax(far))]
        told = f"worst of {len(values)}: {measured} for {expected:.5g} at {place}"
        wanted = " ".join(f"{value:.4g}" for _, value, _ in values)
        return self._near(values, tolerance, wanted, told)

    def _near(self, values, tolerance, wanted, told):
        tolerance = tolerance or self.tolerance
        far = [excess(expected, measured, tolerance) for _, expected, measured in values]
        _, expected, measured = values[int(np.argmax(far))]
        rough = [one for *_, one in values if tolerance.needs_replicas(one)]
        beyond = [one for one, distance in zip(values, far) if distance > 1]
        if beyond and all(tolerance.explains(*one[1:]) for one in beyond):
            rough = [measured]
        if rough:
            return self._undecided(rough[0])
        one = self._judged(max(far) <= 1, told, wanted, tolerance)
        return with_numbers(one, expected, measured, tolerance.power(expected, measured))

    def ordered(self, values, gap=paired_difference):
        """low <= high for every one of values (place, low, high), but for so many standard errors of
        their gap (difference or paired_difference), and those up to a share of high."""
        values = list(values)
        assert values, self.id
        errors, most = self.tolerance.errors, self.tolerance.most
        overs = [gap(low, high) for _, low, high in values]
        allowed = [disorder(over, high, errors, most) for over, (*_, high) in zip(overs, values)]
        far = [in_units(over.mean, one) for over, one in zip(overs, allowed)]
        worst = int(np.argmax(far))
        place, low, high = values[worst]
        over = overs[worst]
        if max(far) > 1 and is_rough(over) and not is_above(over, errors):
            return self._undecided(over)
        told = f"nearest to breaking it of {len(values)}: {low} and {high} at {place}"
        one = self._judged(max(far) <= 1, told)
        decides = errors and over.error and not is_rough(over)
        return with_numbers(one, 0, over, allowed[worst] if decides else None)

    def above(self, gap, told=""):
        """A Sample is above 0 by more than so many standard errors."""
        return self._above([gap], told or gap)

    def all_above(self, gaps, told=""):
        """Every Sample is above 0 by more than so many standard errors."""
        gaps = list(gaps)
        assert gaps, self.id
        least = f"nearest to breaking it: by {nearest_to_0(gaps, self._errors)}"
        return self._above(gaps, f"{told}; {least}" if told else least)

    def rising(self, samples, gap=paired_difference):
        """Each Sample is above the one before by more than so many standard errors of their gap."""
        samples = list(samples)
        gaps = [gap(high, low) for low, high in pairwise(samples)]
        return self.all_above(gaps, ", ".join(map(str, samples)))

    def _above(self, gaps, told):
        errors = self._errors
        least = nearest_to_0(gaps, errors)
        is_met = all(is_above(one, errors) for one in gaps)
        if not is_met and is_rough(least) and not is_above(times(least, -1), errors):
            return self._undecided(least)
        return with_numbers(
            self._judged(is_met, told, tolerance=""), 0, least, chance(least, errors) or None
        )

    def disagrees(self, theirs, expected=None):
        """What the paper shows, against what follows from the paper itself; theory."""
        one = self.near(Sample(theirs), expected)
        one.measured += " in the paper"
        one.verdict = PASS if one.verdict == PASS else INCONSISTENT
        one.kind = THEORY
        return one


COLUMNS = ["id", "item", "source", "kind", "claim", "expected"]
TOLERANCES = [column.name for column in fields(Tolerance)]


def read_rows(path):
    """{id: Row}; raises WrongTable."""
    found = {}
    for place, row in read_table(path, COLUMNS, ["low", "high", *TOLERANCES]):
        tolerance = Tolerance(**{name: row.pop(name) for name in TOLERANCES if name in row})
        one = found[row["id"]] = Row(**row, tolerance=tolerance)
        if one.kind not in KINDS:
            raise WrongTable(f"{place}: kind: {one.kind}; allowed: {', '.join(KINDS)}")
    return found


def claims_of(paper):
    """claim(id, **facts): the Row of that id."""
    path = PAPERS / paper / "claims.csv"
    rows = cache(lambda: read_rows(path))

    def claim(id, **facts):
        if id not in rows():
            raise WrongTable(f"{path}: has no row {id}")
        return replace(rows()[id], facts=facts)

    return claim
