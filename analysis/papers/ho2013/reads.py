"""Which updates the reads of SSP contain, from the timelines: items 1, 3 and 7.

An update is stamped with its learner's clock, from 0; a learner at clock c has made c updates."""

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from papers.ho2013 import claim, figure_of
from papers.ho2013.clocks import LAWS, LEARNERS
from reproduce.claims import Sample
from reproduce.figures import SIMULATED, THEORY, Series
from reproduce.outputs import law_of

ROUNDING = 2e-3  # of the timeline's times, whose unit is a millionth


@dataclass
class Reads:
    """Of one run: [read] the reader's clock c; [read, learner] how many updates of each learner the
    read contains, less c; and how many reads do not contain exactly what was made before."""

    clock: np.ndarray
    ahead: np.ndarray
    learner: np.ndarray
    untimely: int

    def missing(self):
        """Mean number of updates of others stamped below c that a read does not contain."""
        return float(-np.minimum(self.ahead, 0).sum(axis=1).mean())

    def extra(self):
        """Mean number of updates of others stamped c or more that it contains."""
        return float(np.maximum(self.ahead, 0).sum(axis=1).mean())

    def most(self):
        """Missing and extra of one read at most."""
        return int(np.abs(self.ahead).sum(axis=1).max())

    def not_own(self):
        """Reads that lack updates of the reader."""
        return int((self.ahead[np.arange(len(self.learner)), self.learner] != 0).sum())


def reads_of(gradients):
    """Reads of the used gradients of one run: rows of learner, version, staleness, start, end."""
    gradients = gradients[np.argsort(gradients[:, 1] + gradients[:, 2])]
    learner, version = gradients[:, 0].astype(int), gradients[:, 1].astype(int)
    made = np.zeros((len(learner) + 1, LEARNERS), np.int32)
    made[1:] = np.cumsum(learner[:, None] == np.arange(LEARNERS), axis=0)
    clock = made[np.arange(len(learner)), learner]
    start, end = gradients[:, 3], gradients[:, 4]
    first = np.concatenate([[-math.inf], end])[version]
    next_one = np.concatenate([end, [math.inf]])[version]
    untimely = (first > start + ROUNDING) | (next_one < start + ROUNDING)
    return Reads(clock, made[version] - clock[:, None], learner, int(untimely.sum()))


def all_reads(outputs, scenario, key):
    """{key(row of runs.csv): Reads}."""
    keys = outputs.keys(scenario, key)
    found = defaultdict(list)
    for event in outputs.trace(scenario):
        if event.get("cat") == "gradient" and event["args"]["fate"] == "used":
            facts = event["args"]
            start, end = event["ts"], event["ts"] + event["dur"]
            found[keys[event["pid"]]].append(
                (event["tid"] - 1, facts["version"], facts["staleness"], start, end)
            )
    return {where: reads_of(np.array(rows)) for where, rows in found.items()}


# s: missing, extra and, of ten of our runs of 1,000 clocks, their standard deviations; the last
# digit of the first two.
TABLES = {
    "exponential": {
        0: (0, 0, 0, 0, 0),
        1: (5.9, 3.0, 0.07, 0.04, 0.1),
        2: (11.9, 6.6, 0.15, 0.07, 0.1),
        4: (22.3, 14.4, 0.27, 0.19, 0.1),
        8: (40, 30, 0.78, 0.61, 1),
        16: (77, 64, 3.7, 3.3, 1),
    },
    "normal": {
        0: (0, 0, 0, 0, 0),
        1: (12, 1, 0.09, 0.01, 1),
        4: (23, 10, 0.48, 0.37, 1),
        16: (79, 64, 4.8, 4.8, 1),
    },
}


def reads(outputs):
    key = lambda row: (law_of(row), row["protocol.bound"])
    found = all_reads(outputs, "what_does_a_read_see", key)
    figures = [counts_figure(found), differences_figure(found)]
    named = {(LAWS[law], s): one for (law, s), one in found.items()}
    return figures, [*window_claims(named, ""), *table_claims(found), *push_claims(found)]


def reads_beside_a_slow_learner(outputs):
    key = lambda row: ("one of 32 twice as slow", row["protocol.bound"])
    found = all_reads(outputs, "does_a_bound_help_a_slow_learner", key)
    share = (LEARNERS - 1) / LEARNERS
    claims = [
        claim(f"3.{name}-straggler").all_near(
            (f"s = {s}", share * s, Sample(count(one))) for (_, s), one in found.items()
        )
        for name, count in (("missing", Reads.missing), ("extra", Reads.extra))
    ]
    return [], [*window_claims(found, "-straggler"), *claims]


def window_claims(found, ending):
    """Items 1 and the bounds of 3; found: {(name, s): Reads}."""
    count = sum(len(one.clock) for one in found.values())
    place = lambda name, s: f"{name}, s = {s}"
    yield claim(f"1.lead{ending}").all_near(
        (place(*at), at[1], Sample(-int(one.ahead.min()))) for at, one in found.items()
    )
    later = sum(int((one.ahead.max(axis=1) > s).sum()) for (_, s), one in found.items())
    earlier = sum(int((one.ahead.min(axis=1) < -s).sum()) for (_, s), one in found.items())
    not_own = sum(one.not_own() for one in found.values())
    yield claim(f"1.window{ending}", count=count).holds(
        later == earlier == not_own == 0, f"{earlier}, {not_own}, {later}"
    )
    most = {at: one.most() / max(at[1] * (LEARNERS - 1), 1) for at, one in found.items()}
    yield claim(f"3.bound{ending}").holds(
        max(most.values()) <= 2, f"at most {max(most.values()):.3f}"
    )
    yield claim(f"3.tight{ending}").holds(
        max(most.values()) <= 1, f"at most {max(most.values()):.3f}"
    )


def table_claims(found):
    for law, table in TABLES.items():
        for i, (name, count) in enumerate((("missing", Reads.missing), ("extra", Reads.extra))):
            values = []
            for s, row in table.items():
                error = math.hypot(math.sqrt(2) * row[2 + i], row[4] / math.sqrt(12))
                values.append((f"s = {s}", row[i], Sample(count(found[law, s]), error)))
            yield claim(f"3.{name}-{law}").all_near(values)


def push_claims(found):
    untimely = sum(one.untimely for one in found.values())
    count = sum(len(one.clock) for one in found.values())
    yield claim("7.push", count=count).holds(untimely == 0, f"all but {untimely}")
    yield claim("7.lazy").skipped(
        "caches that are refreshed only when they are too old are not modelled"
    )


def counts_figure(found):
    figure = figure_of("reads")
    shown = sorted({s for _, s in found})
    figure.series.append(Series("bound", THEORY, shown[:4], [62 * s for s in shown[:4]]))
    for law, name in LAWS.items():
        for what, count in (("missing", Reads.missing), ("extra", Reads.extra)):
            counts = [count(found[law, s]) for s in shown]
            figure.series.append(Series(f"{name}: {what}", SIMULATED, shown, counts))
    return figure


def differences_figure(found):
    figure = figure_of("differences")
    for law, name in LAWS.items():
        for s in (1, 4, 16):
            ahead = found[law, s].ahead
            places, at = list(range(-s, s + 1)), f"{name}, s = {s}"
            counts = np.array([(ahead == place).sum() for place in places])
            counts[s] -= len(ahead)  # the reader itself
            share = counts / counts.sum()
            figure.series.append(Series(at, SIMULATED, places, list(share), None, True))
    return figure
