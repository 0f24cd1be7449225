"""How stale gradients are on average: item X1."""

from papers.chan2014 import claim, figure_of
from reproduce.figures import sampled, side_by_side
from reproduce.outputs import law_of

LEARNERS, C = 8, 4  # learners, and gradients of an update where they are several
# {protocol: mean staleness}
PROTOCOLS = {
    "async": LEARNERS - 1,
    "k-async": (LEARNERS - C) / C,
    "k-batch-async": (LEARNERS - 1) / C,
    "softsync": (LEARNERS - 1) / C,
    "softsync, pull before": LEARNERS / C,
    "k-sync": 0,
}


def stale(outputs):
    found = outputs.samples("how_stale_whatever_the_law", conditions_of, "mean_staleness")
    conditions = list(dict.fromkeys(where for _, where in found))
    return [stale_figure(found, conditions)], [
        claim(f"X1.{name.replace(', ', '-').replace(' ', '-')}").all_near(
            (where, float(expected), found[name, where]) for where in conditions
        )
        for name, expected in PROTOCOLS.items()
    ]


def conditions_of(row):
    protocol = row["sweep.protocol"]
    before = ", pull before" if protocol.get("pull") == "before" else ""
    unlike = ", unlike speeds" if len(set(row["cluster.speeds"])) > 1 else ""
    return protocol["kind"] + before, law_of(row) + unlike


def stale_figure(found, conditions):
    places, width = side_by_side(conditions)
    figure = figure_of("stale", ticks=[name.replace(", ", ",\n") for name in PROTOCOLS])
    for where in conditions:
        x = [place + places[where] for place in range(len(PROTOCOLS))]
        values = [found[name, where] for name in PROTOCOLS]
        figure.series.append(sampled(where, x, values, width=width))
    return figure
