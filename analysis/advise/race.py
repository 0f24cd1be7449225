"""The race of the front-runners: candidates run the same replicas with the same random numbers, twice as many
each round, and those that are surely worse drop out (Hoeffding races, Maron and Moore, NIPS 6, 1993; F-race,
Birattari et al., GECCO 2002)."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from advise.trials import MARGIN
from report.contest import compare, front_runner
from results import Sample

LEAST, USUAL = (
    4,
    8,
)  # replicas of the chosen one at least, and of the others at most, or as many as asked for
ROUNDS = 6  # at most: a candidate that enters late has fewer replicas
SAME = 0.1  # of a value: who may be better by no more is as good
NEAR = 1.2  # times the best: runs that were cut before are made again,
MANY, MARGIN_OF_MANY = 8, 2.0  # or of so many replicas before that


class Verdict(NamedTuple):
    """Of a candidate beside the front-runner: "worse"; "no better", by more than SAME; or "open". How far behind
    it is, at least so far where that is a bound."""

    word: str
    lead: Sample | None
    is_bound: bool


def standing(measure, confidence):
    """The front-runner, and {other: Verdict}, by a Measure of those that may still win; (None, {}) where no run got
    there. The chance of a wrong word is shared by them and by the rounds (Bonferroni): in each, no more can be
    taken for better than the best."""
    if not np.isfinite(measure.values).any(axis=None):
        return None, {}
    front = front_runner(measure, {})
    others = [one for one in measure.values if one != front]
    level = (1 - confidence) / (max(1, len(others)) * ROUNDS)
    ahead = measure.values.copy()
    ahead[front] -= SAME * ahead[front].abs()
    nearly, verdicts = replace(measure, values=ahead), {}
    for other in others:
        found = compare(measure, front, other, level)
        is_no_better = compare(nearly, front, other, level).p <= level
        is_worse = found.p <= level or lost(measure, other) > lost(measure, front)
        word = "worse" if is_worse else "no better" if is_no_better else "open"
        verdicts[other] = Verdict(word, found.difference, found.is_bound)
    return front, verdicts


def lost(measure, number):
    """The share of runs that never get there, whatever time they are given."""
    return float(np.isinf(measure.at_least[number].dropna()).mean())


class Race:
    """Candidates enter in their order, if by their forecasts they may be ahead. `front` is the best so far, None
    where none got there; `verdicts` {other: Verdict} of those that entered."""

    def __init__(self, trials, candidates, forecasts):
        self.trials, self.candidates, self.forecasts = trials, candidates, forecasts
        self.front, self.verdicts = None, {}
        self.most = 2 ** math.ceil(math.log2(max(USUAL, trials.asked["replicas"])))
        self.live = set()  # may still win

    def of(self, word):
        return [number for number, one in self.verdicts.items() if one.word == word]

    def may_win(self, one):
        """Of those that are not in the race."""
        forecast = self.forecasts.get(one.number)
        is_known = one.number in self.trials.failed | self.live | set(self.verdicts)
        return not is_known and (not forecast or forecast.low < self.trials.best)

    def advance(self, one, replicas):
        """Runs that were cut before the best gets there say little, and are made again."""
        if not self.trials.run(one, min(replicas, self.most), self.trials.limit_of(one, MARGIN)):
            self.live.discard(one.number)
            return
        self.live.add(one.number)
        wanted = self.trials.limit_of(one, NEAR if replicas < MANY else MARGIN_OF_MANY)
        if self.trials.was_cut(one.number) and self.trials.limits[one.number][-1] < wanted:
            self.trials.run(one, min(replicas, self.most), 1.5 * wanted, longer=True)

    def round(self):
        """Twice the replicas of each but the front-runner, who has as many as any other."""
        for one in self.candidates:
            if one.number != self.front and (one.number in self.live or self.may_win(one)):
                self.advance(one, 2 * max(1, self.trials.replicas(one.number)))
        if self.front is not None:
            counts = map(self.trials.replicas, self.live)
            (front,) = (one for one in self.candidates if one.number == self.front)
            self.advance(front, max(LEAST, *counts))
        if self.live:
            self.front, verdicts = standing(
                self.trials.measure(self.live), self.trials.asked["confidence"]
            )
            self.verdicts = {
                n: one for n, one in (self.verdicts | verdicts).items() if n != self.front
            }
            self.live -= {*self.of("worse"), *self.of("no better")}

    @property
    def is_over(self):
        """Whether the front-runner is alone, or nobody gets there."""
        if self.front is None:
            return not any(map(self.may_win, self.candidates))
        enough = self.trials.replicas(self.front) >= LEAST
        return enough and self.live == {self.front} and not any(map(self.may_win, self.candidates))

    def run(self):
        """Until it is over, or all have the most replicas; whether that is sure."""
        for _ in range(ROUNDS):
            self.round()
            if self.is_over:
                return True
        return False
