"""How soon an accuracy is reached: item T6, by the accuracies of the released runs on simulated
times."""

import numpy as np
from papers.li2021 import claim, figure_of
from papers.li2021.setups import ALL, SETUPS, accuracies, scenario_of, share_of, shares_of
from reproduce.claims import sample
from reproduce.figures import LEVEL, PLOTTED, SIMULATED, Series, sampled, side_by_side
from reproduce.outputs import digitised

# The highest accuracy of the logs' table that the mean curve of Sync-Switch reaches.
TARGETS = {1: 0.91, 2: 0.74, 3: 0.91}
PROTOCOLS = ("BSP", "ASP", "Sync-Switch")


def time_to_accuracy(outputs):
    clocks = {setup: clocks_of(outputs, setup) for setup in SETUPS}
    speed_ups = {}
    claims = []
    for row in digitised("li2021", "times_to_accuracy"):
        setup, target = row["setup"], row["accuracy"]
        found = speed_up(setup, target, clocks[setup])
        if target == TARGETS[setup]:
            speed_ups[setup] = found
        claims.append(to_accuracy(setup, target, row["BSP"] / row["Sync-Switch"], found))
    claims += [in_order(speed_ups), asp_never()]
    return [*(curves_figure(setup, clocks[setup]) for setup in SETUPS), bars(clocks)], claims


def clocks_of(outputs, setup):
    """{protocol: [(fraction of the work, seconds), a replica each]}."""
    curves = outputs.curves(scenario_of(setup), share_of, "gradients", "time")
    return {
        name: [(work / ALL[setup].gradients, time) for work, time in curves[share]]
        for name, share in shares_of(setup).items()
    }


def work_to(setup, protocol, target):
    """The fraction of the work at which the mean curve first reaches the target; NaN: never."""
    work, accuracy = (np.array(one) for one in accuracies(setup)[protocol])
    (above,) = np.nonzero(accuracy >= target)
    if len(above) == 0:
        return np.nan
    at = above[0]
    return float(np.interp(target, accuracy[at - 1 : at + 1], work[at - 1 : at + 1]))


def seconds_to(setup, protocol, target, clocks):
    """A Sample of NaN where it is never reached."""
    work = work_to(setup, protocol, target)
    return sample(
        [np.interp(work, *clock) if np.isfinite(work) else np.nan for clock in clocks[protocol]]
    )


def speed_up(setup, target, clocks):
    """Time of BSP over that of Sync-Switch."""
    bsp, hybrid = (seconds_to(setup, name, target, clocks) for name in ("BSP", "Sync-Switch"))
    return sample(bsp.values / hybrid.values)


def to_accuracy(setup, target, wanted, found):
    """Against the row of the logs' table that is for the same accuracy."""
    where = f"T6.setup-{setup}-{target:g}"
    if np.isfinite(found.mean):
        return claim(where).near(found, wanted)
    most = max(accuracies(setup)["Sync-Switch"][1])
    return claim(where).skipped(
        f"the mean of Sync-Switch's runs does not get beyond {most:g}; some of the runs do"
    )


def in_order(speed_ups):
    found = [speed_ups[setup].mean for setup in SETUPS]
    return claim("T6.order").holds(
        found[0] > found[1] > found[2] > 1, ", ".join(f"{one:.4g}" for one in found)
    )


def asp_never():
    most = {setup: max(accuracies(setup)["ASP"][1]) for setup in (1, 2)}
    return claim("T6.asp").holds(
        all(value < TARGETS[setup] for setup, value in most.items()),
        ", ".join(f"at most {value}" for value in most.values()),
    )


def curves_figure(setup, clocks):
    figure = figure_of("accuracy_{setup}", setup=setup)
    for name in PROTOCOLS:
        work, accuracy = accuracies(setup).get(name, ([], []))  # ASP diverges in setup 3
        times = np.mean([np.interp(work, *clock) for clock in clocks[name]], axis=0)
        figure.series.append(Series(name, SIMULATED, list(times), accuracy, None, True))
    end, target = max(figure.series[0].x), TARGETS[setup]
    figure.series.append(Series("target", LEVEL, [0, end], [target, target]))
    return figure


def bars(clocks):
    """To every accuracy of the logs' table."""
    rows = digitised("li2021", "times_to_accuracy")
    figure = figure_of(
        "time_to_accuracy", ticks=[f"{row['setup']}: {row['accuracy']:g}" for row in rows]
    )
    places, bar = side_by_side(PROTOCOLS)
    for name in PROTOCOLS:
        drawn, crosses = [], []
        for place, row in enumerate(rows):
            setup, target, x = row["setup"], row["accuracy"], place + places[name]
            if np.isfinite(row[name]):
                crosses.append((x, row[name]))
            if name in accuracies(setup):
                one = seconds_to(setup, name, target, clocks[setup])
                drawn += [(x, one)] if np.isfinite(one.mean) else []
        found = [one for _, one in drawn]
        figure.series += [
            sampled(name, [x for x, _ in drawn], found, width=bar),
            Series(name, PLOTTED, [x for x, _ in crosses], [y for _, y in crosses]),
        ]
    return figure
