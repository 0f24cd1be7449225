"""What trace.json says of each point: what learners computed, sent and exchanged, when they did none
of it, and when updates were made. Times are in units of simulated time."""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

MICROSECONDS = 1e6
NAMED = ("all-reduce", "group", "push", "pull")  # exchanges whose name is their kind


class Exchange(NamedTuple):
    """What learners exchanged at once. Kinds: all-reduce, group (collectives of all and of some),
    pair, gossip (a learner's with its neighbours), push, pull (with a coordinator)."""

    number: int
    kind: str
    start: float
    length: float
    learners: list

    @property
    def end(self):
        return self.start + self.length

    def joins(self):
        """Whether they are several, and not all."""
        return self.kind != "all-reduce" and len(self.learners) > 1

    def rows(self):
        """The first and the last of learners next to each other, and so on."""
        runs = []
        for learner in sorted(self.learners):
            if runs and learner == runs[-1][1] + 1:
                runs[-1][1] = learner
            else:
                runs.append([learner, learner])
        return runs


@dataclass
class PointTrace:
    """One point: {(learner, fate): [(start, duration)]} of its gradients, from the pull before them
    to the end of their push, {(learner, "pull" or "push"): [(start, duration)]} of these transfers,
    its exchanges by number, the times of its updates, and where the trace ends: at the run's end,
    or before where only its start was kept."""

    gradients: dict = field(default_factory=lambda: defaultdict(list))
    transfers: dict = field(default_factory=lambda: defaultdict(list))
    exchanged: dict = field(default_factory=dict)
    updates: list = field(default_factory=list)
    until: float = 0.0

    @property
    def exchanges(self):
        return list(self.exchanged.values())

    @property
    def learners(self):
        """How many the trace has."""
        return 1 + max(learner for learner, _ in self.gradients)

    def updates_by_one(self):
        """Whether every gradient made an update."""
        used = sum(len(spans) for (_, fate), spans in self.gradients.items() if fate == "used")
        return used == len(self.updates)

    def computed(self):
        """The gradients without their transfers."""
        moved = defaultdict(list)
        for (learner, _), spans in self.transfers.items():
            moved[learner] = sorted(moved[learner] + spans)
        return {
            (learner, fate): [part for span in spans for part in rest_of(*span, moved[learner])]
            for (learner, fate), spans in self.gradients.items()
        }

    def gaps(self):
        """{(learner, "waiting" or "down"): [(start, duration)]}: nothing is computed or exchanged,
        after a loss because the learner is down."""
        busy = defaultdict(list)
        for (learner, fate), spans in self.gradients.items():
            busy[learner] += [(start, start + length, fate) for start, length in spans]
        for one in self.exchanged.values():
            for learner in one.learners:
                busy[learner].append((one.start, one.end, one.kind))
        found = defaultdict(list)
        for learner, spans in busy.items():
            now, why = 0.0, "waiting"
            for start, end, what in [*sorted(spans), (self.until, self.until, "")]:
                if start > now:
                    found[learner, why].append((now, start - now))
                if end >= now:
                    now, why = end, "down" if what == "lost" else "waiting"
        return found


def rest_of(start, length, taken):
    """The parts (start, duration) of a span that spans within it, sorted, do not cover."""
    end, parts = start + length, []
    for begin, duration in islice(taken, bisect_left(taken, (start,)), None):
        if begin >= end:
            break
        if begin > start:
            parts.append((start, begin - start))
        start = begin + duration
    return [*parts, (start, end - start)] if start < end else parts


def kind_of(event):
    """The kind of an exchange's slice."""
    if event["name"] in NAMED:
        return event["name"]
    return "gossip" if "hears" in event["args"] else "pair"


def read_traces(events, learners):
    """{point: PointTrace}, of those that computed something; learners: how many each point has. Track
    learner + 1 has what a learner computes and sends, without a server track P + learner + 1 its exchanges."""
    traces = defaultdict(PointTrace)
    for event in events:
        if event["ph"] != "X":
            continue
        trace = traces[event["pid"]]
        start, length = event["ts"] / MICROSECONDS, event["dur"] / MICROSECONDS
        trace.until = max(trace.until, start + length)
        if event["cat"] == "gradient":
            trace.gradients[event["tid"] - 1, event["args"]["fate"]].append((start, length))
        elif event["cat"] == "transfer":
            trace.transfers[event["tid"] - 1, event["name"]].append((start, length))
        elif event["cat"] == "exchange":
            learner = event["tid"] - 1 - learners[event["pid"]]
            number = event["args"]["exchange"]
            new = Exchange(number, kind_of(event), start, length, [])
            trace.exchanged.setdefault(number, new).learners.append(learner)
        elif event["cat"] == "version" and event["args"]["version"] > 0:  # 3 begins with update 3
            trace.updates.append(start)
    for trace in traces.values():
        trace.updates.sort()
    return {point: trace for point, trace in traces.items() if trace.gradients}
