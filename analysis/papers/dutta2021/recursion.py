"""The recursion e' = 0.99 e + 0.01 x 0.02 / K of the expected error: AdaSync against fixed K."""

import json

import numpy as np
from reproduce.claims import LONG_RUN, Sample, Source, Tolerance, difference, is_above, sample
from reproduce.figures import THEORY, Figure, Series, curve_series
from reproduce.replicas import first_recorded, late

SCENARIO = "does_a_growing_k_beat_every_fixed_k"
SOURCE = Source("derived: the recursion on mean times")
FIXED = {f"K = {k}": k for k in (1, 2, 4, 8)}
# {time: (K, error)} as a calculation has them that takes the decision with the expected error.
TABLE = {
    10: (1, 0.459),
    20: (2, 0.261),
    40: (2, 0.128),
    60: (3, 0.078),
    80: (3, 0.052),
    120: (4, 0.030),
    200: (5, 0.0138),
    400: (6, 0.0052),
    800: (7, 0.0031),
    1600: (7, 0.0029),
}
ERROR_OF_8 = {800: 0.0539, 1600: 0.0052}
BATCH_TABLE = {10: 1, 20: 2, 40: 3, 60: 3, 80: 4, 120: 6, 200: 8, 400: 8}


def name_of(row):
    """The protocol as the figure names it."""
    protocol = json.loads(row["sweep.protocol"])
    return f"K = {protocol['k']}" if "k" in protocol else f"AdaSync, {protocol['variant']}"


def at(found, time):
    """The values of the replicas at a time at which all were recorded."""
    return np.array([y[np.flatnonzero(x == time)[0]] for x, y in found])


def median(values):
    """The Sample of a median: the mean error lies above that of the mean number of updates."""
    one = sample(values)
    error = np.sqrt(np.pi / 2) * one.error
    return Sample(float(np.median(values)), error, one.freedom, replicas=one.replicas)


def k_claims(variant, found, table, item):
    return SOURCE.all_near(
        f"21.{item}",
        f"AdaSync, {variant}, K0 = 1: mean K at t = {', '.join(map(str, table))}",
        [(f"t = {time}", k, sample(at(found, time))) for time, k in table.items()],
        Tolerance(absolute=0.5),
    )


def k_sync(outputs):
    errors = outputs.curves(SCENARIO, name_of, "time", "loss")
    ks = outputs.curves(SCENARIO, name_of, "time", "k")
    adaptive = errors["AdaSync, k-sync"]
    figure = Figure(
        "recursion",
        "AdaSync and K-sync, P = 8: an error that shrinks by 1 % an update down to 0.02 / K",
        "time",
        "error",
        log_y=True,
        note="A quadratic of 200 dimensions, not in the paper. Dashed: the recursion on mean times "
        "and the floors of fixed K.",
    )
    for name in ("AdaSync, k-sync", *FIXED):
        figure.series.append(curve_series(name, errors[name]))
    calculated = [1.0] + [error for _, error in TABLE.values()]
    figure.series.append(Series("AdaSync, k-sync", THEORY, [0, *TABLE], calculated))
    for name, k in FIXED.items():
        figure.series.append(Series(name, THEORY, [0, 1600], [0.02 / k, 0.02 / k]))
    table = {time: k for time, (k, _) in TABLE.items()}
    claims = [
        k_claims("k-sync", ks["AdaSync, k-sync"], table, "k"),
        SOURCE.all_near(
            "21.error",
            f"AdaSync, k-sync, K0 = 1: median error at t = {', '.join(map(str, TABLE))}",
            [(f"t = {t}", error, median(at(adaptive, t))) for t, (_, error) in TABLE.items()],
            Tolerance(relative=0.02, errors=4),
        ),
    ]
    return [figure], [*claims, *floors(errors), *against_fixed(adaptive, errors)]


def floors(errors):
    yield SOURCE.all_near(
        "21.floor",
        "K-sync, K = 1, 2, 4: floor 0.02 / K, t = 1440 to 1600",
        [(name, 0.02 / k, late(errors[name], 0.1)) for name, k in FIXED.items() if k < 8],
        LONG_RUN,
    )
    yield SOURCE.all_near(
        "21.slow",
        "K-sync, K = 8: error at t = 800 and 1600",
        [(f"t = {t}", error, median(at(errors["K = 8"], t))) for t, error in ERROR_OF_8.items()],
        Tolerance(relative=0.02, errors=4),
    )


def reached(found, level):
    """When the mean is down at a level; infinite if never."""
    return first_recorded(found[0][0], np.mean([y for _, y in found], axis=0), level)


def against_fixed(adaptive, errors):
    last = late(adaptive, 0.1)
    yield Source("JSAIT 2021 (ordering, from summaries)").holds(
        "21.below",
        "AdaSync's final error lies below the floors of K = 1, 2 and 4",
        "below 0.005 by more than 4 standard errors",
        is_above(below := difference(Sample(0.02 / 4), last)),
        last,
        gap=below,
    )
    times = {
        k: (reached(adaptive, 0.02 / k), reached(errors["K = 8"], 0.02 / k)) for k in (1, 2, 4)
    }
    yield Source("JSAIT 2021 (ordering, from summaries)").holds(
        "21.earlier",
        "AdaSync passes the floors of K = 1, 2 and 4 earlier than K = 8 does",
        "each",
        all(ours < theirs for ours, theirs in times.values()),
        "; ".join(f"K = {k}: {ours:g} and {theirs:g}" for k, (ours, theirs) in times.items()),
    )
    time = adaptive[0][0]
    mean = {name: np.mean([y for _, y in errors[name]], axis=0) for name in FIXED}
    ratio = np.mean([y for _, y in adaptive], axis=0) / np.min(list(mean.values()), axis=0)
    worst = int(np.argmax(ratio))
    yield SOURCE.holds(
        "21.envelope",
        "AdaSync's error over that of the best fixed K, at any time",
        "<= 3",
        ratio[worst] <= 3,
        f"at most {ratio[worst]:.3g}, at t = {time[worst]:g}",
    )
    late_ones = (time >= 400) & (time <= 1600)
    yield SOURCE.holds(
        "21.late",
        "AdaSync's error over that of the best fixed K, from t = 400 on",
        "< 1",
        ratio[late_ones].max() < 1,
        f"at most {ratio[late_ones].max():.4g}",
    )


def batch_sync(outputs):
    name = "AdaSync, k-batch-sync"
    errors = outputs.curves(SCENARIO, name_of, "time", "loss")[name]
    ks = outputs.curves(SCENARIO, name_of, "time", "k")[name]
    return [], [
        k_claims("k-batch-sync", ks, BATCH_TABLE, "batch-k"),
        SOURCE.near(
            "21.batch-floor",
            "AdaSync, k-batch-sync, K0 = 1: error at t = 800, the floor of K = 8",
            0.0025,
            sample(at(errors, 800)),
            Tolerance(relative=0.01, errors=4),
        ),
    ]
