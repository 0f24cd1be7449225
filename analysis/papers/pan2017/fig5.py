"""Fig 5: how many updates of N gradients until it converges."""

from itertools import pairwise

from papers.pan2017 import claim, figure_of
from papers.pan2017.latencies import ITERATIONS, iterations
from papers.pan2017.stand_in import TARGET, place_of
from reproduce.figures import PLOTTED, SIMULATED, THEORY, Series

NS = (50, 70, 80, 90, 100)
BACKUPS = 6


def fig5(outputs):
    scenario = "fig5_how_many_updates_until_it_converges"
    gradients = lambda row: row["learners"] - BACKUPS
    curves = outputs.curves(scenario, gradients, "update", "loss")
    updates = {n: place_of(curves[n], TARGET) for n in NS}
    over_100 = {n: updates[n] / updates[100] for n in NS}
    figure = figure_of("fig5", updates=updates[100])
    figure.series = [
        Series("Inception", THEORY, list(NS), [iterations(n) / ITERATIONS[100] for n in NS]),
        Series(
            "Inception",
            PLOTTED,
            list(ITERATIONS),
            [x / ITERATIONS[100] for x in ITERATIONS.values()],
        ),
        Series("stand-in", SIMULATED, list(NS), [over_100[n] for n in NS]),
    ]
    return [figure], list(claims_of(over_100))


def claims_of(over_100):
    yield claim("5.ratio").holds(1.6 <= over_100[50] <= 2.0, f"{over_100[50]:.3f}")
    falling = [over_100[n] for n in NS]
    yield claim("5.monotone").holds(
        all(more > fewer for more, fewer in pairwise(falling)),
        ", ".join(f"{x:.3f}" for x in falling),
    )
