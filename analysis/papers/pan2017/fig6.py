"""Fig 6: how many of 100 machines should be backups, as the paper estimates it."""

from papers.pan2017 import claim, figure_of, latencies
from papers.pan2017.fig3_4 import arrivals
from papers.pan2017.latencies import iterations, iterations_on_a_line
from reproduce.claims import THEORY, Sample, sample, times
from reproduce.figures import Series, sampled
from reproduce.outputs import means

HALF = range(50, 101)
BEST = 96  # in the paper
FORMS = {
    "power": ("updates by a power law", iterations),
    "line": ("updates on a straight line", iterations_on_a_line),
}


def hours(steps, updates=iterations):
    """{N: Sample of the hours of training} with these mean steps in seconds."""
    return {n: times(one, updates(n) / 3600) for n, one in steps.items()}


def best_of(estimate):
    return min(estimate, key=lambda n: estimate[n].mean)


def fig6(outputs):
    arrived = arrivals(outputs)
    steps = {n: sample(arrived[n]) for n in HALF}
    crowds = latencies.straggling_in_crowds()
    exact = {n: Sample(latencies.mean_arrival(n, crowds)) for n in HALF}
    figure = figure_of("fig6", marks=[BEST])
    claims = []
    for form, (name, updates) in FORMS.items():
        estimate, known = hours(steps, updates), hours(exact, updates)
        claims += estimates(form, estimate, known)
        figure.series += [
            Series(name, THEORY, list(HALF), means(known.values())),
            sampled(name, list(HALF), estimate.values()),
        ]
    return [figure], claims


def estimates(form, estimate, known):
    """Item 6."""
    for way, found in (("simulated", estimate), ("exact", known)):
        best = best_of(found)
        yield claim(f"6.best-{form}-{way}").holds(94 <= best <= 97, str(best))
    best = best_of(estimate)
    over_best = lambda n: estimate[n].mean / estimate[best].mean
    for side, n, least in (("right", 100, 1.5), ("left", 70, 1.1)):
        yield claim(f"6.{side}-{form}").holds(over_best(n) >= least, f"{over_best(n):.3f}")
    least = min(one.mean for one in known.values())
    flat = {n: known[n].mean / least for n in (94, 95, 96, 97)}
    yield claim(f"6.flat-{form}").holds(
        all(flat[n] <= 1.01 for n in (94, 95, 96)) and round(flat[97], 3) <= 1.025,
        ", ".join(f"{x:.4f}" for x in flat.values()),
    )
