"""Who diverges on 8 and 16 learners, and at which rates: A3."""

from collections import Counter

from papers.li2021 import claim, figure_of
from papers.li2021.trained import arm_of
from reproduce.claims import chance, paired_ratio, sample
from reproduce.figures import LEVEL, SIMULATED, THEORY, Series, curve_series
from reproduce.replicas import late

SCENARIO = "setup3_who_diverges"
TASK = "a quadratic in place of ResNet32 on CIFAR-10, eta h = 0.011, momentum 0.9"
ARMS = ("BSP", "BSP 50 %, ASP", "BSP 25 %, ASP", "ASP")
# Momentum: {staleness: largest stable rate}, our numerics.
LIMITS = {
    0.9: {0: 3.80, 1: 0.100, 3: 0.035, 7: 0.0158, 15: 0.0080, 31: 0.0042},
    0.0: {0: 2.0, 1: 1.0, 3: 0.445, 7: 0.209, 15: 0.102, 31: 0.050},
}
MOST = 1e6  # loss that is drawn
LATE = 0.4  # of the work, over which losses are compared
SAME = (0.8, 1.25)  # of two losses that are the same


def divergence(outputs):
    key = lambda row: (row["cluster.learners"], arm_of(row))
    ended, times = (outputs.values(SCENARIO, key, name) for name in ("status", "sim_time"))
    statuses = {where: set(of) for where, of in ended.items()}
    counts = Counter(status for of in ended.values() for status in of)
    curves = outputs.curves(SCENARIO, key, "time", "loss")
    ends = {
        where: late(of, LATE)
        for where, of in outputs.curves(SCENARIO, key, "gradients", "loss").items()
    }
    over_bsp = {(n, arm): paired_ratio(one, ends[n, "BSP"]) for (n, arm), one in ends.items()}
    fails = {arm: statuses[16, arm] == {"diverged"} for arm in ARMS}
    lost = {arm: sample(times[16, arm]) for arm in ARMS}
    begin = {arm: share * lost["BSP"].mean for arm, share in (("BSP 25 %, ASP", 0.25), ("ASP", 0))}
    return [loss_figure(curves, learners) for learners in (8, 16)], [
        claim("A3.ASP").holds(
            fails["ASP"] and max(times[16, "ASP"]) < 0.5 * sample(times[8, "ASP"]).mean,
            told(statuses[16, "ASP"], lost["ASP"]),
        ),
        claim("A3.switch-25").holds(
            fails["BSP 25 %, ASP"] and min(times[16, "BSP 25 %, ASP"]) > begin["BSP 25 %, ASP"],
            f"{told(statuses[16, 'BSP 25 %, ASP'], lost['BSP 25 %, ASP'])}; a quarter is "
            f"{begin['BSP 25 %, ASP']:.5g}",
        ),
        claim("A3.switch-50").holds(
            statuses[16, "BSP 50 %, ASP"] == {"finished"}
            and is_level(over_bsp[16, "BSP 50 %, ASP"]),
            f"{', '.join(statuses[16, 'BSP 50 %, ASP'])}; {over_bsp[16, 'BSP 50 %, ASP']}",
        ),
        claim("A3.8-learners").holds(
            all(statuses[8, arm] == {"finished"} and is_level(over_bsp[8, arm]) for arm in ARMS),
            ", ".join(f"{arm}: {over_bsp[8, arm]}" for arm in ARMS[1:]),
        ),
        claim("A3.set", runs=counts.total()).holds(
            len({len(of) for of in times.values()}) == 1
            and len(times) == 2 * len(ARMS)
            and set().union(*statuses.values()) == {"finished", "diverged"},
            ", ".join(f"{counts[status]} {status}" for status in sorted(counts)),
        ),
    ]


def told(statuses, time):
    return f"{', '.join(sorted(statuses))} at {time} s"


def is_level(ratio):
    off = chance(ratio, 3)
    return SAME[0] < ratio.mean - off and ratio.mean + off < SAME[1]


def loss_figure(curves, learners):
    figure = figure_of("divergence_{learners}", learners=learners, task=TASK, most=MOST)
    for arm in ARMS:
        inside = [(x[y < MOST], y[y < MOST]) for x, y in curves[learners, arm]]
        figure.series.append(curve_series(arm, inside))
    return figure


def limits(outputs):
    """The rates that the quadratic bears, whose 0.011 lies between two of them."""
    scenario = "how_large_a_rate_is_stable"
    key = lambda row: (
        row["optimiser.momentum"],
        row["cluster.learners"] - 1,
        row["learning_rate.eta"],
    )
    grown = {
        where: not loss.mean < 0.5
        for where, loss in outputs.samples(scenario, key, "final_loss").items()
    }
    wrong = [
        f"momentum {momentum:g}, staleness {staleness}, rate {eta:g}"
        for (momentum, staleness, eta), grows in grown.items()
        if grows != (eta > LIMITS[momentum][staleness])
    ]
    found = claim("A3.limits").holds(
        not wrong and len(grown) == 2 * sum(map(len, LIMITS.values())),
        f"{len(grown) - len(wrong)} of {len(grown)}"
        + (f", not at {'; '.join(wrong)}" if wrong else ""),
    )
    return [limits_figure(grown)], [found]


def limits_figure(grown):
    figure = figure_of("limits")
    for momentum, limit in LIMITS.items():
        name = f"momentum {momentum:g}"
        stable = {
            1 + tau: eta for (m, tau, eta), grows in grown.items() if m == momentum and not grows
        }
        figure.series += [
            Series(name, THEORY, [1 + tau for tau in limit], list(limit.values())),
            Series(name, SIMULATED, list(stable), list(stable.values())),
        ]
    figure.series.append(Series("eta h = 0.011", LEVEL, [1, 32], [0.011, 0.011]))
    return figure
