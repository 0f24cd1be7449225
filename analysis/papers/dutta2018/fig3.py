"""Figs 3 and 4: who waits for whom."""

from collections import defaultdict
from itertools import pairwise

from papers.dutta2018.words import claim, figure_of
from reproduce.figures import Bar


def timelines(outputs):
    figure = figure_of("fig3")
    names = {}
    bars = defaultdict(lambda: defaultdict(list))  # {protocol: {learner: its bars}}
    for event in outputs.trace("fig3_who_waits_for_whom"):
        point = event["pid"]
        if event.get("name") == "process_name":
            names[point] = event["args"]["name"]
        if event.get("cat") != "gradient":
            continue
        start = event["ts"] / 1e6
        row = f"{names[point]}, {event['tid']}"
        facts = event["args"]
        end = start + event["dur"] / 1e6
        bar = Bar(row, start, end, facts["fate"], f"w{facts['version']}")
        figure.bars.append(bar)
        bars[names[point].split()[0]][event["tid"]].append(bar)
    return [figure], [waits(bars), again(bars)]


def neighbours(bars, protocol):
    """Each pair of bars of a learner that follow each other."""
    for one in bars[protocol].values():
        yield from pairwise(sorted(one, key=lambda bar: bar.start))


def waits(bars):
    gaps = {
        protocol: sum(later.start > bar.end + 1e-5 for bar, later in neighbours(bars, protocol))
        for protocol in ("k-async", "k-batch-async")
    }
    return claim("6.waits").holds(
        gaps["k-async"] > 0 == gaps["k-batch-async"], f"{gaps['k-async']}, {gaps['k-batch-async']}"
    )


def again(bars):
    found = {
        protocol: sum(later.label == bar.label for bar, later in neighbours(bars, protocol))
        for protocol in ("k-async", "k-batch-async")
    }
    return claim("6.again").holds(
        found["k-async"] == 0 < found["k-batch-async"],
        f"{found['k-async']}, {found['k-batch-async']}",
    )
