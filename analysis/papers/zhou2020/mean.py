"""What the mean of the learners' values does on a quadratic of curvature 1."""

from functools import cache

import numpy as np


@cache
def expected_losses(protocol, updates, eta, variance, start):
    """The mean loss of the mean after 0, 1, ... updates, from a loss at the start; variance: of the
    mean gradient's noise, all dimensions together. The second moments of the mean and of the average
    under way are followed step by step."""
    step = np.diag([1 - eta, 1.0])
    kick = np.diag([eta**2 * variance, 0.0])
    merge = np.array([[protocol.xi, 1 - protocol.xi], [0.0, 1.0]])
    keep = np.array([[1.0, 0.0], [1.0, 0.0]])
    moments = np.full((2, 2), 2 * start)
    losses = [start]
    for update in range(updates):
        number, within = divmod(update, protocol.tau)
        moments = step @ moments @ step.T + kick
        if within + 1 == protocol.delay and number > 0:
            moments = merge @ moments @ merge.T
        if within + 1 == protocol.tau:
            moments = keep @ moments @ keep.T
        losses.append(moments[0, 0] / 2)
    return np.array(losses)


def merged_means(protocol, noise, eta, start):
    """The mean after 0, 1, ... updates, given the mean gradient's noise in each."""
    mean, average, found = start, None, [start]
    for update, kick in enumerate(noise):
        within = update % protocol.tau + 1
        mean -= eta * (mean + kick)
        if within == protocol.delay and average is not None:
            mean = protocol.xi * mean + (1 - protocol.xi) * average
        if within == protocol.tau:
            average = mean
        found.append(mean)
    return np.array(found)
