"""Claims of a paper against what was measured: verdicts, and the table of them."""

import csv
import io
import math
from dataclasses import astuple, dataclass, field, fields, replace
from itertools import pairwise

import numpy as np
from plots.whole import write_whole
from scipy.special import ndtr, stdtrit

PASS, FAIL, SKIPPED, INCONSISTENT = "pass", "fail", "skipped", "paper-inconsistent"


@dataclass
class Claim:
    """A row of claims.csv: the claim in words, and its numbers where it compares two."""

    id: str
    source: str
    claim: str
    expected: str
    tolerance: str
    measured: str
    verdict: str
    expected_value: float | None = None  # 0 where measured_value is a difference
    measured_value: float | None = None
    standard_error: float | None = None  # of measured_value
    replicas: int | None = None  # that measured_value comes from


@dataclass
class Sample:
    """A mean over replicas, its standard error (0 where it has none), the degrees of freedom that
    error is estimated with, the values of the replicas where they are known, and how many replicas
    it comes from (None: it is no mean; of several means, the fewest)."""

    mean: float
    error: float = 0.0
    freedom: float = math.inf
    values: np.ndarray | None = field(default=None, repr=False, compare=False)
    replicas: int | None = field(default=None, repr=False, compare=False)

    def __str__(self):
        return f"{self.mean:.5g}" + (f" (se {self.error:.2g})" if self.error > 0 else "")


def sample(values):
    """The Sample of one value a replica."""
    values = np.asarray(values, float)
    if len(values) == 1:
        return Sample(float(values[0]), values=values, replicas=1)
    error = values.std(ddof=1) / math.sqrt(len(values))
    return Sample(float(values.mean()), float(error), len(values) - 1, values, len(values))


def fewest_replicas(*samples):
    """Of those that come from replicas; None where none does."""
    return min((one.replicas for one in samples if one.replicas), default=None)


def freedom_of_sum(*parts):
    """Welch and Satterthwaite's degrees of freedom; parts: (standard error, its freedom)."""
    fourth = sum(error**4 / freedom for error, freedom in parts)
    return sum(error**2 for error, _ in parts) ** 2 / fourth if fourth > 0 else math.inf


def ratio(one, other):
    """The Sample of the quotient of two independent ones."""
    mean = one.mean / other.mean
    parts = [(abs(mean) * part.error / abs(part.mean), part.freedom) for part in (one, other)]
    error = math.hypot(*(error for error, _ in parts))
    return Sample(mean, error, freedom_of_sum(*parts), replicas=fewest_replicas(one, other))


def difference(one, other):
    """The Sample of the difference of two independent ones."""
    parts = [(part.error, part.freedom) for part in (one, other)]
    error, replicas = math.hypot(one.error, other.error), fewest_replicas(one, other)
    return Sample(one.mean - other.mean, error, freedom_of_sum(*parts), replicas=replicas)


def paired_difference(one, other):
    """The Sample of the difference of two whose replicas share their seeds."""
    assert len(one.values) == len(other.values)
    return sample(one.values - other.values)


def paired_ratio(one, other):
    """The Sample of the quotient of the means of two whose replicas share their seeds; its error,
    and the values of the replicas, are those of one - quotient x other."""
    assert len(one.values) == len(other.values)
    mean = one.mean / other.mean
    return sample(mean + (one.values - mean * other.values) / other.mean)


def scaled(samples, factor):
    """{key: Sample}, each times a number."""
    return {key: times(one, factor) for key, one in samples.items()}


def times(one, factor):
    """The Sample times a number."""
    values = None if one.values is None else factor * one.values
    return Sample(factor * one.mean, abs(factor) * one.error, one.freedom, values, one.replicas)


def plus(one, number):
    """The Sample and a number."""
    values = None if one.values is None else one.values + number
    return Sample(one.mean + number, one.error, one.freedom, values, one.replicas)


def against_one_run(one, unit):
    """A mean of replicas for comparison with a single run of the same size that is rounded to
    multiples of `unit`: its error is that of their difference."""
    error = math.hypot(one.error * math.sqrt(one.freedom + 2), unit / math.sqrt(12))
    return Sample(one.mean, error, one.freedom, replicas=one.replicas)


def chance(one, errors):
    """How far the mean of a Sample comes from what it estimates as seldom as a normal variable does
    by so many standard errors: few replicas tell little of their own error."""
    return float(-stdtrit(one.freedom, ndtr(-errors))) * one.error if one.error else 0.0


@dataclass
class Tolerance:
    """How far a measured value may lie: the largest of these."""

    relative: float = 0.0
    absolute: float = 0.0
    errors: float = 0.0  # standard errors, by Student's t
    most: float = math.inf  # those at most, relative: one wild replica makes them as large as its harm

    def bound(self, expected, measured):
        by_chance = chance(measured, self.errors)
        if by_chance:
            by_chance = min(by_chance, self.most * abs(expected))
        return max(self.relative * abs(expected), self.absolute, by_chance)

    def __str__(self):
        words = []
        if self.relative:
            words.append(f"{100 * self.relative:g} %")
        if self.absolute:
            words.append(f"{self.absolute:g}")
        if self.errors:
            most = f" (at most {100 * self.most:g} %)" if math.isfinite(self.most) else ""
            words.append(f"{self.errors:g} standard errors{most}")
        return " or ".join(words)


