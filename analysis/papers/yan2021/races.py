"""Training on data: error against bytes and time, on a slow link and on a fast one: items 4 and 7."""

from papers.yan2021 import claim, figure_of
from papers.yan2021.codes import name_of, whole_bits
from reproduce.claims import paired_difference, plus, times
from reproduce.figures import LEVEL, Series, curve_series
from reproduce.replicas import first_at, jackknife, mean_curve

LEARNERS = 8
WHOLE, FIXED = "float32", "QSGD, 4 bits"
EQUAL, FEWER, BY_ERROR = (
    "DQ-SGD, 4 bits in the mean",
    "DQ-SGD, 3 bits in the mean",
    "DQ-SGD, error 0.1",
)
LEVELS = {"mnist": 0.12, "cifar10": 0.75}  # test error
LINKS = {"slow": min, "fast": max}


def mnist(outputs):
    return judged(outputs, "mnist", "softmax on MNIST")


def cifar10(outputs):
    return judged(outputs, "cifar10", "a perceptron on CIFAR-10")


def reached(level):
    """When the mean curve of replicas comes to the level."""
    return lambda curves: first_at(*mean_curve(curves), level)


def later(late, early, level):
    """The Sample of how much later the one comes to the level."""
    at = reached(level)
    return jackknife(lambda one, other: at(one) - at(other), late, early)


def judged(outputs, id, task):
    scenario = f"who_is_first_on_{id}"
    link = lambda row: row["cluster.network.bandwidth"]
    rates = {link(row) for row in outputs.runs(scenario)}
    key = lambda row: (link(row), name_of(row))
    size = outputs.manifest(scenario)["scenario"]["cluster"]["network"]["model_bytes"]
    errors = {axis: outputs.curves(scenario, key, axis, "test_error") for axis in ("time", "bytes")}
    updates = outputs.series(scenario, key, "curve", "update")
    level = LEVELS[id]
    slow, fast = (pick(rates) for pick in LINKS.values())
    figures = []
    pushed = {
        name: [(x - LEARNERS * size * (n + 1), y) for (x, y), n in zip(errors["bytes"][slow, name], updates[slow, name])]
        for name in (WHOLE, FIXED, EQUAL, FEWER, BY_ERROR)
    }  # fmt: skip
    shown = {"bytes": pushed}
    for name, rate in (("slow", slow), ("fast", fast)):
        shown[name] = {code: errors["time"][rate, code] for code in pushed}
    for figure, curves in (
        (figure_of("{id}-bytes", id=id, task=task), shown["bytes"]),
        (figure_of("{id}-slow", id=id, task=task), shown["slow"]),
        (figure_of("{id}-fast", id=id, task=task), shown["fast"]),
    ):
        figure.series = [
            curve_series(code, [(x[1:], y[1:]) for x, y in found]) for code, found in curves.items()
        ]
        ends = [pick(one.x[at] for one in figure.series) for pick, at in ((min, 0), (max, -1))]
        figure.series.append(Series(f"{level:g}", LEVEL, ends, [level] * 2))
        figures.append(figure)
    figures.append(steps(outputs, scenario, key, slow, id, task, size / 4))
    return figures, [
        *by_bytes(id, shown["bytes"], level, outputs.samples(scenario, key, "final_loss"), slow),
        *on_slow_link(id, shown["slow"], level),
        *on_fast_link(outputs, scenario, key, id, shown["fast"], level, fast, size / 4),
    ]


def steps(outputs, scenario, key, rate, id, task, numbers):
    figure = figure_of("{id}-bits", id=id, task=task)
    curves = outputs.curves(scenario, key, "update", "bits")
    figure.series = [
        curve_series(code, [(x[1:], whole_bits(y[1:], numbers)) for x, y in curves[rate, code]])
        for code in (EQUAL, FEWER, BY_ERROR)
    ]
    return figure


def told_of(curves, level):
    at = reached(level)
    return "; ".join(f"{code}: {at(found):.5g}" for code, found in curves.items())


def by_bytes(id, curves, level, losses, rate):
    told = told_of(curves, level)
    yield claim(f"4.{id}-bytes").above(later(curves[FIXED], curves[FEWER], level), told)
    yield claim(f"4.{id}-bytes-error").above(later(curves[FIXED], curves[BY_ERROR], level), told)
    yield claim(f"4.{id}-loss").above(paired_difference(losses[rate, FIXED], losses[rate, EQUAL]))


def on_slow_link(id, curves, level):
    told = told_of(curves, level)
    yield claim(f"7.{id}-fewer").above(later(curves[FIXED], curves[FEWER], level), told)
    yield claim(f"7.{id}-error").above(later(curves[FIXED], curves[BY_ERROR], level), told)
    yield claim(f"7.{id}-whole").above(later(curves[WHOLE], curves[FIXED], level), told)


def on_fast_link(outputs, scenario, key, id, curves, level, rate, numbers):
    code = outputs.manifest(scenario)["scenario"]["sweep"]["compression"][1]
    coding = numbers * (code["encode"] + LEARNERS * code["decode"])
    updates = outputs.samples(scenario, key, "mean_iteration_time")
    whole = updates[rate, WHOLE].mean
    apart = max(abs(updates[rate, one].mean / whole - 1) for one in curves)
    yield claim(f"7.{id}-update", cost=coding / whole).holds(
        apart <= coding / whole, f"{100 * apart:.3g} % at most"
    )
    at = reached(level)
    shares = {
        one: jackknife(lambda few, all: at(few) / at(all), found, curves[WHOLE])
        for one, found in curves.items()
        if one != WHOLE
    }
    told = "; ".join(f"{one}: {share}" for one, share in shares.items())
    worst = max(shares.values(), key=lambda one: one.mean)
    gap = plus(times(worst, -1), 1 + coding / whole)
    yield claim(f"7.{id}-fast", cost=coding / whole).holds(gap.mean >= 0, told, gap)
