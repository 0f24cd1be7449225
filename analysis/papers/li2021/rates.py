"""The learning rate where the minibatch shrinks: A9."""

import numpy as np
from papers.li2021 import claim, figure_of
from papers.li2021.trained import TASKS
from reproduce.claims import chance, paired_ratio, sample
from reproduce.figures import curve_series

SCENARIO = "setup1_must_the_rate_follow_the_minibatch"
ETA = 0.042  # of a minibatch of 16
SWITCH = 200  # updates
AFTER = 50  # updates over which the loss is compared
MOST = 10  # loss that is drawn
SAMPLES = {"sync": 8, "async": 1}  # minibatches in an update
TASK = TASKS[1]


def arm(row):
    """(the update's samples over those before the switch, whether by ASP, whether its rate follows)."""
    _, then = row["sweep.protocol"]["phases"]
    kind = then["protocol"]["kind"]
    part = SAMPLES[kind] * then.get("minibatch", 16) / 128
    eta = then["learning_rate"]["eta"] if "learning_rate" in then else ETA
    return round(1 / part), kind == "async", bool(np.isclose(SAMPLES[kind] * eta, 8 * ETA * part))


def name_of(key):
    part, is_asp, follows = key
    return f"{'ASP' if is_asp else 'BSP'}, 1/{part}, {'rate follows' if follows else 'rate kept'}"


def rates(outputs):
    curves = outputs.curves(SCENARIO, arm, "update", "loss")
    before = sample([y[x <= SWITCH][-1] for x, y in next(iter(curves.values()))])
    jumps = {key: jump(of) for key, of in curves.items()}
    over = paired_ratio(jumps[8, True, False], jumps[8, True, True])
    return [figure(curves)], [
        claim("A9.kept").holds(
            all(jumps[8, is_asp, False].mean > 2 for is_asp in (False, True)),
            f"{jumps[8, False, False]} and {jumps[8, True, False]}, from {before}",
        ),
        claim("A9.by-size").rising(jumps[part, False, False] for part in (2, 4, 8)),
        claim("A9.follows").holds(
            all(high(jumps[part, False, True]) < 1.3 for part in (2, 4, 8)),
            ", ".join(f"1/{part}: {jumps[part, False, True]}" for part in (2, 4, 8)),
        ),
        claim("A9.ASP").holds(
            over.mean > 2, f"{over}; {jumps[8, True, False]} and {jumps[8, True, True]}"
        ),
    ]


def high(one):
    return one.mean + chance(one, 3)


def jump(curves):
    """Of each run: the mean loss right after the switch over the last before it."""
    return sample(
        [y[(x > SWITCH) & (x <= SWITCH + AFTER)].mean() / y[x <= SWITCH][-1] for x, y in curves]
    )


def figure(curves):
    drawn = figure_of("rates", task=TASK, eta=8 * ETA, most=MOST, marks=[SWITCH])
    for key, of in curves.items():
        shown = [(x[seen], y[seen]) for x, y in of for seen in [(x >= SWITCH - AFTER) & (y < MOST)]]
        drawn.series.append(curve_series(name_of(key), shown))
    return drawn
