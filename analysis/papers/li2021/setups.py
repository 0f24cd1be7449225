"""The three setups, their runs, and what the paper and the authors' released logs say of them."""

import math
from dataclasses import dataclass

from reproduce.outputs import digitised

SETUPS = (1, 2, 3)
IMAGES = 128  # in a minibatch


@dataclass
class Setup:
    """Fractions are of the work; times over that of BSP."""

    gradients: int
    share: float  # of BSP where the paper says that it switches
    run_share: float  # of BSP in the runs behind its figures
    ratio: tuple  # of the throughput of ASP to that of BSP, in the logs: low, high
    rho: float  # time of ASP
    bars: dict  # {protocol: time}, in the figures


ALL = {
    1: Setup(
        64_000, 0.0625, 0.05, (6.8, 6.8), 0.1517, {"BSP": 1, "ASP": 0.1517, "Sync-Switch": 0.1951}
    ),
    2: Setup(
        128_000,
        0.125,
        0.125,
        (1.86, 1.86),
        0.5377,
        {"BSP": 1, "ASP": 0.5377, "Sync-Switch": 0.6015},
    ),
    3: Setup(64_000, 0.5, 0.5, (11, 12), 0.085, {"BSP": 1, "Sync-Switch": 0.5356}),
}


def logged(column):
    """{setup: {share of BSP: what the released logs have}}, of a column of logs.csv."""
    found = {setup: {} for setup in SETUPS}
    for row in digitised("li2021", "logs"):
        if not math.isnan(row[column]):
            found[row["setup"]][row["share"]] = row[column]
    return found


def share_of(row):
    """Of the work that a run does in BSP."""
    return row["protocol.phases.0.end.work"]


def scenario_of(setup):
    return f"setup{setup}_how_long_is_a_run"


def seconds(outputs, setup):
    """{share of BSP: the Sample of the time of a run}."""
    return outputs.samples(scenario_of(setup), share_of, "sim_time")


def shares_of(setup):
    """{protocol of the paper: its share of BSP}, of the runs behind its figures."""
    return {"BSP": 1.0, "ASP": 0.0, "Sync-Switch": ALL[setup].run_share}


def accuracies(setup):
    """{protocol: ([fraction of the work], [test accuracy])} of the released runs, in the mean."""
    rows = [row for row in digitised("li2021", "accuracy_curves") if row["setup"] == setup]
    curves = {}
    for protocol in dict.fromkeys(row["protocol"] for row in rows):
        mine = [row for row in rows if row["protocol"] == protocol]
        curves[protocol] = [row["work"] for row in mine], [row["accuracy"] for row in mine]
    return curves
