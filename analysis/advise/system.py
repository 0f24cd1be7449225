"""The system model of Ernest (Venkataraman et al., NSDI 2016): the time of an update on m learners,

    f(m) = theta_0 + theta_1 / m + theta_2 log m + theta_3 m,   every theta at least 0,

of what stays, what is shared out, what goes up a tree and what each learner adds."""

import math
from typing import NamedTuple

import numpy as np
from plots.choices import is_rate

LEAST_SIZES = 3  # numbers of learners from which another one can be told


def features(learners):
    """[size x 4]."""
    m = np.asarray(learners, float)
    return np.stack([np.ones_like(m), 1 / m, np.log(m), m], axis=-1)


class System(NamedTuple):
    """theta, and the largest relative error of the times it was fitted to."""

    theta: np.ndarray
    error: float

    def time(self, learners):
        return features(learners) @ self.theta

    @property
    def fastest(self):
        """The m at which an update takes least; infinite where more learners are always sooner."""
        _, shared, tree, each = self.theta
        if each > 0:
            return (-tree + math.sqrt(tree**2 + 4 * shared * each)) / (2 * each)
        return shared / tree if tree > 0 else math.inf


def fit_system(learners, times):
    """The System of least squared relative errors."""
    from scipy.optimize import nnls

    times = np.asarray(times, float)
    theta, _ = nnls(features(learners) / times[:, None], np.ones_like(times))
    return System(theta, float(np.abs(features(learners) @ theta / times - 1).max()))


def families(candidates):
    """Candidates that differ in the number of learners, and in the learning rate, which takes no time, alone; of as
    many numbers as the model of an update's time takes."""
    found = {}
    for one in candidates:
        others = {
            k: v
            for k, v in one.point.settings.items()
            if k != "cluster.learners" and not is_rate(k)
        }
        found.setdefault(repr(others), []).append(one)
    sized = lambda of: len({one.learners for one in of}) >= LEAST_SIZES
    return [of for of in found.values() if sized(of) and not math.isnan(of[0].update_time)]


def sizes_and_times(family):
    return [one.learners for one in family], [one.update_time for one in family]
