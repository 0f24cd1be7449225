"""Sync, Local SGD and DaSGD in training: item 6."""

from papers.zhou2020 import claim, figure_of
from papers.zhou2020.protocols import protocol_of
from reproduce.claims import Sample, paired_difference
from reproduce.figures import curve_series
from reproduce.replicas import first_at, jackknife, mean_at, mean_curve

FEW_POINTS = 0.03
LEVELS = {"mnist": (0.10, 0.07), "resnet": (0.4, 0.3)}
AVERAGE = 4  # minibatches
HIDING_DELAY = 4  # of which an average takes no time; named before any run


def mnist(outputs):
    task = "a perceptron of 32, 8 learners, tau = 4, xi = 0.25"
    return judged(outputs, "which_is_most_accurate_on_mnist", "mnist", "MNIST", task)


def resnet(outputs):
    """The full form, judged as MNIST is."""
    task = "ResNet-20, 32 learners, tau = 4, xi = 0.25"
    return judged(outputs, "gpu/which_is_most_accurate_on_cifar10", "resnet", "CIFAR-10", task)


def judged(outputs, scenario, id, data, task):
    errors = outputs.samples(scenario, protocol_of, "final_test_error")
    ends = outputs.samples(scenario, protocol_of, "sim_time")
    updates = outputs.samples(scenario, protocol_of, "updates")
    over = {
        axis: outputs.curves(scenario, protocol_of, axis, "test_error")
        for axis in ("epoch", "time")
    }
    order = list(errors)  # sync, Local, DaSGD by delay
    task = f"{data}, {task}"
    figures = [
        figure_of("{id}_epochs", id=id, model=data, task=task, average=AVERAGE),
        figure_of("{id}_time", id=id, model=data, task=task, average=AVERAGE),
    ]
    for figure, curves in zip(figures, over.values()):
        figure.series = [
            curve_series(one.name, [(x[1:], y[1:]) for x, y in found])
            for one, found in curves.items()
        ]
    return figures, [
        *at_equal_epochs(id, order, errors),
        *in_time(id, order, ends, updates),
        *first(id, order, over["time"]),
    ]


def at_equal_epochs(id, order, errors):
    sync, local, *dasgd = order
    gaps = {one: paired_difference(errors[one], errors[sync]) for one in order[1:]}
    return [
        claim(f"6.{id}-order").ordered(
            (f"{one.name} and {other.name}", errors[one], errors[other])
            for one, other in zip(order, order[1:])
        ),
        claim(f"6.{id}-delay").above(
            paired_difference(errors[dasgd[-1]], errors[local]),
            told=f"{errors[dasgd[-1]]} for {errors[local]}",
        ),
        claim(f"6.{id}-few-points", sync=errors[sync]).holds(
            max(gap.mean for gap in gaps.values()) <= FEW_POINTS,
            "; ".join(f"{one.name}: {gap}" for one, gap in gaps.items()),
        ),
    ]


def in_time(id, order, ends, updates):
    steps = {one: Sample(ends[one].mean / updates[one].mean) for one in order}
    return [
        claim(f"6.{id}-time").all_near(
            (one.name, one.round_time(1, AVERAGE) / one.tau, steps[one]) for one in order
        )
    ]


def reached(curves, level):
    """When the mean curve comes to the level."""
    return first_at(*mean_curve(curves), level)


def lead(late, early, level):
    """The Sample of how much later the one does; replicas share their seeds."""
    return jackknife(lambda one, other: reached(one, level) - reached(other, level), late, early)


def first(id, order, curves):
    sync, local, *dasgd = order
    hidden = next(one for one in dasgd if one.delay == HIDING_DELAY)
    for level in LEVELS[id]:
        when = lambda ones, level=level: reached(ones, level)
        times = {one: jackknife(when, found) for one, found in curves.items()}
        yield claim(f"6.{id}-first-{100 * level:g}").all_above(
            [lead(curves[local], curves[hidden], level), lead(curves[sync], curves[local], level)],
            told="; ".join(f"{one.name} at {time}" for one, time in times.items()),
        )
    end = min(float(x[-1]) for x, _ in curves[dasgd[-1]])
    then = {one: mean_at(found, end) for one, found in curves.items()}
    yield claim(f"6.{id}-end").above(
        paired_difference(then[sync], then[dasgd[-1]]),
        told="; ".join(f"{one.name}: {error}" for one, error in then.items()),
    )
