"""What the learners of each point did with their time."""

from functools import cache

import pandas as pd

# The parts of a learner's time, in the order of bars.
PARTS = {
    "useful": "computing, applied",
    "wasted": "computing, thrown away",
    "communicating": "communicating",
    "encoding": "making and reading messages",
    "waiting": "waiting",
    "down": "failed",
}
SHARED = "link_utilisation", "server_utilisation"  # columns of runs.csv
SPENT = "communicating", "encoding", "waiting", "down"  # idle
HIDDEN = "hidden"  # of computing: meanwhile in an exchange


def parts(folder):
    """[run x part, and HIDDEN] shares of the learners' time, indexed by point and replica; empty where
    learners.csv is not there. Of a run whose communication was not counted, idle time is no part."""
    table = folder.learners
    if table.empty:
        return pd.DataFrame(columns=[*PARTS, HIDDEN])
    known = [name for name in (*SPENT, HIDDEN) if name in table]
    sums = table.groupby(["point", "replica"])[["busy", "idle", "wasted", *known]].sum(min_count=1)
    found = pd.DataFrame({"useful": sums["busy"] - sums["wasted"], "wasted": sums["wasted"]})
    for name in (*SPENT, HIDDEN):
        found[name] = sums[name] if name in known else float("nan")
    found.loc[found["waiting"].notna(), "down"] = found["down"].fillna(0.0)
    total = sums["busy"] + sums["idle"]
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
    found = pd.DataFrame(index=list(folder.points))
    found["rate"] = folder.rates.groupby(runs["point"]).mean()
    for name in ("mean_staleness", "mean_iteration_time", *SHARED):
        if name in runs:
            found[name] = points[name].mean()
    shares = parts(folder)
    for name in (*PARTS, HIDDEN):
        found[name] = shares[name].groupby("point").mean() if len(shares) else float("nan")
    found["least"] = least_share(folder)
    return found
