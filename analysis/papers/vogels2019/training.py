"""What messages leave out, and what that costs: items 4 to 8."""

from papers.vogels2019 import claim, figure_of
from papers.vogels2019.codes import RANDOM_K, SIGN, TOP_K, WHOLE, factors, name_of
from reproduce.claims import paired_difference, sample
from reproduce.figures import LEVEL, Series, curve_series, sampled
from reproduce.replicas import first_at, jackknife, mean_curve

LEFT_OUT = "what_do_messages_leave_out"
MNIST = "who_is_best_on_mnist"
RANKS = (1, 2, 4)
TARGET = 0.12  # test error
FEW = factors(2)
COLD, FORGETFUL = factors(2, warm=False), factors(2, memory=False)


def left_out(outputs):
    curves = outputs.curves(LEFT_OUT, name_of, "update", "compression_error")
    errors = {name: sample([y[1:].mean() for _, y in found]) for name, found in curves.items()}
    losses = outputs.samples(LEFT_OUT, name_of, "final_loss")
    warm, cold = ([errors[factors(rank, warm=one)] for rank in RANKS] for one in (True, False))
    figure = figure_of("left-out")
    figure.series = [sampled("warm start", RANKS, warm), sampled("cold start", RANKS, cold)]
    return [figure], [
        claim("4.ranks").rising(reversed(warm)),
        claim("4.warm").all_above(map(paired_difference, cold, warm)),
        claim("4.memory").above(paired_difference(losses[FORGETFUL], losses[FEW])),
    ]


def reached(curves):
    """When the mean curve of replicas comes to the target."""
    return first_at(*mean_curve(curves), TARGET)


def later(late, early):
    """The Sample of how much later the one comes to the target."""
    return jackknife(lambda one, other: reached(one) - reached(other), late, early)


def mnist(outputs):
    losses = outputs.samples(MNIST, name_of, "final_loss")
    errors = outputs.samples(MNIST, name_of, "final_test_error")
    figures = {
        "update": figure_of("mnist-update"),
        "bytes": figure_of("mnist-bytes"),
        "time": figure_of("mnist-time"),
    }
    curves = {axis: outputs.curves(MNIST, name_of, axis, "test_error") for axis in figures}
    shown = (WHOLE, *map(factors, RANKS), TOP_K, RANDOM_K, SIGN)
    for axis, figure in figures.items():
        figure.series = [
            curve_series(name, [(x[1:], y[1:]) for x, y in curves[axis][name]]) for name in shown
        ]
        ends = [pick(one.x[at] for one in figure.series) for pick, at in ((min, 0), (max, -1))]
        figure.series.append(Series(f"{TARGET:g}", LEVEL, ends, [TARGET] * 2))
    more = lambda worse, better: paired_difference(losses[worse], losses[better])
    sooner = lambda late, early: later(curves["time"][late], curves["time"][early])
    told = "; ".join(f"{name}: {reached(curves['time'][name]):.4g}" for name in shown)
    return list(figures.values()), [
        claim("5.top-k").ordered([("the end", losses[FEW], losses[TOP_K])]),
        claim("5.random-k").above(more(RANDOM_K, TOP_K)),
        claim("5.sign").above(more(SIGN, FEW)),
        claim("6.ranks").rising(losses[factors(rank)] for rank in reversed(RANKS)),
        claim("6.accuracy").ordered(
            (factors(rank), errors[factors(rank)], errors[WHOLE]) for rank in RANKS[1:]
        ),
        claim("7.warm").above(more(COLD, FEW)),
        claim("7.memory").above(more(FORGETFUL, FEW)),
        claim("8.whole").above(sooner(WHOLE, FEW), told),
        claim("8.top-k").above(sooner(TOP_K, FEW), told),
        claim("8.sign").above(sooner(SIGN, FEW), told),
    ]
