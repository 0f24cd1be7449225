"""Balance of computing and communication, and how layers are best divided: items 1 and 2."""

from itertools import pairwise

from papers.das2016 import claim, figure_of
from papers.das2016.layers import NAMES, best_groups, bytes_of, divisors, layers_of, ring
from reproduce.claims import Sample
from reproduce.figures import THEORY, Series, sampled

# Height and width of what the convolutions put out.
SIDES = {"vgg-a": (224, 112, 56, 56, 28, 28, 14, 14), "overfeat-fast": (56, 24, 12, 12, 12)}
NODES, MINIBATCH = 64, 256
DENSE = {"parameter_bytes": 4 * 4096**2, "activation_bytes": 4 * 4096}


def balance():
    samples = MINIBATCH / NODES
    ratios = [
        (f"{NAMES[name]}, {side} x {side}", 1.5 * side**2 * samples, Sample(3 * layer["flop"] * samples / layer["parameter_bytes"]))
        for name, sides in SIDES.items()
        for side, layer in zip(sides, layers_of(name))
    ]  # fmt: skip
    choices = divisors(NODES)
    terms = [
        2 * DENSE["activation_bytes"] * MINIBATCH / G + 2 * DENSE["parameter_bytes"] * G / NODES
        for G in choices
    ]
    least = terms.index(min(terms))
    falls = all(a > b for a, b in pairwise(terms[: least + 1]))
    rises = all(a < b for a, b in pairwise(terms[least:]))
    best = [
        (bytes_of(layer, best_groups(layer, nodes, MINIBATCH), nodes, MINIBATCH), bytes_of(layer, nodes, nodes, MINIBATCH), bytes_of(layer, 1, nodes, MINIBATCH))
        for name in NAMES
        for layer in layers_of(name)[-3:]
        for nodes in (16, 64)
    ]  # fmt: skip
    return [
        claim("1.balance").all_near(ratios),
        claim("2.example").near(Sample(best_groups(DENSE, NODES, MINIBATCH))),
        claim("2.shape").holds(
            falls and rises and choices[least] == 2, f"least at G = {choices[least]}"
        ),
        claim("2.hybrid").holds(
            all(hybrid <= min(pure) for hybrid, *pure in best), f"{len(best)} layers and numbers of nodes"
        ),
    ]  # fmt: skip


def dense(outputs):
    found = {
        row["cluster.network.layers"].get("parallelism", "data"): row["bytes_sent"] / NODES / row["updates"]
        for row in outputs.runs("how_is_a_dense_layer_best_divided")
    }  # fmt: skip
    groups = {"model": 1, "hybrid": 2, "data": NODES}
    choices = divisors(NODES)
    figure = figure_of("dense")
    figure.series = [
        Series("bytes(G)", THEORY, choices, [bytes_of(DENSE, G, NODES, MINIBATCH) / 1e6 for G in choices]),
        sampled("sent", list(groups.values()), [Sample(found[way] / 1e6) for way in groups]),
    ]  # fmt: skip
    return [figure], [
        *balance(),
        claim("2.sent").all_near((way, by_rings(G), Sample(found[way])) for way, G in groups.items()),
        claim("2.fewest").ordered(
            (f"hybrid and {way}", Sample(found["hybrid"]), Sample(found[way])) for way in ("data", "model")
        ),
    ]  # fmt: skip


def by_rings(groups):
    """bytes(G), each message of which passes all but one of the ring's links."""
    members = NODES // groups
    activations = DENSE["activation_bytes"] * MINIBATCH / groups
    return ring(members, activations, 1) + ring(groups, DENSE["parameter_bytes"] * groups / NODES, 1)  # fmt: skip
