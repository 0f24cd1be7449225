"""Transient stragglers, and what the policies save: items S1, S2, S4 and S5."""

import json

from reproduce.claims import (
    FITTED,
    Sample,
    Source,
    Tolerance,
    chance,
    is_above,
    nearest_to_0,
    paired_difference,
    paired_ratio,
    ratio,
)
from reproduce.figures import PLOTTED, Figure, Series, sampled, side_by_side
from papers.li2021.setups import ALL, seconds

LOGS, BARS = Source("released logs"), Source("figure of stragglers")
POLICIES = ("baseline", "greedy", "elastic")
# Delays of a synchronous step, and of an asynchronous cycle, by what is injected.
INJECTED = {0.0: "none", 0.01: "1 x 10 ms", 0.02: "2 x 10 ms", 0.03: "1 x 30 ms", 0.06: "2 x 30 ms"}
# Slowdowns in the logs: of setup 1, and of the study with 4 workers (only shown).
SLOWDOWNS = {("BSP", 0.01): 1.12, ("BSP", 0.06): 1.79, ("ASP", 0.01): 1.11}
FOUR_WORKERS = {"BSP": [1, 1.06, 1.19, 1.42, 2.75], "ASP": [1, 1.05, 1.10, 1.21, 1.47]}
# Bars: time over that of the baseline of the same scenario.
BAR_TIMES = {(1, "baseline"): 1, (1, "greedy"): 0.9821, (1, "elastic"): 0.9771,
             (2, "baseline"): 1, (2, "elastic"): 0.8982}  # fmt: skip
# Mean seconds of the runs behind them; of scenario 2's baseline one has its 240 s gap taken off.
LOG_TIMES = {(1, "baseline"): 2085, (1, "greedy"): 2126, (1, "elastic"): 2072,
             (2, "baseline"): 2225, (2, "elastic"): 2054}  # fmt: skip
DEFAULT = "elastic, default detector"  # in scenario 2
DETECTOR = (
    "The detector, of which the paper does not say the constants: one window of 5 minibatches whose "
    "throughput is below the mean by one standard deviation and by 30 % makes a straggler, and one "
    "that is not ends it. (The program's defaults, three windows and 10 %, take two windows longer.)"
)


# ---- who suffers from latency


def latency(outputs):
    """S1."""

    def key(row):
        name, each = ("ASP", 2.2) if row["protocol"] == "async" else ("BSP", 16)
        return name, round(float(row["cluster.windows.0.delay"]) / each, 4)

    times = outputs.samples("who_suffers_from_latency", key, "sim_time")
    slow = {
        name: {late: paired_ratio(times[name, late], times[name, 0.0]) for late in INJECTED}
        for name in ("BSP", "ASP")
    }
    figure = Figure(
        "latency",
        "Slowdown by injected latency",
        "",
        "time over that without",
        ticks=list(INJECTED.values()),
        note="Bars: 8 workers, with delays fitted to the logs at 1 x 10 and 2 x 30 ms. Crosses: the "
        "logs of an earlier study with 4 workers, which shares the order and no fit.",
    )
    places, width = side_by_side(slow)
    for name, found in slow.items():
        xs = [place + places[name] for place in range(len(INJECTED))]
        each = list(found.values())
        figure.series += [
            sampled(name, xs, each, width=width),
            Series(name, PLOTTED, xs, FOUR_WORKERS[name]),
        ]
    claims = [
        Source(f"{LOGS} (fit)", FITTED).near(
            f"S1.{name}-{1000 * late:g}",
            f"setup 1, {name}, {INJECTED[late]} all the time: time over that without; the delays were "
            "fitted to it",
            value,
            slow[name][late],
            Tolerance(relative=0.05),
        )
        for (name, late), value in SLOWDOWNS.items()
    ]
    claims.append(
        Source("derived: 1.272 + 16 d, 0.19 + 2.2 d").all_near(
            "S1.fit",
            "setup 1, every latency: time over that without",
            [
                (f"{name}, {words}", 1 + each * late / alone, slow[name][late])
                for name, each, alone in (("BSP", 16, 1.272), ("ASP", 2.2, 0.19))
                for late, words in INJECTED.items()
            ],
            Tolerance(absolute=0.001),
        )
    )
    claims.append(
        LOGS.ordered(
            "S1.order",
            "setup 1, each latency of the study with 4 workers: BSP slows down no less than ASP",
            [
                (name, slow["ASP"][late], slow["BSP"][late])
                for late, name in INJECTED.items()
                if late
            ],
            gap=paired_difference,
        )
    )
    return [figure], claims


