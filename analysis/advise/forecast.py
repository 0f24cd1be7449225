"""What models say of candidates, from the runs of a few: when each reaches the target, or what it reaches
within a budget."""

import math
from typing import NamedTuple

import numpy as np
from advise.convergence import Curve, fit_convergence
from advise.design import leverage
from scipy.special import stdtrit

LEAST_CURVES = 3  # of which models are fitted
DIVERGES = 3.0  # a last value, over the lowest
HORIZON = 2.0  # times as long as runs were watched
MOST = 10.0  # half of an interval of a logarithm


class Forecast(NamedTuple):
    """A number and its interval; infinite: not within the horizon, but later than `low`."""

    value: float
    low: float
    high: float


def curve_of(candidate, folder, column):
    """The Curve of its first replica: the lowest value so far at each number of updates; of a run that diverges until
    it falls no more."""
    updates, values = (folder.series("curve", name)[0, 0] for name in ("update", column))
    kept = np.isfinite(values) & (updates > 0)
    kept[:-1] &= np.diff(updates) > 0  # of evaluations of one model the last
    facts = np.array(list(candidate.facts.values()))
    lowest = np.minimum.accumulate(values[kept])
    if len(lowest) and values[kept][-1] < DIVERGES * lowest[-1]:
        return Curve(candidate.number, candidate.learners, facts, updates[kept], lowest)
    falling = lowest > lowest[-1:]
    falling[1:] |= falling[:-1].copy()  # and the first at the last value
    return Curve(
        candidate.number, candidate.learners, facts, updates[kept][falling], lowest[falling]
    )


class Forecaster:
    """The convergence model of the runs so far. `residuals` {candidate: logarithm of what a model without its runs
    says over what they say}, of updates to the target, or the last value that it came to; of a budget, of what
    is left to v*."""

    def __init__(self, candidates, trials):
        self.candidates = {one.number: one for one in candidates}
        self.trials, self.target = trials, trials.target
        self.confidence = trials.asked["confidence"]
        column = self.target["column"]
        curves = [curve_of(self.candidates[n], one, column) for n, one in trials.folders.items()]
        self.curves = [one for one in curves if len(one.updates) > 1]
        self.model, self.residuals, self.forecasts, self.times = None, {}, {}, {}
        if len(self.curves) < LEAST_CURVES or math.isnan(candidates[0].update_time):
            return
        below = math.inf if self.target["is_budget"] else self.target["level"]
        self.model = fit_convergence(self.curves, list(candidates[0].facts), below)
        self.left_out = {one.candidate: self.model.without(one.candidate) for one in self.curves}
        self.residuals = {one.candidate: self.residual(one) for one in self.curves}
        if not self.target["is_budget"]:
            self.times = {n: self.time(one) for n, one in self.candidates.items()}
        self.spread = self.residual_spread()
        self.halves = {n: self.half(one) for n, one in self.candidates.items()}
        self.forecasts = {n: self.forecast(one) for n, one in self.candidates.items()}

    def residual(self, curve):
        model, of = self.left_out[curve.candidate], (curve.learners, curve.x)
        if self.target["is_budget"]:
            said = model.value(curve.updates[-1:], *of)[0]
            return math.log((said - model.least) / (curve.values[-1] - model.least))
        level = max(self.target["level"], curve.values[-1])
        reached = curve.updates[int(np.argmax(curve.values <= level))]
        return math.log(min(model.updates_to(level, *of), model.horizon) / reached)

    def leverage(self, one):
        """Of a candidate, over the others that ran."""
        others = [self.candidates[n].row for n in self.residuals if n != one.number]
        return leverage(np.array(others), one.row)

    def residual_spread(self):
        """The standard deviation of a logarithm that was fitted; of one that was not, it is
        sqrt(1 + leverage) of that."""
        scaled = (
            of**2 / (1 + self.leverage(self.candidates[n])) for n, of in self.residuals.items()
        )
        return math.sqrt(sum(scaled) / len(self.residuals))

    def half(self, one):
        """Of the interval of a candidate's logarithm."""
        return min(MOST, self.quantile * self.spread * math.sqrt(1 + self.leverage(one)))

    @property
    def quantile(self):
        """Of Student's distribution, for an interval of the confidence."""
        return float(stdtrit(len(self.residuals) - 1, (1 + self.confidence) / 2))

    def time(self, one):
        """To the target, by a model without its runs; infinite beyond the model's horizon."""
        model = self.left_out.get(one.number, self.model)
        x = np.array(list(one.facts.values()))
        return one.update_time * model.updates_to(self.target["level"], one.learners, x)

    def likely_time(self, one, less=0.0):
        """That it takes, until the model's horizon, if the logarithm is by so much less; 0 without a model. What models
        say is corrected by their residual of it, or by the mean residual where it did not run."""
        if self.target["is_budget"]:
            return self.trials.limit_of(one, 1)
        if not self.model:
            return 0.0
        mean = sum(self.residuals.values()) / len(self.residuals)
        time = min(self.times[one.number], self.model.horizon * one.update_time)
        return time * math.exp(-self.residuals.get(one.number, mean) - less)

    def least_gradients(self, candidates, of_time):
        """What they compute in sum, at least, by of_time(candidate, time): less the root of the summed squares of how
        much less each may be, and of how much less all may be by an error of the mean residual."""
        gradients = lambda less: np.array(
            [of_time(one, self.likely_time(one, less(one))) for one in candidates]
        )
        middle = gradients(lambda _: 0.0)
        if not self.model or not candidates:
            return float(middle.sum())
        own = middle - gradients(lambda one: self.halves[one.number])
        shared = self.quantile * self.spread / math.sqrt(len(self.residuals))
        common = (middle - gradients(lambda _: shared)).sum()
        return float(middle.sum() - math.hypot(common, *own))

    def forecast(self, one):
        """Of a candidate, by a model without its runs; of one that takes long, that it takes that at least. The
        interval of a logarithm is wider by that of how far beyond runs it is."""
        model, half = self.left_out.get(one.number, self.model), self.halves[one.number]
        x = np.array(list(one.facts.values()))
        if self.target["is_budget"]:
            updates = max(1.0, self.trials.limit_of(one, 1) / one.update_time)
            left = model.value([updates], one.learners, x)[0] - model.least
            return Forecast(*(model.least + left * math.exp(s * half) for s in (0, -1, 1)))
        time = self.times[one.number]
        watched, price = self.trials.watched(one), one.price if self.target["by"] == "cost" else 1.0
        seen = min(time, HORIZON * watched)
        half *= 1 + max(0.0, math.log(seen / watched))
        if time > seen:
            return Forecast(math.inf, price * seen * math.exp(-half), math.inf)
        return Forecast(*(price * time * math.exp(s * half) for s in (0, -1, 1)))
