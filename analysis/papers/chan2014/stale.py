"""How stale gradients are on average: item X1."""

import json

from reproduce.claims import Source, Tolerance
from reproduce.figures import Figure, sampled, side_by_side
from reproduce.outputs import law_of

LEARNERS, C = 8, 4  # learners, and gradients of an update where they are several
# {protocol: (mean staleness, its formula)}
PROTOCOLS = {
    "async": (LEARNERS - 1, "P - 1"),
    "k-async": ((LEARNERS - C) / C, "(P - K) / K"),
    "k-batch-async": ((LEARNERS - 1) / C, "(P - 1) / c"),
    "softsync": ((LEARNERS - 1) / C, "(P - 1) / c"),
    "softsync, pull before": (LEARNERS / C, "P / c"),
    "k-sync": (0, "0"),
}


def stale(outputs):
    found = outputs.samples("how_stale_whatever_the_law", conditions_of, "mean_staleness")
    conditions = list(dict.fromkeys(where for _, where in found))
    return [stale_figure(found, conditions)], [
        claim(name, [(where, found[name, where]) for where in conditions]) for name in PROTOCOLS
    ]


def conditions_of(row):
    protocol = json.loads(row["sweep.protocol"])
    before = ", pull before" if protocol.get("pull") == "before" else ""
    unlike = ", unlike speeds" if len(set(json.loads(row["cluster.speeds"]))) > 1 else ""
    return protocol["kind"] + before, law_of(row) + unlike


def claim(name, values):
    expected, formula = PROTOCOLS[name]
    return Source("derived").all_near(
        f"X1.{name.replace(', ', '-').replace(' ', '-')}",
        f"P = 8, {name}{'' if name == 'async' else ', 4 gradients an update'}: mean staleness {formula}, but for "
        f"gradients in flight at the end; {', '.join(where for where, _ in values)}",
        [(where, float(expected), one) for where, one in values],
        Tolerance(relative=0.002),
    )


def stale_figure(found, conditions):
    places, width = side_by_side(conditions)
    figure = Figure(
        "stale",
        "Mean staleness of 8 learners",
        "",
        "mean staleness (updates)",
        ticks=[name.replace(", ", ",\n") for name in PROTOCOLS],
        note="An update takes 4 gradients, but async's, which takes one.",
    )
    for where in conditions:
        x = [place + places[where] for place in range(len(PROTOCOLS))]
        values = [found[name, where] for name in PROTOCOLS]
        figure.series.append(sampled(where, x, values, width=width))
    return figure
