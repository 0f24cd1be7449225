"""Fig 7: bounds on the error against time, and errors that lie below them."""

import numpy as np
from papers.dutta2018 import claim, figure_of
from plots.bands import band, linear
from reproduce.claims import THEORY, Sample, sample
from reproduce.figures import PLOTTED, Series, curve_series

BOUNDS = {"sync": "Lemma 2", "async": "Theorem 3"}


def fig7(outputs):
    """The bounds are the program's, of theory.csv."""
    scenario = "fig7_which_bound_is_lower"
    by_protocol = lambda row: row["protocol"]
    theory = outputs.theory(scenario, by_protocol)
    bounds = {name: theory[name, source] for name, source in BOUNDS.items()}
    figure = figure_of("fig7")
    for name, (time, bound) in bounds.items():
        figure.series.append(Series(name, THEORY, list(time), list(np.log(bound))))
    for name, found in outputs.log_curves(scenario, by_protocol, "time").items():
        figure.series.append(curve_series(name, found))
    figure.series.append(Series("sync", PLOTTED, [0, 5e5], [6.91, -8.31]))
    figure.series.append(Series("async", PLOTTED, [0, 2.65e5, 5e5], [6.91, -5.99, -5.99]))
    errors = outputs.curves(scenario, by_protocol, "time", "loss")
    return [figure], [*shapes(bounds), *below(errors, bounds)]


def reached(bound, level):
    """The first time at which a bound is down at ln error = level."""
    time, error = bound
    return float(np.interp(-level, -np.log(error), time))


def slope(bound):
    """Of the ln error, before the floor is felt."""
    time, error = bound
    steep = np.log(error) > 3
    return float(np.polyfit(time[steep], np.log(error[steep]), 1)[0])


def crossing(one, other):
    """The last time at which one lies above the other, from its tenth on."""
    grid = np.linspace(one[0][-1] / 10, one[0][-1], 10_001)
    gap = np.interp(grid, one[0], np.log(one[1])) - np.interp(grid, other[0], np.log(other[1]))
    return float(grid[np.argmin(gap > 0)])


def shapes(bounds):
    end = {name: Sample(float(np.log(error[-1]))) for name, (_, error) in bounds.items()}
    start = Sample(float(np.log(bounds["sync"][1][0])))
    gain = reached(bounds["sync"], -5.9) / reached(bounds["async"], -5.9)
    return [
        claim("11.start").near(start),
        claim("11.floor-async").near(end["async"]),
        claim("11.floor-sync").near(end["sync"]),
        claim("11.crossing").near(Sample(crossing(bounds["sync"], bounds["async"]))),
        claim("11.gain").near(Sample(gain)),
        claim("11.slopes").near(Sample(slope(bounds["async"]) / slope(bounds["sync"]))),
    ]


def below(errors, bounds):
    """The mean error over replicas and a twentieth of the time, without the start, against the
    bound's mean."""
    for name, found in errors.items():
        mean = band(found, linear)
        time, bound = bounds[name]
        inside = (mean.x > 0) & (mean.running == len(found)) & (mean.x <= time[-1])
        places = mean.x[inside]
        limit = np.exp(np.interp(places, time, np.log(bound)))
        parts = np.array_split(np.arange(len(places)), 20)
        means = [sample([np.interp(places[part], *one).mean() for one in found]) for part in parts]
        yield claim(f"11.below-{name}").ordered(
            (f"t from {places[part[0]]:.0f} on", mean, Sample(float(limit[part].mean())))
            for part, mean in zip(parts, means)
        )
