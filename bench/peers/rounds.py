"""One work: its contestants made, checked and measured in turns."""

import sys
from dataclasses import dataclass, field
from math import ceil
from statistics import fmean

from peers import contestants, machine
from peers.check import REPLICAS, STARTS, check_loss, check_time
from peers.contestants import Gradrace, Peer, Unavailable
from peers.works import has_images

COLUMNS = [
    "work", "contestant", "version", "round", "rate", "count", "seconds", "processor_seconds",
    "others", "steal", "elsewhere", "yardstick", "busy", "data", "machine", "note",
]  # fmt: skip


@dataclass
class Settings:
    program: str
    data: str
    images: str
    python: str | None
    only: set
    rounds: int
    seconds: float
    core: int | None


@dataclass
class Contest:
    """What is known of one work; rows has a dict for each measurement, and for each absentee."""

    work: dict
    taking_part: list = field(default_factory=list)
    versions: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict)
    counts: dict = field(default_factory=dict)
    rows: list = field(default_factory=list)

    def leave_out(self, name, reason):
        print(f"  {name} takes no part: {reason}", file=sys.stderr)
        self.rows.append({"contestant": name, "note": f"no part: {reason}"})
        self.taking_part = [one for one in self.taking_part if one.name != name]


def gather(contest, settings):
    """gradrace and every peer that can be had."""
    data = settings.images if has_images(contest.work) else settings.data
    work = contest.work | {"data": str(data)}
    contest.taking_part.append(Gradrace.at(work, settings.program, data))
    for name in contestants.names_for(work):
        if name not in settings.only:
            continue
        try:
            contest.taking_part.append(Peer(name, work, settings.python))
        except Unavailable as problem:
            contest.leave_out(name, problem)
    contest.versions = {one.name: one.version for one in contest.taking_part}


def compare_losses(contest):
    """Short runs of all from the start; those that went wrong are told and measured all the same."""
    work, of_same_draws = contest.work, {}
    gradrace, *peers = contest.taking_part
    losses = gradrace.losses(work["compared"], REPLICAS)
    for peer in peers:
        try:
            loss, updates, replicas = mean_loss(peer)
        except Unavailable as problem:
            contest.leave_out(peer.name, problem)
            continue
        same = of_same_draws.setdefault(replicas, loss)
        contest.notes[peer.name] = check_loss(work, loss, updates, replicas, losses, same)


def mean_loss(peer):
    """(mean loss, updates of each, of how many replicas) from the start."""
    work = peer.work
    if peer.name == "jax-vmap":
        peer.measure(work["compared"] * 16)
        return peer.result()["loss"], peer.result()["updates"], 16
    if not has_images(work):
        peer.measure(work["compared"])
        return peer.result()["loss"], peer.result()["updates"], 1
    results = [peer.result_from(start, work["compared"]) for start in range(STARTS)]
    updates = {result["updates"] for result in results}
    return fmean(result["loss"] for result in results), max(updates), STARTS


def calibrate(one, count, seconds):
    """Minibatches that take about so much processor time, found from `count` on; not less than four
    times what is taken off, which is not the same each time."""
    while True:
        measured = one.measure(count)
        seconds = max(seconds, 4 * measured.taken_off)
        if measured.processor_seconds >= seconds / 4:
            return ceil(measured.count * seconds / measured.processor_seconds)
        count = 4 * measured.count


def each(contest, do):
    """do(one) for those taking part; a peer that fails takes part no more."""
    for one in list(contest.taking_part):
        try:
            yield one, do(one)
        except Unavailable as problem:
            if one.name == "gradrace":
                raise
            contest.leave_out(one.name, problem)


def measure_round(contest, settings, number):
    """Each begins the round once, as rounds go by."""

    def measure(one):
        watch = machine.Watch(settings.core)
        measured = one.measure(contest.counts[one.name])
        used = 0 if one.name == "gradrace" else measured.processor_seconds
        return measured, watch.seen(used)

    shift = number % len(contest.taking_part)
    contest.taking_part = contest.taking_part[shift:] + contest.taking_part[:shift]
    for one, (measured, seen) in each(contest, measure):
        contest.rows.append(
            {
                "contestant": one.name, "round": number + 1, "rate": measured.rate, "count": measured.count,
                "seconds": measured.seconds, "processor_seconds": measured.processor_seconds, **vars(seen),
            }
        )  # fmt: skip


def finish(contest, settings):
    """Checks times, fills in what all rows share, ends the processes."""
    for one in contest.taking_part:
        if contest.work["kind"] == "timing":
            contest.notes[one.name] = check_time(contest.work, one.result())
    least = min((row["yardstick"] for row in contest.rows if "yardstick" in row), default=0)
    for row in contest.rows:
        name = row["contestant"]
        row |= {"work": contest.work["name"], "version": contest.versions.get(name, "")}
        if "rate" in row:
            seen = machine.Seen(*(row[k] for k in ("others", "steal", "elsewhere", "yardstick")))
            row["busy"] = int(machine.is_busy(seen, least, row["seconds"]))
            row["note"] = contest.notes.get(name) and f"not the same work: {contest.notes[name]}"
    for one in contest.taking_part:
        one.close()


def measure_work(work, settings):
    """Rows of the CSV file, but for the columns that all works share."""
    contest = Contest(work)
    gather(contest, settings)
    if work["kind"] == "gradients":
        compare_losses(contest)
    # The first 2 P begun minibatches are the cold start, and not measured.
    first = 2 * work["learners"] if work["kind"] == "timing" else work["scan"]
    ready = each(contest, lambda one: calibrate(one, first, settings.seconds))
    contest.counts = {one.name: count for one, count in ready}
    for number in range(settings.rounds):
        measure_round(contest, settings, number)
    finish(contest, settings)
    return contest.rows
