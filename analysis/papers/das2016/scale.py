"""Speed-ups on Aries and Ethernet: items 3 to 6."""

from itertools import pairwise

from papers.das2016 import claim, figure_of
from papers.das2016.layers import NAMES, layers_of, step_time
from reproduce.claims import Sample
from reproduce.figures import PLOTTED, THEORY, Series, Table, sampled

ARIES, ETHERNET = 1e10, 1.25e9  # bytes a second
VGG, OVERFEAT = NAMES
REPORTED = {(VGG, 64): 53, (OVERFEAT, 64): 42, (VGG, 128): 90}  # abstract


class Point:
    """A network on some nodes. computing: time of a node's minibatch, which takes `longer` times that; way: how layers
    are divided."""

    def __init__(self, row, bandwidth=ETHERNET, **layers):
        layers = row.get("cluster.network.layers", layers)
        self.net, self.nodes = layers["path"], int(row["learners"])
        self.way = layers.get("parallelism", "data")
        self.work = row["cluster.runtime.flop"]
        self.computing = self.work / row["cluster.runtime.flop_rate"]
        self.longer = row.get("cluster.runtime.jitter.value", 1)
        self.bandwidth = bandwidth
        self.weights_first = layers["weights_first"]
        self.backward = row.get("protocol.backward", 2 / 3)
        self.time = row["mean_iteration_time"]
        self.speed_up = Sample(self.nodes * self.computing / self.time)
        self.where = f"{NAMES[self.net]}, {self.nodes} nodes, {self.way}"

    @property
    def minibatch(self):
        """Of all nodes."""
        passes = 3 * sum(layer["flop"] for layer in layers_of(self.net))
        return round(self.nodes * self.work / passes)

    def expected_time(self):
        return step_time(
            layers_of(self.net), self.computing * self.longer, self.nodes, self.minibatch, self.bandwidth, self.way,
            self.weights_first, self.backward,
        )  # fmt: skip


def recurrence(id, points):
    return claim(id).all_near((one.where, one.expected_time(), Sample(one.time)) for one in points)


def aries(outputs):
    points = [
        Point(
            row,
            row["cluster.network.bandwidth"],
            path=row["cluster.network.layers.path"],
            parallelism="hybrid",
            weights_first=True,
        )
        for row in outputs.runs("how_much_faster_are_many_nodes")
    ]
    at = {(one.bandwidth, one.longer > 1, one.net, one.nodes): one for one in points}
    whole = {key[2:]: one for key, one in at.items() if key[:2] == (ARIES, True)}
    alone = {key[2:]: one for key, one in at.items() if key[:2] == (ARIES, False)}
    strong = {
        net: [one for (of, _), one in sorted(alone.items()) if of == net and one.minibatch == 256]
        for net in NAMES
    }
    return [scale_figure(strong, whole), sensitivity(at)], [
        recurrence("3.recurrence", points),
        claim("3.falls").holds(
            all(a.time * a.nodes < b.time * b.nodes for of in strong.values() for a, b in pairwise(of)),
            ", ".join(f"{one.speed_up.mean / one.nodes:.3g}" for one in strong[VGG]) + " of VGG-A",
        ),
        claim("3.order").ordered(
            (f"{n} nodes", alone[OVERFEAT, n].speed_up, alone[VGG, n].speed_up) for n in (2, 4, 8, 16, 32, 64)
        ),
        claim("3.larger").holds(
            whole[VGG, 128].speed_up.mean >= 1.6 * whole[VGG, 64].speed_up.mean,
            Sample(whole[VGG, 128].speed_up.mean / whole[VGG, 64].speed_up.mean),
        ),
        *(claim(f"4.{net}-{n}").near(whole[net, n].speed_up) for net, n in REPORTED),
    ]  # fmt: skip


def scale_figure(strong, whole):
    figure = figure_of("aries")
    for net, points in strong.items():
        nodes = [one.nodes for one in points]
        figure.series += [
            Series(NAMES[net], THEORY, nodes, [one.nodes * one.computing / one.expected_time() for one in points]),
            sampled(NAMES[net], nodes, [one.speed_up for one in points]),
            sampled(f"{NAMES[net]}, with c", nodes, [whole[net, n].speed_up for n in nodes]),
            Series(f"{NAMES[net]}, with c", PLOTTED, [64], [REPORTED[net, 64]]),
        ]  # fmt: skip
    return figure


def sensitivity(at):
    """What the choice of a bandwidth does."""
    bandwidths = sorted({bandwidth for bandwidth, *_ in at})
    rows = [
        [f"{NAMES[net]}, {n} nodes", str(reported), *(f"{at[one, True, net, n].speed_up.mean:.1f}" for one in bandwidths)]
        for (net, n), reported in REPORTED.items()
    ]  # fmt: skip
    heads = ["", "reported", *(f"{one / 1e9:g} GB/s" for one in bandwidths)]
    words = figure_of("bandwidths")
    return Table(words.name, words.title, heads, rows, words.note)


def ethernet(outputs):
    points = [Point(row) for row in outputs.runs("does_ethernet_do")]
    at = {(one.net, one.nodes, one.way): one.speed_up.mean for one in points}
    growth = lambda way: max(at[net, 64, way] / at[net, 16, way] for net in NAMES)
    figure = figure_of("ethernet")
    figure.ticks = [f"{NAMES[net]}, {n}" for net in NAMES for n in (16, 64)]
    for way in ("hybrid", "data", "model"):
        found = [Sample(at[net, n, way]) for net in NAMES for n in (16, 64)]
        figure.series.append(sampled(way, list(range(len(found))), found))
    rows = [
        ["VGG-A", "14.2", f"{at[VGG, 16, 'hybrid']:.1f}"],
        ["OverFeat-FAST", "11.9", f"{at[OVERFEAT, 16, 'hybrid']:.1f}"],
    ]
    words = figure_of("remembered")
    return [figure, Table(words.name, words.title, ["", "from memory", "here"], rows, words.note)], [
        recurrence("4.recurrence", points),
        claim("4.ethernet").within(Sample(at[VGG, 16, "hybrid"])),
        claim("5.hybrid").holds(
            all(at[net, n, "hybrid"] > max(at[net, n, "data"], at[net, n, "model"]) for net in NAMES for n in (16, 64)),
            f"VGG-A on 16 nodes: {at[VGG, 16, 'hybrid']:.3g}, {at[VGG, 16, 'data']:.3g} and {at[VGG, 16, 'model']:.3g}",
        ),
        claim("5.collapse").holds(growth("data") < 1.2, Sample(growth("data"))),
    ]  # fmt: skip


def overlap(outputs):
    points = [
        Point(
            row,
            path=row["cluster.network.layers.path"],
            weights_first=row["cluster.network.layers.weights_first"],
        )
        for row in outputs.runs("what_does_overlap_save")
    ]
    times = {(one.net, one.weights_first, one.backward > 0): Sample(one.time) for one in points}
    return [], [
        recurrence("6.recurrence", points),
        claim("6.order").ordered(
            (f"{NAMES[net]}, {words}", times[net, *better], times[net, *worse])
            for net in NAMES
            for words, better, worse in (
                ("weights first", (True, True), (False, True)),
                ("overlap", (False, True), (False, False)),
            )
        ),
    ]
