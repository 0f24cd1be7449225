"""Fig 5: how much faster async updates than sync, in the long run and, as plotted, from cold
starts."""

from papers.dutta2018 import claim, figure_of
from papers.laws import LAWS, NAME, speedup
from reproduce.claims import THEORY, paired_difference, paired_ratio
from reproduce.figures import PLOTTED, Series, sampled
from reproduce.outputs import digitised, law_of

SHOWN = LAWS[:3]


def speedups(outputs, scenario):
    """{(law, P): Sample of sync's time of an update over async's}."""
    key = lambda row: (law_of(row), row["learners"], row["protocol"])
    times = outputs.samples(scenario, key, "mean_iteration_time")
    return {
        (law, p): paired_ratio(one, times[law, p, "async"])
        for (law, p, protocol), one in times.items()
        if protocol == "sync"
    }


def plotted_speedups():
    """{(law, P): as plotted}."""
    return {(row["law"], row["learners"]): row["speedup"] for row in digitised("dutta2018", "fig5")}


def fig5(outputs):
    measured = speedups(outputs, "fig5_how_much_faster_is_async")
    learners = sorted({p for _, p in measured})
    plotted = plotted_speedups()
    figure = figure_of("fig5")
    for law in SHOWN:
        samples = [measured[law, p] for p in learners]
        places = [p for name, p in plotted if name == law]
        figure.series += [
            Series(NAME[law], THEORY, learners, [speedup(law, p) for p in learners]),
            sampled(NAME[law], learners, samples),
            Series(NAME[law], PLOTTED, places, [plotted[law, p] for p in places]),
        ]
    return [figure], [*fig5_values(measured, plotted), *fig5_order(measured)]


def fig5_values(measured, plotted):
    for law in SHOWN:
        places = [p for name, p in plotted if name == law]
        yield claim(f"8.exact-{law}").all_near(
            (f"P = {p}", speedup(law, p), measured[law, p]) for p in places
        )
    yield claim("8.cold").disagrees(
        plotted["shifted-exponential", 20], speedup("shifted-exponential", 20)
    )


def fig5_order(measured):
    """At P = 12 the two laws are 0.04 % apart, which no simulation of this length tells."""
    gap = {
        p: paired_difference(measured["pareto", p], measured["exponential", p]) for p in (12, 13)
    }
    exact = {p: speedup("pareto", p) - speedup("exponential", p) for p in gap}
    yield claim("8.crossing-exact").holds(
        exact[12] < 0 < exact[13], f"{exact[12]:.4f} and {exact[13]:.4f}"
    )
    for p in gap:
        yield claim(f"8.crossing-{p}").near(gap[p], exact[p])
    yield claim("8.overtaken").above(
        paired_difference(measured["pareto", 20], measured["exponential", 20])
    )
    yield claim("8.shifted").ordered(
        (f"P = {p}", measured["shifted-exponential", p], measured[law, p])
        for p in range(2, 21)
        for law in ("exponential", "pareto")
    )


def fig5_cold(outputs):
    measured = speedups(outputs, "fig5_from_a_cold_start")
    plotted = plotted_speedups()
    return [], [
        claim(f"8.plotted-{law}").all_near(
            (f"P = {p}", y, measured[law, p]) for (name, p), y in plotted.items() if name == law
        )
        for law in SHOWN
    ]
