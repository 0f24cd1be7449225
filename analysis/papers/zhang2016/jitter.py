"""Hardsync's time over 1-softsync's, against jitter and learners: item 8."""

from itertools import pairwise

from papers.laws import harmonic, normal_maximum
from papers.zhang2016 import claim, figure_of
from papers.zhang2016.fig1 import law_name
from reproduce.claims import paired_difference, paired_ratio, plus
from reproduce.figures import THEORY, Series, sampled


def expected_ratio(law, learners):
    """E[X_{P:P}] / E[X]."""
    if law["distribution"] == "normal":
        return normal_maximum(1, law["sd"], learners) / normal_maximum(1, law["sd"], 1)
    shift = law.get("shift", 0.0)
    return (shift + law["mean"] * harmonic(learners)) / (shift + law["mean"])


def jitter(outputs):
    scenario = "who_waits_longer_with_jitter"
    key = lambda row: (law_name(row), row["cluster.learners"], row["protocol"])
    times = outputs.samples(scenario, key, "mean_iteration_time")
    laws = {law_name(row): row["cluster.runtime"] for row in outputs.runs(scenario)}
    learners = sorted({p for _, p, _ in times})
    ratios = {
        (law, p): paired_ratio(times[law, p, "hardsync"], times[law, p, "softsync"])
        for law in laws
        for p in learners
    }
    figure = figure_of("jitter")
    for law in laws:
        expected = [expected_ratio(laws[law], p) for p in learners]
        figure.series += [
            Series(law, THEORY, learners, expected),
            sampled(law, learners, [ratios[law, p] for p in learners]),
        ]
    return [figure], claims_of(ratios, laws, learners)


def claims_of(ratios, laws, learners):
    steps = lambda values: [paired_difference(high, low) for low, high in pairwise(values)]
    by_learners = sum((steps([ratios[law, p] for p in learners]) for law in laws), [])
    by_jitter = sum((steps([ratios[law, p] for law in laws]) for p in learners), [])
    longer = [plus(one, -1) for one in ratios.values()]
    cv = half_slower(ratios, laws)
    return [
        claim("8.ratio").all_near(
            (f"{law}, P = {p}", expected_ratio(laws[law], p), one)
            for (law, p), one in ratios.items()
        ),
        claim("8.always").all_above(longer),
        claim("8.learners").all_above(by_learners),
        claim("8.jitter").all_above(by_jitter),
        claim("8.consistent").holds(0.10 <= cv <= 0.27, f"{100 * cv:.3g} %"),
    ]


def half_slower(ratios, laws):
    """The jitter at which the ratio passes 1.5, on straight lines."""
    normal = [(law.get("sd"), ratios[name, 30].mean) for name, law in laws.items()]
    normal = [(0.0, 1.0)] + [(sd, found) for sd, found in normal if sd]
    for (a, low), (b, high) in zip(normal, normal[1:]):
        if low < 1.5 <= high:
            return a + (b - a) * (1.5 - low) / (high - low)
    return float("nan")
