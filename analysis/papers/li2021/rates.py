"""The learning rate where the minibatch shrinks: A9."""

import json

import numpy as np
from reproduce.claims import AFTER_THE_FACT, Source, chance, paired_difference, paired_ratio, sample
from reproduce.figures import Figure, curve_series
from papers.li2021.trained import TASKS

SCENARIO = "setup1_must_the_rate_follow_the_minibatch"
ETA = 0.042  # of a minibatch of 16
SWITCH = 200  # updates
AFTER = 50  # updates over which the loss is compared
MOST = 10  # loss that is drawn
SAMPLES = {"sync": 8, "async": 1}  # minibatches in an update
TASK = TASKS[1]


def arm(row):
    """(the update's samples over those before the switch, whether by ASP, whether its rate follows)."""
    first, then = json.loads(row["sweep.protocol"])["phases"]
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
        Source("momentum notes (0.08 to 1.28, 0.09 to 0.57)", AFTER_THE_FACT).holds(
            "A9.kept",
            f"{TASK}: minibatches of an eighth at the rate of BSP: mean loss over the next {AFTER} "
            "updates over that before",
            "> 2, for BSP and for ASP",
            all(jumps[8, is_asp, False].mean > 2 for is_asp in (False, True)),
            f"{jumps[8, False, False]} and {jumps[8, True, False]}, from {before}",
        ),
        Source(
            "momentum notes (512: 1.6, 256: 2.8, 128: 6 to 16; ordering)", AFTER_THE_FACT
        ).rising(
            "A9.by-size",
            f"{TASK}: BSP goes on with minibatches of 1/2, 1/4 and 1/8 at the same rate: the ratio "
            "rises",
            [jumps[part, False, False] for part in (2, 4, 8)],
            errors=3,
            gap=paired_difference,
        ),
        Source("momentum notes (0.04 to 0.07)", AFTER_THE_FACT).holds(
            "A9.follows",
            f"{TASK}: BSP goes on with minibatches of 1/2, 1/4 and 1/8 and that part of the rate: the "
            "ratio",
            "< 1.3 by 3 standard errors",
            all(high(jumps[part, False, True]) < 1.3 for part in (2, 4, 8)),
            ", ".join(f"1/{part}: {jumps[part, False, True]}" for part in (2, 4, 8)),
        ),
        Source("momentum notes (ordering)", AFTER_THE_FACT).holds(
            "A9.ASP",
            f"{TASK}: ASP, minibatches of an eighth: that ratio with the rate kept over that with an "
            "eighth of it",
            "> 2",
            over.mean > 2,
            f"{over}; {jumps[8, True, False]} and {jumps[8, True, True]}",
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
    drawn = Figure(
        "rates",
        "Setup 1 in small: training loss where the minibatch shrinks",
        "update",
        "training loss",
        marks=[SWITCH],
        log_y=True,
        note=f"{TASK}. BSP at {8 * ETA:g}, then the rest. Curves are cut off above {MOST:g}.",
    )
    for key, of in curves.items():
        shown = [(x[seen], y[seen]) for x, y in of for seen in [(x >= SWITCH - AFTER) & (y < MOST)]]
        drawn.series.append(curve_series(name_of(key), shown))
    return drawn
