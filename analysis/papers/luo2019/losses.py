"""Time to a loss in training: items 3 and 4."""

from papers.laws import normal_maximum
from papers.luo2019 import claim, figure_of
from papers.luo2019.setups import (
    AD, ALONE, AR, BYTES, CARDS, COMPUTE, DIVISION, FILTERED, INTRA, JITTER, LEARNERS, NAMES, PS, RING, SERVER,
    SHARED, STATIC, both_cards, place_of,
)  # fmt: skip
from papers.luo2019.throughput import WORDS, with_bars
from reproduce.claims import paired_ratio, sample
from reproduce.figures import curve_series
from reproduce.replicas import first_at

SLOWEST = normal_maximum(COMPUTE, JITTER, LEARNERS)
FASTEST = 2 * COMPUTE - SLOWEST
ITERATION = SLOWEST + RING
# Gradients pass the server's link from the first on, and leave it no gap: all come within one's 10 ms.
SERVER_ITERATION = FASTEST + 2 * LEARNERS * BYTES / SERVER
MNIST = "who_reaches_the_loss_first"


def level_of(outputs, scenario):
    """The loss at which runs stop."""
    return outputs.manifest(scenario)["scenario"]["stop"]["loss"]


def times_to(curves, level):
    """{place: Sample of the times to the loss}; infinity where a run ended above it."""
    found = {at: sample([first_at(x, y, level) for x, y in one]) for at, one in curves.items()}
    return both_cards(found)


def losses(outputs):
    level = level_of(outputs, MNIST)
    curves = outputs.curves(MNIST, place_of, "time", "loss")
    times = times_to(curves, level)
    faster = {at: paired_ratio(times[(*at[:2], AR)], one) for at, one in times.items()}
    figures = [bars(faster, cards, level) for cards in (ALONE, SHARED)]
    figures += [race(curves, slow) for slow in (1, 5)]
    return figures, [*equal_machines(faster), *one_slow(faster)]


def bars(faster, cards, level):
    figure = figure_of("loss-{id}", id=CARDS[cards], cards=cards, level=level)
    return with_bars(figure, faster, cards)[0]


def race(curves, slow):
    figure = figure_of("race-{slow}", slow=slow, words=WORDS[slow], alone=ALONE)
    for name in NAMES:
        cards = None if name == PS else ALONE
        figure.series.append(curve_series(name, curves[cards, slow, name]))
    return figure


def equal_machines(faster):
    at = lambda name: faster[ALONE, 1, name]
    yield claim("3.loss-static").within(at(STATIC))
    yield claim("3.loss-inter-intra").within(at(INTRA))
    yield claim("3.loss-server").near(at(PS), ITERATION / SERVER_ITERATION)
    yield claim("3.loss-order").holds(
        min(at(STATIC).mean, at(INTRA).mean) > 1 > at(AD).mean > at(PS).mean,
        ", ".join(f"{name} {1 / at(name).mean:.3g}" for name in (STATIC, INTRA, AR, AD, PS)),
    )


def one_slow(faster):
    at = lambda name: faster[ALONE, 5, name]
    yield claim("4.loss-division").holds(at(FILTERED[DIVISION]).mean >= 2, at(FILTERED[DIVISION]))
    yield claim("4.loss-static").within(at(STATIC))


def cifar10(outputs):
    scenario = "who_learns_cifar10_first"
    curves = outputs.curves(scenario, place_of, "time", "loss")
    level = level_of(outputs, scenario)
    times = {at[1:]: sample([first_at(x, y, level) for x, y in one]) for at, one in curves.items()}
    figures = []
    for slow in (1, 5):
        figure = figure_of("cifar10-{slow}", slow=slow, words=WORDS[slow], shared=SHARED)
        for (_, at, name), found in curves.items():
            if at == slow:
                figure.series.append(curve_series(name, found))
        figures.append(figure)
    told = ", ".join(
        f"{name}, {WORDS[slow]}: {one.mean:.3g} s" for (slow, name), one in times.items()
    )
    filtered = FILTERED[INTRA]
    return figures, [
        claim("3.cifar10").holds(
            max(times[1, STATIC].mean, times[1, filtered].mean)
            < times[1, AR].mean
            < times[1, AD].mean
            < times[1, PS].mean,
            told,
        ),
        claim("4.cifar10").holds(times[5, filtered].mean <= times[5, AR].mean / 2, told),
    ]


def resnet(outputs):
    """Not judged so far: no GPU has run it."""
    outputs.place("gpu/who_learns_cifar10_with_a_resnet")
    return [], [claim("3.resnet").skipped("no order is claimed before a GPU has run it")]
