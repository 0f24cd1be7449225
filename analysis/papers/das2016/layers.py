"""The paper's equations on the tables of scenarios/layers, apart from the program."""

from functools import cache

from reproduce.outputs import PAPERS
from reproduce.table import read_table

LAYERS = PAPERS.parents[1] / "scenarios/layers"
NAMES = {"vgg-a": "VGG-A", "overfeat-fast": "OverFeat-FAST"}


@cache
def layers_of(name):
    """Rows of numbers, from the first layer to the last."""
    numbers = ["flop", "parameter_bytes", "activation_bytes"]
    return [row for _, row in read_table(LAYERS / f"{name}.csv", ["layer"], numbers)]


def divisors(nodes):
    return [G for G in range(1, nodes + 1) if nodes % G == 0]


def bytes_of(layer, groups, nodes, minibatch):
    """What a node sends and receives of a layer; minibatch: of all nodes."""
    activations = 2 * layer["activation_bytes"] * minibatch / groups if groups < nodes else 0
    return activations + (2 * layer["parameter_bytes"] * groups / nodes if groups > 1 else 0)


def best_groups(layer, nodes, minibatch):
    return min(reversed(divisors(nodes)), key=lambda G: bytes_of(layer, G, nodes, minibatch))


def groups_of(layer, parallelism, nodes, minibatch):
    if parallelism == "hybrid":
        return best_groups(layer, nodes, minibatch)
    return nodes if parallelism == "data" else 1


def ring(members, whole, bandwidth):
    return 2 * (members - 1) / members * whole / bandwidth


def step_time(
    layers, computing, nodes, minibatch, bandwidth, parallelism, weights_first=True, backward=2 / 3
):
    """The recurrence: one channel, first in first out; activations are waited for, gradients are not."""
    work = sum(layer["flop"] for layer in layers)
    groups = [groups_of(layer, parallelism, nodes, minibatch) for layer in layers]
    time = channel = 0.0

    def take_in(i):
        nonlocal time, channel
        if groups[i] < nodes:
            half = layers[i]["activation_bytes"] * minibatch / groups[i] / 2
            time = channel = max(channel, time) + ring(nodes // groups[i], half, bandwidth)

    def send(i):
        nonlocal channel
        if groups[i] > 1:
            part = layers[i]["parameter_bytes"] * groups[i] / nodes
            channel = max(channel, time) + ring(groups[i], part, bandwidth)

    for i, layer in enumerate(layers):
        take_in(i)
        time += (1 - backward) * layer["flop"] / work * computing
    for i in reversed(range(len(layers))):
        half = backward * layers[i]["flop"] / work / 2 * computing
        time += half
        (send if weights_first else take_in)(i)
        time += half
        (take_in if weights_first else send)(i)
    return max(time, channel)
