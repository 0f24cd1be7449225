"""The networks themselves, where they were run: residual networks on CIFAR-10: A1, A3, A4, A8 and
S3."""

from papers.li2021 import claim
from papers.li2021.accuracy import SWITCH
from papers.li2021.detours import policy
from papers.li2021.divergence import ARMS
from papers.li2021.momentum import UNCHANGED, ZERO, variant
from papers.li2021.trained import accuracies, arm_of, spread
from reproduce.claims import paired_difference

LEAST_TOLD = 0.01  # of an accuracy, by one run of each; runs of one arm differ by some 0.003


def setup_1(outputs):
    by_arm = accuracies(outputs, "gpu/setup1_resnet32", arm_of)
    half = exceeds("A4.resnet", by_arm["BSP"], by_arm["ASP 50 %, BSP"])
    return [], [*levels(by_arm, 1), half]


def setup_2(outputs):
    return [], list(levels(accuracies(outputs, "gpu/setup2_resnet50", arm_of), 2))


def levels(by_arm, setup):
    """The ends by share of BSP."""
    switch = f"BSP {100 * SWITCH[setup]:g} %, ASP"
    bsp, hybrid, asp = (by_arm[name] for name in ("BSP", switch, "ASP"))
    gap, apart = paired_difference(bsp, hybrid), spread(bsp, data_sets=1)
    yield claim(f"A1.resnet-{setup}", spread=apart).holds(
        abs(gap.mean) <= apart, f"{gap} ({bsp} and {hybrid})"
    )
    yield exceeds(f"A1.resnet-{setup}.above-ASP", hybrid, asp)


def exceeds(id, one, other):
    return claim(id).above(paired_difference(one, other))


def orders(outputs):
    by_arm = accuracies(outputs, "gpu/setup1_resnet32_orders", arm_of)
    bsp, asp = by_arm["BSP"], by_arm["ASP"]
    first, last = by_arm["BSP 50 %, ASP"], by_arm["ASP 50 %, BSP"]
    return [], [
        claim(f"A4.orders-{id}").holds(holds(gap.mean), gap)
        for id, gap, holds in (
            ("BSP-first", paired_difference(bsp, first), lambda gap: abs(gap) < LEAST_TOLD),
            ("ASP-first", paired_difference(bsp, last), lambda gap: gap > LEAST_TOLD),
            ("as-ASP", paired_difference(last, asp), lambda gap: gap < LEAST_TOLD),
        )
    ]


def fails(outputs):
    found = outputs.values("gpu/setup3_resnet32", arm_of, "status")
    statuses = {arm: set(of) for arm, of in found.items()}
    lasts = {"BSP", "BSP 50 %, ASP"}
    wanted = {arm: {"finished" if arm in lasts else "diverged"} for arm in ARMS}
    told = "; ".join(f"{arm}: {', '.join(sorted(of))}" for arm, of in statuses.items())
    return [], [claim("A3.resnet").holds(statuses == wanted, told)]


def momenta(outputs):
    final = accuracies(outputs, "gpu/setup1_resnet32_momentum", variant)
    return [], [exceeds("A8.resnet", final[UNCHANGED], final[ZERO])]


def policies(outputs):
    found = accuracies(outputs, "gpu/scenario1_resnet32", policy)
    return [], [exceeds("S3.resnet", found["baseline"], found["greedy"])]
