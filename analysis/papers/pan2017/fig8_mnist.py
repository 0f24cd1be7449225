"""Fig 8 on MNIST: sync with and without backups, and async, on three numbers of machines."""

import numpy as np
from reproduce.claims import AFTER_THE_FACT, Source, difference, plus, times
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
        yield Source("Fig 8b (ordering; paper: some 0.5 %)", AFTER_THE_FACT).above(
            f"9.mnist-{machines}",
            f"{NAME}, {machines} machines: test error of async less that of sync with backups, "
            "over the last 30 % of the run",
            gap,
            errors=3,
        )
    yield Source("Fig 8b (ordering)", AFTER_THE_FACT).above(
        "9.mnist-gap",
        f"{NAME}: that difference is larger on 212 machines than on 53",
        difference(gaps[212], gaps[53]),
        errors=3,
    )


def time_to(curves, target):
    """When the mean curve is there; and, where it never is, its end, after which that would be."""
    x, mean = mean_curve(curves)
    time = first_at(x, mean, target)
    return (time, False) if np.isfinite(time) else (float(x[-1]), True)


def over_backup(late, sync, target):
    """Async's time to the target over that of sync with backups: at least so large where async is
    never there, at most so large where sync is not; NaN where neither is."""
    (ours, is_late), (theirs, is_sync_late) = (time_to(found, target) for found in (late, sync))
    return ours / theirs if not (is_late and is_sync_late) else np.nan


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
            is_never = time_to(races[machines].curves["async"], target)[1]
            yield first_at_target(machines, target, one, is_never)
    for target in TARGETS:
        yield Source("Fig 8d (ordering)", AFTER_THE_FACT).rising(
            f"10.mnist-margin-{100 * target:g}",
            f"{NAME}: the more machines, 53, 106, 212, the better sync with backups does against "
            f"async: async's time to a test error of {100 * target:g} % over that of sync with "
            "backups rises",
            [found[target] for found in over.values()],
            errors=3,
        )


def first_at_target(machines, target, over, is_never):
    is_async = machines == 53
    behind = plus(times(over, -1), 1) if is_async else plus(over, -1)
    source = "Fig 8d (ordering" + ("; paper: 6 hours sooner)" if machines == 106 else ")")
    first, beyond = ("async", "1 less it") if is_async else ("sync with backups", "it less 1")
    return Source(source, AFTER_THE_FACT).above(
        f"10.mnist-{machines}-{100 * target:g}",
        f"{NAME}, {machines} machines: {first} is first at a test error of {100 * target:g} %: async's "
        f"time over that of sync with backups, {beyond}",
        behind,
        errors=3,
        told=f"async is never there: at least {over}" if is_never else over,
    )
