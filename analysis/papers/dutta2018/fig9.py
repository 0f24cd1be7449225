"""Fig 9: a fixed and a variable learning rate on grey CIFAR-10."""

from itertools import pairwise

import numpy as np
from papers.dutta2018 import claim, figure_of
from reproduce.claims import sample
from reproduce.figures import PLOTTED, SIMULATED, Series
from reproduce.outputs import digitised

RATES = {"distance": "variable rate", "constant": "fixed rate"}


def rate_of(row):
    return row["learning_rate"]["kind"]


def fig9(outputs):
    curves = outputs.log_curves("fig9_does_a_variable_rate_help", rate_of, "update")
    figure = figure_of("fig9")
    for kind, name in RATES.items():
        x, y = curves[kind][0]
        figure.series.append(Series(name, SIMULATED, list(x), list(y), None, True))
        spans = [row for row in digitised("dutta2018", "fig9") if row["rate"] == kind]
        middle = [(row["first"] + row["last"]) / 2 for row in spans]
        figure.series.append(Series(name, PLOTTED, middle, [row["mean"] for row in spans]))
    return [figure], fig9_claims(curves)


def fig9_claims(curves):
    late = {kind: [y[x > 1000].std() for x, y in found] for kind, found in curves.items()}
    level = sample([y[x >= 1500].mean() for x, y in curves["distance"]])
    burst = max(
        (fixed[1] - np.interp(fixed[0], *calm)).max()
        for fixed, calm in zip(curves["constant"], curves["distance"])
    )
    spread = lambda values: ", ".join(f"{value:.4f}" for value in values)
    spans = [row for row in digitised("dutta2018", "fig9") if row["rate"] == "distance"]
    plotted = []
    for row in spans:
        first, last = row["first"], row["last"]
        found = sample([y[(x >= first) & (x <= last)].mean() for x, y in curves["distance"]])
        plotted.append((f"{row['first']} to {row['last']}", row["mean"], found))
    return [
        claim("15.level").near(level),
        claim("15.smooth").holds(max(late["distance"]) < 0.015, spread(late["distance"])),
        claim("15.rough").holds(min(late["constant"]) > 0.02, spread(late["constant"])),
        claim("15.burst").holds(burst > 0.1, f"{burst:.3f}"),
        claim("15.plotted").all_near(plotted),
        claim("15.falls").holds(
            all(before.mean > after.mean for (*_, before), (*_, after) in pairwise(plotted)),
            ", ".join(f"{one.mean:.4f}" for *_, one in plotted),
        ),
    ]
