"""Claims of a paper against what was measured: verdicts, and the table of them."""

import csv
import io
import math
from dataclasses import astuple, dataclass, fields, replace

from plots.whole import write_whole
from results import Sample, sample
from scipy.special import ndtr, stdtrit

PASS, FAIL, SKIPPED, INCONSISTENT = "pass", "fail", "skipped", "paper-inconsistent"
# What a claim rests on: runs; no run; runs of a model one of whose numbers was fitted to what is
# claimed; runs of a task, rate or target that was chosen after looking at results.
SIMULATED, THEORY, FITTED, AFTER_THE_FACT = "simulated", "theory", "fitted", "after-the-fact"
KINDS = (SIMULATED, THEORY, FITTED, AFTER_THE_FACT)
LEAST_FREEDOM = 7  # degrees of freedom of a standard error that decides: those of 8 replicas


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
    kind: str = SIMULATED
    # the smallest effect that it would have found, by its standard error
    power: float | None = None
    item: str = ""  # of the paper's checklist


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
    """The Sample of the difference of two whose replicas share their seeds; of what has no replicas, as of
    independent ones."""
    if one.values is None or other.values is None:
        return difference(one, other)
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


def is_rough(one):
    """Its standard error is of too few replicas to decide by."""
    return one.error > 0 and one.freedom < LEAST_FREEDOM - 1e-6


@dataclass(frozen=True)
class Tolerance:
    """How far a measured value may lie: the largest of these."""

    relative: float = 0.0
    absolute: float = 0.0
    errors: float = 0.0  # standard errors, by Student's t; of 8 replicas or more
    most: float = (
        math.inf
    )  # those at most, relative: one wild replica makes them as large as its harm

    def by_chance(self, expected, measured):
        """What its standard errors allow."""
        if is_rough(measured):
            return 0.0
        found = chance(measured, self.errors)
        return min(found, self.most * abs(expected)) if found else 0.0

    def bound(self, expected, measured):
        by_chance = self.by_chance(expected, measured)
        return max(self.relative * abs(expected), self.absolute, by_chance)

    def power(self, expected, measured):
        """The smallest distance that is too far; None where no standard error decides it."""
        bound = self.bound(expected, measured)
        return bound if 0 < bound == self.by_chance(expected, measured) else None

    def needs_replicas(self, measured):
        """Nothing but standard errors is tolerated, and there are too few replicas for them."""
        return self.errors > 0 and not (self.relative or self.absolute) and is_rough(measured)

    def explains(self, expected, measured):
        """Of too few replicas: so far off may be by chance."""
        distance = abs(measured.mean - expected)
        return self.errors > 0 and is_rough(measured) and distance <= chance(measured, self.errors)

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


def with_numbers(claim, expected, measured, power=None):
    """The Claim with the numbers that it compares: expected (None: a range, or words) and a Sample."""
    expected = None if expected is None else float(expected)
    has_error = measured.error > 0 or (measured.replicas or 0) > 1
    error = float(measured.error) if has_error else None
    numbers = {"measured_value": float(measured.mean), "standard_error": error}
    return replace(
        claim, expected_value=expected, replicas=measured.replicas, power=power, **numbers
    )


def left_open(claim, reason):
    """The same claim, skipped."""
    words = claim.id, claim.source, claim.claim, "", "", reason, SKIPPED
    return Claim(*words, kind=claim.kind, item=claim.item)


def disorder(over, high, errors, most):
    """By how much one Sample may lie above another where it should not: what chance explains of the
    gap `over`, up to a share of `high`; with few replicas, rounding."""
    rounding = 1e-12 * abs(high.mean)
    if is_rough(over):
        return rounding
    return max(min(chance(over, errors), most * abs(high.mean)), rounding)


def count_kinds(claims, verdict):
    """{kind: how many claims have the verdict}, in a fixed order."""
    return {
        kind: sum(one.verdict == verdict and one.kind == kind for one in claims) for kind in KINDS
    }


def count(claims):
    """{verdict: how many}, in a fixed order."""
    return {
        name: sum(claim.verdict == name for claim in claims)
        for name in (PASS, FAIL, SKIPPED, INCONSISTENT)
    }


def write_table(path, header, rows):
    """A CSV file."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(rows)
    write_whole(path, text.getvalue())


def write_claims(claims, path):
    """claims.csv."""
    write_table(path, [column.name for column in fields(Claim)], map(astuple, claims))
