"""Fig 3 on MNIST with a rate of its own for each n: is what n = 30 loses at one rate the staleness, or a
rate that nobody tuned for it?  Item 5."""

import json

from reproduce.claims import AFTER_THE_FACT, Source, paired_difference
from reproduce.figures import Figure, sampled
from reproduce.replicas import best_of, judging

NAMES = ("hardsync", "n = 1", "n = 6", "n = 30")
ONE_RATE = 0.2
TASK = "softmax on MNIST in place of the CNN, lambda = 30, mu = 4"
SOURCE = Source("asked by this project", AFTER_THE_FACT)


def name_and_rate(row):
    protocol = json.loads(row["sweep.protocol"])
    name = f"n = {protocol['n']}" if "n" in protocol else protocol["kind"]
    return name, float(row["learning_rate.eta"])


def fig3_rates(outputs):
    errors = outputs.samples("which_rate_is_best_on_mnist", name_and_rate, "final_test_error")
    rates = sorted({rate for _, rate in errors})
    best = {name: best_of({rate: errors[name, rate] for rate in rates}) for name in NAMES}
    return [rates_figure(errors, rates)], [
        SOURCE.holds(
            "5.softmax-best-rates",
            f"{TASK}: the best of five rates falls as n grows, as alpha0 / tau would have it",
            "to a quarter or less from n = 1 to 6, and again to 30",
            best["n = 6"] <= best["n = 1"] / 4 and best["n = 30"] <= best["n = 6"] / 4,
            ", ".join(f"{name}: {best[name]:g}" for name in NAMES),
        ),
        tuned(errors, best),
    ]


def tuned(errors, best):
    """By replicas that chose no rate."""
    id, claim = (
        "5.softmax-tuned",
        f"{TASK}: n = 30 ends farther above hardsync at one rate, {ONE_RATE:g}, than at the best of each",
    )
    lost = [
        paired_difference(judging(errors["n = 30", late]), judging(errors["hardsync", fresh]))
        for late, fresh in ((ONE_RATE, ONE_RATE), (best["n = 30"], best["hardsync"]))
    ]
    if lost[0].replicas < 8:
        return SOURCE.skipped(
            id, claim, f"{lost[0].replicas} replicas that chose no rate do not tell; it takes 8"
        )
    told = f"test error above hardsync's: {lost[0]} at one rate, {lost[1]} at the best"
    return SOURCE.above(id, claim, paired_difference(*lost), told=told)


def rates_figure(errors, rates):
    figure = Figure(
        "fig3_rates",
        "Fig 3, softmax on MNIST: a rate for each n",
        "learning rate",
        "test error",
        log_x=True,
        note="30 learners, minibatches of 4, momentum 0.9, 2 epochs.",
    )
    for name in NAMES:
        figure.series.append(sampled(name, rates, [errors[name, rate] for rate in rates]))
    return figure
