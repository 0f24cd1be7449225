"""The convergence model of Hemingway (Pan et al., 2017): log(v - v*) of a loss or error v after i updates is
linear in functions of i and of what is chosen, of which the Lasso keeps few; its penalty is chosen by what
the model says of candidates that it has not seen."""

import math
from typing import NamedTuple

import numpy as np

LEAST_SHARES = (
    0.0,
    0.02,
    0.1,
    0.3,
)  # of the way from start to the lowest value: how far below that v* may lie
MOST_POINTS = 40  # of a curve
FOLDS = 8
HORIZON = 10.0  # times as many updates as any curve has


class Curve(NamedTuple):
    """What a run was evaluated to: `x` what is told of its candidate, `updates` [n] from 1, `values` [n]."""

    candidate: int
    learners: float
    x: np.ndarray
    updates: np.ndarray
    values: np.ndarray


def thinned(curve):
    """As many evaluations as are fitted, evenly over the logarithm of updates."""
    wanted = np.geomspace(curve.updates[0], curve.updates[-1], MOST_POINTS)
    kept = np.unique(np.searchsorted(curve.updates, wanted).clip(0, len(curve.updates) - 1))
    return curve._replace(updates=curve.updates[kept], values=curve.values[kept])


def names_of(facts):
    """Of features(), facts: names of x."""
    progress = ["log i", "sqrt i", "i"]
    of_learners = ["1/m", "log m", "i/m", "i/m^2"]
    return [*progress, *of_learners, *(f"{p}{f}" for f in facts for p in ("", "log i ", "sqrt i "))]


def features(updates, learners, x):
    """[update x feature]."""
    i, m = np.asarray(updates, float), float(learners)
    one, log, root = np.ones_like(i), np.log(i), np.sqrt(i)
    columns = [log, root, i, one / m, one * math.log(m), i / m, i / m**2]
    return np.stack([*columns, *(part * fact for fact in x for part in (one, log, root))], axis=-1)


class Convergence:
    """The fitted model. `names` and `weights`: of features that were kept, as parts of the spread of
    log(v - v*)."""

    def __init__(self, curves, least, names, alpha=None):
        from sklearn.linear_model import Lasso, LassoCV

        self.curves, self.least, self.all_names = curves, least, names
        rows = np.concatenate([features(one.updates, one.learners, one.x) for one in curves])
        heights = np.concatenate([np.log(one.values - least) for one in curves])
        groups = np.concatenate([np.full(len(one.updates), one.candidate) for one in curves])
        self.middle, spread = rows.mean(axis=0), rows.std(axis=0)
        self.spread = np.where(spread > 1e-12 * (1 + np.abs(self.middle)), spread, np.inf)
        scaled = (rows - self.middle) / self.spread
        self.alpha = alpha
        if alpha is None:
            left_out = np.unique(groups)[:: -(-len(curves) // FOLDS)]
            folds = [(np.flatnonzero(groups != n), np.flatnonzero(groups == n)) for n in left_out]
            search = LassoCV(cv=folds, alphas=30, max_iter=3000, tol=1e-3).fit(scaled, heights)
            self.alpha, self.cv_error = search.alpha_, float(search.mse_path_.mean(axis=1).min())
        self.lasso = Lasso(self.alpha, max_iter=10000, tol=1e-3).fit(scaled, heights)
        self.horizon = HORIZON * max(one.updates[-1] for one in curves)

    @property
    def weights(self):
        """{name: weight} of the kept features, the heaviest first."""
        kept = zip(self.all_names, self.lasso.coef_)
        found = {name: float(weight) for name, weight in kept if abs(weight) > 1e-9}
        return dict(sorted(found.items(), key=lambda one: -abs(one[1])))

    def value(self, updates, learners, x):
        scaled = (features(updates, learners, x) - self.middle) / self.spread
        return self.least + np.exp(np.minimum(self.lasso.predict(scaled), 700))

    def updates_to(self, level, learners, x):
        """The first number of updates at which the value is at the level or below; infinite where it is
        not until the horizon."""
        i = np.geomspace(1, self.horizon, 600)
        below = np.flatnonzero(self.value(i, learners, x) <= level)
        return float(i[below[0]]) if len(below) else math.inf

    def without(self, candidate):
        """Fitted without a candidate's curves."""
        kept = [one for one in self.curves if one.candidate != candidate]
        return Convergence(kept, self.least, self.all_names, self.alpha)


def fit_convergence(curves, facts, below=math.inf):
    """The Convergence of the v* that says most of candidates left out. facts: names of x; v* is below
    `below`, a target."""
    curves = [thinned(one) for one in curves]
    lowest = min(float(one.values.min()) for one in curves)
    start = max(float(one.values[0]) for one in curves)
    floor = min(lowest, below)
    shares = [floor - share * (start - floor) for share in LEAST_SHARES[1:]]
    shares += [0.0] if floor > 0 else []
    found = []
    for least in {max(0.0, one) if floor > 0 else one for one in shares}:
        model = Convergence(curves, least, names_of(facts))
        found.append((model.cv_error / log_spread(curves, least), least, model))
    return min(found, key=lambda one: one[:2])[2]


def log_spread(curves, least):
    return float(np.var(np.concatenate([np.log(one.values - least) for one in curves]))) or 1.0
