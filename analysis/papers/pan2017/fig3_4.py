"""Figs 3 and 4: when the k-th of 100 gradients is there."""

import numpy as np
from papers.pan2017 import claim, figure_of, latencies
from papers.pan2017.latencies import WORKERS
from reproduce.claims import THEORY, paired_difference, sample
from reproduce.figures import PLOTTED, SIMULATED, Series, sampled

KS = range(1, WORKERS + 1)
SHOWN = (1, 50, 90, 97, 98, 99, 100)  # in Fig 3
WITHIN_2_S = {98: 0.80, 100: 0.30}


def arrivals(outputs):
    """{k: T_(k) of each iteration}; those of an iteration are of the same 100 gradients."""
    found = outputs.updates(
        "fig4_how_long_until_k_are_there", lambda row: row["k"], "iteration_time"
    )
    return {k: times[0] for k, times in found.items()}


def fig3_4(outputs):
    times = arrivals(outputs)
    crowds = latencies.straggling_in_crowds()
    theory = {k: latencies.mean_arrival(k, crowds) for k in KS}
    mean = {k: sample(times[k]) for k in KS}
    claims = [*shares(times, crowds), *collection(mean, theory)]
    return [fig3(times, crowds), fig4(times, mean, theory, crowds)], claims


def shares(times, crowds):
    early = {k: sample(times[k] < 2) for k in range(95, 101)}
    for k in WITHIN_2_S:
        yield claim(f"4.within-{k}").near(early[k])
    yield claim("4.within-law").all_near(
        (f"k = {k}", latencies.within(k, crowds), early[k]) for k in early
    )


def collection(mean, theory):
    yield claim("4.mean-law").all_near((f"k = {k}", theory[k], mean[k]) for k in KS)
    low, high = (f(mean[k].mean for k in range(1, 96)) for f in (min, max))
    yield claim("4.range").holds(low >= 1.395 and high <= 1.805, f"{low:.3f} to {high:.3f}")
    rise = mean[100].mean / mean[95].mean
    yield claim("4.rise").holds(rise >= 2, f"{rise:.2f}")
    waits = [paired_difference(mean[k + 1], mean[k]) for k in range(94, 100)]
    yield claim("4.ever-longer").rising(waits)


def fig3(times, crowds):
    figure = figure_of("fig3")
    grid = np.concatenate([np.arange(1.3, 2.0, 0.05), np.arange(2.0, 6.01, 0.2)])
    shown = np.flatnonzero(latencies.TIMES <= 6)[::4]
    for k in SHOWN:
        there = [sample(times[k] < t) for t in grid]
        name, law = f"k = {k}", latencies.arrival(k, crowds)[shown]
        figure.series += [
            Series(name, THEORY, list(latencies.TIMES[shown]), list(law)),
            sampled(name, list(grid), there),
        ]
        if k in WITHIN_2_S:
            figure.series.append(Series(name, PLOTTED, [2.0], [WITHIN_2_S[k]]))
    return figure


def fig4(times, mean, theory, crowds):
    figure = figure_of("fig4")
    medians = [float(np.median(times[k])) for k in KS]
    figure.series += [
        Series("mean", THEORY, list(KS), [theory[k] for k in KS]),
        sampled("mean", list(KS), mean.values()),
        Series("median", THEORY, list(KS), [latencies.median_arrival(k, crowds) for k in KS]),
        Series("median", SIMULATED, list(KS), medians),
    ]
    return figure
