"""What runs cost: cluster.price, in a currency per machine and unit of simulated time, and
cluster.price_per_gigabyte of what learners send and receive."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from results.folder import by_run


def price_of(folder, key):
    """By point; NaN where no price is given."""
    price = folder.scenario.get("cluster", {}).get(key)
    if f"cluster.{key}" in folder.swept:
        return folder.numbers(f"cluster.{key}")
    return pd.Series(price, index=list(folder.points), dtype=float)


@cache
def prices_of(folder):
    """[point x ("time", "bytes")]: the prices of all machines for a unit of time, and of a byte; 0 where
    the other alone is given, None where neither is."""
    found = {
        "time": price_of(folder, "price") * folder.learners_of,
        "bytes": price_of(folder, "price_per_gigabyte") / 1e9,
    }
    told = [one.notna().any() for one in found.values()]
    if not any(told):
        return None
    return pd.DataFrame({name: one if one.notna().any() else 0.0 for name, one in found.items()})


def curves_of(folder, column):
    """{(point, replica): its evaluations in a column of curve.csv}; none where it is not there."""
    curve = folder.evaluations
    return by_run(curve, column) if column in curve else {}


@cache
def spent(folder):
    """{(point, replica): what it has cost at its evaluations}, of those of which that is known."""
    prices, carried = prices_of(folder), curves_of(folder, "bytes")
    found = {}
    for run, times in curves_of(folder, "time").items() if prices is not None else ():
        of_time, of_byte = prices.loc[run[0]]
        bytes_so_far = carried.get(run, np.nan * times) if of_byte else 0.0
        found[run] = of_time * times + of_byte * bytes_so_far
    return {run: costs for run, costs in found.items() if np.isfinite(costs).any()}


def cost_at(folder, times):
    """[replica x point] of times: what the run has cost then; inf at inf."""
    curves, found = curves_of(folder, "time"), times.astype(float)
    for point in times:
        for replica, time in times[point].items():
            run = point, replica
            if np.isfinite(time):
                known = run in curves and run in spent(folder)
                found.loc[replica, point] = (
                    np.interp(time, curves[run], spent(folder)[run]) if known else np.nan
                )
    return found


def cost(case, time):
    """The Measure of what it costs to reach the target of a time; None where that is not known."""
    prices = prices_of(case.folder)
    if prices is None or prices.loc[case.points].isna().any(axis=None):
        return None
    prices = prices.loc[case.points]
    of_bytes = bool(prices["bytes"].any())
    at = lambda times: cost_at(case.folder, times) if of_bytes else times * prices["time"]
    if (at(time.values).isna() & time.values.notna()).any(axis=None):
        return None
    return replace(
        time,
        key="cost",
        name=f"cost to {time.target}",
        values=at(time.values),
        at_least=at(time.at_least),
        resolution=time.resolution * float(prices["time"].max()),
        better="cheaper",
        unit="",
        target=None,
    )
