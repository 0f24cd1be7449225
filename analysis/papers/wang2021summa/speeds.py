"""Which parallelism is fastest: items 4 to 7."""

import math
from itertools import pairwise

import numpy as np
from papers.wang2021summa import claim, figure_of
from papers.wang2021summa.summa import Grid, Hops
from reproduce.claims import Sample
from reproduce.figures import LEVEL, THEORY, Series, sampled

KINDS = ("1-d", "2-d")


def times(outputs, scenario, key):
    """{key(row): mean time of a minibatch}; nothing is random."""
    return {key(row): row["mean_iteration_time"] for row in outputs.runs(scenario)}


class Ratios:
    """Of the times of 1-d and 2-d to that of 2.5-d, each a straight line of the latency."""

    def __init__(self, found, computing, passes):
        """found: {(parallelism, computing, passes, latency): time}"""
        self.latencies = sorted({latency for *_, latency in found})
        self.times = {
            kind: [found[kind, computing, passes, at] for at in self.latencies]
            for kind in (*KINDS, "2.5-d")
        }

    def at(self, kind, latency):
        one, deep = (np.interp(latency, self.latencies, self.times[of]) for of in (kind, "2.5-d"))
        return float(one / deep)

    def latency_of(self, ratio):
        """At which 1-d takes so many times as long."""
        gaps = [one - ratio * deep for one, deep in zip(self.times["1-d"], self.times["2.5-d"])]
        return float(np.interp(0, gaps, self.latencies))


def strong(outputs):
    found = times(
        outputs,
        "which_is_fastest_on_64_devices",
        lambda row: (
            row["cluster.group.parallelism"],
            row["cluster.runtime.value"],
            row["cluster.group.transformer.passes"],
            row["cluster.group.inside.latency"],
        ),
    )
    none, *some = sorted({computing for _, computing, *_ in found})
    ratios = Ratios(found, none, "forward")
    fitted = float(claim("4.1-d").expected)
    latency = ratios.latency_of(fitted)
    predicted = lambda one: one.at("2-d", one.latency_of(fitted))
    figure = figure_of("strong")
    figure.marks = [latency]
    places = ratios.latencies[1:]
    for kind in KINDS:
        said = float(claim(f"4.{kind}").expected)
        figure.series += [
            sampled(kind, places, [Sample(ratios.at(kind, at)) for at in places]),
            Series(f"{kind}, the abstract", LEVEL, places, [said] * len(places)),
        ]
    both = [ratios.at(kind, latency) for kind in KINDS]
    again = [predicted(Ratios(found, computing, "forward")) for computing in some]
    return [figure], [
        claim("4.1-d").near(Sample(both[0])),
        claim("4.2-d", latency=latency).near(Sample(both[1])),
        claim("4.order").holds(1 < both[0] < both[1], f"1, {both[0]:.4g}, {both[1]:.4g}"),
        claim("4.compute").all_near(
            (f"{computing:g}", 1.53, Sample(one)) for computing, one in zip(some, again)
        ),
        claim("4.recompute").near(Sample(predicted(Ratios(found, none, "recompute")))),
    ]


def weak(outputs):
    found = times(
        outputs,
        "when_does_2-d_beat_1-d",
        lambda row: (row["cluster.group.parallelism"], row["cluster.group.grid"][0]),
    )
    sides = sorted({q for _, q in found})
    ratios = [found["2-d", q] / found["1-d", q] for q in sides]
    expected = [math.log2(q) / q * 7.25 / (4 * (1 - 1 / q**2)) for q in sides]
    figure = figure_of("weak")
    devices = [q * q for q in sides]
    figure.series = [
        Series("2-d over 1-d", THEORY, devices, expected),
        sampled("2-d over 1-d", devices, map(Sample, ratios)),
    ]
    told = ", ".join(f"{one:.4g}" for one in ratios)
    held = [Grid(q, 1, Hops()).split(np.zeros((24, 12)))[0][0][0].size / (24 * 12) for q in (2, 4)]
    return [figure], [
        claim("5.falls").holds(all(high > low for high, low in pairwise(ratios)), told),
        claim("5.beats").holds(ratios[0] > 1 > ratios[1], told),
        claim("5.ratio").all_near(
            (f"q = {q}", one, Sample(ratio)) for q, one, ratio in zip(sides, expected, ratios)
        ),
        claim("5.memory").all_near(
            (f"q = {q}", 1 / q**2, Sample(one)) for q, one in zip((2, 4), held)
        ),
    ]


def depth(outputs):
    found = times(
        outputs,
        "does_depth_help",
        lambda row: (
            row["cluster.group.broadcast"],
            row["cluster.group.grid"][2],
            row["cluster.group.transformer.batch"] / 1792,
        ),
    )
    depths = sorted({d for _, d, _ in found})
    shares = sorted({share for *_, share in found})
    over = lambda broadcast, d: [found[broadcast, d, r] / found[broadcast, 1, r] for r in shares]
    figure = figure_of("depth")
    figure.marks = [6 / 7]
    figure.series = [
        sampled(f"depth {d}", shares, map(Sample, over("tree", d))) for d in depths[1:]
    ]
    tree, ring = over("tree", 4), over("ring", 4)
    equal = shares.index(6 / 7)
    deeper = [found["tree", d, shares[-1]] for d in depths]
    tell = lambda values: ", ".join(f"{one:.4g}" for one in values)
    return [figure], [
        claim("6.equal").near(Sample(tree[equal])),
        claim("6.reversal").holds(min(tree[:equal]) > 1 > max(tree[equal + 1 :]), tell(tree)),
        claim("6.deeper").holds(all(one > next for one, next in pairwise(deeper)), tell(deeper)),
        claim("6.ring").holds(max(ring) < 1, tell(ring)),
    ]


def learners(outputs):
    scenario = "what_do_deeper_learners_exchange"
    key = lambda row: (row["cluster.group.grid"][2], row["cluster.network.model_bytes"])
    updates = 10
    mean = lambda column: {
        at: float(np.mean(of)) / updates
        for at, (of,) in outputs.series(scenario, key, "learners", column).items()
    }
    computing, exchanging = mean("busy"), mean("communicating")
    points = sorted(computing)
    unit = computing[points[0]]
    figure = figure_of("learners")
    for name, found in (("minibatch", computing), ("exchange between learners", exchanging)):
        figure.series.append(
            sampled(name, [d for d, _ in points], [Sample(found[at] / unit) for at in points])
        )
    return [figure], [
        claim("7.minibatch").holds(
            all(computing[one] > computing[next] for one, next in pairwise(points)),
            ", ".join(f"{computing[at] / unit:.4g}" for at in points),
        ),
        claim("7.exchange").all_near(
            (f"depth {at[0]}", 2 * 3 / 4 * at[1] / 0.4, Sample(exchanging[at])) for at in points
        ),
    ]
