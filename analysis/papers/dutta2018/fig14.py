"""Fig 14, its clock: what larger minibatches take."""

from reproduce.claims import Source, Tolerance
from reproduce.figures import PLOTTED, THEORY, Figure, Series, sampled
from papers.laws import harmonic


def fig14(outputs):
    key = lambda row: int(row["model.minibatch"])
    times = outputs.samples("fig14_how_long_is_a_large_minibatch", key, "mean_iteration_time")
    expected = {256: 2.58, 1024: 4.08, 2048: 6.08}
    sizes = sorted(times)
    figure = Figure(
        "fig14",
        "Fig 14: the clock of fully sync, P = 4, X = m / 512 + exp(1)",
        "m (minibatch)",
        "time of an iteration",
        note="AlexNet on ImageNet is left out. Marks: the spacing of the plotted points.",
    )
    figure.series = [
        Series("sync", THEORY, sizes, [m / 512 + harmonic(4) for m in sizes]),
        sampled("sync", sizes, (times[m] for m in sizes)),
        Series("sync", PLOTTED, sizes, [2.6, 4.1, 6.15]),
    ]
    return [figure], [
        Source("Fig 14").near(
            f"19.m{m}",
            f"m = {m}: time of an iteration, m / 512 + H_4",
            x,
            times[m],
            Tolerance(relative=0.01),
        )
        for m, x in expected.items()
    ]
