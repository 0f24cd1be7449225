"""How long a clock is and how much of it is waiting: items 4 and 5."""

from itertools import pairwise

from papers.ho2013 import claim, figure_of
from papers.laws import harmonic, normal_maximum
from reproduce.claims import Sample, against_one_run, sample, scaled
from reproduce.figures import THEORY, Series, sampled
from reproduce.outputs import law_of

LEARNERS = 32
CLOCKS = 1000
LAWS = {"exponential": "exp(1)", "normal": "normal, 30 % of jitter"}
SYNC_CLOCK = {"exponential": harmonic(LEARNERS), "normal": normal_maximum(1, 0.3, LEARNERS)}

# s: time of a clock, share of waiting, as rounded there.
TABLES = {
    "exponential": {
        0: (4.10, 0.76),
        1: (2.39, 0.58),
        2: (1.85, 0.46),
        4: (1.50, 0.33),
        8: (1.27, 0.21),
        16: (1.12, 0.10),
    },
    "normal": {0: (1.62, 0.38), 1: (1.14, 0.12), 4: (1.06, 0.05), 16: (1.02, 0.005)},
}


def of_learners(outputs, scenario, key, *columns):
    """{key(row): [an array of each column of learners.csv, a replica each]}."""
    found = [outputs.series(scenario, key, "learners", column) for column in columns]
    return {where: list(zip(*(one[where] for one in found))) for where in found[0]}


def waiting(outputs, scenario, key):
    """{key(row): the Sample of the share of the learners' time}."""
    found = of_learners(outputs, scenario, key, "idle", "busy")
    shares = lambda runs: [sum(idle) / (sum(idle) + sum(busy)) for idle, busy in runs]
    return {where: sample(shares(runs)) for where, runs in found.items()}


def clocks(outputs):
    scenario = "how_long_is_a_clock"
    key = lambda row: (law_of(row), row["protocol.bound"])
    times = scaled(outputs.samples(scenario, key, "sim_time"), 1 / CLOCKS)
    waits = waiting(outputs, scenario, key)
    figures = [clock_figure(times), waiting_figure(waits)]
    return figures, [*clock_claims(times), *waiting_claims(waits)]


def bounds_of(times, law):
    return sorted(s for name, s in times if name == law)


def by_bound(values, at_0):
    """Of both laws: what is measured against s, beside theory at s = 0."""
    for law, name in LAWS.items():
        shown = [s for s in bounds_of(values, law) if s <= 16]
        yield Series(f"{name}, s = 0", THEORY, [0, 16], [at_0[law]] * 2)
        yield sampled(name, shown, [values[law, s] for s in shown])


def clock_figure(times):
    figure = figure_of("clocks")
    figure.series += by_bound(times, SYNC_CLOCK)
    figure.series.append(Series("no bound", THEORY, [0, 16], [1, 1]))
    return figure


def waiting_figure(waits):
    figure = figure_of("waiting")
    figure.series += by_bound(waits, {law: 1 - 1 / clock for law, clock in SYNC_CLOCK.items()})
    return figure


def clock_claims(times):
    for law in LAWS:
        yield claim(f"4.table-{law}").all_near(
            (f"s = {s}", clock, against_one_run(times[law, s], 0.01))
            for s, (clock, _) in TABLES[law].items()
        )
        yield claim(f"4.sync-{law}").near(times[law, 0], SYNC_CLOCK[law])
        yield claim(f"4.limit-{law}").near(times[law, 1000])
        yield claim(f"4.falls-{law}").ordered(
            (f"s = {large} and {small}", times[law, large], times[law, small])
            for small, large in pairwise(bounds_of(times, law))
        )


def digit(share):
    """The last one given."""
    return 0.001 if share < 0.01 else 0.01


def waiting_claims(waits):
    for law in LAWS:
        yield claim(f"5.table-{law}").all_near(
            (f"s = {s}", share, against_one_run(waits[law, s], digit(share)))
            for s, (_, share) in TABLES[law].items()
        )
        bounds = bounds_of(waits, law)
        yield claim(f"5.falls-{law}").rising(waits[law, s] for s in reversed(bounds))


def slow_learner(outputs):
    """Items 4 and 5, one learner twice as slow for good."""
    scenario = "does_a_bound_help_a_slow_learner"
    key = lambda row: row["protocol.bound"]
    found = of_learners(outputs, scenario, key, "busy", "idle", "gradients")
    times = {s: sample([(b[0] + i[0]) / n[0] for b, i, n in runs]) for s, runs in found.items()}
    waits = waiting(outputs, scenario, key)
    half = 31 / 64
    claims = [
        claim("4.straggler").all_near((f"s = {s}", 2.0, one) for s, one in times.items()),
        claim("4.straggler-gain").all_near(
            (f"s = {s}", 1.0, Sample(one.mean / times[0].mean)) for s, one in times.items() if s
        ),
        claim("5.straggler").all_near((f"s = {s}", 0.48, one) for s, one in waits.items()),
        claim("5.straggler-share").all_near(
            (f"s = {s}", half * (1 - s / CLOCKS), one) for s, one in waits.items()
        ),
    ]
    bounds = sorted(times)
    figure = figure_of(
        "straggler",
        series=[
            Series("time of a clock", THEORY, [0, 16], [2, 2]),
            sampled("time of a clock", bounds, (times[s] for s in bounds)),
            Series("share of waiting", THEORY, [0, 16], [half, half]),
            sampled("share of waiting", bounds, (waits[s] for s in bounds)),
        ],
    )
    return [figure], claims
