"""Fig 8 on MNIST: sync with and without backups, and async, on three numbers of machines."""

import math

from claims import difference, holds
from papers.pan2017.fig8 import MACHINES, Race, curves_figure, panels

NAME = "stand-in: mlp of 32 on MNIST"
TARGET = 0.10


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
    for machines in (106, 212):
        yield holds(
            f"9.mnist-{machines}",
            "Fig 8b (ordering; paper: some 0.5 %)",
            f"{NAME}, {machines} machines: test error of async less that of sync with backups, over "
            "the last 30 % of the run",
            "> 3 standard errors",
            gaps[machines].mean > 3 * gaps[machines].error,
            str(gaps[machines]),
        )
    wider = difference(gaps[212], gaps[53])
    yield holds(
        "9.mnist-gap",
        "Fig 8b (ordering)",
        f"{NAME}: that difference is larger on 212 machines than on 53",
        "> 3 standard errors",
        wider.mean > 3 * wider.error,
        f"{wider}; " + ", ".join(f"{m}: {gap}" for m, gap in gaps.items()),
    )


def crossover(races):
    over = {m: race.time["async"] / race.time["backup"] for m, race in races.items()}
    told = ", ".join(f"{m}: {x:.3f}" if math.isfinite(x) else f"{m}: never" for m, x in over.items())
    yield holds(
        "10.mnist",
        "Fig 8d (ordering)",
        f"{NAME}: async is first at a test error of 10 % on 53 machines, sync with backups on 212: "
        "async's time over that of sync with backups",
        "< 1 on 53, > 1 on 212",
        over[53] < 1 < over[212],
        told,
    )
    yield holds(
        "10.mnist-margin",
        "Fig 8d (ordering)",
        f"{NAME}: the more machines, the better sync with backups does against async",
        "it rises",
        over[53] < over[106] < over[212],
        told,
    )
