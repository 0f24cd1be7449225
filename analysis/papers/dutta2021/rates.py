"""AdaSync and fixed K on MNIST with a rate of its own for each: is what K0 loses at one rate its small K,
or a rate that nobody tuned for it?  Item 22."""

from papers.dutta2021 import claim, figure_of
from reproduce.claims import paired_difference
from reproduce.figures import sampled
from reproduce.replicas import best_of, decided, judging

TASK = "MNIST, softmax, k-sync, K0 = 2"
ADAPTIVE, START = "AdaSync", "K = 2"
FIXED = (START, "K = 4", "K = 8")
ONE_RATE = 0.1  # of does_adasync_win_on_mnist


def name_and_rate(row):
    protocol = row["sweep.protocol"]
    name = ADAPTIVE if protocol["kind"] == "adasync" else f"K = {protocol['k']}"
    return name, row["learning_rate.eta"]


def mnist_rates(outputs):
    losses = outputs.samples("which_rate_is_best_on_mnist", name_and_rate, "final_loss")
    rates = sorted({rate for _, rate in losses})
    names = (ADAPTIVE, *FIXED)
    best = {name: best_of({rate: losses[name, rate] for rate in rates}) for name in names}
    at_best = {name: judging(losses[name, best[name]]) for name in names}
    at_one = {name: judging(losses[name, ONE_RATE]) for name in names}
    claims = [tuned(at_one, at_best), no_higher(at_best)]
    return [rates_figure(losses, names, rates)], decided(claims, at_best[ADAPTIVE])


def tuned(at_one, at_best):
    leads = [paired_difference(ends[START], ends[ADAPTIVE]) for ends in (at_one, at_best)]
    return claim("22.MNIST-tuned").above(
        paired_difference(*leads),
        told=f"training loss below K0's: {leads[0]} at one rate, {leads[1]} at the best",
    )


def no_higher(at_best):
    return claim("22.MNIST-tuned-late").ordered(
        (name, at_best[ADAPTIVE], at_best[name]) for name in FIXED
    )


def rates_figure(losses, names, rates):
    figure = figure_of("race-MNIST-rates", task=TASK)
    for name in names:
        figure.series.append(sampled(name, rates, [losses[name, rate] for rate in rates]))
    return figure
