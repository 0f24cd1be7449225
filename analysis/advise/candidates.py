"""What is chosen among: the points of a sweep, and what is known of each before it trains."""

import math
from dataclasses import dataclass, field

import numpy as np
from results.folder import Point


@dataclass
class Candidate:
    """A point of the sweep; of its runs without gradients the time of an update and the gradients in a unit of
    time (NaN where there are none), and the facts by which models tell it from others: {name: number}."""

    point: Point
    learners: int
    price: float  # of its machines, a unit of time
    update_time: float = math.nan
    gradient_rate: float = math.nan
    facts: dict = field(default_factory=dict)

    @property
    def number(self):
        return self.point.number

    @property
    def label(self):
        return self.point.label

    @property
    def row(self):
        """Of a design."""
        return np.array([1.0, math.log(self.learners), *self.facts.values()])


def flat(settings, path=""):
    """{dotted path: number or text} of settings, lists as text."""
    if not isinstance(settings, dict):
        is_number = isinstance(settings, int | float) and not isinstance(settings, bool)
        return {path: float(settings) if is_number else str(settings)}
    found = {}
    for key, value in settings.items():
        found |= flat(value, f"{path}.{key}" if path else key)
    return found


def number_fact(values):
    """Logarithms of numbers, or the numbers if some are not positive, around 0 and about as wide as 1; 0 where
    there is none. None if they are all equal."""
    known = [one for one in values if one is not None]
    scaled = math.log if min(known) > 0 else float
    known = [scaled(one) for one in known]
    middle, spread = sum(known) / len(known), max(known) - min(known)
    if spread < 1e-9:
        return None
    return [0.0 if one is None else 2 * (scaled(one) - middle) / spread for one in values]


def facts_of(columns):
    """[{name: number}] of columns {name: values, None where one has none}: what differs among candidates; a
    column of texts is a fact each, but for the most frequent."""
    found = {}
    for name, values in columns.items():
        texts = [one for one in values if isinstance(one, str)]
        if not texts:
            if fact := number_fact(values):
                found[name] = fact
            continue
        kinds = sorted(set(texts), key=lambda one: (texts.count(one), one))[:-1]
        found |= {f"{name}={kind}": [float(one == kind) for one in values] for kind in kinds}
    count = len(next(iter(columns.values()), ()))
    return [{name: fact[i] for name, fact in found.items()} for i in range(count)]


def update_times(timing):
    """By candidate, of runs without gradients."""
    sums = timing.runs.groupby("point")[["updates", "sim_time"]].sum()
    return sums["sim_time"] / sums["updates"]


def add_facts(candidates, timing):
    """From settings, and from runs without gradients: their sizes of updates and staleness."""
    settings = [flat(one.point.settings) for one in candidates]
    paths = dict.fromkeys(path for one in settings for path in one if path != "cluster.learners")
    columns = {path: [one.get(path) for one in settings] for path in paths}
    if timing is not None:
        runs = timing.runs.groupby("point")
        sums, times = runs[["updates", "gradients_applied", "sim_time"]].sum(), update_times(timing)
        rates = sums["gradients_applied"] / sums["sim_time"]
        for one in candidates:
            one.update_time, one.gradient_rate = times[one.number], rates[one.number]
        columns["gradients an update"] = (sums["gradients_applied"] / sums["updates"]).tolist()
        columns["1 + staleness"] = (1 + runs["mean_staleness"].mean().fillna(0.0)).tolist()
    for one, facts in zip(candidates, facts_of(columns)):
        one.facts = facts
