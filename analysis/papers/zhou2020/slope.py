"""The mean squared gradient of a run against its length K, at a rate of K^-1/2: item 5."""

from itertools import pairwise

import numpy as np
from papers.zhou2020 import claim, figure_of
from papers.zhou2020.mean import expected_losses
from papers.zhou2020.protocols import protocol_of
from reproduce.claims import sample
from reproduce.figures import THEORY, Series, sampled

LEARNERS, START, EVERY = 8, 0.5, 4
TASK = "quadratic, curvature 1, rate 1 / sqrt(K), 8 learners"


def mean_square(losses):
    """Of the gradient, over a run that is evaluated now and then."""
    return 2 * float(np.mean((losses[1:] + losses[:-1]) / 2))


def slopes_of(steps, gradients):
    """The Sample of the slopes of straight lines through logarithms, a line a replica."""
    values = np.log([one.values for one in gradients])
    return sample(np.polyfit(np.log(steps), values, 1)[0])


def slope(outputs):
    key = lambda row: (protocol_of(row), row["stop.updates"])
    curves = outputs.curves("does_the_gradient_vanish_as_fast", key, "update", "loss")
    found = {at: sample([mean_square(y) for _, y in replicas]) for at, replicas in curves.items()}
    protocols = list(dict.fromkeys(one for one, _ in found))
    steps = sorted({k for _, k in found})
    expected = {
        (one, k): mean_square(expected_losses(one, k, k**-0.5, 1 / LEARNERS, START)[::EVERY])
        for one, k in found
    }
    slopes = {one: slopes_of(steps, [found[one, k] for k in steps]) for one in protocols}
    figure = figure_of("slope", task=TASK)
    for one in protocols:
        figure.series += [
            Series(one.name, THEORY, steps, [expected[one, k] for k in steps]),
            sampled(one.name, steps, [found[one, k] for k in steps]),
        ]
    *usual, longest = protocols
    sync = usual[0]
    last = [slopes_of(pair, [found[longest, k] for k in pair]) for pair in pairwise(steps)]
    return [figure], [
        claim("5.gradient").all_near(
            (f"{one.name}, K = {k}", expected[one, k], found[one, k]) for one, k in found
        ),
        claim("5.slope").all_near((one.name, -0.5, slopes[one]) for one in usual),
        claim("5.equal").all_near((one.name, slopes[sync].mean, slopes[one]) for one in usual[1:]),
        claim("5.longest-delay").holds(
            all(high.mean < low.mean for low, high in pairwise(last))
            and abs(last[-1].mean + 0.5) < 0.03,
            ", ".join(map(str, last)),
        ),
    ]
