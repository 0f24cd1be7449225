"""Fig 6: what 2,000 iterations of twenty learners take, in the long run and as plotted, from cold
starts."""

from functools import cache

import numpy as np
from papers.dutta2018 import claim, figure_of
from papers.laws import MEAN, NAME, order_statistic
from reproduce.claims import THEORY, paired_difference, sample, scaled
from reproduce.figures import PLOTTED, Series, sampled
from reproduce.outputs import digitised, update_of

SIDES = ("pareto", "shifted-exponential")
FIG6 = ("k-sync", "k-async", "k-batch-async")
ALL_KS = range(1, 21)
LONG_K_ASYNC = {
    "pareto": {1: 200, 5: 1111, 10: 2539, 12: 3100, 13: 3435, 15: 4355, 20: 16000},
    "shifted-exponential": {1: 201, 5: 1113, 10: 2594, 15: 4288, 20: 9214},
}


def fig6_plotted():
    return {
        (row["law"], row["protocol"], row["k"]): row["time"]
        for row in digitised("dutta2018", "fig6")
    }


def fig6_series(figure, law, times, theory):
    """The figure with theory where it is known; the marks are the same in both modes."""
    plotted = fig6_plotted()
    for protocol in FIG6:
        if protocol in theory:
            figure.series.append(
                Series(protocol, THEORY, list(ALL_KS), [theory[protocol](k) for k in ALL_KS])
            )
        samples = [times[law, protocol, k] for k in ALL_KS]
        seen = [plotted[law, protocol, k] for k in ALL_KS]
        figure.series += [
            sampled(protocol, list(ALL_KS), samples),
            Series(protocol, PLOTTED, list(ALL_KS), seen),
        ]
    return figure


def fig6_long(outputs):
    times = scaled(
        outputs.samples("fig6_how_long_is_an_update", update_of, "mean_iteration_time"), 2000
    )
    figures = [
        fig6_series(
            figure_of("fig6_long_{law}", law=law, name=NAME[law]),
            law,
            times,
            {
                "k-sync": lambda k, law=law: 2000 * order_statistic(law, k, 20),
                "k-batch-async": lambda k, law=law: 100 * MEAN[law] * k,
            },
        )
        for law in SIDES
    ]
    return figures, [*fig6_long_values(times), *pareto_crossing(times)]


def fig6_long_values(times):
    for law in SIDES:
        expected = {
            "k-sync": {k: 2000 * order_statistic(law, k, 20) for k in ALL_KS},
            "k-async": LONG_K_ASYNC[law],
            "k-batch-async": {k: 200 * k for k in ALL_KS},
        }
        for protocol, values in expected.items():
            yield claim(f"9.long-{protocol}-{law}").all_near(
                (f"K = {k}", x, times[law, protocol, k]) for k, x in values.items()
            )


def pareto_crossing(times):
    sync, late = ({k: times["pareto", name, k] for k in (12, 13)} for name in ("k-sync", "k-async"))
    yield claim("5.pareto").all_above(
        [paired_difference(sync[12], late[12]), paired_difference(late[13], sync[13])],
        told="; ".join(f"K = {k}: K-async {late[k]}, K-sync {sync[k]}" for k in (12, 13)),
    )
    plotted = fig6_plotted()
    a, s = plotted["pareto", "k-async", 13], plotted["pareto", "k-sync", 13]
    yield claim("5.pareto-plotted").holds(a > s, f"{a:g} and {s:g}")


@cache
def authors_times(law, repeats, seed=20180):
    """The authors' K-batch-async, as inferred: each of 20 learners draws 20 times only; 20 updates
    end at the (20 K)-th of the 400 completions. {K: Sample of 100 such times}."""
    rng = np.random.default_rng(seed)
    ends = []
    for _ in range(repeats // 1000):
        uniform = rng.random((1000, 20, 20))
        draws = uniform**-0.5 if law == "pareto" else 1 - np.log(uniform)
        completions = np.sort(draws.cumsum(axis=2).reshape(1000, 400), axis=1)
        ends.append(100 * completions[:, 19::20])
    return {k: sample(column) for k, column in zip(ALL_KS, np.concatenate(ends).T)}


def fig6_cold(outputs):
    own = scaled(outputs.samples("fig6_from_a_cold_start", update_of, "sim_time"), 100)
    times = dict(own)
    for law in SIDES:
        for k, one in authors_times(law, 50_000).items():
            times[law, "k-batch-async", k] = one
    figures = [
        fig6_series(figure_of("fig6_{law}", law=law, name=NAME[law]), law, times, {})
        for law in SIDES
    ]
    return figures, [*fig6_cold_values(times, own), *fig6_inconsistencies()]


def fig6_cold_values(times, own):
    plotted = fig6_plotted()

    def as_plotted(name, law, protocol, last, measured):
        return claim(f"9.plotted-{name}-{law}").all_near(
            (f"K = {k}", plotted[law, protocol, k], measured[law, protocol, k])
            for k in range(1, last + 1)
        )

    for law in SIDES:
        for protocol in ("k-sync", "k-async", "k-batch-async"):
            yield as_plotted(protocol, law, protocol, 20, times)
        yield as_plotted("k-batch-async-proper", law, "k-batch-async", 17, own)


def fig6_inconsistencies():
    plotted = fig6_plotted()
    for law in SIDES:
        for k in (10, 20):
            yield claim(f"9.lemma4-{law}-{k}").disagrees(plotted[law, "k-batch-async", k], 200 * k)
