"""The plot of bench/scaling: a panel for each sweep, logarithmic, with the fitted line."""

import statistics

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot


def plot(sweeps, rows, exponents, path):
    """rows and exponents by the sweeps' names."""
    figure, panels = pyplot.subplots(
        1, len(sweeps), figsize=(3.4 * len(sweeps), 3.6), squeeze=False
    )
    for sweep, panel in zip(sweeps, panels[0]):
        draw_panel(panel, sweep, rows[sweep.name], statistics.median(exponents[sweep.name]))
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_panel(panel, sweep, rows, exponent):
    cost_of = lambda value: [1e6 * row["cost"] for row in rows if row["value"] == value]
    medians = [statistics.median(cost_of(value)) for value in sweep.values]
    panel.loglog(
        [row["value"] for row in rows], [1e6 * row["cost"] for row in rows], ".", color="0.7"
    )
    panel.loglog(sweep.values, medians, "o-", color="C0")
    fitted = [value for value in sweep.values if value >= sweep.begin]
    through = [medians[sweep.values.index(value)] / value**exponent for value in fitted]
    line = [statistics.geometric_mean(through) * value**exponent for value in fitted]
    least, greatest = sweep.expected
    label = f"exponent {exponent:.2f}\nexpected {least} to {greatest}"
    panel.loglog(fitted, line, "--", color="C1", label=label)
    panel.set_xlabel(sweep.name)
    panel.set_ylabel("µs")
    panel.set_title(sweep.unit, fontsize=7)
    panel.legend(fontsize=8)
    panel.grid(alpha=0.3)
