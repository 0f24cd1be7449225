"""Accuracy at the end against the share of the work done in BSP, and the order of the protocols:
A1, A2, A4 and A5."""

import numpy as np
from papers.li2021 import claim, figure_of
from papers.li2021.setups import logged
from papers.li2021.trained import TASKS, accuracies, arm_of, spread, told, with_gaps, within
from reproduce.claims import chance, is_above, paired_difference
from reproduce.figures import PLOTTED, Series, sampled
from reproduce.replicas import jackknife

LOGS = logged("accuracy")  # {setup: {share of the work done in BSP: accuracy}}
SWITCH = {1: 0.0625, 2: 0.125}  # of Sync-Switch
KNEE = {1: 0.05, 2: 0.125}
ORDERS = "setup1_which_order_learns_best"
ORDER = {
    "BSP": 0.9188,
    "BSP 50 %, ASP": 0.9221,
    "ASP 25 %, BSP": 0.9064,
    "ASP 50 %, BSP": 0.8914,
    "ASP": 0.8918,
}


def by_share(outputs, setup):
    """{share of the work done in BSP: accuracies}, {share: times}."""
    scenario = f"setup{setup}_how_early_may_it_switch"
    samples = accuracies(outputs, scenario, share_of)
    times = outputs.samples(scenario, share_of, "sim_time")
    if setup == 1:  # its ASP is among the orders
        samples[0.0] = accuracies(outputs, ORDERS, arm_of)["ASP"]
        times[0.0] = outputs.samples(ORDERS, arm_of, "sim_time")["ASP"]
    return dict(sorted(samples.items())), dict(sorted(times.items()))


def share_of(row):
    """Of the work that is done in BSP."""
    if "protocol.phases.0.end.work" in row:
        return row["protocol.phases.0.end.work"]
    first = row["sweep.protocol"]["phases"][0]
    whole = 1.0 if first["protocol"]["kind"] == "sync" else 0.0
    return first["end"]["work"] if "end" in first else whole


def shares_1(outputs):
    return shares(outputs, 1)


def shares_2(outputs):
    return shares(outputs, 2)


def shares(outputs, setup):
    """A1, A2 and A5 of a setup."""
    samples, times = by_share(outputs, setup)
    figures = [gap_figure(setup, samples), time_figure(setup, samples, times)]
    return figures, [*ends(setup, samples), varies(setup, samples), *knee(setup, samples, times)]


def gap_figure(setup, samples):
    bsp, logged_bsp = samples[1].mean, LOGS[setup][1]
    figure = figure_of("knee_{setup}", setup=setup, task=TASKS[setup], bsp=bsp, logged=logged_bsp)
    found = [paired_difference(one, samples[1]) for one in samples.values()]
    logged = [accuracy - logged_bsp for accuracy in LOGS[setup].values()]
    name = f"setup {setup}"
    figure.series = [
        sampled(name, list(samples), found),
        Series(name, PLOTTED, list(LOGS[setup]), logged),
    ]
    return figure


def time_figure(setup, samples, times):
    """Accuracy against the time of the whole run."""
    figure = figure_of("accuracy_time_{setup}", setup=setup, tasks=TASKS[setup])
    xs = [times[share].mean / times[1].mean for share in samples]
    for name, part in (
        ("ASP", [0]),
        ("Sync-Switch", range(1, len(xs) - 1)),
        ("BSP", [len(xs) - 1]),
    ):
        found = [list(samples.values())[i] for i in part]
        figure.series.append(sampled(name, [xs[i] for i in part], found))
    return figure


def ends(setup, samples):
    """A1."""
    switch = SWITCH[setup]
    bsp, asp, hybrid = samples[1], samples[0], samples[switch]
    gap = paired_difference(bsp, hybrid)
    yield claim(f"A1.setup-{setup}.as-BSP", spread=spread(bsp)).holds(
        abs(gap.mean) <= spread(bsp), f"{gap} ({bsp} and {hybrid})"
    )
    gap = paired_difference(hybrid, asp)
    yield claim(f"A1.setup-{setup}.above-ASP").above(gap, told=f"{gap} ({hybrid} and {asp})")


