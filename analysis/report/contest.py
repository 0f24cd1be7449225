"""Which point is best: paired differences over common random numbers, decided so that at most one
answer in forty is wrong however many points there were to choose from.

The point that looks best, the front-runner, is compared with every other one: differences of the
same replica, whose points share their random numbers; a one-sided Student test of their mean, and
the same corrected for skewness (Hall, J. R. Stat. Soc. B 54, 1992), the less sure of both. Where
a point was evaluated more rarely than the front-runner, its times are taken as that much earlier. It
is called best where every comparison passes at

    level = 0.025 / (points x questions).

A wrong claim says of some point that it is better than b, a truly best one. There are as many
points that it may be said of (where two are equally good, b itself may be said to be better than
the other), so that the sum of their chances is 0.025, whichever point was picked by looking
(Bonferroni). That
holds for differences that are about normal; where they are strongly skewed it is up to 0.075.
"""

import math
import types
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from results import Sample
from results.sample import sample_of_runs, unit_of
from scipy.special import bdtrc, stdtr

WRONG = 0.025  # the chance of a wrong answer: of 200, more than one in twenty are not
CONFIDENCE = 0.95  # of every interval
ROUNDING = 1e-12  # relative: numbers so near are equal
MOST_REPLICAS = 1000  # more are not advised


@dataclass(frozen=True)
class Comparison:
    """Another point less the front-runner. `difference` is a lower bound where the other one has
    runs that never got there (`is_bound`), and None where only who was better can be counted:
    `wins` and `losses` of the front-runner, of `pairs` replicas that both have. `p` is one-sided and of this comparison alone; `needed`
    the replicas that would decide if everything stays as it is, None where too many. `coarse`: how
    much earlier, on average, the other one's times are taken, as it was evaluated more rarely."""

    point: int
    difference: Sample | None
    is_bound: bool
    wins: int
    losses: int
    pairs: int
    p: float
    needed: int | None
    is_same: bool
    coarse: float = 0.0

    @property
    def is_too_coarse(self):
        """Whether the lead is lost in that."""
        lead = self.difference.mean if self.difference else 0.0
        return self.coarse > 0 and lead < self.coarse


@dataclass
class Contest:
    """The front-runner of a measure, and its comparisons by point, each decided at `level`."""

    measure: object
    front: int
    comparisons: dict
    level: float

    def is_beaten(self, point):
        return self.comparisons[point].p <= self.level

    @cached_property
    def same(self):
        """Points with the front-runner's values in every replica."""
        return [p for p, one in self.comparisons.items() if one.is_same]

    @cached_property
    def open(self):
        """Points that may be as good, or better."""
        unlike = (p for p, one in self.comparisons.items() if not one.is_same)
        return [p for p in unlike if not self.is_beaten(p)]

    @cached_property
    def beaten(self):
        return [p for p in self.comparisons if self.is_beaten(p)]

    def corrected(self, point):
        """The p of a comparison with what it costs to choose among all points."""
        return min(1.0, self.comparisons[point].p * WRONG / self.level)


def student_p(mean, deviation, count):
    """P of a mean so far above 0 by chance."""
    if count < 2:
        return 1.0
    if deviation == 0:
        return 0.0 if mean > 0 else 1.0
    return float(stdtr(count - 1, -mean / deviation * math.sqrt(count)))


def skewed_p(differences):
    """The same, corrected for their skewness by Hall's transformation."""
    count, mean = len(differences), float(np.mean(differences))
    deviation = float(np.std(differences, ddof=1)) if count > 2 else 0.0
    if deviation == 0:
        return 0.0
    ratio = mean / deviation
    skewness = float(((differences - mean) ** 3).mean()) / deviation**3
    cubic = ratio + skewness * ratio**2 / 3 + skewness**2 * ratio**3 / 27
    return float(stdtr(count - 1, -math.sqrt(count) * (cubic + skewness / (6 * count))))


def sign_p(wins, losses):
    """P of so many wins by chance."""
    return float(bdtrc(wins - 1, wins + losses, 0.5)) if wins else 1.0


def least_count(p_of, count, level):
    """The least number of replicas above `count` whose p passes; None where it is past
    MOST_REPLICAS."""
    low, high = count, MOST_REPLICAS
    if p_of(high) > level:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if p_of(middle) <= level else (middle, high)
    return high


def deviation_of(differences, resolution):
    """Their standard deviation, no less than rounding both to the resolution makes by itself."""
    spread = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    return max(spread, resolution / math.sqrt(6))


def student_comparison(point, differences, is_bound, counts, resolution, level):
    unit, count = unit_of(differences), len(differences)
    scaled = differences / unit
    mean, deviation = float(scaled.mean()), deviation_of(scaled, resolution / unit)
    p = max(student_p(mean, deviation, count), skewed_p(scaled))
    needed = None
    if p > level and mean > 0 and count > 1:
        needed = least_count(lambda n: student_p(mean, deviation, n), count, level)
    same = not is_bound and count > 1 and bool((differences == 0).all())
    return Comparison(point, sample_of_runs(differences), is_bound, *counts, count, p, needed, same)


def sign_comparison(point, pairs, counts, level):
    wins, losses = counts
    p = sign_p(wins, losses)

    def scaled(n):
        return sign_p(round(wins * n / pairs), round(losses * n / pairs))

    needed = least_count(scaled, pairs, level) if p > level and wins > losses else None
    return Comparison(point, None, False, wins, losses, pairs, p, needed, False)


def compare(measure, front, point, level):
    """The Comparison of a point with the front-runner, over the replicas that both have."""
    mine, theirs = (measure.values[p].to_numpy() for p in (front, point))
    both = ~np.isnan(mine) & ~np.isnan(theirs)
    mine, theirs, bound = mine[both], theirs[both], measure.at_least[point].to_numpy()[both]
    theirs, bound = (
        np.where(np.isclose(of, mine, ROUNDING, 0), mine, of) for of in (theirs, bound)
    )
    coarse = np.zeros(len(mine))
    if measure.slack is not None:  # of the other one, past that of the front-runner
        own, other = (measure.slack[p].to_numpy()[both] for p in (front, point))
        coarse = np.maximum(0.0, other - own) * np.isfinite(theirs)
        bound = bound - coarse
    counts = int((mine < theirs).sum()), int((theirs < mine).sum())
    if not len(mine):
        return Comparison(point, None, False, 0, 0, 0, 1.0, None, False)
    if np.isfinite(mine).all() and np.isfinite(bound).all():
        is_bound = not np.isfinite(theirs).all()
        found = student_comparison(point, bound - mine, is_bound, counts, measure.resolution, level)
        return replace(found, coarse=float(coarse.mean()))
    return sign_comparison(point, len(mine), counts, level)


def front_runner(measure, diverged):
    """The point of which most runs got there, the one of the least mean among them, of equals the one
    that diverged least."""
    found = measure.samples
    share = {p: one.replicas / max(1, one.replicas + one.never) for p, one in found.items()}
    return min(found, key=lambda p: (-share[p], found[p].mean, diverged.get(p, 0)))


def contest(measure, questions=1, diverged=types.MappingProxyType({})):
    """The Contest of the points of a measure that have a run; None where no run got there.
    `questions`: how many measures share the chance of a wrong answer; `diverged`: by point the share
    of its runs that did."""
    if not np.isfinite(measure.values).any(axis=None):
        return None
    points = [point for point in measure.values if measure.values[point].notna().any()]
    level = WRONG / (len(points) * questions)
    front = front_runner(measure, diverged)
    others = [point for point in points if point != front]
    return Contest(measure, front, {p: compare(measure, front, p, level) for p in others}, level)
