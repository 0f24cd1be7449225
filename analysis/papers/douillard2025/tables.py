"""How much bandwidth a compute utilisation takes: tables 4 and 6, and Streaming DiLoCo, which is left out."""

import math

from papers.douillard2025 import claim, figure_of
from reproduce.claims import Sample
from reproduce.figures import PLOTTED, Series, sampled

UTILISATIONS = [50, 80, 90, 95, 99]
GBIT = 1e9 / 8  # bytes
STEP = 10 ** (4 / 49)  # from one bandwidth of the grid to the next


def on_grid(entry):
    """The bandwidth of the grid, or its next one, that the tables print with one digit."""
    return 0.1 * STEP ** round(math.log(entry / 0.1, STEP))


def utilisation(row):
    """Share of a round's time that machines compute: the run has one exchange, and computes for one
    round of data-parallel training, or two of DiLoCo."""
    computing = row["updates"] * row["cluster.runtime.value"]
    waiting = row["sim_time"] - computing
    rounds = 1 if row["protocol"] == "all-reduce" else 2
    return computing / rounds / (computing / rounds + waiting)


def bandwidths(outputs, scenario):
    """{(time of a step, H): [Gbit/s that each utilisation takes]}; beyond the grid: its next one."""
    found = {}
    for row in outputs.runs(scenario):
        at = row["cluster.runtime.value"], row["sweep.protocol"].get("tau", 1)
        reached = found.setdefault(at, [on_grid(1000) * STEP] * len(UTILISATIONS))
        gbit = row["cluster.network.bandwidth"] / GBIT
        for i, percent in enumerate(UTILISATIONS):
            if 100 * utilisation(row) >= percent * (1 - 1e-12):
                reached[i] = min(reached[i], gbit)
    return found


def judged(outputs, scenario, figure, names):
    """names: {(time of a step, H): the name of a row of the table}."""
    found = bandwidths(outputs, scenario)
    claims = []
    for at, name in names.items():
        rows = [claim(f"{name}-{percent}") for percent in UTILISATIONS]
        entries = [on_grid(float(row.expected)) for row in rows]
        measured = [Sample(one) for one in found[at]]
        group = name.split(".")[1]
        figure.series += [
            sampled(group, UTILISATIONS, measured),
            Series(group, PLOTTED, UTILISATIONS, entries),
        ]
        claims += [row.near(one, entry) for row, one, entry in zip(rows, measured, entries)]
    return [figure], claims


def table4(outputs):
    models = {0.1: "1B", 0.8: "10B", 4.9: "100B"}
    names = {(time, 1): f"4.data-parallel-{model}" for time, model in models.items()}
    names |= {(time, 100): f"4.DiLoCo-{model}" for time, model in models.items()}
    return judged(
        outputs, "table4_which_bandwidth_does_a_utilisation_take", figure_of("table4"), names
    )


def table6(outputs):
    models = {0.8: "10B", 26: "405B", 20: "671B"}
    rounds = (1, 10, 50, 100, 300)
    names = {(time, H): f"6.{model}-{H}" for time, model in models.items() for H in rounds}
    return judged(
        outputs, "table6_which_bandwidth_does_a_longer_round_take", figure_of("table6"), names
    )


def streaming(_outputs):
    """Its entries, skipped."""
    reason = "fragments of a model that are averaged in turn are not modelled"
    names = [
        f"streaming.{what}-{model}-{percent}"
        for what in ("Streaming", "overlapped", "4-bit")
        for model in ("1B", "10B", "100B")
        for percent in UTILISATIONS
    ]
    return [], [claim(name).skipped(reason) for name in names]