BY_CHANCE = Tolerance(errors=4)
# For means over long runs.
LONG_RUN = Tolerance(relative=0.01, errors=4, most=0.1)


def verdict(is_met):
    return PASS if is_met else FAIL


def in_units(distance, bound):
    """distance / bound; infinite for NaN and for any distance where nothing is
    tolerated."""
    if math.isnan(distance) or math.isnan(bound):
        return math.inf
    if bound > 0:
        return distance / bound if math.isfinite(distance) else distance
    return math.copysign(math.inf, distance) if distance else 0.0


def excess(expected, measured, tolerance):
    """Distance in units of what is tolerated; infinite for NaN."""
    return in_units(abs(measured.mean - expected), tolerance.bound(expected, measured))


def is_above(gap, errors=4):
    """A Sample is above 0 by more than so many standard errors."""
    return gap.mean > chance(gap, errors)


def nearest_to_0(gaps, errors=4):
    """The Sample that is least above 0."""
    return min(gaps, key=lambda one: in_units(one.mean, chance(one, errors)))


def with_numbers(claim, expected, measured):
    """The Claim with the numbers that it compares: expected (None: a range, or words) and a Sample."""
    expected = None if expected is None else float(expected)
    has_error = measured.error > 0 or (measured.replicas or 0) > 1
    error = float(measured.error) if has_error else None
    numbers = {"measured_value": float(measured.mean), "standard_error": error}
    return replace(claim, expected_value=expected, replicas=measured.replicas, **numbers)


class Source(str):
    """Who says so: a figure or a section of a paper, or that it is derived. Its methods judge one
    claim of it each: the id, what is claimed, and what that takes."""

    def holds(self, id, claim, expected, is_met, measured, tolerance=""):
        """What is expected, in words, is so; measured: in words, or a Sample."""
        one = Claim(id, self, claim, expected, tolerance, str(measured), verdict(is_met))
        return with_numbers(one, None, measured) if isinstance(measured, Sample) else one

    def near(self, id, claim, expected, measured, tolerance=BY_CHANCE):
        """The measured Sample is the expected number."""
        met = excess(expected, measured, tolerance) <= 1
        one = self.holds(id, claim, f"{expected:.5g}", met, measured, str(tolerance))
        return with_numbers(one, expected, measured)

    def all_near(self, id, claim, values, tolerance=BY_CHANCE):
        """Every one of values (place, expected, Sample) is near; tells the worst."""
        assert values, id
        far = [excess(expected, measured, tolerance) for _, expected, measured in values]
        place, expected, measured = values[int(np.argmax(far))]
        told = f"worst of {len(values)}: {measured} for {expected:.5g} at {place}"
        wanted = " ".join(f"{value:.4g}" for _, value, _ in values)
        one = self.holds(id, claim, wanted, max(far) <= 1, told, str(tolerance))
        return with_numbers(one, expected, measured)

    def ordered(self, id, claim, values, errors=4, gap=difference):
        """low <= high, up to so many standard errors of their gap (difference or paired_difference),
        for every one of values (place, low, high)."""
        assert values, id

        def beyond(low, high):
            over = gap(low, high)
            rounding = 1e-12 * abs(high.mean)
            return in_units(over.mean, max(chance(over, errors), rounding))

        far = [beyond(low, high) for _, low, high in values]
        place, low, high = values[int(np.argmax(far))]
        told = f"nearest to breaking it of {len(values)}: {low} and {high} at {place}"
        tolerance = f"{errors:g} standard errors" if errors else ""
        expected = f"<=, but for {tolerance}" if errors else "<="
        one = self.holds(id, claim, expected, max(far) <= 1, told, tolerance)
        return with_numbers(one, 0, gap(low, high))

    def above(self, id, claim, gap, errors=4, told=""):
        """A Sample is above 0 by more than so many standard errors."""
        expected = f"> 0 by more than {errors:g} standard errors"
        one = self.holds(id, claim, expected, is_above(gap, errors), told or gap)
        return with_numbers(one, 0, gap)

    def rising(self, id, claim, samples, errors=4, gap=difference):
        """Each Sample is above the one before by more than so many standard errors of their gap."""
        gaps = [gap(high, low) for low, high in pairwise(samples)]
        assert gaps, id
        least = nearest_to_0(gaps, errors)
        told = f"{', '.join(map(str, samples))}; nearest to breaking it: by {least}"
        expected = f"each time by more than {errors:g} standard errors"
        is_met = all(is_above(one, errors) for one in gaps)
        return with_numbers(self.holds(id, claim, expected, is_met, told), 0, least)

    def disagrees(self, id, claim, expected, theirs, tolerance):
        """What the paper shows, against what follows from the paper itself."""
        one = self.near(id, claim, expected, Sample(theirs), tolerance)
        one.measured += " in the paper"
        one.verdict = PASS if one.verdict == PASS else INCONSISTENT
        return one

    def skipped(self, id, claim, reason):
        """A claim that was not looked at, and why."""
        return Claim(id, self, claim, "", "", reason, SKIPPED)


def count(claims):
    """{verdict: how many}, in a fixed order."""
    return {
        name: sum(claim.verdict == name for claim in claims)
        for name in (PASS, FAIL, SKIPPED, INCONSISTENT)
    }


def write_claims(claims, path):
    """claims.csv."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([column.name for column in fields(Claim)])
    table.writerows(astuple(claim) for claim in claims)
    write_whole(path, text.getvalue())
