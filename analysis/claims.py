"""Claims of a paper against what was measured: verdicts, and the table of them."""

import csv
import math
from dataclasses import astuple, dataclass, fields

import numpy as np

PASS, FAIL, SKIPPED, INCONSISTENT = "pass", "fail", "skipped", "paper-inconsistent"


@dataclass
class Claim:
    """A row of claims.csv."""

    id: str
    source: str
    claim: str
    expected: str
    tolerance: str
    measured: str
    verdict: str


@dataclass
class Sample:
    """A mean over replicas and its standard error (0 where it has none)."""

    mean: float
    error: float = 0.0

    def __str__(self):
        return f"{self.mean:.5g}" + (f" (se {self.error:.2g})" if self.error > 0 else "")


def sample(values):
    """The Sample of one value a replica."""
    values = np.asarray(values, float)
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Sample(float(values.mean()), float(error))


def ratio(one, other):
    """The Sample of the quotient of two independent ones."""
    mean = one.mean / other.mean
    return Sample(mean, abs(mean) * math.hypot(one.error / one.mean, other.error / other.mean))


def difference(one, other):
    """The Sample of the difference of two independent ones."""
    return Sample(one.mean - other.mean, math.hypot(one.error, other.error))


def scaled(samples, factor):
    """{key: Sample}, each times a number."""
    return {key: Sample(factor * one.mean, factor * one.error) for key, one in samples.items()}


def against_one_run(one, replicas, unit):
    """A mean of replicas for comparison with a single run of the same size that is rounded to
    multiples of `unit`: its error is that of their difference."""
    return Sample(one.mean, math.hypot(one.error * math.sqrt(replicas + 1), unit / math.sqrt(12)))


@dataclass
class Tolerance:
    """How far a measured value may lie: the largest of these."""

    relative: float = 0.0
    absolute: float = 0.0
    errors: float = 0.0  # standard errors

    def bound(self, expected, measured):
        return max(self.relative * abs(expected), self.absolute, self.errors * measured.error)

    def __str__(self):
        words = []
        if self.relative:
            words.append(f"{100 * self.relative:g} %")
        if self.absolute:
            words.append(f"{self.absolute:g}")
        if self.errors:
            words.append(f"{self.errors:g} standard errors")
        return " or ".join(words)


# For means over long runs.
LONG_RUN = Tolerance(relative=0.01, errors=4)


def verdict(is_met):
    return PASS if is_met else FAIL


def excess(expected, measured, tolerance):
    """Distance in units of what is tolerated; infinite for what is no number."""
    distance = abs(measured.mean - expected)
    if distance == 0:
        return 0.0
    bound = tolerance.bound(expected, measured)
    return distance / bound if math.isfinite(distance) and bound > 0 else math.inf


def near(id, source, claim, expected, measured, tolerance):
    """The measured Sample is the expected number."""
    met = excess(expected, measured, tolerance) <= 1
    return Claim(id, source, claim, f"{expected:.5g}", str(tolerance), str(measured), verdict(met))


def all_near(id, source, claim, values, tolerance):
    """Every one of values (place, expected, Sample) is near; tells the worst."""
    assert values, id
    far = [excess(expected, measured, tolerance) for _, expected, measured in values]
    place, expected, measured = values[int(np.argmax(far))]
    told = f"worst of {len(values)}: {measured} for {expected:.5g} at {place}"
    wanted = " ".join(f"{value:.4g}" for _, value, _ in values)
    return Claim(id, source, claim, wanted, str(tolerance), told, verdict(max(far) <= 1))


def holds(id, source, claim, expected, is_met, measured, tolerance=""):
    """What is expected, in words, is so."""
    return Claim(id, source, claim, expected, tolerance, measured, verdict(is_met))


def ordered(id, source, claim, values, errors=4):
    """low <= high, up to so many standard errors, for every one of values (place, low, high)."""
    assert values, id

    def beyond(low, high):
        return (low.mean - high.mean) / max(math.hypot(low.error, high.error), 1e-12 * high.mean)

    far = [beyond(low, high) for _, low, high in values]
    place, low, high = values[int(np.argmax(far))]
    told = f"nearest to breaking it of {len(values)}: {low} and {high} at {place}"
    return Claim(
        id, source, claim, "<=", f"{errors:g} standard errors", told, verdict(max(far) <= errors)
    )


def disagrees(id, source, claim, expected, theirs, tolerance):
    """What the paper shows, against what follows from the paper itself."""
    agrees = excess(expected, Sample(theirs), tolerance) <= 1
    told = f"{theirs:.5g} in the paper"
    return Claim(
        id,
        source,
        claim,
        f"{expected:.5g}",
        str(tolerance),
        told,
        PASS if agrees else INCONSISTENT,
    )


def skipped(id, source, claim, reason):
    """A claim that was not looked at, and why."""
    return Claim(id, source, claim, "", "", reason, SKIPPED)


def count(claims):
    """{verdict: how many}, in a fixed order."""
    return {
        name: sum(claim.verdict == name for claim in claims)
        for name in (PASS, FAIL, SKIPPED, INCONSISTENT)
    }


def write_claims(claims, path):
    """claims.csv."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([field.name for field in fields(Claim)])
        table.writerows(astuple(claim) for claim in claims)