def log_ratio_of_spreads(one, other):
    return float(np.log(np.std(one, ddof=1) / np.std(other, ddof=1)))


def varies(setup, samples):
    """A2. The error of a ratio is that of leaving out one replica after another, as ASP's accuracies
    are far from normal."""
    asp = list(within(samples[0]))
    over = {
        share: jackknife(log_ratio_of_spreads, asp, list(within(one)))
        for share, one in samples.items()
        if share > 0
    }
    spreads = {share: spread(one) for share, one in samples.items()}
    return claim(f"A2.setup-{setup}").holds(
        is_above(over[1], 3) and all(one.mean + chance(one, 3) >= 0 for one in over.values()),
        f"{', '.join(f'{100 * share:g} %: {sd:.2g}' for share, sd in spreads.items())}; {over[1]}",
    )


def regained(bsp, hybrid, asp):
    """The share of what ASP loses that is not lost."""
    return (np.mean(hybrid) - np.mean(asp)) / (np.mean(bsp) - np.mean(asp))


def knee(setup, samples, times):
    """A5."""
    at, bsp, asp = KNEE[setup], samples[1], samples[0]
    lost = paired_difference(bsp, asp)
    share = jackknife(regained, *(list(one.values) for one in (bsp, samples[at], asp)))
    yield claim(f"A5.setup-{setup}.steep").holds(
        is_above(lost) and share.mean - 1 / 2 > chance(share, 3), f"{share} of {lost}"
    )
    rest = {share: one for share, one in samples.items() if at <= share < 1}
    far = {share: paired_difference(bsp, one).mean / spread(bsp) for share, one in rest.items()}
    worst = max(far, key=lambda share: abs(far[share]))
    yield claim(f"A5.setup-{setup}.flat", spread=spread(bsp)).holds(
        abs(far[worst]) <= 1, f"worst of {len(far)}: {far[worst]:.2f} of it at {100 * worst:g} %"
    )
    line = {share: share + (1 - share) * times[0].mean / times[1].mean for share in times}
    off = max(abs(times[share].mean / times[1].mean - line[share]) for share in times)
    yield claim(f"A5.setup-{setup}.time").holds(off <= 0.02, f"off by {off:.2g} at most")


def orders(outputs):
    """A4."""
    found = accuracies(outputs, ORDERS, arm_of)
    bsp, first, quarter, half, asp = (found[name] for name in ORDER)
    gap, better = paired_difference(bsp, first), paired_difference(half, asp)
    lead = paired_difference(bsp, asp).mean / 4
    claims = [
        claim("A4.BSP-first", spread=spread(bsp)).holds(abs(gap.mean) <= spread(bsp), gap),
        claim("A4.ASP-first").above(paired_difference(bsp, half)),
        claim("A4.as-ASP", lead=lead).holds(better.mean + chance(better, 3) < lead, better),
        claim("A4.between").all_above(
            [paired_difference(quarter, asp), paired_difference(bsp, quarter)]
        ),
    ]
    figure = figure_of("orders", task=f"{TASKS[1]}: {told(found)}")
    return [with_gaps(figure, "order", found, ORDER)], claims


def orders_at_half_the_rate(outputs):
    """A4: is what ASP loses there a matter of the rate?"""
    found = accuracies(outputs, "setup1_does_the_order_matter_at_half_the_rate", arm_of)
    arms = {"half-rate": "ASP", "half-rate-quarter": "ASP 25 %, BSP"}
    claims = [
        claim(f"A4.{id}").above(paired_difference(found[arm], found["BSP"]))
        for id, arm in arms.items()
    ]
    figure = figure_of("orders_at_half_the_rate", task=f"{TASKS[1]}: {told(found)}")
    logged = {arm: ORDER[arm] for arm in ("BSP", "ASP 25 %, BSP", "ASP")}
    return [with_gaps(figure, "order", found, logged)], claims
