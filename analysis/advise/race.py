"""The race of the front-runners: candidates run the same replicas with the same random numbers, twice as many
each round, and those that are surely worse drop out (Hoeffding races, Maron and Moore, NIPS 6, 1993; F-race,
Birattari et al., GECCO 2002)."""

import math
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from advise.trials import MARGIN
from report.contest import compare
from results import Sample
from scipy.special import bdtrc

LEAST, USUAL = (
    4,
    8,
)  # replicas of the chosen one at least, and of the others at most, or as many as asked for
MOST_EARLY = 6  # candidates at a time that run again and have fewer than LEAST replicas
SAME = 0.1  # of a value: who may be better by no more is as good
NEAR = 1.2  # times the best: runs that were cut before are made again,
MANY, MARGIN_OF_MANY = 8, 2.0  # or of so many replicas before that


class ShareSpent(Exception):
    """A run would take more gradients than are left."""


class Verdict(NamedTuple):
    """Of a candidate beside the front-runner: "worse"; "no better", by more than SAME; or "open". How far behind
    it is, at least so far where that is a bound."""

    word: str
    lead: Sample | None
    is_bound: bool

    @property
    def is_apart(self):
        """Whether the 95 % interval of that, if it has one, excludes 0."""
        return not self.lead or self.lead.mean > self.lead.half


def standing(measure, ranks, live, confidence, looks):
    """The front-runner of those live, and {other: Verdict}, by a Measure of all that raced and {candidate: Rank};
    (None, {}) where no run got there. Who diverged is worse than who never did. The chance of a wrong word is shared by
    those live and by the looks at them (Bonferroni): in each, no more can be taken for better than the best."""
    if not np.isfinite(measure.values).any(axis=None):
        return None, {}
    front = min(sorted(live), key=ranks.get)
    others = [one for one in measure.values if one != front]
    level = (1 - confidence) / (max(1, len(live) - 1) * looks)
    ahead = measure.values.copy()
    ahead[front] -= SAME * ahead[front].abs()
    nearly, verdicts = replace(measure, values=ahead), {}
    for other in others:
        found = compare(measure, front, other, level)
        is_no_better = compare(nearly, front, other, level).p <= level
        p = min(found.p, late_p(measure, ranks, front, other), lost_p(measure, ranks, front, other))
        alone_diverges = diverged(measure, other) and not diverged(measure, front)
        is_worse = p <= level or alone_diverges
        word = "worse" if is_worse else "no better" if is_no_better else "open"
        verdicts[other] = Verdict(word, found.difference, found.is_bound)
    return front, verdicts


def diverged(measure, number):
    """Whether some run did, which gets there in no time."""
    return bool(np.isinf(measure.at_least[number]).any())


def lost_p(measure, ranks, front, other):
    """P of so many lost runs of the other, if both lost the same share (Fisher's exact test, one-sided)."""
    from scipy.stats import hypergeom  # which takes a while to load

    runs, front_runs = (int(measure.values[one].notna().sum()) for one in (other, front))
    lost, front_lost = round(ranks[other].lost * runs), round(ranks[front].lost * front_runs)
    return float(hypergeom.sf(lost - 1, runs + front_runs, lost + front_lost, runs))


def late_p(measure, ranks, front, other):
    """P of so many runs that had not got there at a time L, if their mean were the front-runner's: of times that are
    not negative, at most mean / L are beyond L (Markov). 1 where runs of the front-runner are lost."""
    late = measure.at_least[other][np.isinf(measure.values[other])]
    mean, count = ranks[front].mean, int(measure.values[other].notna().sum())
    if not len(late) or ranks[front].lost or not 0 < mean < late.min():
        return 1.0
    return float(bdtrc(len(late) - 1, count, mean / late.min()))


