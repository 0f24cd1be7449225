"""Fig 3 with networks: small models on MNIST stand in for the CNN, and the CNN itself: items 5 and 6."""

import numpy as np
from papers.zhang2016 import claim, figure_of
from papers.zhang2016.fig1 import protocol_name
from reproduce.claims import is_above, paired_difference, times
from reproduce.figures import curve_series

NS = (1, 2, 6, 15, 30)
NAMES = ("hardsync", *(f"n = {n}" for n in NS))
RATES = {"step": "alpha0", "staleness": "alpha0 / tau"}
CHANCE = 0.85


def key(row):
    return row["learning_rate"]["kind"], protocol_name(row)


def panels(outputs, scenario, name, task):
    """The two panels of Fig 3."""
    curves = outputs.curves(scenario, key, "epoch", "test_error")
    for kind, rate in RATES.items():
        figure = figure_of("{name}_{kind}", name=name, kind=kind, task=task, rate=rate)
        figure.series += [curve_series(one, curves[kind, one]) for one in NAMES]
        yield figure


def fig3_softmax(outputs):
    scenario = "fig3_softmax_on_mnist"
    errors = outputs.samples(scenario, key, "final_test_error")
    losses = outputs.samples(scenario, key, "final_loss")
    pairs = [
        (f"{low} and {high}", errors["step", low], errors["step", high])
        for low, high in zip(NAMES, NAMES[1:])
    ]
    steps = [
        paired_difference(losses["step", high], losses["step", low])
        for low, high in zip(NAMES, NAMES[1:])
    ]
    by_replica = lambda row: (protocol_name(row), row["replica"])
    hashes = outputs.values(scenario, by_replica, "final_hash")
    hashes = [set(found) for (name, _), found in hashes.items() if name == "hardsync"]
    return list(panels(outputs, scenario, "fig3_softmax", "softmax on MNIST")), [
        claim("5.softmax-rises").ordered(pairs),
        claim("5.softmax-loss").holds(
            all((step.values > 0).all() for step in steps[1:])
            and not is_above(times(steps[0], -1)),
            ", ".join(f"{name}: {losses['step', name]}" for name in NAMES),
        ),
        claim("5.softmax-most").holds(
            (errors["step", "n = 30"].values > errors["step", "hardsync"].values).all(),
            told(errors, "step"),
        ),
        divided("softmax", errors, 0.01),
        claim("5.softmax-divided-loss").holds(
            losses["step", "n = 30"].mean > 4 * losses["staleness", "n = 30"].mean,
            f"{losses['step', 'n = 30']} and {losses['staleness', 'n = 30']}",
        ),
        claim("6.softmax").holds(
            all(len(found) == 1 for found in hashes), f"{len(hashes)} replicas compared"
        ),
    ]


def spread(errors, kind):
    """How far the errors of all n are from hardsync's; NaN where one is NaN."""
    return float(
        np.max([abs(errors[kind, name].mean - errors[kind, "hardsync"].mean) for name in NAMES])
    )


def told(errors, kind):
    return ", ".join(f"{name}: {errors[kind, name]}" for name in NAMES)


def divided(model, errors, bound):
    """With the rate divided by the staleness all n end alike."""
    off, each = spread(errors, "staleness"), told(errors, "staleness")
    return claim(f"5.{model}-divided").holds(off <= bound, each)


def fig3_perceptron(outputs):
    scenario = "fig3_perceptron_on_mnist"
    errors = outputs.samples(scenario, key, "final_test_error")
    claims = [
        claim(f"5.perceptron-fails-{n}").holds(
            errors["step", f"n = {n}"].mean > CHANCE, errors["step", f"n = {n}"]
        )
        for n in (15, 30)
    ]
    learning = [errors["step", name].mean for name in NAMES[:4]]
    claims += [
        claim("5.perceptron-learns").holds(max(learning) < 0.15, told(errors, "step")),
        divided("perceptron", errors, 0.01),
    ]
    return list(panels(outputs, scenario, "fig3_perceptron", "perceptron on MNIST")), claims


def fig3_cnn(outputs):
    """In full, where it was run: a CNN on CIFAR-10."""
    scenario = "gpu/fig3_cnn_on_cifar10"
    errors = outputs.samples(scenario, key, "final_test_error")
    failing = [errors["step", f"n = {n}"] for n in (15, 30)]
    return list(panels(outputs, scenario, "fig3_cnn", "CNN on CIFAR-10")), [
        claim("5.cnn-fails").holds(
            min(one.mean for one in failing) > CHANCE, " and ".join(map(str, failing))
        ),
        divided("cnn", errors, 0.03),
    ]