# ---- what the policies save


def policy_of(row):
    policy = json.loads(row["sweep.protocol"])["phases"][0].get("stragglers", {"kind": "baseline"})
    return policy["kind"] if policy.get("windows", 1) == 1 else DEFAULT


def savings(outputs):
    """S2, S4 and what S5 says of the gain."""
    times = {}
    for number in (1, 2):
        found = outputs.samples(f"scenario{number}_what_do_policies_save", policy_of, "sim_time")
        times |= {(number, policy): one for policy, one in found.items()}
    over = {
        (number, policy): paired_ratio(one, times[number, "baseline"])
        for (number, policy), one in times.items()
    }
    alone = seconds(outputs, 1)[ALL[1].run_share]
    claims = [
        LOGS.all_near(
            "S2.seconds",
            "scenarios 1 and 2, baseline and elastic: seconds",
            [
                (f"scenario {number}, {policy}", logged, times[number, policy])
                for (number, policy), logged in LOG_TIMES.items()
                if policy != "greedy"
            ],
            Tolerance(relative=0.05),
        )
    ]
    claims += [
        *mild(over),
        faster(times),
        *moderate(over, times, alone),
        *across(times),
        used_up(times),
    ]
    return [bars(over)], claims


def bars(over):
    figure = Figure(
        "stragglers",
        "Time under transient stragglers",
        "",
        "time over that of the baseline",
        ticks=["scenario 1 (mild)", "scenario 2 (moderate)"],
        note=f"{DETECTOR} Crosses: the paper's bars, of which scenario 1's are more than its latency "
        "costs (S2.1) and scenario 2's counts a gap of 240 s (S2.2-bar).",
    )
    places, _ = side_by_side(POLICIES)
    for policy in POLICIES:
        xs = [number - 1 + places[policy] for number in (1, 2)]
        found = [over[number, policy] for number in (1, 2)]
        theirs = [(x, BAR_TIMES[n, policy]) for n, x in zip((1, 2), xs) if (n, policy) in BAR_TIMES]
        figure.series += [
            sampled(policy, xs, found),
            Series(policy, PLOTTED, [x for x, _ in theirs], [y for _, y in theirs]),
        ]
    return figure


def mild(over):
    """Scenario 1: the latency itself costs less than the figure saves."""
    steps = 100 / (1.27 + 0.16)
    most = steps * 0.16 / LOG_TIMES[1, "baseline"]
    for policy in ("greedy", "elastic"):
        yield BARS.disagrees(
            f"S2.1.{policy}",
            f"scenario 1, {policy}: time over that of the baseline. 10 ms for 100 s make {steps:.0f} "
            f"steps 0.16 s longer, {steps * 0.16:.0f} s of 2,085: a policy that lost none of it would "
            f"save {100 * most:.2f} %, within 0.5 %. The runs behind the bars have "
            f"{LOG_TIMES[1, policy] / LOG_TIMES[1, 'baseline']:.3f}",
            1 - most,
            BAR_TIMES[1, policy],
            Tolerance(absolute=0.005),
        )
    yield LOGS.near(
        "S2.1.elastic-logs",
        "scenario 1, elastic: time over that of the baseline, in the runs behind the bar",
        LOG_TIMES[1, "elastic"] / LOG_TIMES[1, "baseline"],
        over[1, "elastic"],
        Tolerance(absolute=0.002),
    )