class Race:
    """Candidates enter in their order, if by their forecasts they may be ahead, until the gradients of all runs are
    most_gradients(). `front` is the best so far, None where none got there; `verdicts` {other: Verdict} of
    those that entered; whether it `is_spent` before it is over."""

    def __init__(self, trials, candidates, forecasts, most_gradients):
        self.trials, self.candidates, self.forecasts = trials, candidates, forecasts
        self.most_gradients, self.is_spent = most_gradients, False
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

    def first_limit(self, one):
        """Until MARGIN times the best so far, or, before any got there, that times what is foretold."""
        forecast = self.forecasts.get(one.number)
        if math.isfinite(self.trials.best) or self.trials.target["is_budget"] or not forecast:
            return self.trials.limit_of(one, MARGIN)
        return MARGIN * self.trials.time_of(one, forecast.high)

    def advance(self, one, replicas):
        """Runs that were cut before the best gets there say little, and are made again; those that went on far beyond
        it cost much, and are too."""
        replicas = min(replicas, self.most)
        before = self.trials.limits.get(one.number, [0.0])[-1]
        is_long = one.number not in self.live and before > self.trials.limit_of(one, 2 * MARGIN)
        if not self.run_within(one, replicas, self.first_limit(one), again=is_long):
            self.live.discard(one.number)
            return
        self.live.add(one.number)
        wanted = self.trials.limit_of(one, NEAR if replicas < MANY else MARGIN_OF_MANY)
        is_early = replicas < LEAST and math.isinf(wanted)  # others may get there
        is_short = self.trials.limits[one.number][-1] < wanted
        if is_short and not is_early and self.trials.was_cut(one.number):
            self.run_within(one, replicas, self.trials.limit_of(one, 2 * MARGIN), again=True)

    def run_within(self, one, *call, again=False):
        """Trials.run(), if what is left may pay it; raises ShareSpent."""
        likely = self.trials.likely_gradients(one, *call, again)
        if self.trials.spent + likely > self.most_gradients():
            raise ShareSpent
        return self.trials.run(one, *call, again)

    def in_order(self):
        """Those that may still win, the front-runner first, then those that get there the soonest."""
        live = [one for one in self.candidates if one.number in self.live]
        return sorted(
            live, key=lambda one: (one.number != self.front, *self.trials.ranks[one.number])
        )

    @contextmanager
    def spending(self):
        try:
            yield
        except ShareSpent:
            self.is_spent = True

    def enter(self):
        """A replica of each that may win, beside the best so far; whether there was any."""
        entering = [one for one in self.candidates if self.may_win(one)]
        for one in entering:
            if self.may_win(one):
                self.advance(one, 1)
        return bool(entering)

    def wanted(self):
        """Candidates that are live, the front-runner first, and their replicas: twice as many; the front-runner has as
        many as any other. Of those that have fewer than LEAST only the best."""
        early = [one for one in self.in_order() if self.trials.replicas(one.number) < LEAST]
        waiting = [one for one in early if one.number != self.front][MOST_EARLY:]
        live = [one for one in self.in_order() if one not in waiting]
        counts = [min(2 * self.trials.replicas(one.number), self.most) for one in live]
        if live and live[0].number == self.front:
            counts[0] = max([LEAST, self.trials.replicas(self.front), *counts[1:]])
        return list(zip(live, counts))

    def double(self):
        """Twice the replicas of each; where what is left does not pay that, of the best so far, for half of it."""
        wanted = [(one, n) for one, n in self.wanted() if n > self.trials.replicas(one.number)]
        costs = [self.trials.likely_gradients(*of, math.inf, again=False) for of in wanted]
        left = self.most_gradients() - self.trials.spent
        if sum(costs) > left:
            wanted = wanted[: np.searchsorted(np.cumsum(costs), left / 2, side="right")]
            self.is_spent = not wanted
        for one, replicas in wanted:
            self.advance(one, replicas)

    @property
    def compared(self):
        """Those live that ran more than once, if any did."""
        return {n for n in self.live if self.trials.replicas(n) > 1} or self.live

    def settle(self):
        """Has the runs of the front-runner go on until they get there."""
        while self.live:
            front = min(self.compared, key=self.trials.ranks.get)
            if math.isinf(self.trials.mean(front)) or not self.trials.was_cut(front):
                return
            one = next(one for one in self.candidates if one.number == front)
            if not self.run_within(one, self.trials.replicas(front), math.inf, again=True):
                self.live.discard(front)

    def round(self):
        """A replica of each that may win; where all have one, more of each that still may."""
        with self.spending():
            if not self.enter():
                self.double()
            self.settle()
        if self.live:
            raced = (self.live | set(self.verdicts)) - self.trials.failed
            looks = math.log2(self.most)  # at 2, 4, ... replicas
            self.front, found = standing(
                self.trials.measure(raced), self.trials.ranks, self.compared,
                self.trials.asked["confidence"], looks,
            )  # fmt: skip
            dropped = {n: self.verdicts[n].word for n in raced - self.live}
            self.verdicts = {
                n: one._replace(word=dropped.get(n, one.word)) for n, one in found.items()
            }
            self.live -= {*self.of("worse"), *self.of("no better")}

    @property
    def is_over(self):
        """Whether the front-runner is alone and gets there in each of LEAST runs or more, or nobody does in so many."""
        if any(map(self.may_win, self.candidates)):
            return False
        if self.front is None:
            return all(
                self.trials.replicas(n) >= LEAST and not self.trials.was_cut(n) for n in self.live
            )
        if self.live != {self.front} or self.trials.was_cut(self.front):
            return False
        if self.trials.ranks[self.front].lost:
            return False
        return self.trials.replicas(self.front) >= LEAST

    def run(self):
        """Until it is over, or another round would run nothing; whether it is sure."""
        before = None
        while not self.is_spent and before != (now := (sorted(self.live), self.trials.spent)):
            before = now
            self.round()
            if self.is_over:
                return True
        return False
