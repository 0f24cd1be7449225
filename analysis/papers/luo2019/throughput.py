"""Minibatches a second: items 3 to 6."""

from papers.laws import normal_maximum
from papers.luo2019 import claim, figure_of
from papers.luo2019.setups import (
    AD, ALONE, AR, BUFFER, CARDS, COMPUTE, DIVISION, FILTERED, INTRA, JITTER, LEARNERS, NAMES, PS, RANDOM,
    RING, SHARED, STATIC, both_cards, dashed, place_of,
)  # fmt: skip
from reproduce.claims import paired_ratio, sample
from reproduce.figures import PLOTTED, Series, sampled, side_by_side

SCENARIO = "how_fast_is_each_schedule"
SLOW = (1, 2, 5)
WORDS = {
    1: "equal machines",
    2: "one learner at half the speed",
    5: "one learner at a fifth of the speed",
}
# Relative to All-Reduce: a small model of the same clock (cards not shared).
TOY = {
    1: {PS: 0.19, STATIC: 1.17, BUFFER: 0.44, DIVISION: 1.09, FILTERED[DIVISION]: 1.09, INTRA: 1.17, FILTERED[INTRA]: 1.17},
    2: {STATIC: 1.14, BUFFER: 0.66, DIVISION: 1.49, FILTERED[DIVISION]: 1.71, INTRA: 1.63, FILTERED[INTRA]: 1.72},
    5: {STATIC: 1.06, BUFFER: 1.13, DIVISION: 3.19, FILTERED[DIVISION]: 3.76, INTRA: 3.33, FILTERED[INTRA]: 3.37},
}  # fmt: skip


def throughput(outputs):
    rates = measured(outputs, lambda row: row["gradients_applied"] / row["sim_time"])
    relative = {at: paired_ratio(one, rates[(*at[:2], AR)]) for at, one in rates.items()}
    claims = [
        *equal_machines(relative),
        *one_slow(rates, relative),
        *calibration(relative),
        *conflicts(outputs),
    ]
    return [throughput_figure(relative, cards) for cards in (ALONE, SHARED)], claims


def measured(outputs, value):
    """{(cards, slowness, protocol): Sample of value(row) over the replicas}."""
    found = {}
    for row in outputs.runs(SCENARIO):
        found.setdefault(place_of(row), []).append(value(row))
    return both_cards({at: sample(values) for at, values in found.items()})


def with_bars(figure, relative, cards):
    """The figure with a bar for each schedule and speed of the slow learner; the bars' places."""
    places, width = side_by_side([WORDS[slow] for slow in SLOW])
    figure.ticks = NAMES
    for slow in SLOW:
        at = [i + places[WORDS[slow]] for i in range(len(NAMES))]
        found = [relative[cards, slow, name] for name in NAMES]
        figure.series.append(sampled(WORDS[slow], at, found, width=width))
    return figure, places


def throughput_figure(relative, cards):
    figure = figure_of("throughput-{id}", id=CARDS[cards], cards=cards)
    figure, places = with_bars(figure, relative, cards)
    for slow, name, values in ((1, STATIC, (1.1, 1.2)), (5, FILTERED[DIVISION], (2, 4.4))):
        x = NAMES.index(name) + places[WORDS[slow]]
        figure.series.append(Series(WORDS[slow], PLOTTED, [x, x], list(values)))
    return figure


def equal_machines(relative):
    at = lambda name: relative[ALONE, 1, name]
    for id, name in (("static", STATIC), ("inter-intra", INTRA), ("division", DIVISION)):
        yield claim(f"3.{id}").within(at(name))
    for name in (AR, STATIC, INTRA, DIVISION):
        yield claim(f"3.server-{dashed(name)}").within(paired_ratio(at(name), at(PS)))
    for name in (STATIC, INTRA):
        yield claim(f"3.ad-psgd-{dashed(name)}").within(paired_ratio(at(name), at(AD)))
    yield claim("3.order").holds(
        min(at(STATIC).mean, at(INTRA).mean) > at(DIVISION).mean > at(AR).mean > at(BUFFER).mean
        and at(BUFFER).mean > max(at(RANDOM).mean, at(AD).mean)
        and min(at(RANDOM).mean, at(AD).mean) > at(PS).mean,
        ", ".join(
            f"{name} {at(name).mean:.3g}"
            for name in (STATIC, INTRA, DIVISION, AR, BUFFER, RANDOM, AD, PS)
        ),
    )
    shared = relative[SHARED, 1, DIVISION], relative[SHARED, 1, INTRA]
    yield claim("3.shared").holds(
        shared[0].mean < 1 and shared[1].mean > 1.05, " and ".join(map(str, shared))
    )
    best = max((relative[ALONE, 1, name] for name in NAMES[3:]), key=lambda one: one.mean)
    yield claim("3.abstract").within(best)


def one_slow(rates, relative):
    """The slow learner alone decides an iteration of All-Reduce; its jitter adds nothing."""
    fast = normal_maximum(COMPUTE, JITTER, LEARNERS) + RING
    for slow, item in ((2, 5), (5, 4)):
        expected = fast / (slow * COMPUTE + RING)
        yield claim(f"{item}.all-reduce").near(
            paired_ratio(rates[ALONE, slow, AR], rates[ALONE, 1, AR]), expected
        )
        yield claim(f"{item}.static").near(
            paired_ratio(rates[ALONE, slow, STATIC], rates[ALONE, 1, STATIC]), expected
        )
    filtered = FILTERED[DIVISION]
    kept = paired_ratio(rates[ALONE, 5, filtered], rates[ALONE, 1, filtered])
    yield claim("4.kept").holds(kept.mean >= 0.85, kept)
    yield claim("4.division").holds(
        relative[ALONE, 5, filtered].mean >= 3, relative[ALONE, 5, filtered]
    )
    most = (5 * COMPUTE + RING) / COMPUTE
    yield claim("4.bound").holds(
        all(relative[ALONE, 5, name].mean <= most for name in NAMES),
        f"at most {max(relative[ALONE, 5, name].mean for name in NAMES):.3g}",
    )
    for name, with_filter in FILTERED.items():
        gain = paired_ratio(rates[ALONE, 5, with_filter], rates[ALONE, 5, name])
        yield claim(f"4.filter-{dashed(name)}").holds(gain.mean >= 1, gain)
    yield claim("5.division").within(relative[ALONE, 2, filtered])


def calibration(relative):
    for slow, ratios in TOY.items():
        yield claim(f"{ {1: 3, 2: 5, 5: 4}[slow] }.calibration").all_near(
            (name, value, relative[ALONE, slow, name]) for name, value in ratios.items()
        )


def conflicts(outputs):
    """Groups of three send 12 messages; a division of 16 into 4, 3, 3, 3, 3 sends 72."""
    share, sent = (
        measured(outputs, lambda row, name=name: row[name] / row["gradients_applied"])
        for name in ("conflicts", "messages")
    )
    at = lambda name: share[ALONE, 1, name].mean
    yield claim("6.conflicts").holds(
        at(RANDOM) > 0.9 > at(BUFFER) > 0.1 and at(DIVISION) == 0,
        ", ".join(f"{name} {at(name):.3g}" for name in (RANDOM, BUFFER, DIVISION)),
    )
    for name, each, expected in ((RANDOM, 12, 1), (BUFFER, 12, 1 / 3), (DIVISION, 72 / 5, 5 / 16)):
        yield claim(f"6.groups-{dashed(name)}").near(
            sample(sent[ALONE, 1, name].values / each), expected
        )
