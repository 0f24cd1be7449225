"""Weak scaling to 256 workers with the times of real networks: item 3."""

import math

from papers.zhou2020 import claim, figure_of
from papers.zhou2020.protocols import measured_round, protocol_of
from reproduce.claims import Sample
from reproduce.figures import THEORY, Series, sampled

# T_c: name in ids, name, one link
NETS = {
    92.9: ("nin", "NiN", 3.47),
    1692.0: ("vgg-16", "VGG-16", 63.2),
    92.0: ("alexnet", "AlexNet v2", 23.0),
}


def average_time(network, workers, link):
    """T_s: NVLink takes 0.029 of a link."""
    levels = math.ceil(math.log2(workers))
    if network == "flat":
        return 2 * levels * link
    return 2 * (levels - 3) * link + 2 * 0.029 * link


def step_of(row):
    return row["cluster.runtime.value"]


def scale(outputs):
    return scale_up(outputs, "does_it_scale_to_256_workers", "flat", "a tree")


def scale_with_nodes(outputs):
    scenario = "does_it_scale_with_eight_workers_to_a_node"
    return scale_up(outputs, scenario, "nodes", "a tree, eight workers to a node")


def scale_up(outputs, scenario, network, words):
    figures, claims = [], []
    speedups = {
        (step_of(row), protocol_of(row), row["cluster.learners"]): speedup_of(row)
        for row in outputs.runs(scenario)
    }
    for step, (id, net, link) in NETS.items():
        found = {(one, n): up for (at, one, n), up in speedups.items() if at == step}
        average = {n: average_time(network, n, link) for _, n in found}
        wanted = {
            (one, n): n * one.tau * step / one.round_time(step, average[n]) for one, n in found
        }
        needed = math.ceil(average[256] / step - 1e-9)
        if net != "VGG-16":  # as NiN: the same T_s / T_c
            figures.append(scale_figure(network, words, id, net, wanted, found, needed))
        claims += judged(f"{id}-{network}", step, wanted, found, needed)
    return figures, claims


def speedup_of(row):
    """Over one worker, who averages with nobody."""
    protocol, step = protocol_of(row), step_of(row)
    return row["cluster.learners"] * protocol.tau * step / measured_round(protocol, row, step)


def scale_figure(network, words, id, net, wanted, found, needed):
    figure = figure_of(
        "scale_{id}_{network}", id=id, network=network, net=net, words=words, needed=needed
    )
    workers = sorted({n for _, n in found})
    figure.series.append(Series("linear", THEORY, workers, workers))
    for one in dict.fromkeys(one for one, _ in found if one.delay <= needed):
        figure.series += [
            Series(one.name, THEORY, workers, [wanted[one, n] for n in workers]),
            sampled(one.name, workers, [Sample(found[one, n]) for n in workers]),
        ]
    return figure


def judged(id, step, wanted, found, needed):
    workers = max(n for _, n in found)
    efficiency = {one: found[one, n] / n for one, n in found if n == workers}
    sync = next(one for one in efficiency if one.kind == "all-reduce")
    hides = [(one, n) for one, n in found if one.kind == "dasgd" and one.delay >= needed]
    return [
        claim(f"3.speedup-{id}").all_near(
            (f"{one.name}, n = {n}", wanted[one, n], Sample(found[one, n])) for one, n in found
        ),
        claim(f"3.average-{id}").near(Sample(step / efficiency[sync] - step)),
        claim(f"3.sync-{id}").near(Sample(efficiency[sync])),
        claim(f"3.delay-{id}").holds(
            smallest_hiding(efficiency) == needed,
            "; ".join(f"{one.name}: efficiency {share:.4g}" for one, share in efficiency.items()),
        ),
        claim(f"3.linear-{id}").all_near(
            (f"{one.name}, n = {n}", n, Sample(found[one, n])) for one, n in hides
        ),
    ]


def smallest_hiding(efficiency):
    hiding = [
        one.delay for one, share in efficiency.items() if one.kind == "dasgd" and share > 1 - 1e-9
    ]
    return min(hiding, default=None)
