"""Accuracy and loss along the way: A6 and A7."""

import numpy as np
from papers.li2021 import claim, figure_of
from papers.li2021.setups import accuracies as logged_curves
from papers.li2021.trained import TASKS, arm_of, spread
from reproduce.claims import is_above, paired_difference, sample
from reproduce.figures import PLOTTED, Series, curve_series
from reproduce.replicas import first_at, jackknife, mean_at, mean_curve

SCENARIO = "setup1_what_happens_at_the_switch"
TASK = TASKS[1]
SHARES = {0.05: "BSP 5 %, ASP", 0.1: "BSP 10 %, ASP", 0.25: "BSP 25 %, ASP"}
DECAY = 0.5  # share of the work after which the rate falls
AFTER = 0.1  # what counts as right after a switch, a share of the work
LEVELS = (0.5, 0.7, 0.85, 0.88)  # which ASP reaches first in the logs


def along(outputs, x, y):
    """{arm: curves}; gradients become shares of the work, errors accuracies."""
    found = outputs.curves(SCENARIO, arm_of, x, y)
    place = (lambda at: at / at[-1]) if x == "gradients" else (lambda at: at)
    value = (lambda error: 1 - error) if y == "test_error" else (lambda loss: loss)
    return {name: [(place(at), value(one)) for at, one in curves] for name, curves in found.items()}


def behind_and_ahead(outputs):
    """A6."""
    by_work, by_time = (along(outputs, x, "test_error") for x in ("gradients", "time"))
    places = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4]
    gaps = [
        paired_difference(mean_at(by_work["BSP"], at), mean_at(by_work["ASP"], at)) for at in places
    ]
    x, bsp = mean_curve(by_work["BSP"])
    asp = np.interp(x, *mean_curve(by_work["ASP"]))
    before = (x >= 0.02) & (x < DECAY)
    race = figure_of("accuracy_time", task=TASK, series=arms(by_time))
    return [work_figure(by_work), race], [
        claim("A6.everywhere").holds(
            bool((bsp > asp)[before].all()),
            f"at {int((bsp > asp)[before].sum())} of {int(before.sum())}, least by "
            f"{(bsp - asp)[before].min():.3g}",
        ),
        claim("A6.equal-work").all_above(gaps, told=f"{gaps[1]} at 0.1"),
        *(first_to(level, by_time) for level in LEVELS),
        ends_ahead(by_time),
    ]


def first_to(level, curves):
    """Who comes to an accuracy first."""
    bsp, asp = (reached(curves[name], level) for name in ("BSP", "ASP"))
    sooner = lead(level, curves["BSP"], curves["ASP"])
    return claim(f"A6.equal-time-{level:g}").above(
        sooner, told=f"{sooner}; {bsp:.4g} and {asp:.4g}"
    )


def lead(level, bsp, asp):
    """The Sample of how much sooner ASP comes to it."""
    return jackknife(lambda bsp, asp: reached(bsp, level) - reached(asp, level), bsp, asp)


def reached(curves, level):
    """When the mean accuracy comes to the level."""
    x, accuracy = mean_curve(curves)
    return first_at(x, -accuracy, -level)


def ends_ahead(curves):
    """ASP at its end, and BSP at that time."""
    pairs = zip(curves["ASP"], curves["BSP"], strict=True)
    asp, bsp = map(sample, zip(*((y[-1], np.interp(x[-1], *other)) for (x, y), other in pairs)))
    gap = paired_difference(asp, bsp)
    return claim("A6.at-its-end").above(gap, told=f"{gap} ({asp} and {bsp})")


def arms(curves):
    return [curve_series(name, curves[name]) for name in ("BSP", "ASP", *SHARES.values())]


def work_figure(curves):
    figure = figure_of("accuracy_work", task=TASK, marks=[DECAY, 0.75])
    logged = logged_curves(1)
    names = {"BSP": "BSP", "ASP": "ASP", "Sync-Switch": SHARES[0.05]}
    figure.series = arms(curves)
    figure.series += [Series(arm, PLOTTED, *map(list, logged[name])) for name, arm in names.items()]
    return figure


def before(curves, share):
    """Of each run: the value at the switch; until then it is BSP's run of the same seed."""
    return sample([np.interp(share, x, y) for x, y in curves["BSP"]])


def right_after(curves, name, share):
    """Of each run: the mean over what is right after the switch."""
    return sample([y[(x > share) & (x <= share + AFTER)].mean() for x, y in curves[name]])


def at_the_switch(outputs):
    """A7."""
    losses = along(outputs, "gradients", "loss")
    accuracies = along(outputs, "gradients", "test_error")
    claims = []
    for share, name in SHARES.items():
        id = f"{100 * share:g}"
        loss, accuracy = before(losses, share), before(accuracies, share)
        rise = paired_difference(right_after(losses, name, share), loss)
        fall = paired_difference(accuracy, right_after(accuracies, name, share))
        claims += [
            claim(f"A7.loss-{id}").above(
                rise, told=f"{rise}; from {loss.mean:.2g} to {top(losses[name], share):.2g} at most"
            ),
            claim(f"A7.dip-{id}").above(fall, told=f"{fall}, of {accuracy.mean:.3f}"),
            closes(accuracies, share, name),
        ]
    figure = figure_of("loss_work", task=TASK, marks=[*SHARES, DECAY], series=arms(losses))
    return [figure], claims


def top(curves, share):
    """The highest of the mean curve before the rate falls."""
    x, y = mean_curve(curves)
    return y[(x > share) & (x < DECAY)].max()


def closes(curves, share, name):
    """The gap to BSP right after the switch, and at the end."""
    gaps = [
        (x, np.interp(x, *bsp) - y) for (x, y), bsp in zip(curves[name], curves["BSP"], strict=True)
    ]
    then = sample([y[(x > share) & (x <= share + AFTER)].mean() for x, y in gaps])
    end = sample([y[-1] for _, y in gaps])
    bound = spread(sample([y[-1] for _, y in curves["BSP"]]))
    less = paired_difference(then, end)
    return claim(f"A7.closes-{100 * share:g}", bound=bound).holds(
        is_above(less, 3) and abs(end.mean) <= bound, f"{then} and {end}"
    )
