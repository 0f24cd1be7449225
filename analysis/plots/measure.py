"""What points are compared by: a number of each run, the less the better."""

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import pandas as pd
from results import Target
from results.folder import KEYS
from results.sample import sample_of_runs, unit_of
from results.target import headline


@dataclass
class Measure:
    """`values` [replica x point]: inf where the run never got there (not reached, diverged), NaN
    where there is no run. `at_least`: the same, with what is known of those that never got there: a
    run that had not reached its target by its end takes at least so long. `resolution`: how finely
    values are known; `slack`: how much less each may be (a time since the evaluation before). `unit`: that
    of the values, "" where they have none or the scenario gives none. `sign` -1: the more the better, and values are negated."""

    key: str
    name: str
    values: pd.DataFrame
    at_least: pd.DataFrame
    resolution: float = 0.0
    better: str = "less"
    unit: str = ""
    sign: int = 1
    target: Target | None = None  # whose times they are
    slack: pd.DataFrame | None = None

    @cached_property
    def samples(self):
        """{point: the Sample of its values}."""
        return dict(zip(self.values.columns, map(sample_of_runs, self.values.to_numpy(float).T)))

    def value(self, point):
        """The Sample of a point, in the measure's own sign."""
        found = self.samples[point]
        return replace(found, mean=self.sign * found.mean)

    @property
    def did(self):
        """What runs did that have a value."""
        return "got there" if self.target else "did not diverge"

    def amount(self, text):
        """A text of digits with the unit that it is read with."""
        time = "unit of time" if text == "1" else "units of time"
        unit = self.unit or (time if self.target else "")
        return f"{text} {unit}".rstrip()

    @property
    def head(self):
        """The name with the unit, for axes and heads of tables."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

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


@cache
def final_value(folder):
    """The test error at the end of the runs, else the loss; None of runs that trained nothing."""
    runs = folder.runs
    for column, name in (("final_test_error", "final test error"), ("final_loss", "final loss")):
        if column in runs and runs[column].notna().any():
            break
    else:
        return None
    values = by_point(runs, column)
    diverged = (by_point(runs, "status") == "diverged") & True
    values = of_runs(runs, values.mask(diverged, np.inf))
    known = np.unique(runs[column].dropna())
    steps = np.diff(known[np.isfinite(known)])
    steps = steps[steps > 1e-12 * unit_of(known)]  # the rest is rounding
    resolution = float(steps.min()) if len(steps) else 0.0
    return Measure(column, name, values, values, resolution, "lower")


@cache
def time_to(folder, target, resolution=None):
    """The time to a target; `resolution` where the time between evaluations is known."""
    runs = folder.runs
    status, times = runs["status"], runs[target.column]
    ends = runs["sim_time"].mask(status.isin(["diverged", "deadlocked"]), np.inf)
    known = lambda of: by_point(runs[KEYS].assign(known=of.mask(status == "failed")), "known")
    values, at_least = known(times.fillna(np.inf)), known(times.fillna(ends))
    slack = None
    if target.resolution in runs:
        slack = by_point(runs, target.resolution).astype(float).fillna(0.0)
    return Measure(
        key=target.column,
        name=f"time to {target}",
        values=values,
        at_least=at_least,
        resolution=evaluation_interval(folder) if resolution is None else resolution,
        better="sooner",
        unit=folder.time_unit,
        target=target,
        slack=slack,
    )


@cache
def reached(folder):
    """[point x target]: the share of a point's runs that reached it."""
    runs = folder.runs
    columns = [target.column for target in folder.targets]
    return runs[columns].notna().groupby(runs["point"]).mean()


def headline_target(folder, points):
    """The target that the answer about those points is about, and the largest share of a point's runs
    that reached it; None without targets."""
    shares = reached(folder).loc[points].max()
    target = headline(folder.targets, lambda one: shares[one.column])
    return target, target and shares[target.column]


def headline_time(folder, points):
    """The time to that target; None without one."""
    target, _ = headline_target(folder, points)
    return time_to(folder, target).of(points) if target else None


@cache
def throughput(folder):
    """Gradients applied per unit of simulated time, for runs that trained nothing."""
    runs = folder.runs.assign(rate=folder.rates)
    values = of_runs(runs, -by_point(runs, "rate"))
    name = f"gradients per {folder.time_unit or 'unit of time'}"
    return Measure("rate", name, values, values, better="more", sign=-1)


@cache
def evaluation_interval(folder):
    """The median time between evaluations, of the point where it is longest; 0 where that is not
    known."""
    curve = folder.evaluations
    if curve.empty or "time" not in curve:
        return float(folder.scenario.get("record", {}).get("every_time") or 0)
    gaps = curve.groupby(["point", "replica"])["time"].diff().dropna()
    medians = gaps[gaps > 0].groupby(curve["point"]).median()
    return float(medians.max()) if len(medians) else 0.0


def headline_measures(folder, points):
    """What the answer about those points is about: time to target and final error; of a timing-only
    folder the throughput."""
    final = final_value(folder)
    if final is None:
        rate = throughput(folder)
        return [rate.of(points)] if rate.values.notna().any(axis=None) else []
    time = headline_time(folder, points)
    final = final.of(points)
    return [final] if time is None else [time, final]
