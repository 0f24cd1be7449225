"""What an update takes of eight learners, and how stale it is: items 1 to 7 and 10."""

import numpy as np
from papers.dutta2018 import claim, figure_of
from papers.laws import LAWS, MEAN, NAME, harmonic, order_statistic, theorem_2
from reproduce.claims import THEORY, paired_difference, paired_ratio
from reproduce.figures import Series, sampled
from reproduce.outputs import update_of

KS = range(1, 9)


def updates_of_eight(outputs):
    scenario = "what_is_an_update_worth"
    times = outputs.samples(scenario, update_of, "mean_iteration_time")
    stale = outputs.samples(scenario, update_of, "mean_staleness")
    fresh = outputs.fresh_fractions(scenario, update_of)
    return [theorem_2_figure(times)], [
        *order_statistics(times),
        *times_at_four(times),
        *renewal_law(times),
        *ageing(times),
        *orders(times),
        *staleness(stale, fresh),
        *theorem_2_ratios(times),
    ]


def order_statistics(times):
    for law in LAWS[:3]:
        values = [(f"K = {k}", order_statistic(law, k, 8), times[law, "k-sync", k]) for k in KS]
        yield claim(f"1.{law}").all_near(values)


def times_at_four(times):
    """Items 2 and 3."""
    four = {name: (name, 4) for name in ("k-sync", "k-async", "k-batch-sync", "k-batch-async")}
    ends = {"async": ("k-batch-async", 1), "sync": ("k-sync", 8)}
    for item, law, named in (("2", "exponential", four | ends), ("3", "shifted-exponential", four)):
        for name, (protocol, k) in named.items():
            yield claim(f"{item}.{name}").near(times[law, protocol, k])
    yield claim("2.sync-over-async").near(
        paired_ratio(times["exponential", "k-sync", 8], times["exponential", "k-batch-async", 1]),
        8 * harmonic(8),
    )


def renewal_law(times):
    for law in LAWS:
        yield claim(f"4.{law}").all_near(
            (f"K = {k}", k * MEAN[law] / 8, times[law, "k-batch-async", k]) for k in KS
        )


def pairs(times, law, low, high):
    return [(f"{NAME[law]}, K = {k}", times[law, low, k], times[law, high, k]) for k in KS]


def ageing(times):
    """Item 5 but for Pareto's crossing, which Fig 6 shows, and K = P, where both are one."""
    for name, law, low, high in (
        ("longer", "shifted-exponential", "k-async", "k-sync"),
        ("shorter", "hyperexponential", "k-sync", "k-async"),
    ):
        yield claim(f"5.new-{name}").all_above(
            paired_difference(times[law, high, k], times[law, low, k]) for k in KS[:-1]
        )


def orders(times):
    for name, low, high in (
        ("sync", "k-batch-sync", "k-sync"),
        ("async", "k-batch-async", "k-async"),
    ):
        yield claim(f"6.batch-{name}").ordered(
            pair for law in LAWS for pair in pairs(times, law, low, high)
        )
    values = [(NAME[law], times[law, "k-sync", 8].mean, times[law, "k-async", 8]) for law in LAWS]
    yield claim("6.all").all_near(values)


def staleness(stale, fresh):
    """Item 7; the paper does not have it."""
    for protocol, waits in (("k-async", lambda k: (8 - k) / k), ("k-batch-async", lambda k: 7 / k)):
        values = [
            (f"{NAME[law]}, K = {k}", waits(k), stale[law, protocol, k]) for law in LAWS for k in KS
        ]
        yield claim(f"7.mean-{protocol}").all_near(values)
    sync = [
        (f"{protocol}, {NAME[law]}, K = {k}", 0.0, stale[law, protocol, k])
        for law in LAWS
        for protocol in ("k-sync", "k-batch-sync")
        for k in KS
    ]
    yield claim("7.sync").all_near(sync)
    shares = {
        "k-async": lambda k: k / 8,
        "k-batch-async": lambda k: sum(1 - (7 / 8) ** i for i in range(1, k + 1)) / k,
    }
    for protocol, share in shares.items():
        values = [(f"K = {k}", share(k), fresh["exponential", protocol, k]) for k in KS]
        yield claim(f"7.fresh-{protocol}").all_near(values)


RATIOS = (1.000, 1.071, 1.159, 1.269, 1.415, 1.624, 1.963, 2.718)


def theorem_2_samples(times, batch, other):
    return [
        paired_ratio(times["exponential", other, k], times["exponential", batch, k]) for k in KS
    ]


def theorem_2_ratios(times):
    for batch, other in (("k-batch-async", "k-async"), ("k-batch-sync", "k-sync")):
        measured = theorem_2_samples(times, batch, other)
        yield claim(f"10.{other}").all_near(
            (f"K = {k}", RATIOS[k - 1], measured[k - 1]) for k in KS
        )
    k = 4
    logarithm = 8 / k * float(np.log(8 / (8 - k)))
    off = logarithm / theorem_2(k, 8) - 1
    yield claim("10.logarithm").holds(
        round(off, 3) == 0.092, f"{logarithm:.4f} for {theorem_2(k, 8):.4f}: {100 * off:+.1f} %"
    )


def theorem_2_figure(times):
    figure = figure_of("theorem2")
    figure.series.append(Series("exact", THEORY, list(KS), [theorem_2(k, 8) for k in KS]))
    for batch, other in (("k-batch-async", "k-async"), ("k-batch-sync", "k-sync")):
        measured = theorem_2_samples(times, batch, other)
        figure.series.append(sampled(f"{other} over {batch}", list(KS), measured))
    return figure
