"""Figs 3 and 4: who waits for whom."""

from collections import defaultdict
from itertools import pairwise

from papers.dutta2018 import claim, figure_of
from plots.encoding import race
from plots.timeline import draw_timeline

SCENARIO = "fig3_who_waits_for_whom"


def timelines(outputs):
    folder, figure = outputs.folder_of(SCENARIO), figure_of("fig3")
    figure.drawn, _ = draw_timeline(folder, race(folder).curves, "")
    pairs = {name: list(neighbours(outputs, name)) for name in ("k-async", "k-batch-async")}
    return [figure], list(restarts(*pairs.values()))


def neighbours(outputs, protocol):
    """Each pair of gradients of a learner that follow each other: (start, end, version)."""
    points, found = outputs.folder_of(SCENARIO).points, defaultdict(list)
    for event in outputs.trace(SCENARIO):
        if event.get("cat") == "gradient" and points[event["pid"]].protocol == protocol:
            start, end = event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6
            found[event["tid"]].append((start, end, event["args"]["version"]))
    for one in found.values():
        yield from pairwise(sorted(one))


def restarts(late, batch):
    gaps = [sum(later[0] > one[1] + 1e-5 for one, later in pairs) for pairs in (late, batch)]
    yield claim("6.waits").holds(gaps[0] > 0 == gaps[1], f"{gaps[0]}, {gaps[1]}")
    same = [sum(later[2] == one[2] for one, later in pairs) for pairs in (late, batch)]
    yield claim("6.again").holds(same[0] == 0 < same[1], f"{same[0]}, {same[1]}")
