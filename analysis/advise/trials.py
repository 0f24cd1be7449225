"""The runs of candidates: a call of gradrace run into a folder each, which goes on where it was."""

import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from asked import INTERRUPTED, Ended, Program
from plots.measure import final_value, time_to
from plots.price import cost
from report.case import Case
from results import read_folder

MARGIN = 1.5  # times the best so far: the time until which others run
LEAST_UPDATES = 15  # of a first run
FIRST_SHARE = 1 / 32  # of the scenario's time: half of what first runs have


class BudgetSpent(Exception):
    """The seconds that the caller gave are over."""


class Rank(NamedTuple):
    """Of runs: the share that never gets there, and the mean of the others."""

    lost: float
    mean: float


def rank(values, bounds):
    """By times, infinite where a run did not get there, and what they are at least, infinite where it never will. The mean
    is all time over how many got there, which of runs that were cut is the likeliest mean of exponential times (Epstein
    and Sobel, J. Am. Stat. Assoc. 48, 1953)."""
    bounds, values = bounds.dropna(), values.dropna()
    there, kept = np.isfinite(values).sum(), bounds[np.isfinite(bounds)]
    return Rank(float(np.isinf(bounds).mean()), float(kept.sum() / there) if there else math.inf)


class Trials:
    """Runs candidates as gradrace advise asks, within its seconds. `folders` {candidate: the Folder of its runs},
    `measures` {candidate: their Measure}, `ranks` {candidate: rank() of that}, `cut` {candidate: whether some run ended
    at a limit of time that is not the scenario's}, `failed` {candidate}, `gradients`
    computed by runs that a longer one replaced; `patience`: the share of the scenario's time for which first runs
    are watched until some run gets there."""

    def __init__(self, asked):
        self.asked, self.target = asked, asked["target"]
        self.program = Program(asked["program"])
        self.end = time.monotonic() + (asked["seconds"] or math.inf)
        self.options = [one for one in asked["options"] if one != "--force"]
        self.anew = "--force" in asked["options"]  # the first call of each folder
        self.called, self.folders, self.limits, self.failed = set(), {}, {}, set()
        self.measures, self.ranks, self.cut, self.computed = {}, {}, {}, {}
        self.gradients, self.patience = 0, FIRST_SHARE

    # ---- calls

    def words(self, sets):
        changes = [f"--set={path}={json.dumps(value)}" for path, value in sets.items()]
        return [*self.asked["changes"], *changes, "--", self.asked["file"]]

    def call(self, sets):
        """The Folder of a call, which has the scenario's name; None where it has no results."""
        place = Path(self.asked["out"], sets["name"])
        anew = ["--force"] if self.anew and place not in self.called else []
        self.called.add(place)
        left = self.end - time.monotonic()
        if left <= 0:
            raise BudgetSpent
        words = ["run", f"--out={place}", *self.options, *anew, *self.words(sets)]
        status = self.program.status(*words, seconds=left if math.isfinite(left) else None)
        if status is None:
            raise BudgetSpent
        if status in (2, INTERRUPTED):
            raise Ended(status)
        return read_folder(place) if (place / "runs.csv").is_file() else None

    def timings(self, name, changes):
        """The Folder of all candidates' runs without gradients, with changes to the scenario; None where that is
        no scenario."""
        sets = {"timing_only": True, "record": {}, "targets": {}, "replicas": 2, "name": name}
        sets |= {"stop": {"gradients": self.asked["timing_gradients"]}} | changes
        if self.program.status("validate", *self.words(sets), told=False):
            return None
        return self.call(sets)

    def sets_of(self, candidate, replicas, limit):
        """Changes that make the scenario the candidate's alone, until the target or the limit of time."""
        stop = dict(self.asked["stop"])
        if math.isfinite(limit):
            stop["time"] = min(stop.get("time", math.inf), limit)
        told = {"stop": stop, "targets": self.asked["targets"], "replicas": replicas}
        told["name"] = self.name_of(candidate.number)
        return {"sweep": {}, **candidate.point.settings, **told}

    # ---- candidates

    def name_of(self, number):
        """Of the folder of its runs."""
        return f"candidate-{number}" + "-again" * (len(self.limits[number]) - 1)

    def replicas(self, number):
        return len(self.folders[number].runs) if number in self.folders else 0

    def run(self, candidate, replicas, limit=math.inf, again=False):
        """Has so many replicas run, until the limit of time that counted the first time, or anew until this one.
        Whether they are there."""
        number = candidate.number
        if number in self.failed:
            return False
        if number not in self.limits:
            self.limits[number] = [limit]
        elif again:
            self.limits[number].append(limit)
            self.gradients += self.computed[number]
            replicas = max(replicas, self.replicas(number))
        elif self.replicas(number) >= replicas:
            return True
        if "--progress=text" in self.options:
            count = f"{replicas} replica{'s' * (replicas > 1)}"
            print(f"advise: {candidate.label}, {count}", file=sys.stderr, flush=True)
        folder = self.call(self.sets_of(candidate, replicas, self.limits[number][-1]))
        if folder is None or (folder.runs["status"] == "failed").any():
            self.failed.add(number)
            return False
        self.folders[number] = folder
        self.measure_runs(number, self.limits[number][-1])
        self.computed[number] = int(folder.runs["gradients_computed"].sum())
        return True

    def gradients_of(self, number):
        """Of a replica, as it ran; 0 where it did not."""
        return self.computed[number] / self.replicas(number) if number in self.folders else 0.0

    def gets_there(self, number):
        """Whether all its runs did."""
        return number in self.folders and not self.sample(number).never

    def likely_gradients(self, candidate, replicas, limit, again):
        """Of a call of run(): as many a replica as there were, until another limit as many as it has time for;
        0 where that has no end."""
        number = candidate.number
        there = self.replicas(number)
        new = max(replicas, there) - (0 if again else there)
        if number in self.folders and (not again or self.gets_there(number)):
            return new * self.gradients_of(number)
        if number in self.folders:
            limit = min(limit, self.time_of(candidate, self.mean(number)))
        longest = self.gradients_until(candidate, limit)
        return new * longest if math.isfinite(longest) else 0.0

    def gradients_until(self, candidate, time):
        """Of a replica that ends by then, or where the scenario has it."""
        stop = self.asked["stop"]
        updates = stop.get("updates", math.inf) * candidate.update_time
        ends = [time, stop.get("time", math.inf), updates]
        return min(min(ends) * candidate.gradient_rate, stop.get("gradients", math.inf))

    def limit_of(self, candidate, margin):
        """The time until which it runs: that of the budget, or so many times the best so far."""
        if self.target["is_budget"]:
            level = self.target["level"]
            return level / candidate.price if self.target["key"] == "cost" else level
        return self.time_of(candidate, margin * self.best)

    def time_of(self, candidate, value):
        """A time, or that in which its machines cost so much."""
        return value / candidate.price if self.target["by"] == "cost" else value

    def watched(self, candidate):
        """The time for which the first run of it is worth while; until some run got there, a share of the scenario's
        time."""
        longest = self.asked["stop"].get("time", math.inf)
        if self.target["is_budget"]:
            return self.limit_of(candidate, MARGIN)
        limit = (
            self.limit_of(candidate, MARGIN)
            if math.isfinite(self.best)
            else longest * self.patience
        )
        return min(max(limit, LEAST_UPDATES * candidate.update_time), longest)

    def was_cut(self, number):
        return self.cut.get(number, False)

    @property
    def spent(self):
        """Gradients so far, of all runs."""
        return self.gradients + sum(self.computed.values())

    # ---- what they are compared by

    def measure_runs(self, number, limit):
        """Runs that had this limit of time: those that ended before it, or where the scenario has them end, never get
        there."""
        folder, longest = self.folders[number], self.asked["stop"].get("time", math.inf)
        if self.target["is_budget"]:
            found = final_value(folder)
            is_cut = np.zeros(len(found.values), bool)
        else:
            step = self.asked["scenario"].get("record", {}).get("every_time")
            found = times = time_to(folder, folder.targets[0], step)
            late = times.at_least[0].where(np.isinf(times.values[0]))
            is_cut = np.isfinite(late) & (late >= limit) & (limit < longest)
            if self.target["by"] == "cost":
                found = cost(Case(folder, "", [0]), times)
        self.measures[number], self.cut[number] = found, bool(is_cut.any())
        self.ranks[number] = rank(found.values[0], found.at_least[0].where(is_cut, found.values[0]))

    def measure(self, numbers):
        """The Measure of those candidates."""
        found = {number: self.measures[number] for number in sorted(numbers)}
        gathered = lambda of: pd.DataFrame({n: of(one)[0] for n, one in found.items()})
        first = next(iter(found.values()))
        return replace(
            first,
            values=gathered(lambda one: one.values),
            at_least=gathered(lambda one: one.at_least),
            resolution=max(one.resolution for one in found.values()),
            slack=None if first.slack is None else gathered(lambda one: one.slack),
        )

    def sample(self, number):
        """Of the measure."""
        return self.measures[number].samples[0]

    def mean(self, number):
        """Infinite where some run never gets there."""
        lost, mean = self.ranks[number]
        return math.inf if lost else mean

    @property
    def best(self):
        """The least mean so far; infinite where none got there."""
        return min(map(self.mean, self.folders), default=math.inf)
