"""How long a run is that begins in BSP: items T1, T3 to T5."""

import numpy as np
from papers.li2021 import claim, figure_of
from papers.li2021.setups import ALL, SETUPS, logged, scenario_of, seconds, share_of, shares_of
from reproduce.claims import ratio, sample, scaled
from reproduce.figures import PLOTTED, THEORY, Series, sampled, side_by_side

SECONDS, TIMES = logged("seconds"), logged("time")  # the latter over that of BSP
BESIDE_ASP = 1, 2  # setups in which ASP does not diverge


def times(outputs):
    runs = {setup: seconds(outputs, setup) for setup in SETUPS}
    claims = []
    for setup, found in runs.items():
        claims += [throughput(setup, found), *shares(setup, found), speed_up(setup, found)]
    claims += [speed_up_at_5(outputs, runs[1]), announced_share(), *over_asp(runs), headline()]
    return [bars(runs), shares_figure(runs)], claims


def relative(found):
    """Times over that of BSP."""
    return scaled(found, 1 / found[1.0].mean)


def bars(runs):
    figure = figure_of("bars", ticks=[f"setup {setup}" for setup in SETUPS])
    places, width = side_by_side(ALL[1].bars)
    for protocol, shift in places.items():
        setups = [setup for setup in SETUPS if protocol in ALL[setup].bars]
        xs = [setup - 1 + shift for setup in setups]
        found = [relative(runs[setup])[shares_of(setup)[protocol]] for setup in setups]
        figure.series += [
            sampled(protocol, xs, found, width=width),
            Series(protocol, PLOTTED, xs, [ALL[setup].bars[protocol] for setup in setups]),
        ]
    return figure


def shares_figure(runs):
    figure = figure_of("times")
    for setup, found in runs.items():
        xs, name = sorted(found), f"setup {setup}"
        shown = [relative(found)[x] for x in xs]
        logged = TIMES[setup]
        figure.series += [
            Series(name, THEORY, [0, 1], [ALL[setup].rho, 1]),
            sampled(name, xs, shown),
            Series(name, PLOTTED, list(logged), list(logged.values())),
        ]
    return figure


def throughput(setup, found):
    low, high = ALL[setup].ratio
    one, measured = claim(f"T1.setup-{setup}"), ratio(found[1.0], found[0.0])
    return one.near(measured) if low == high else one.within(measured)


def shares(setup, found):
    """Against the logs, and against a straight line from ASP to BSP."""
    yield claim(f"T3.setup-{setup}-seconds").all_near(
        (f"{100 * share:g} %", value, found[share]) for share, value in SECONDS[setup].items()
    )
    found = relative(found)
    line = lambda share: share + (1 - share) * found[0.0].mean
    yield claim(f"T3.setup-{setup}").all_near(
        (f"{100 * share:g} %", value, found[share]) for share, value in TIMES[setup].items()
    )
    yield claim(f"T3.setup-{setup}-line").all_near(
        (f"{100 * share:g} %", line(share), found[share]) for share in found
    )


def speed_up(setup, found):
    return claim(f"T4.setup-{setup}").within(ratio(found[1.0], found[ALL[setup].share]))


def speed_up_at_5(outputs, found):
    """Of the runs behind the paper's bar, over their base: BSP's logs end at step 7,901 of 8,000."""
    curves = outputs.curves(scenario_of(1), share_of, "gradients", "time")[1.0]
    base = sample([np.interp(8 * 7901, work, time) for work, time in curves])
    measured, whole = ratio(base, found[0.05]), ratio(found[1.0], found[0.05])
    told = f"{measured}; over all of BSP, {found[1.0].mean:,.0f} s: {whole}"
    return claim("T4.setup-1-at-5").within(measured, told)


def announced_share():
    rho = ALL[1].rho
    return claim("T4.share").disagrees(5.13, 1 / (0.0625 + 0.9375 * rho))


def over_asp(runs):
    for setup in BESIDE_ASP:
        share = ALL[setup].run_share
        yield claim(f"T5.setup-{setup}").near(ratio(runs[setup][share], runs[setup][0.0]))


def headline():
    bars = [ALL[setup].bars for setup in BESIDE_ASP]
    over = [one["Sync-Switch"] / one["ASP"] for one in bars]
    return claim("T5.headline").disagrees(1.23, sum(over) / len(over))
