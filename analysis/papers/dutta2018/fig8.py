"""Fig 8: sync, K-batch-async and async on MNIST."""

from papers.dutta2018 import claim, figure_of
from reproduce.claims import ratio, sample
from reproduce.figures import curve_series, plotted_series
from reproduce.outputs import digitised

FIG8 = "sync", "k-batch-async", "async"


def fig8(outputs):
    scenario = "fig8_who_wins_on_mnist"
    by_protocol = lambda row: row["protocol"]
    curves = outputs.log_curves(scenario, by_protocol, "time")
    ends = outputs.samples(scenario, by_protocol, "sim_time")
    passed = outputs.samples(scenario, by_protocol, "time_to_loss_1.2214")
    figure = figure_of("fig8")
    figure.series += [curve_series(name, curves[name]) for name in FIG8]
    figure.series += plotted_series(
        digitised("dutta2018", "fig8"), "protocol", {name: name for name in FIG8}, "time"
    )
    return [figure], [*fig8_ends(ends, curves), *fig8_races(passed)]


def fig8_ends(ends, curves):
    for name in FIG8:
        yield claim(f"14.end-{name}").near(ends[name])
        yield claim(f"14.end-plotted-{name}").near(ends[name])
        last = sample([y[-1] for _, y in curves[name]])
        yield claim(f"14.loss-{name}").near(last)
    first = sample([y[0] for found in curves.values() for _, y in found])
    yield claim("14.start").near(first)


def fig8_races(passed):
    """Times to ln loss 0.2, over async's."""
    for name in ("k-batch-async", "sync"):
        yield claim(f"14.race-{name}").within(ratio(passed[name], passed["async"]))
