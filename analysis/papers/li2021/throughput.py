"""Images a second, and how much times vary: items T2, T7 and T8."""

import numpy as np
from papers.li2021 import claim, figure_of
from papers.li2021.setups import ALL, IMAGES, SETUPS, seconds
from reproduce.claims import sample
from reproduce.figures import PLOTTED, SIMULATED, Series, sampled

WORKERS = (4, 8, 16)
# Images a second; BSP on 16: of the run without disturbance, which the model is fitted to (others 803).
MEASURED = {"BSP": (759, 768, 881), "ASP": (2420, 5250, 10300)}
# BSP and ASP in the three setups.
LEVELS = {1: (768, 5250), 2: (1451, 2700), 3: (881, 10300)}
# SD over mean of the time of 137 asynchronous updates of 8 learners: the count of each in a given
# time varies by cv^2 its mean and 1/6.
RENEWALS = (0.12**2 / 137 + 8 / 6 / 137**2) ** 0.5


def throughput(outputs):
    found = images_a_second(outputs)
    figure = figure_of("throughput")
    claims = [grows(found)]
    for name, logged in MEASURED.items():
        each = [found[name, workers] for workers in WORKERS]
        figure.series += [
            sampled(name, list(WORKERS), each),
            Series(name, PLOTTED, list(WORKERS), list(logged)),
        ]
        claims += [claim(f"T2.{name}-{workers}").near(one) for workers, one in zip(WORKERS, each)]
    return [figure], claims


def images_a_second(outputs):
    key = lambda row: ("ASP" if row["protocol"] == "async" else "BSP", row["cluster.learners"])
    runs = outputs.samples("does_throughput_grow_with_learners", key, "sim_time")
    images = IMAGES * ALL[1].gradients
    return {where: sample(images / one.values) for where, one in runs.items()}


def grows(found):
    factors = {name: found[name, 16].mean / found[name, 4].mean for name in MEASURED}
    return claim("T2.growth").holds(
        0.8 <= factors["BSP"] <= 1.25 and 3.6 <= factors["ASP"] <= 4.4,
        ", ".join(f"{name} {factor:.3g} times" for name, factor in factors.items()),
    )


# ---- variation


def spread(times, updates):
    """Standard deviation over mean of the time of so many updates; the first window begins in step."""
    lengths = np.concatenate([np.diff(one[updates - 1 :: updates]) for one in times])
    return lengths.std(ddof=1) / lengths.mean(), len(lengths)


def variation(outputs):
    kind = lambda row: row["protocol"]
    times = outputs.updates("how_much_do_windows_vary", kind, "time")
    claims = []
    for name, protocol, updates, low, high in (
        ("BSP", "switch", 100, 0.001, 0.002),
        ("ASP", "async", 137, 0.9 * RENEWALS, 1.1 * RENEWALS),
    ):
        value, windows = spread(times[protocol], updates)
        claims.append(
            claim(f"T7.{name}").holds(
                low <= value <= high, f"{100 * value:.3g} %, {windows} windows"
            )
        )
    return [], [*claims, totals(outputs)] + [
        claim("T7.setup-3").skipped(
            "not modelled: three runs of 2.24, 2.38 and 2.55 s a step, each steady in itself; why "
            "the sessions differ is not known, and the model is fitted to the first"
        )
    ]


def totals(outputs):
    runs = {
        (setup, share): one for setup in SETUPS for share, one in seconds(outputs, setup).items()
    }
    if min(len(one.values) for one in runs.values()) < 2:
        return claim("T7.total").skipped("one replica shows no spread")
    spreads = {where: one.values.std(ddof=1) / one.mean for where, one in runs.items()}
    (setup, share), most = max(spreads.items(), key=lambda item: item[1])
    return claim("T7.total").holds(
        most < 0.01, f"at most {100 * most:.2g} %, setup {setup} at {100 * share:g} %"
    )


# ---- the time line


def time_line(outputs):
    scenario = "does_throughput_step_up_at_the_switch"
    setup = lambda row: row["point"] + 1
    times = outputs.updates(scenario, setup, "time")
    sizes = outputs.updates(scenario, setup, "gradients")
    figure = figure_of("time_line")
    claims = []
    for setup in SETUPS:
        ends, rates, is_bsp = windows(times[setup][0], sizes[setup][0], setup)
        drawn = Series(f"setup {setup}", SIMULATED, [], [], None, True)
        drawn.x, drawn.y = list(np.repeat(ends, 2)[1:-1]), list(np.repeat(rates, 2))
        begin, switch, end = (float(ends[i]) for i in (0, np.sum(is_bsp), -1))
        middles = [(begin + switch) / 2, (switch + end) / 2]
        figure.series += [drawn, Series(f"setup {setup}", PLOTTED, middles, list(LEVELS[setup]))]
        figure.marks.append(float(ends[np.sum(is_bsp)]))
        claims.append(steps_once(setup, rates[is_bsp], rates[~is_bsp]))
    return [figure], claims


def windows(times, sizes, setup):
    """Ends of the windows, images a second in each, which are BSP's. A checkpoint is made after the
    last update of a window, so a window ends with the first update after it."""
    steps = int(np.sum(sizes > 1))
    every = 2000 if setup == 1 else 4000
    last = np.concatenate([np.arange(0, steps, 250), np.arange(steps, len(times), every)])
    ends, done = times[last], np.cumsum(sizes)[last]
    return ends, IMAGES * np.diff(done) / np.diff(ends), last[1:] <= steps


def steps_once(setup, before, after):
    """Every window lies at one of two levels, and the higher one follows the lower."""
    low, high = ALL[setup].ratio
    factor = after.mean() / before.mean()
    uneven = max(np.abs(part / part.mean() - 1).max() for part in (before, after))
    return claim(f"T8.setup-{setup}", before=len(before), after=len(after)).holds(
        uneven <= 0.02 and 0.95 * low <= factor <= 1.05 * high,
        f"{factor:.4g} times, windows within {100 * uneven:.2g} %",
    )
