"""What points are compared by: a number of each run, the less the better."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd


@dataclass
class Measure:
    """`values` [replica x point]: inf where the run never got there (not reached, diverged), NaN
    where there is no run. `at_least`: the same, with what is known of those that never got there: a
    run that had not reached its target by its end takes at least so long. `resolution`: how finely
    values are known; `slack`: how much less each may be (a time since the evaluation before). `sign` -1: the more the better, and values are negated."""

    key: str
    name: str
    values: pd.DataFrame
    at_least: pd.DataFrame
    resolution: float = 0.0
    better: str = "less"
    sign: int = 1
    is_time: bool = False
    slack: pd.DataFrame | None = None

    def of(self, points):
        """The same of some points only."""
        slack = None if self.slack is None else self.slack[points]
        return replace(
            self, values=self.values[points], at_least=self.at_least[points], slack=slack
        )


def by_point(runs, column):
    """[replica x point] of a column of runs.csv."""
    return runs.pivot(index="replica", columns="point", values=column)


def of_runs(runs, values):
    """NaN where a run failed, or is not there."""
    status = by_point(runs, "status")
    return values.mask((status == "failed") | status.isna())


def final_value(runs):
    """The test error at the end of the runs, else the loss; None of runs that trained nothing."""
    for column, name in (("final_test_error", "final test error"), ("final_loss", "final loss")):
        if column in runs and runs[column].notna().any():
            break
    else:
        return None
    values = by_point(runs, column)
    diverged = (by_point(runs, "status") == "diverged") & True
    values = of_runs(runs, values.mask(diverged, np.inf))
    steps = np.diff(np.unique(runs[column].dropna()))
    resolution = float(steps[steps > 1e-12].min()) if (steps > 1e-12).any() else 0.0
    return Measure(column, name, values, values, resolution, "lower")


def target_name(column):
    kind, level = column.removeprefix("time_to_").split("_", 1)
    return f"time to {'test error' if kind == 'error' else kind} {level}"


def target_columns(runs):
    """The columns of times to targets, the hardest last."""
    columns = [name for name in runs if name.startswith("time_to_")]
    return sorted(columns, key=lambda name: (name.split("_")[2], -float(name.split("_")[3])))


def time_to(runs, column, resolution):
    """The time to a target."""
    times = by_point(runs, column)
    missing = times.isna()
    diverged = by_point(runs, "status").isin(["diverged", "deadlocked"])
    ends = by_point(runs, "sim_time").mask(diverged, np.inf)
    values = of_runs(runs, times.mask(missing, np.inf))
    at_least = of_runs(runs, times.where(~missing, ends))
    slack = None
    if f"resolution_of_{column}" in runs:
        slack = by_point(runs, f"resolution_of_{column}").astype(float).fillna(0.0)
    return Measure(
        column, target_name(column), values, at_least, resolution, "sooner", 1, True, slack
    )


def headline_target(runs):
    """The hardest target that any run reached, else the easiest one; None without targets."""
    columns = target_columns(runs)
    errors = [name for name in columns if name.startswith("time_to_error")] or columns
    reached = [name for name in errors if runs[name].notna().any()]
    return reached[-1] if reached else next(iter(errors), None)


def throughput(runs):
    """Gradients applied per unit of simulated time, for runs that trained nothing."""
    if "gradients_applied" not in runs:
        return None
    rates = runs.assign(
        rate=runs["gradients_applied"] / runs["sim_time"].where(runs["sim_time"] > 0)
    )
    values = of_runs(runs, -by_point(rates, "rate"))
    return Measure("rate", "gradients per unit of time", values, values, 0.0, "more", -1)


def evaluation_interval(folder):
    """The median time between evaluations of a run; 0 where that is not known."""
    curve = folder.curve
    if curve.empty or "time" not in curve:
        return float(folder.scenario.get("record", {}).get("every_time") or 0)
    gaps = curve.groupby(["point", "replica"])["time"].diff().dropna()
    gaps = gaps[gaps > 0]
    return float(gaps.median()) if len(gaps) else 0.0


def headline_measures(folder):
    """What the answer is about: time to target and final error; of a timing-only folder the
    throughput."""
    final = final_value(folder.runs)
    if final is None:
        rate = throughput(folder.runs)
        return [rate] if rate is not None and rate.values.notna().any(axis=None) else []
    column = headline_target(folder.runs)
    time = [time_to(folder.runs, column, evaluation_interval(folder))] if column else []
    return [*time, final]
