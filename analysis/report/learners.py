"""What the learners of each point did with their time."""

from functools import cache

import pandas as pd

# The parts of a learner's time, in the order of bars.
PARTS = {
    "useful": "computing, applied",
    "wasted": "computing, thrown away",
    "communicating": "communicating",
    "waiting": "waiting",
}


def parts(folder):
    """[run x part] shares of the learners' time, indexed by point and replica; empty where
    learners.csv is not there."""
    table = folder.learners
    if table.empty:
        return pd.DataFrame(columns=list(PARTS))
    sums = table.groupby(["point", "replica"])[["busy", "idle", "wasted"]].sum()
    communicating = 0.0
    if "communicating" in table:
        communicating = table.groupby(["point", "replica"])["communicating"].sum()
    total = sums["busy"] + sums["idle"]
    found = pd.DataFrame(
        {
            "useful": sums["busy"] - sums["wasted"],
            "wasted": sums["wasted"],
            "communicating": communicating,
            "waiting": sums["idle"] - communicating,
        }
    )
    return found.div(total.where(total > 0), axis=0)


def least_share(folder):
    """By point: the share of applied gradients of the learner that had the fewest, over an even
    share."""
    table = folder.learners
    if table.empty:
        return pd.Series(dtype=float)
    sums = table.groupby(["point", "learner"])["gradients"].sum()
    return sums.groupby("point").min() / sums.groupby("point").mean()


@cache
def facts(folder):
    """[point x fact]: gradients per unit of time, staleness, the parts of the learners' time, the
    share of the slowest learner."""
    runs = folder.runs
    points = runs.groupby("point")
    found = pd.DataFrame(index=folder.points.index)
    if "gradients_applied" in runs:
        time = runs["sim_time"].where(runs["sim_time"] > 0)
        found["rate"] = (runs["gradients_applied"] / time).groupby(runs["point"]).mean()
    for name in ("mean_staleness", "mean_iteration_time", "learners"):
        if name in runs:
            found[name] = points[name].mean()
    shares = parts(folder)
    for name in PARTS:
        found[name] = shares[name].groupby("point").mean() if len(shares) else float("nan")
    found["least"] = least_share(folder)
    return found
