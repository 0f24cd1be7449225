"""What enters an update, and what becomes of late gradients: items 1 to 3."""

from collections import Counter, defaultdict

import numpy as np
from papers.pan2017 import claim
from reproduce.replicas import mean_at

SCENARIO = "what_enters_an_update"
# The points of the scenario.
SYNC, NO_BACKUPS, BOUND, SHARED = range(4)
N, B = 96, 4


def point_of(row):
    return row["point"]


class Books:
    """The trace of a point: which gradients were used, of which version, and which dropped."""

    def __init__(self, outputs):
        self.ends = {
            point: found[0] for point, found in outputs.updates(SCENARIO, point_of, "time").items()
        }
        self.used = defaultdict(Counter)  # [point][version]
        self.fates = defaultdict(Counter)  # [point][fate]
        drops = defaultdict(list)
        for event in outputs.trace(SCENARIO):
            if event.get("cat") != "gradient":
                continue
            point, facts = event["pid"], event["args"]
            self.fates[point][facts["fate"]] += 1
            if facts["fate"] == "used":
                self.used[point][facts["version"]] += 1
            if facts["fate"] == "dropped":
                drops[point].append((event["ts"] + event["dur"]) / 1e6)
        self.drops = {
            point: Counter(np.searchsorted(self.ends[point], times))
            for point, times in drops.items()
        }

    def wrong(self, point, gradients):
        """Updates that are not so many gradients of the version before them."""
        return sum(self.used[point][v] != gradients for v in range(len(self.ends[point])))


def updates(outputs):
    books = Books(outputs)
    stale = outputs.samples(SCENARIO, point_of, "max_staleness")
    hashes = {point_of(row): row["final_hash"] for row in outputs.runs(SCENARIO)}
    claims = [*without_backups(stale, hashes), *with_backups(books, stale)]
    return [], [*claims, *cost_of_late(outputs)]


def without_backups(stale, hashes):
    """Item 1."""
    yield claim("1.staleness").near(stale[NO_BACKUPS])
    yield claim("1.sync").holds(
        hashes[NO_BACKUPS] == hashes[SYNC], f"{hashes[NO_BACKUPS]} and {hashes[SYNC]}"
    )
    yield claim("1.serial").skipped(
        "not seen from a run: the samples of a minibatch are named by learner; "
        "tests/claims/backup.cpp compares the two, to rounding"
    )


def with_backups(books, stale):
    """Item 2."""
    for point, tokens in ((BOUND, "bound"), (SHARED, "shared")):
        updates = len(books.ends[point])
        wrong = books.wrong(point, N)
        yield claim(f"2.accepted-{tokens}", updates=updates).holds(
            wrong == 0 and stale[point].mean == 0,
            f"{wrong} are not, staleness {stale[point].mean:g}",
        )
        cancelled = sum(n for fate, n in books.fates[point].items() if fate == "cancelled")
        yield claim(f"2.cancelled-{tokens}").holds(
            cancelled == 0 and books.fates[point]["dropped"] > 0,
            f"{books.fates[point]['dropped']} dropped, {cancelled} cancelled",
        )
    most = max(books.drops.get(BOUND, {0: 0}).values())
    yield claim("2.dropped").holds(most <= B, str(most))


def cost_of_late(outputs):
    late_of = lambda row: row["sweep.protocol"].get("late", "rejoin")
    steps = outputs.samples("what_do_late_gradients_cost", late_of, "mean_iteration_time")
    for late in ("rejoin", "cancel"):
        yield claim(f"2.server-{late}").near(steps[late])


# ---- item 3

ETA, GRADIENTS, START_LOSS, LOOKED_AT = 0.05, 8, 2.0, (10, 30, 100)


def exact_loss(updates):
    """Of a quadratic of curvature 1, noise 1 and N gradients an update: floor and decay."""
    floor = ETA / (2 * GRADIENTS * (2 - ETA))
    return floor + (1 - ETA) ** (2 * updates) * (START_LOSS - floor)


def independent_of_b(outputs):
    backups = lambda row: row["learners"] - GRADIENTS
    curves = outputs.curves("does_b_matter_to_the_training", backups, "update", "loss")
    return [], [
        claim(f"3.b{b}").all_near(
            (f"update {t}", exact_loss(t), mean_at(found, t)) for t in LOOKED_AT
        )
        for b, found in curves.items()
    ]
