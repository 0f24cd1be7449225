"""The networks themselves, where they were run: residual networks on CIFAR-10: A1, A3, A4, A8 and
S3."""

from claims import above, holds, paired_difference, skipped
from outputs import Missing
from papers.li2021.accuracy import SWITCH
from papers.li2021.detours import policy
from papers.li2021.momentum import UNCHANGED, ZERO, variant
from papers.li2021.trained import accuracies, arm_of, spread

NETS = {
    1: "ResNet32 on CIFAR-10, 8 learners",
    2: "50 layers on CIFAR-10 in place of ResNet50 on CIFAR-100, 8 learners",
    3: "ResNet32 on CIFAR-10, 16 learners",
}
LOSS = {1: 0.026, 2: 0.038}  # of ASP's accuracy, in the figures


def resnets(outputs):
    parts = {
        "A1": [lambda o: levels(o, 1), lambda o: levels(o, 2)],
        "A3": [fails],
        "A8": [momenta],
        "S3": [policies],
    }
    claims = []
    for item, functions in parts.items():
        for function in functions:
            try:
                claims += function(outputs)
            except Missing as reason:
                claims.append(left_out(item, reason))
    return [], claims


def left_out(item, missing):
    place = missing.scenario.removeprefix("gpu/")
    return skipped(f"{item}.{place}".replace("_", "-"), "figures", WORDS[place], str(missing))


WORDS = {
    "setup1_resnet32": f"{NETS[1]}: BSP and Sync-Switch above ASP, knee at 5 %, BSP first",
    "setup2_resnet50": f"{NETS[2]}: BSP and Sync-Switch above ASP, knee at 12.5 %",
    "setup3_resnet32": f"{NETS[3]}: ASP and the switch at 25 % diverge, that at 50 % is BSP",
    "setup1_resnet32_momentum": f"{NETS[1]}: unchanged momentum ends highest, zero lowest",
    "scenario1_resnet32": f"{NETS[1]}, scenario 1: greedy loses accuracy, elastic does not",
}


def levels(outputs, setup):
    """The ends by share of BSP."""
    scenario = {1: "gpu/setup1_resnet32", 2: "gpu/setup2_resnet50"}[setup]
    by_arm = accuracies(outputs, scenario, arm_of)
    switch = f"BSP {100 * SWITCH[setup]:g} %, ASP"
    bsp, hybrid, asp = (by_arm[name] for name in ("BSP", switch, "ASP"))
    yield holds(
        f"A1.resnet-{setup}",
        "figures",
        f"{NETS[setup]}: accuracy of BSP less that of Sync-Switch",
        f"within one standard deviation of BSP's runs, {spread(bsp):.2g}",
        abs(paired_difference(bsp, hybrid).mean) <= spread(bsp),
        f"{bsp} and {hybrid}",
    )
    yield above(
        f"A1.resnet-{setup}.above-ASP",
        f"figures ({LOSS[setup]:g}; ordering)",
        f"{NETS[setup]}: accuracy of Sync-Switch less that of ASP",
        paired_difference(hybrid, asp),
        errors=3,
    )
    if setup == 1:
        yield above(
            "A4.resnet",
            "released logs (0.027 lower; ordering)",
            f"{NETS[setup]}: ASP first for half of the work ends below BSP: by",
            paired_difference(bsp, by_arm["ASP 50 %, BSP"]),
            errors=3,
        )


def fails(outputs):
    scenario = "gpu/setup3_resnet32"
    statuses = {}
    for row in outputs.runs(scenario):
        statuses.setdefault(arm_of(row), set()).add(row["status"])
    wanted = {
        "BSP": {"finished"},
        "BSP 50 %, ASP": {"finished"},
        "BSP 25 %, ASP": {"diverged"},
        "ASP": {"diverged"},
    }
    yield holds(
        "A3.resnet",
        "setup 3",
        WORDS["setup3_resnet32"],
        f"{wanted}",
        statuses == wanted,
        f"{statuses}",
    )


def momenta(outputs):
    final = accuracies(outputs, "gpu/setup1_resnet32_momentum", variant)
    yield above(
        "A8.resnet",
        "released logs (0.045; ordering)",
        f"{NETS[1]}, switch at 10 %: final accuracy, momentum unchanged less zero",
        paired_difference(final[UNCHANGED], final[ZERO]),
        errors=3,
    )


def policies(outputs):
    found = accuracies(outputs, "gpu/scenario1_resnet32", policy)
    yield above(
        "S3.resnet",
        "figures (0.0205; ordering)",
        f"{NETS[1]}, scenario 1: accuracy of the baseline less that of greedy",
        paired_difference(found["baseline"], found["greedy"]),
        errors=3,
    )
