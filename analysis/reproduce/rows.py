"""What a paper claims: claims.csv beside its package, a row a claim."""

import csv
import re
from dataclasses import dataclass, fields, replace
from functools import cache

from reproduce.claims import KINDS, SIMULATED, Source, Tolerance, difference
from reproduce.outputs import PAPERS


def share(found):
    """Of a match: its per cent as a fraction."""
    return float(found[1]) / 100 if found else 0.0


def read_tolerance(text):
    """Of "1 %", "0.02", "4 standard errors (at most 25 %)" or "1 % or 4 standard errors"."""
    errors, most = re.search(r"(\S+) standard errors", text), re.search(r"at most (\S+) %", text)
    absolute = re.search(r"(?:^| or )(\S+)(?: or |$)", text)
    more = {"most": share(most)} if most else {}
    return Tolerance(
        relative=share(re.match(r"(\S+) %", text)),
        absolute=float(absolute[1]) if absolute else 0.0,
        errors=float(errors[1]) if errors else 0.0,
        **more,
    )


@dataclass
class Row:
    """Who claims what, and what is expected: a number, or words; empty where it is computed. Its
    methods judge it by what was measured. Standard errors are those that the row names, else 4."""

    id: str
    source: str = ""
    kind: str = SIMULATED
    claim: str = ""
    expected: str = ""
    tolerance: str = ""

    @property
    def _from(self):
        return Source(self.source, self.kind)

    @property
    def _errors(self):
        found = re.search(r"(\S+) standard errors", self.expected)
        return float(found[1]) if found else 4

    def _number(self, expected):
        return float(self.expected) if expected is None else expected

    def holds(self, is_met, measured, gap=None):
        """What is expected, in words, is so; measured: in words, or a Sample. gap: the Sample that has
        to be above 0 for it."""
        told = self.id, self.claim, self.expected, is_met, measured, self.tolerance
        return self._from.holds(*told, gap)

    def within(self, measured, told=""):
        """The Sample lies in the expected range, "1.08 to 1.11"."""
        low, high = map(float, self.expected.split(" to "))
        return self.holds(low <= measured.mean <= high, told or measured)

    def near(self, measured, expected=None, tolerance=None):
        """The measured Sample is the expected number; both numbers may be computed."""
        told = self.id, self.claim, self._number(expected), measured
        return self._from.near(*told, tolerance or read_tolerance(self.tolerance))

    def all_near(self, values, tolerance=None):
        """Every one of values (place, expected, Sample) is near; tells the worst."""
        slack = tolerance or read_tolerance(self.tolerance)
        return self._from.all_near(self.id, self.claim, values, slack)

    def ordered(self, values, gap=difference):
        """low <= high for every one of values (place, low, high), but for so many standard errors of
        their gap (difference or paired_difference), and those up to a share of high."""
        slack = read_tolerance(self.tolerance)
        return self._from.ordered(self.id, self.claim, values, slack.errors, gap, slack.most)

    def above(self, gap, told=""):
        """A Sample is above 0 by more than so many standard errors."""
        return self._from.above(self.id, self.claim, gap, self._errors, told)

    def all_above(self, gaps, told=""):
        """Every Sample is above 0 by more than so many standard errors."""
        told = self.id, self.claim, gaps, self._errors, told, self.expected
        return self._from.all_above(*told)

    def rising(self, samples, gap=difference):
        """Each Sample is above the one before by more than so many standard errors of their gap."""
        return self._from.rising(self.id, self.claim, samples, self._errors, gap)

    def disagrees(self, theirs, expected=None):
        """What the paper shows, against what follows from the paper itself; theory."""
        told = self.id, self.claim, self._number(expected), theirs
        return self._from.disagrees(*told, read_tolerance(self.tolerance))

    def skipped(self, reason):
        """A claim that was not looked at, and why."""
        return self._from.skipped(self.id, self.claim, reason)

    def filled(self, facts):
        """With numbers of the runs in place of what stands in braces."""
        source, claim, expected = (
            words.format(**facts) for words in (self.source, self.claim, self.expected)
        )
        return replace(self, source=source, claim=claim, expected=expected)


COLUMNS = [column.name for column in fields(Row)]


class WrongTable(Exception):
    """A claims.csv that cannot be read; says file, line and what is allowed."""


def read_rows(path):
    """{id: Row}; raises WrongTable."""
    found = {}
    with open(path, newline="", encoding="utf-8") as file:
        table = csv.DictReader(file)
        if table.fieldnames != COLUMNS:
            raise WrongTable(f"{path}:1: columns: {table.fieldnames}; allowed: {','.join(COLUMNS)}")
        for row in table:
            place = f"{path}:{table.line_num}"
            if None in row or None in row.values():
                raise WrongTable(f"{place}: allowed: {len(COLUMNS)} cells")
            one = Row(**row)
            if one.id in found:
                raise WrongTable(f"{place}: id: {one.id} a second time; allowed: once")
            if one.kind not in KINDS:
                raise WrongTable(f"{place}: kind: {one.kind}; allowed: {', '.join(KINDS)}")
            found[one.id] = one
    return found


def claims_of(paper):
    """claim(id, **facts): the Row of that id, with the facts in place of their names in braces."""
    path = PAPERS / paper / "claims.csv"
    rows = cache(lambda: read_rows(path))

    def claim(id, **facts):
        if id not in rows():
            raise WrongTable(f"{path}: has no row {id}")
        return rows()[id].filled(facts)

    return claim
