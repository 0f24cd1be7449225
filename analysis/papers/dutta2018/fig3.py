"""Figs 3 and 4: who waits for whom."""

from collections import defaultdict
from itertools import pairwise

from papers.dutta2018.words import claim, figure_of
from reproduce.figures import Bar


def timelines(outputs):
    scenario, figure = "fig3_who_waits_for_whom", figure_of("fig3")
    points = outputs.points(scenario)
    bars = defaultdict(lambda: defaultdict(list))  # {protocol: {learner: its bars}}
    for event in outputs.trace(scenario):
        if event.get("cat") != "gradient":
            continue
        point, facts = points[event["pid"]], event["args"]
        start, length = event["ts"] / 1e6, event["dur"] / 1e6
        row = f"{point.label}, {event['tid']}"
        bar = Bar(row, start, start + length, facts["fate"], f"w{facts['version']}")
        figure.bars.append(bar)
        bars[point.protocol][event["tid"]].append(bar)
    return [figure], list(restarts(bars))


def neighbours(bars):
    """Each pair of bars of a learner that follow each other."""
    for one in bars.values():
        yield from pairwise(sorted(one, key=lambda bar: bar.start))


def restarts(bars):
    late, batch = (list(neighbours(bars[name])) for name in ("k-async", "k-batch-async"))
    gaps = [sum(later.start > bar.end + 1e-5 for bar, later in pairs) for pairs in (late, batch)]
    yield claim("6.waits").holds(gaps[0] > 0 == gaps[1], f"{gaps[0]}, {gaps[1]}")
    same = [sum(later.label == bar.label for bar, later in pairs) for pairs in (late, batch)]
    yield claim("6.again").holds(same[0] == 0 < same[1], f"{same[0]}, {same[1]}")
