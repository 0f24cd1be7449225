"""Fig 2: speed-up against the number of learners: item 8."""

from papers.laws import normal_maximum
from papers.zhang2016 import claim, figure_of
from reproduce.claims import paired_ratio
from reproduce.figures import PLOTTED, THEORY, Series, sampled

NAMES = {"hardsync": "SSGD (hardsync)", "softsync": "ASGD (1-softsync)"}
JITTER = 0.245


def fig2(outputs):
    key = lambda row: (row["protocol"], row["cluster.server.per_gradient"], row["cluster.learners"])
    times = outputs.samples("fig2_how_much_faster_are_more_learners", key, "sim_time")
    learners = sorted({p for *_, p in times})
    costs = sorted({cost for _, cost, _ in times})
    speedup = {at: paired_ratio(times[at[0], at[1], 1], one) for at, one in times.items()}
    expected = {
        "hardsync": [
            p * normal_maximum(1, JITTER, 1) / normal_maximum(1, JITTER, p) for p in learners
        ],
        "softsync": learners,
    }
    figure = figure_of("fig2")
    for protocol, name in NAMES.items():
        figure.series.append(Series(f"{name}, free", THEORY, learners, expected[protocol]))
        for cost in costs:
            found = [speedup[protocol, cost, p] for p in learners]
            what = f"a gradient costs {cost:g}" if cost else "free"
            figure.series.append(sampled(f"{name}, {what}", learners, found))
    figure.series.append(Series("the paper's text", PLOTTED, [30, 30], [22, 28]))
    return [figure], [
        *free(times, speedup, learners, expected),
        *orders(times, speedup, learners, costs),
    ]


def free(times, speedup, learners, expected):
    for protocol in NAMES:
        yield claim(f"8.speedup-{protocol}").all_near(
            (f"lambda = {p}", x, speedup[protocol, 0.0, p])
            for p, x in zip(learners, expected[protocol])
        )
    found = paired_ratio(times["hardsync", 0.0, 30], times["softsync", 0.0, 30])
    yield claim("8.half-faster").within(found)


def orders(times, speedup, learners, costs):
    for protocol in NAMES:
        yield claim(f"8.grows-{protocol}").ordered(
            (
                f"lambda = {few} and {many}, {cost:g}",
                speedup[protocol, cost, few],
                speedup[protocol, cost, many],
            )
            for cost in costs
            for few, many in zip(learners, learners[1:])
        )
    yield claim("8.async-first").ordered(
        (f"lambda = {p}, {cost:g}", times["softsync", cost, p], times["hardsync", cost, p])
        for cost in costs
        for p in learners[1:]
    )
    yield claim("8.published").within(speedup["softsync", 0.04, 30])
    shares = {protocol: speedup[protocol, 0.0, 30].mean / 30 for protocol in NAMES}
    yield claim("8.linear").holds(
        shares["softsync"] > 0.95 and shares["hardsync"] < 0.75,
        f"{shares['softsync']:.1%} and {shares['hardsync']:.1%}",
    )
