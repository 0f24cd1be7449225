"""Fig 3 on MNIST with a rate of its own for each n: is what n = 30 loses at one rate the staleness, or a
rate that nobody tuned for it?  Item 5."""

from dataclasses import dataclass
from itertools import pairwise

from papers.zhang2016 import claim, figure_of
from papers.zhang2016.fig1 import protocol_name
from reproduce.claims import paired_difference
from reproduce.figures import sampled
from reproduce.replicas import best_of, decided, judging

NAMES = ("hardsync", "n = 1", "n = 6", "n = 30")


@dataclass(frozen=True)
class Task:
    """What stands in for the CNN."""

    model: str
    scenario: str
    figure: str
    one_rate: float
    bound: float  # of what is left at the best rates
    epochs: str

    def __str__(self):
        return f"{self.model} on MNIST in place of the CNN, lambda = 30, mu = 4"


SOFTMAX = Task("softmax", "which_rate_is_best_on_mnist", "fig3", 0.2, 0.01, "2 epochs")
PERCEPTRON = Task(
    "perceptron", "which_rate_is_best_for_a_perceptron", "fig3_perceptron", 0.015, 0.02, "1 epoch"
)


def name_and_rate(row):
    return protocol_name(row), row["learning_rate.eta"]


def fig3_rates(outputs):
    return judged(outputs, SOFTMAX, [best_rates, tuned, ends])


def fig3_perceptron_rates(outputs):
    return judged(outputs, PERCEPTRON, [best_rates, tuned, ends, left])


def judged(outputs, task, claims):
    """By replicas that chose no rate."""
    errors = outputs.samples(task.scenario, name_and_rate, "final_test_error")
    rates = sorted({rate for _, rate in errors})
    best = {name: best_of({rate: errors[name, rate] for rate in rates}) for name in NAMES}
    judges = {at: judging(one) for at, one in errors.items()}
    found = [judge(task, judges, best) for judge in claims]
    return [rates_figure(task, errors, rates)], decided(found, judges["hardsync", rates[0]])


def best_rates(task, judges, best):
    return claim(f"5.{task.model}-best-rates").holds(
        all(best[more] < best[few] for few, more in pairwise(NAMES[1:])),
        ", ".join(f"{name}: {best[name]:g}" for name in NAMES),
    )


def tuned(task, judges, best):
    at_one = dict.fromkeys(NAMES, task.one_rate)
    lost = [above_hardsync(judges, rates)["n = 30"] for rates in (at_one, best)]
    return claim(f"5.{task.model}-tuned").above(
        paired_difference(*lost),
        told=f"test error above hardsync's: {lost[0]} at one rate, {lost[1]} at the best",
    )


def ends(task, judges, best):
    return claim(f"5.{task.model}-best-ends").all_near(
        (name, 0.0, gap) for name, gap in above_hardsync(judges, best).items()
    )


def left(task, judges, best):
    gaps = above_hardsync(judges, best)
    return claim(f"5.{task.model}-best-left").all_above(
        list(gaps.values()), told=", ".join(f"{name}: {gap}" for name, gap in gaps.items())
    )


def above_hardsync(judges, rates):
    """{n: by how much it ends above hardsync}, each at its rate."""
    base = judges["hardsync", rates["hardsync"]]
    return {name: paired_difference(judges[name, rates[name]], base) for name in NAMES[1:]}


def rates_figure(task, errors, rates):
    figure = figure_of("{name}_rates", name=task.figure, model=task.model, epochs=task.epochs)
    for name in NAMES:
        figure.series.append(sampled(name, rates, [errors[name, rate] for rate in rates]))
    return figure
