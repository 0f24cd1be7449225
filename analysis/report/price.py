"""What runs cost: cluster.price, in a currency per machine and unit of simulated time."""

from dataclasses import replace

import pandas as pd


def price_of(folder):
    """By point: the price of all machines for a unit of time; empty where no price is given."""
    price = folder.scenario.get("cluster", {}).get("price")
    prices = pd.Series(price, index=list(folder.points), dtype=float)
    if "cluster.price" in folder.swept:
        prices = folder.numbers("cluster.price")
    return (prices * folder.learners_of).dropna()


def cost(case, time):
    """The Measure of what it costs to reach the target of a time; None without prices."""
    prices = price_of(case.folder).reindex(case.points)
    if prices.isna().any():
        return None
    return replace(
        time,
        key="cost",
        name=f"cost to {time.target}",
        values=time.values * prices,
        at_least=time.at_least * prices,
        resolution=time.resolution * float(prices.max()),
        better="cheaper",
        unit="",
        target=None,
    )
