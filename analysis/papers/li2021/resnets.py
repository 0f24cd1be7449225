"""The networks themselves, where they were run: residual networks on CIFAR-10: A1, A3, A4, A8 and
S3."""

from papers.li2021.accuracy import SWITCH
from papers.li2021.detours import policy
from papers.li2021.momentum import UNCHANGED, ZERO, variant
from papers.li2021.trained import accuracies, arm_of, spread
from papers.li2021.words import claim
from reproduce.claims import paired_difference
from reproduce.outputs import Missing

# {scenario: its claims}
CLAIMS = {
    "gpu/setup1_resnet32": ("A1.resnet-1", "A1.resnet-1.above-ASP", "A4.resnet"),
    "gpu/setup1_resnet32_orders": (
        "A4.orders-BSP-first",
        "A4.orders-ASP-first",
        "A4.orders-as-ASP",
    ),
    "gpu/setup2_resnet50": ("A1.resnet-2", "A1.resnet-2.above-ASP"),
    "gpu/setup3_resnet32": ("A3.resnet",),
    "gpu/setup1_resnet32_momentum": ("A8.resnet",),
    "gpu/scenario1_resnet32": ("S3.resnet",),
}


def resnets(outputs):
    claims = []
    for judge in (lambda o: levels(o, 1), lambda o: levels(o, 2), orders, fails, momenta, policies):
        try:
            claims += judge(outputs)
        except Missing as missing:
            claims += [claim(id).skipped(str(missing)) for id in CLAIMS[missing.scenario]]
    return [], claims


def levels(outputs, setup):
    """The ends by share of BSP."""
    scenario = {1: "gpu/setup1_resnet32", 2: "gpu/setup2_resnet50"}[setup]
    by_arm = accuracies(outputs, scenario, arm_of)
    switch = f"BSP {100 * SWITCH[setup]:g} %, ASP"
    bsp, hybrid, asp = (by_arm[name] for name in ("BSP", switch, "ASP"))
    id = f"A1.resnet-{setup}"
    gap = paired_difference(bsp, hybrid)
    apart = spread(bsp, data_sets=1)
    yield claim(id, spread=apart).holds(abs(gap.mean) <= apart, f"{gap} ({bsp} and {hybrid})")
    yield exceeds(f"{id}.above-ASP", hybrid, asp)
    if setup == 1:
        yield exceeds("A4.resnet", bsp, by_arm["ASP 50 %, BSP"])


LEAST_TOLD = 0.01  # of an accuracy, by one run of each; runs of one arm differ by some 0.003


def orders(outputs):
    by_arm = accuracies(outputs, "gpu/setup1_resnet32_orders", arm_of)
    bsp, asp = by_arm["BSP"], by_arm["ASP"]
    first, last = by_arm["BSP 50 %, ASP"], by_arm["ASP 50 %, BSP"]
    for id, gap, holds in (
        ("BSP-first", paired_difference(bsp, first), lambda gap: abs(gap) < LEAST_TOLD),
        ("ASP-first", paired_difference(bsp, last), lambda gap: gap > LEAST_TOLD),
        ("as-ASP", paired_difference(last, asp), lambda gap: gap < LEAST_TOLD),
    ):
        yield claim(f"A4.orders-{id}").holds(holds(gap.mean), gap)


def exceeds(id, one, other):
    return claim(id).above(paired_difference(one, other))


def fails(outputs):
    statuses = {}
    for row in outputs.runs("gpu/setup3_resnet32"):
        statuses.setdefault(arm_of(row), set()).add(row["status"])
    wanted = {
        "BSP": {"finished"},
        "BSP 50 %, ASP": {"finished"},
        "BSP 25 %, ASP": {"diverged"},
        "ASP": {"diverged"},
    }
    told = "; ".join(f"{arm}: {', '.join(sorted(of))}" for arm, of in statuses.items())
    yield claim("A3.resnet").holds(statuses == wanted, told)


def momenta(outputs):
    final = accuracies(outputs, "gpu/setup1_resnet32_momentum", variant)
    yield exceeds("A8.resnet", final[UNCHANGED], final[ZERO])


def policies(outputs):
    found = accuracies(outputs, "gpu/scenario1_resnet32", policy)
    yield exceeds("S3.resnet", found["baseline"], found["greedy"])
