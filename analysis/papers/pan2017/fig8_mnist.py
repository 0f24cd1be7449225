"""Fig 8 on MNIST: sync with and without backups, and async, on three numbers of machines."""

import math

from claims import Sample, holds, ordered
from papers.pan2017.fig8 import MACHINES, Race, curves_figure, panels

NAME = "stand-in: mlp of 32 on MNIST"
TARGET = 0.085


def fig8_mnist(outputs):
    races = {
        machines: Race(
            outputs,
            f"fig8_who_wins_on_mnist_with_{machines}_machines",
            gradients,
            "test_error",
            TARGET,
        )
        for machines, gradients in MACHINES.items()
    }
    figures = [curves_figure(m, race, "test error", "A small mlp") for m, race in races.items()]
    figures += panels(races, "test error", "A small mlp")
    return figures, [*errors(races), *crossover(races)]


def errors(races):
    gaps = {machines: race.gap() for machines, race in races.items()}
    for machines, gap in gaps.items():
        yield ordered(
            f"9.mnist-{machines}",
            "Fig 8b (ordering; paper: some 0.5 %)",
            f"{NAME}, {machines} machines: test error of async less that of sync with backups, "
            "over the last 30 % of the run, is not below 0",
            [(f"{machines} machines", Sample(0.0), gap)],
        )
    yield ordered(
        "9.mnist-gap",
        "Fig 8b (ordering)",
        f"{NAME}: that difference is no smaller on 212 machines than on 53 and 106",
        [(f"{few} and 212", gaps[few], gaps[212]) for few in (53, 106)],
    )


def crossover(races):
    over = {m: race.time["async"] / race.time["backup"] for m, race in races.items()}
    told = ", ".join(f"{m}: {x:.3f}" if math.isfinite(x) else f"{m}: never" for m, x in over.items())
    yield holds(
        "10.mnist",
        "Fig 8d (ordering)",
        f"{NAME}: async is first at a test error of 8.5 % on 53 machines, and sync with backups "
        "gains on it up to 212: async's time over that of sync with backups",
        "< 1 on 53, more on 212",
        over[53] < min(1, over[212]),
        told,
    )
    yield holds(
        "10.mnist-106",
        "Fig 8d (ordering; paper: 6 hours sooner)",
        f"{NAME}: sync with backups is first on 106 machines already (not so with this stand-in, "
        "at any target from 8 to 12 %)",
        "> 1",
        over[106] > 1,
        told,
    )
