"""Fig 8: sync, K-batch-async and async on MNIST."""

from reproduce.claims import Source, Tolerance, ratio, sample
from reproduce.figures import Figure, curve_series, plotted_series
from reproduce.outputs import digitised

FIG8 = {"sync": 1358.9, "k-batch-async": 250.0, "async": 62.5}


def fig8(outputs):
    scenario = "fig8_who_wins_on_mnist"
    by_protocol = lambda row: row["protocol"]
    curves = outputs.log_curves(scenario, by_protocol, "time")
    ends = outputs.samples(scenario, by_protocol, "sim_time")
    passed = outputs.samples(scenario, by_protocol, "time_to_loss_1.2214")
    figure = Figure(
        "fig8", "Fig 8: MNIST, exp(1), P = 8, K = 4, 500 iterations each", "time", "ln loss"
    )
    figure.series += [curve_series(name, curves[name]) for name in FIG8]
    figure.series += plotted_series(
        digitised("dutta2018", "fig8"), "protocol", {name: name for name in FIG8}, "time"
    )
    return [figure], [*fig8_ends(ends, curves), *fig8_races(passed)]


def fig8_ends(ends, curves):
    slack = {"sync": 30, "k-batch-async": 8, "async": 3}
    levels = {"sync": (-0.08, 0.04), "k-batch-async": (-0.08, 0.04), "async": (0.0, 0.06)}
    for name, expected in FIG8.items():
        yield Source("Fig 8").near(
            f"14.end-{name}",
            f"{name}: mean time of 500 iterations",
            expected,
            ends[name],
        )
        yield Source("Fig 8").near(
            f"14.end-plotted-{name}",
            f"{name}: mean time of 500 iterations, as plotted",
            {"sync": 1360, "k-batch-async": 250, "async": 62}[name],
            ends[name],
            Tolerance(absolute=slack[name]),
        )
        last = sample([y[-1] for _, y in curves[name]])
        expected_level, width = levels[name]
        yield Source("Fig 8").near(
            f"14.loss-{name}",
            f"{name}: ln loss after 500 iterations",
            expected_level,
            last,
            Tolerance(absolute=width),
        )
    first = sample([y[0] for found in curves.values() for _, y in found])
    yield Source("Fig 8").near(
        "14.start", "ln loss at the start", 0.84, first, Tolerance(absolute=0.01)
    )


def fig8_races(passed):
    """Times to ln loss 0.2, over async's."""
    for name, low, high in (("k-batch-async", 2.7, 4), ("sync", 14, 20)):
        found = ratio(passed[name], passed["async"])
        yield Source("Fig 8").holds(
            f"14.race-{name}",
            f"{name}: time to ln loss 0.2 over async's",
            f"{low:g} to {high:g}",
            low <= found.mean <= high,
            found,
        )
