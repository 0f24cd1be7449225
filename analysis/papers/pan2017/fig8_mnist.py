"""Fig 8 on MNIST: sync with and without backups, and async, on three numbers of machines."""

import numpy as np
from reproduce.claims import Source, difference, is_above, plus, times
from papers.pan2017.fig8 import MACHINES, Race, curves_figure, panels
from reproduce.replicas import first_at, jackknife, mean_curve

NAME = "stand-in: mlp of 32 on MNIST"
TARGETS = (0.085, 0.10, 0.12, 0.15)


def fig8_mnist(outputs):
    races = {
        machines: Race(
            outputs,
            f"fig8_who_wins_on_mnist_with_{machines}_machines",
            gradients,
            "test_error",
            TARGETS[0],
        )
        for machines, gradients in MACHINES.items()
    }
    figures = [curves_figure(m, race, "test error", "A small mlp") for m, race in races.items()]
    figures += panels(races, "test error", "A small mlp")
    return figures, [*errors(races), *crossover(races)]


def errors(races):
    gaps = {machines: race.gap() for machines, race in races.items()}
    for machines, gap in gaps.items():
        yield Source("Fig 8b (ordering; paper: some 0.5 %)").above(
            f"9.mnist-{machines}",
            f"{NAME}, {machines} machines: test error of async less that of sync with backups, "
            "over the last 30 % of the run",
            gap,
            errors=3,
        )
    yield Source("Fig 8b (ordering)").above(
        "9.mnist-gap",
        f"{NAME}: that difference is larger on 212 machines than on 53",
        difference(gaps[212], gaps[53]),
        errors=3,
    )


def over_backup(late, sync, target):
    """Async's time to the target over that of sync with backups; infinite if async is never
    there."""
    ours, theirs = (np.float64(first_at(*mean_curve(found), target)) for found in (late, sync))
    return ours / theirs if np.isfinite(theirs) else np.nan


def times_over_backup(race):
    """{target: the Sample of async's time over that of sync with backups}."""
    late, sync = race.curves["async"], race.curves["backup"]
    return {
        target: jackknife(lambda one, other, at=target: over_backup(one, other, at), late, sync)
        for target in TARGETS
    }


def crossover(races):
    """Item 10."""
    over = {machines: times_over_backup(race) for machines, race in races.items()}
    for machines, found in over.items():
        for target, one in found.items():
            yield first_at_target(machines, target, one)
    for target in TARGETS:
        yield Source("Fig 8d (ordering)").rising(
            f"10.mnist-margin-{100 * target:g}",
            f"{NAME}: the more machines, 53, 106, 212, the better sync with backups does against "
            f"async: async's time to a test error of {100 * target:g} % over that of sync with "
            "backups rises",
            [found[target] for found in over.values()],
            errors=3,
        )


def told(over):
    if np.isfinite(over.mean):
        return over
    return "async is never there" + (", but is without some replicas" if over.error else "")


def first_at_target(machines, target, over):
    is_async = machines == 53
    behind = plus(times(over, -1), 1) if is_async else plus(over, -1)
    return Source("Fig 8d (ordering" + ("; paper: 6 hours sooner)" if machines == 106 else ")")).holds(
        f"10.mnist-{machines}-{100 * target:g}",
        f"{NAME}, {machines} machines: {'async' if is_async else 'sync with backups'} is first at "
        f"a test error of {100 * target:g} %: async's time over that of sync with backups",
        f"{'<' if is_async else '>'} 1 by more than 3 standard errors",
        is_above(behind, errors=3),
        told(over),
    )
