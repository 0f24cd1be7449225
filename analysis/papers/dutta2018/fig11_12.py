"""Figs 11 and 12: K-sync with small and large K on MNIST, against iterations and against time."""

import numpy as np
from papers.dutta2018 import claim, figure_of
from papers.laws import harmonic
from reproduce.claims import Sample, paired_difference, sample
from reproduce.figures import curve_series, plotted_series
from reproduce.outputs import digitised
from reproduce.replicas import smoothed

KS_SYNC = {k: f"K = {k}" for k in (2, 4, 8)}


def fig11(outputs):
    curves = outputs.log_curves("fig11_how_noisy_is_small_k", lambda row: row["k"], "update")
    figure = figure_of("fig11")
    figure.series += [curve_series(name, curves[k]) for k, name in KS_SYNC.items()]
    figure.series += plotted_series(digitised("dutta2018", "fig11"), "k", KS_SYNC, "update")
    quarter = {k: [y[x > 0.75 * x[-1]] for x, y in found] for k, found in curves.items()}
    noise = {k: sample([y.std() for y in found]) for k, found in quarter.items()}
    level = {k: sample([y.mean() for y in found]) for k, found in quarter.items()}
    claims = [claim(f"17.noise-{k}").near(noise[k]) for k in KS_SYNC]
    for low, high in ((4, 2), (8, 4)):
        claims.append(
            claim(f"17.gap-{high}-{low}").near(paired_difference(level[high], level[low]))
        )
    return [figure], claims


def always(name, seen):
    """Something is so at all times; seen: at which it is."""
    told = f"at {np.mean(seen):.0%} of the times"
    return claim(f"18.{name}").holds(bool(seen.all()), told)


def fig12(outputs):
    curves = outputs.log_curves("fig12_which_k_is_best_when", lambda row: row["k"], "time")
    figure = figure_of("fig12")
    figure.series += [curve_series(name, curves[k]) for k, name in KS_SYNC.items()]
    figure.series += plotted_series(digitised("dutta2018", "fig12"), "k", KS_SYNC, "time")
    grid = np.arange(0, 496, 5.0)
    lines = {k: smoothed(curves[k], grid, 30) for k in KS_SYNC}
    best = np.array([min(lines, key=lambda k: lines[k][i]) for i in range(len(grid))])
    to_four = float(grid[np.argmax(best == 4)])
    worst = np.array([max(lines, key=lambda k: lines[k][i]) for i in range(len(grid))])
    early, late, before = grid < 120, grid >= 180, (grid > 0) & (grid < 430)
    figure.marks = [to_four, 430]
    return [figure], [
        always("early", best[early] == 2),
        always("late", best[late] == 4),
        claim("18.switch").near(Sample(to_four)),
        always("worst", worst[before] == 8),
        claim("18.shift").disagrees(2.66, 1 + harmonic(8)),
    ]
