"""Fig 6 in a run: the step with backups that keep computing, which the paper only estimates."""

import math
from itertools import pairwise

from papers.pan2017 import claim, figure_of, latencies
from papers.pan2017.fig6 import BEST, best_of, hours
from reproduce.claims import Sample, Tolerance, ratio, scaled
from reproduce.figures import THEORY, Series, sampled
from reproduce.outputs import digitised, means

SCENARIO = "fig6_how_many_backups_in_a_run"
# What becomes of a late learner, as the figure calls it.
LATE = {
    "cancel": "cancelled (the estimate)",
    "rejoin": "joins the step (the paper)",
    "wait": "waits for the next step",
    "shared": "shares tokens (TensorFlow)",
}
# {N: mean step, its standard error, gradients dropped in a step, theirs} of an independent simulation.
TABLE = {
    int(n): [float(value) for value in rest]
    for n, *rest in (row.values() for row in digitised("pan2017", "fig6_run"))
}
# Another one of 6,000 steps, N = 96: mean step and its standard error.
SEMANTICS = {
    "cancel": (1.76, 0.001),
    "rejoin": (2.00, 0.009),
    "shared": (2.07, 0.0102),
    "wait": (2.50, 0.09),
}


def late_of(row):
    protocol = row["sweep.protocol"]
    return "shared" if protocol.get("tokens") == "shared" else protocol["late"]


def fig6_run(outputs):
    key = lambda row: (late_of(row), row["k"])
    steps = outputs.samples(SCENARIO, key, "mean_iteration_time")
    updates = float(outputs.runs(SCENARIO)[0]["updates"])
    dropped = scaled(outputs.samples(SCENARIO, key, "gradients_dropped"), 1 / updates)
    of = {late: {n: one for (way, n), one in steps.items() if way == late} for late in LATE}
    return [run_figure(of)], [
        *table(of["rejoin"], {n: dropped["rejoin", n] for n in TABLE}),
        *savings(of["rejoin"]),
        *semantics(of),
        tokens({n: dropped["shared", n] for n in of["shared"]}, updates),
        *against_estimate(of),
    ]


def as_before(id, value, error, rounding, measured):
    """What an independent simulation found, to 3 standard errors of both and its rounding."""
    bound = 3 * math.hypot(error, measured.error) + rounding
    tolerance = Tolerance(absolute=float(f"{bound:.2g}"))
    return claim(id).near(measured, value, tolerance)


def table(steps, dropped):
    for n, (step, step_error, drops, drops_error) in TABLE.items():
        yield as_before(f"7.step-{n}", step, step_error, 0.005, steps[n])
        if n < 100:
            yield as_before(f"7.dropped-{n}", drops, drops_error, 0.05, dropped[n])


def savings(steps):
    saved = ratio(steps[96], steps[100])
    yield claim("7.saved").holds(saved.mean <= 0.7, saved)
    falling = sorted(steps, reverse=True)
    yield claim("7.monotone").holds(
        all(steps[n].mean < steps[m].mean for m, n in pairwise(falling)),
        ", ".join(f"{steps[n].mean:.3f}" for n in falling),
    )
    share = (steps[100].mean - steps[95].mean) / (steps[100].mean - steps[70].mean)
    yield claim("7.diminishing").holds(share >= 0.85, f"{share:.3f}")


def semantics(of):
    for late, (step, error) in SEMANTICS.items():
        yield as_before(f"7.late-{late}", step, error, 0.005, of[late][96])


def tokens(dropped, updates):
    """Of N + b = 100, where b = 100 - N; N extra tokens are there at the start, at the end at most
    200 tokens and gradients are on their way."""
    return claim("2.dropped-tokens").all_near(
        [(f"N = {n}", float(100 - n), one) for n, one in dropped.items() if n < 100],
        Tolerance(absolute=300 / updates),
    )


def against_estimate(of):
    binomial = latencies.straggling()
    yield claim("7.order-statistic").all_near(
        (f"N = {n}", latencies.mean_arrival(n, binomial), one) for n, one in of["cancel"].items()
    )
    estimate, run = (best_of(hours(of[late])) for late in ("cancel", "rejoin"))
    yield claim("7.best").holds(run < estimate, f"{run} in a run, {estimate} by the estimate")
    yield claim("7.best-of-both").holds(
        94 <= estimate <= 97 and 90 <= run <= 92, f"{estimate}; {run}"
    )


def run_figure(of):
    figure = figure_of("fig6_run", marks=[BEST])
    binomial = latencies.straggling()
    ns = sorted(of["cancel"])
    exact = hours({n: Sample(latencies.mean_arrival(n, binomial)) for n in ns})
    figure.series.append(Series(LATE["cancel"], THEORY, ns, means(exact[n] for n in ns)))
    for late, name in LATE.items():
        found = hours(of[late])
        samples = [found[n] for n in ns]
        figure.series.append(sampled(name, ns, samples))
    return figure