def faster(times):
    gaps = {
        policy: paired_difference(times[1, "baseline"], times[1, policy])
        for policy in ("greedy", "elastic")
    }
    return Source("figure of stragglers, in kind").above(
        "S2.1.faster",
        "scenario 1: seconds that greedy and elastic save (greedy's released runs take longer than the "
        "baseline's)",
        nearest_to_0(list(gaps.values())),
        told=", ".join(f"{policy} {gap}" for policy, gap in gaps.items()),
    )


def moderate(over, times, alone):
    """alone: times without stragglers."""
    found, default = (inverse(over[2, policy]) for policy in ("elastic", DEFAULT))
    lost, late = alone.mean - times[2, "elastic"].mean, times[2, "baseline"].mean - alone.mean
    logged = LOG_TIMES[2, "baseline"] / LOG_TIMES[2, "elastic"]
    yield Source(f"{LOGS} without gaps, {BARS}").holds(
        "S2.2.elastic",
        f"scenario 2: speed-up of elastic over the baseline. The latency costs the baseline {late:.0f} s, "
        f"of which elastic loses {-lost:.0f}: 5 until it is seen, the rest since a step of 6 learners "
        "still waits for the slowest of them and does 6 minibatches. The logs have 178 s (their steps "
        "under latency are 1.79 times as long, here 1.755 times) and 400 steps of elastic as long "
        "as those of 8 learners without latency, as if no step did fewer minibatches",
        "1.08 to 1.11",
        1.08 <= found.mean <= 1.11,
        f"{found}; with the program's default detector {default}",
    )
    yield LOGS.near(
        "S2.2.latency",
        "scenario 2: time of the baseline over that without stragglers, which a policy that lost "
        "nothing would save; the logs' elastic, whose steps take as long as without, saves",
        logged,
        ratio(times[2, "baseline"], alone),
        Tolerance(relative=0.01),
    )
    yield BARS.disagrees(
        "S2.2-bar",
        "scenario 2: speed-up of elastic over the baseline. A gap of 240 s at the switch was left in "
        f"one of the baseline's three runs; without it their mean is 2,225 s, and {logged:.3f}",
        logged,
        1 / BAR_TIMES[2, "elastic"],
        Tolerance(relative=0.02),
    )


def inverse(one):
    return Sample(1 / one.mean, one.error / one.mean**2, one.freedom, replicas=one.replicas)


def across(times):
    """Scenario 2 against scenario 1."""
    of = {policy: paired_ratio(times[2, policy], times[1, policy]) for policy in POLICIES}
    for policy in ("elastic", "baseline"):
        yield LOGS.near(
            f"S4.{policy}",
            f"{policy}: time in scenario 2 over that in scenario 1",
            LOG_TIMES[2, policy] / LOG_TIMES[1, policy],
            of[policy],
            Tolerance(absolute=0.02),
        )
    yield LOGS.holds(
        "S4.order",
        "elastic takes nearly as long in both scenarios, the baseline longer in scenario 2",
        "elastic within 1.5 %, the baseline more than 5 %",
        abs(of["elastic"].mean - 1) < 0.015 and of["baseline"].mean > 1.05,
        ", ".join(f"{policy} {of[policy]}" for policy in ("elastic", "baseline")),
    )


def used_up(times):
    gain = paired_difference(times[1, "baseline"], times[1, "greedy"])
    share = 100 * gain.mean / times[1, "baseline"].mean
    return BARS.holds(
        "S5.gain",
        "scenario 1: two switches more, of 19 s each, use up what greedy saves (the 1.8 % of the bars, "
        "which are 37 s, are not reproduced: S2.1.greedy)",
        "more than 0 and at most 38 s, by 3 standard errors",
        is_above(gain, 3) and gain.mean + chance(gain, 3) <= 38,
        f"{gain} s, {share:.2g} %",
    )
