"""The timing policy of Sync-Switch (Li, Mangoubi, Xu, Guo, ICDCS 2021): where a search for the switch
point ends, what it costs, and how surely it ends there."""

import math
from typing import NamedTuple

import numpy as np


class Rule(NamedTuple):
    """What a search may spend, and when it is content."""

    beta: float  # what a setting's accuracy may lack of the target
    settings: int  # tried at most
    runs: int  # of each setting
    first_runs: int  # of the first protocol alone; 0: the target is known

    def passes(self, accuracy, target):
        """NaN, of a run that diverged, does not."""
        return accuracy >= target - self.beta

    def cheaper(self):
        """With as many runs or fewer, above 10 by halves: of a new job, whose target takes as many of the
        first protocol, and of one that recurs, whose target is known."""
        counts = [self.runs]
        while (last := counts[-1]) > 1:
            counts.append(last // 2 if last > 10 else last - 1)
        new = [self._replace(runs=runs, first_runs=runs) for runs in counts if self.first_runs]
        return new + [self._replace(runs=runs, first_runs=0) for runs in counts]


def total(values):
    """Over the last axis, one value after the other."""
    return np.cumsum(values, axis=-1)[..., -1]


def mean(values):
    return total(values) / np.shape(values)[-1]


def switch_point(rule, target, accuracy_at):
    """The least share of the work under the first protocol that passed (1: none did), the path of (share,
    accuracy, whether it passed) to it, and the share that ended the search early, if one did. By halving:
    from upper = 1, lower = 0, as many times as there are settings,

        p = (upper + lower) / 2;   upper' = p if a(p) >= target - beta, else lower' = p.

    accuracy_at(p): mean accuracy over the runs of a setting; None where no such runs can be had, which ends
    the search. It is the least share of all only where accuracy does not fall as the share grows."""
    upper, lower, path = 1.0, 0.0, []
    for _ in range(rule.settings):
        share = (upper + lower) / 2
        accuracy = accuracy_at(share)
        if accuracy is None:
            return upper, path, share
        passed = bool(rule.passes(accuracy, target))
        path.append((share, float(accuracy), passed))
        upper, lower = (share, lower) if passed else (upper, share)
    return upper, path, None


def search_cost(rule, times, chosen):
    """As much time as C = N + R (T(p_1) + T(p_2) + ...) runs of the first protocol alone take, and how many
    jobs save that: C / (1 - T(p*)), infinite where nothing is saved. times: T(p_i), a run's time over that of
    the first protocol alone; chosen: T(p*)."""
    cost = float(rule.first_runs + rule.runs * total([0.0, *times]))
    return cost, cost / (1 - chosen) if chosen < 1 else math.inf


def count_successes(rule, target, path, first, settings, searches, seed):
    """How many of `searches` searches with runs drawn anew, with replacement, from those of each setting
    (bootstrap: Efron, Annals of Statistics 7(1), 1979) take the same path. Each decision otherwise leads to
    another switch point, so settings off the path are not needed. first, settings: accuracies of runs of the
    first protocol alone, and of each setting of the path; `target` counts where first_runs is 0."""
    draws = np.random.Generator(np.random.Philox(seed))
    drawn = lambda values, count: mean(draws.choice(values, (searches, count)))
    if rule.first_runs:
        target = drawn(first, rule.first_runs)
    same = np.full(searches, True)
    for (_, _, passed), accuracies in zip(path, settings, strict=True):
        same &= rule.passes(drawn(accuracies, rule.runs), target) == passed
    return int(same.sum())
