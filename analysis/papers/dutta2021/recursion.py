"""The recursion e' = 0.99 e + 0.01 x 0.02 / K of the expected error: AdaSync against fixed K."""

import numpy as np
from papers.dutta2021 import claim, figure_of
from reproduce.claims import Sample, difference, is_above, sample
from reproduce.figures import THEORY, Series, curve_series
from reproduce.outputs import digitised
from reproduce.replicas import first_recorded, late

SCENARIO = "does_a_growing_k_beat_every_fixed_k"
FIXED = {f"K = {k}": k for k in (1, 2, 4, 8)}
TABLE = {row["time"]: (row["k"], row["error"]) for row in digitised("dutta2021", "recursion")}
ERROR_OF_8 = {800: 0.0539, 1600: 0.0052}
BATCH_TABLE = {10: 1, 20: 2, 40: 3, 60: 3, 80: 4, 120: 6, 200: 8, 400: 8}


def name_of(row):
    """The protocol as the figure names it."""
    protocol = row["sweep.protocol"]
    return f"K = {protocol['k']}" if "k" in protocol else f"AdaSync, {protocol['variant']}"


def at(found, time):
    """The values of the replicas at a time at which all were recorded."""
    return np.array([y[np.flatnonzero(x == time)[0]] for x, y in found])


def median(values):
    """The Sample of a median: the mean error lies above that of the mean number of updates."""
    one = sample(values)
    error = np.sqrt(np.pi / 2) * one.error
    return Sample(float(np.median(values)), error, one.freedom, replicas=one.replicas)


def k_claims(found, table, item):
    return claim(f"21.{item}").all_near(
        (f"t = {time}", k, sample(at(found, time))) for time, k in table.items()
    )


def k_sync(outputs):
    errors = outputs.curves(SCENARIO, name_of, "time", "loss")
    ks = outputs.curves(SCENARIO, name_of, "time", "k")
    adaptive = errors["AdaSync, k-sync"]
    figure = figure_of("recursion")
    for name in ("AdaSync, k-sync", *FIXED):
        figure.series.append(curve_series(name, errors[name]))
    calculated = [1.0] + [error for _, error in TABLE.values()]
    figure.series.append(Series("AdaSync, k-sync", THEORY, [0, *TABLE], calculated))
    for name, k in FIXED.items():
        figure.series.append(Series(name, THEORY, [0, 1600], [0.02 / k, 0.02 / k]))
    table = {time: k for time, (k, _) in TABLE.items()}
    claims = [
        k_claims(ks["AdaSync, k-sync"], table, "k"),
        claim("21.error").all_near(
            (f"t = {t}", error, median(at(adaptive, t))) for t, (_, error) in TABLE.items()
        ),
    ]
    return [figure], [*claims, *floors(errors), *against_fixed(adaptive, errors)]


def floors(errors):
    yield claim("21.floor").all_near(
        (name, 0.02 / k, late(errors[name], 0.1)) for name, k in FIXED.items() if k < 8
    )
    yield claim("21.slow").all_near(
        (f"t = {t}", error, median(at(errors["K = 8"], t))) for t, error in ERROR_OF_8.items()
    )


def reached(found, level):
    """When the mean is down at a level; infinite if never."""
    return first_recorded(found[0][0], np.mean([y for _, y in found], axis=0), level)


def against_fixed(adaptive, errors):
    last = late(adaptive, 0.1)
    yield claim("21.below").holds(
        is_above(below := difference(Sample(0.02 / 4), last)), last, gap=below
    )
    times = {
        k: (reached(adaptive, 0.02 / k), reached(errors["K = 8"], 0.02 / k)) for k in (1, 2, 4)
    }
    yield claim("21.earlier").holds(
        all(ours < theirs for ours, theirs in times.values()),
        "; ".join(f"K = {k}: {ours:g} and {theirs:g}" for k, (ours, theirs) in times.items()),
    )
    time = adaptive[0][0]
    mean = {name: np.mean([y for _, y in errors[name]], axis=0) for name in FIXED}
    ratio = np.mean([y for _, y in adaptive], axis=0) / np.min(list(mean.values()), axis=0)
    worst = int(np.argmax(ratio))
    yield claim("21.envelope").holds(
        ratio[worst] <= 3, f"at most {ratio[worst]:.3g}, at t = {time[worst]:g}"
    )
    late_ones = (time >= 400) & (time <= 1600)
    yield claim("21.late").holds(
        ratio[late_ones].max() < 1, f"at most {ratio[late_ones].max():.4g}"
    )


def batch_sync(outputs):
    name = "AdaSync, k-batch-sync"
    errors = outputs.curves(SCENARIO, name_of, "time", "loss")[name]
    ks = outputs.curves(SCENARIO, name_of, "time", "k")[name]
    return [], [
        k_claims(ks, BATCH_TABLE, "batch-k"),
        claim("21.batch-floor").near(sample(at(errors, 800))),
    ]
