"""How long a round of DaSGD is, and how much of the average is hidden: item 3."""

import math

from papers.zhou2020 import claim, figure_of
from papers.zhou2020.protocols import measured_round, protocol_of
from reproduce.claims import Sample, difference
from reproduce.figures import THEORY, Series, sampled

LEARNERS = 16
LINKS = 8  # one after another in a tree of them


def shares(outputs, scenario, key):
    """{key(row): (share of the run that its learners compute, share of their exchanges that is
    hidden)} of the first replica; nothing is random."""
    lengths = outputs.samples(scenario, key, "sim_time")
    busy, hidden, visible = (
        {
            where: sum(of)
            for where, (of, *_) in outputs.series(scenario, key, "learners", name).items()
        }
        for name in ("busy", "hidden", "communicating")
    )
    found = {}
    for where, length in lengths.items():
        exchanging = hidden[where] + visible[where]
        found[where] = (
            Sample(busy[where] / (LEARNERS * length.values[0])),
            Sample(hidden[where] / exchanging if exchanging else math.nan),
        )
    return found


def average_time(row):
    return LINKS * row["cluster.network.latency"]


def rounds(outputs):
    scenario = "how_long_is_a_round"
    key = lambda row: (average_time(row), protocol_of(row))
    found = {key(row): measured_round(protocol_of(row), row, 1) for row in outputs.runs(scenario)}
    times = sorted({time for time, _ in found})
    protocols = dict.fromkeys(protocol for _, protocol in found)
    shown = [one for one in protocols if one.kind != "dasgd" or one.delay > 0]
    figure = figure_of("round")
    for one in shown:
        four = 4 // one.tau
        figure.series += [
            Series(one.name, THEORY, times, [four * one.round_time(1, time) for time in times]),
            sampled(one.name, times, [Sample(four * found[time, one]) for time in times]),
        ]
    claims = [
        claim("3.round").all_near(
            (f"{one.name}, T_s / T_c = {time:g}", one.round_time(1, time), Sample(length))
            for (time, one), length in found.items()
        )
    ]
    more, judged = computing(shares(outputs, scenario, key), times, shown)
    return [figure, more], claims + judged


def computing(found, times, shown):
    """What learners do meanwhile."""
    figure = figure_of("computing")
    for one in shown:
        share = lambda time: one.tau / one.round_time(1, time)
        figure.series += [
            Series(one.name, THEORY, times, [share(time) for time in times]),
            sampled(one.name, times, [found[time, one][0] for time in times]),
        ]
    dasgd = [(time, one) for time, one in found if one.kind == "dasgd" and time > 0]
    whole = [(time, one) for time, one in dasgd if one.delay >= math.ceil(time)]
    part = [(time, one) for time, one in dasgd if one.delay < math.ceil(time)]
    place = lambda time, one: f"{one.name}, T_s / T_c = {time:g}"
    return figure, [
        claim("3.hidden").all_near((place(*at), 1.0, found[at][0]) for at in whole),
        claim("3.all-hidden").all_near((place(*at), 1.0, found[at][1]) for at in whole),
        claim("3.visible").all_near(
            (place(time, one), one.tau / one.round_time(1, time), found[time, one][0])
            for time, one in part
        ),
        claim("3.needs").holds(
            max(found[at][0].mean for at in part) < 1,
            f"at most {max(found[at][0].mean for at in part):.4g} in {len(part)} cases",
        ),
    ]


def lateness(outputs):
    scenario = "what_lateness_does_a_delay_absorb"
    times = outputs.samples(scenario, protocol_of, "mean_iteration_time")
    delays = sorted(one.delay for one in times)
    by_delay = {one.delay: time for one, time in times.items()}
    figure = figure_of("lateness")
    figure.series = [
        sampled("tau = 4", delays, [by_delay[d] for d in delays]),
        Series("no waiting at all", THEORY, delays, [1.0] * len(delays)),
    ]
    return [figure], [
        claim("3.lateness").rising([by_delay[d] for d in reversed(delays)], gap=difference)
    ]
