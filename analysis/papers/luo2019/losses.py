"""Time to a loss in training: items 3 and 4."""

from reproduce.claims import FITTED, Source, Tolerance, paired_ratio, sample
from reproduce.figures import Figure, curve_series, sampled, side_by_side
from reproduce.outputs import Missing
from reproduce.replicas import first_at
from papers.laws import normal_maximum
from papers.luo2019.setups import (
    AD, ALONE, AR, BYTES, COMPUTE, DIVISION, FILTERED, INTRA, JITTER, LEARNERS, NAMES, PS, RING, SERVER,
    SHARED, STATIC, both_cards, place_of,
)  # fmt: skip
from papers.luo2019.throughput import SLOW, WORDS, between

DERIVED = Source("derived")
SLOWEST = normal_maximum(COMPUTE, JITTER, LEARNERS)
FASTEST = 2 * COMPUTE - SLOWEST
ITERATION = SLOWEST + RING
# Gradients pass the server's link from the first on, and leave it no gap: all come within one's 10 ms.
SERVER_ITERATION = FASTEST + 2 * LEARNERS * BYTES / SERVER
CHECKLIST = Source("derived: ratios of the abstracts, to which the clock is calibrated", FITTED)
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
    faster = {at: paired_ratio(times[*at[:2], AR], one) for at, one in times.items()}
    figures = [bars(faster, cards, level) for cards in (ALONE, SHARED)]
    figures += [race(curves, slow) for slow in (1, 5)]
    return figures, [*equal_machines(faster), *one_slow(faster)]


def bars(faster, cards, level):
    places, width = side_by_side([WORDS[slow] for slow in SLOW])
    figure = Figure(
        f"loss-{'shared' if cards == SHARED else 'alone'}",
        f"Speed to a training loss of {level:g}, softmax on MNIST, {cards}",
        "",
        "relative to All-Reduce",
        ticks=NAMES,
        note="The inverse of the time to the loss, over that of All-Reduce on the same machines.",
    )
    for slow in SLOW:
        at = [i + places[WORDS[slow]] for i in range(len(NAMES))]
        found = [faster[cards, slow, name] for name in NAMES]
        figure.series.append(sampled(WORDS[slow], at, found, width=width))
    return figure


def race(curves, slow):
    figure = Figure(
        f"race-{slow}",
        f"Training loss, softmax on MNIST, {WORDS[slow]}, {ALONE}",
        "seconds",
        "training loss",
        log_y=True,
    )
    for name in NAMES:
        cards = None if name == PS else ALONE
        figure.series.append(curve_series(name, curves[cards, slow, name]))
    return figure


def equal_machines(faster):
    at = lambda name: faster[ALONE, 1, name]
    words = "softmax on MNIST, equal machines: time to the loss of"
    yield between(
        CHECKLIST,
        "3.loss-static",
        f"{words} All-Reduce over that of static",
        1.05,
        1.35,
        at(STATIC),
    )
    yield between(
        CHECKLIST,
        "3.loss-inter-intra",
        f"{words} All-Reduce over that of inter-intra",
        0.8,
        1.35,
        at(INTRA),
    )
    yield DERIVED.near(
        "3.loss-server",
        f"{words} All-Reduce over that of the parameter server is the ratio of their iterations: both "
        "make the same updates",
        ITERATION / SERVER_ITERATION,
        at(PS),
        Tolerance(relative=0.02),
    )
    yield CHECKLIST.holds(
        "3.loss-order",
        f"{words} static and inter-intra are least, then All-Reduce, then AD-PSGD, then the parameter server",
        "in this order",
        min(at(STATIC).mean, at(INTRA).mean) > 1 > at(AD).mean > at(PS).mean,
        ", ".join(f"{name} {1 / at(name).mean:.3g}" for name in (STATIC, INTRA, AR, AD, PS)),
    )


def one_slow(faster):
    at = lambda name: faster[ALONE, 5, name]
    words = "softmax on MNIST, one learner at a fifth of the speed: time to the loss of All-Reduce over that of"
    yield CHECKLIST.holds(
        "4.loss-division",
        f"{words} {FILTERED[DIVISION]} (the paper: 4.4, its 2019 version 2)",
        "at least 2",
        at(FILTERED[DIVISION]).mean >= 2,
        at(FILTERED[DIVISION]),
    )
    yield between(CHECKLIST, "4.loss-static", f"{words} static", 0.95, 1.25, at(STATIC))


def cifar10(outputs):
    scenario = "who_learns_cifar10_first"
    curves = outputs.curves(scenario, place_of, "time", "loss")
    level = level_of(outputs, scenario)
    times = {at[1:]: sample([first_at(x, y, level) for x, y in one]) for at, one in curves.items()}
    figures = []
    for slow in (1, 5):
        figure = Figure(
            f"cifar10-{slow}",
            f"Training loss, softmax on CIFAR-10, {WORDS[slow]}, {SHARED}",
            "seconds",
            "training loss",
        )
        for (_, at, name), found in curves.items():
            if at == slow:
                figure.series.append(curve_series(name, found))
        figures.append(figure)
    words = f"softmax on CIFAR-10, cards shared: to a training loss of {level:g}"
    told = ", ".join(
        f"{name}, {WORDS[slow]}: {one.mean:.3g} s" for (slow, name), one in times.items()
    )
    filtered = FILTERED[INTRA]
    return figures, [
        CHECKLIST.holds(
            "3.cifar10",
            f"{words}, on equal machines, static and {filtered} before All-Reduce before AD-PSGD before the parameter server",
            "in this order",
            max(times[1, STATIC].mean, times[1, filtered].mean)
            < times[1, AR].mean
            < times[1, AD].mean
            < times[1, PS].mean,
            told,
        ),
        CHECKLIST.holds(
            "4.cifar10",
            f"{words}, with one learner at a fifth of the speed {filtered} takes of All-Reduce's time",
            "at most a half",
            times[5, filtered].mean <= times[5, AR].mean / 2,
            told,
        ),
    ]


def resnet(outputs):
    """Not judged so far: the CUDA device refuses averages of models."""
    words = "ResNet-20 on CIFAR-10: the order of times to a loss"
    try:
        outputs.place("gpu/who_learns_cifar10_with_a_resnet")
    except Missing as reason:
        return [], [CHECKLIST.skipped("3.resnet", words, str(reason))]
    return [], [
        CHECKLIST.skipped("3.resnet", words, "the CUDA device does not average models so far")
    ]
