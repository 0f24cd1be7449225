"""Fig 14, its clock: what larger minibatches take."""

from papers.dutta2018 import claim, figure_of
from papers.laws import harmonic
from reproduce.figures import PLOTTED, THEORY, Series, sampled


def fig14(outputs):
    key = lambda row: row["model.minibatch"]
    times = outputs.samples("fig14_how_long_is_a_large_minibatch", key, "mean_iteration_time")
    sizes = sorted(times)
    figure = figure_of("fig14")
    figure.series = [
        Series("sync", THEORY, sizes, [m / 512 + harmonic(4) for m in sizes]),
        sampled("sync", sizes, (times[m] for m in sizes)),
        Series("sync", PLOTTED, sizes, [2.6, 4.1, 6.15]),
    ]
    return [figure], [claim(f"19.m{m}").near(times[m]) for m in (256, 1024, 2048)]
