"""The networks themselves, where they were run: residual networks on CIFAR-10: A1, A3, A4, A8 and
S3."""

from reproduce.claims import Source, paired_difference
from reproduce.outputs import Missing
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
# {scenario: {id: what is judged}}
ROWS = {
    "gpu/setup1_resnet32": {
        "A1.resnet-1": f"{NETS[1]}: accuracy of BSP less that of Sync-Switch",
        "A1.resnet-1.above-ASP": f"{NETS[1]}: accuracy of Sync-Switch less that of ASP",
        "A4.resnet": f"{NETS[1]}: ASP first for half of the work ends below BSP: by",
    },
    "gpu/setup2_resnet50": {
        "A1.resnet-2": f"{NETS[2]}: accuracy of BSP less that of Sync-Switch",
        "A1.resnet-2.above-ASP": f"{NETS[2]}: accuracy of Sync-Switch less that of ASP",
    },
    "gpu/setup3_resnet32": {
        "A3.resnet": f"{NETS[3]}: BSP and the switch at 50 % finish, ASP and the switch at 25 % diverge",
    },
    "gpu/setup1_resnet32_momentum": {
        "A8.resnet": f"{NETS[1]}, switch at 10 %: final accuracy, momentum unchanged less zero",
    },
    "gpu/scenario1_resnet32": {
        "S3.resnet": f"{NETS[1]}, scenario 1: accuracy of the baseline less that of greedy",
    },
}
CLAIMS = {id: claim for rows in ROWS.values() for id, claim in rows.items()}


def resnets(outputs):
    claims = []
    for judge in (lambda o: levels(o, 1), lambda o: levels(o, 2), fails, momenta, policies):
        try:
            claims += judge(outputs)
        except Missing as missing:
            rows = ROWS[missing.scenario].items()
            claims += [Source("figures").skipped(id, claim, str(missing)) for id, claim in rows]
    return [], claims


def levels(outputs, setup):
    """The ends by share of BSP."""
    scenario = {1: "gpu/setup1_resnet32", 2: "gpu/setup2_resnet50"}[setup]
    by_arm = accuracies(outputs, scenario, arm_of)
    switch = f"BSP {100 * SWITCH[setup]:g} %, ASP"
    bsp, hybrid, asp = (by_arm[name] for name in ("BSP", switch, "ASP"))
    id = f"A1.resnet-{setup}"
    gap = paired_difference(bsp, hybrid)
    yield Source("figures").holds(
        id,
        CLAIMS[id],
        f"within one standard deviation of BSP's runs, {spread(bsp, data_sets=1):.2g}",
        abs(gap.mean) <= spread(bsp, data_sets=1),
        f"{gap} ({bsp} and {hybrid})",
    )
    source = f"figures ({LOSS[setup]:g}; ordering)"
    yield exceeds(f"{id}.above-ASP", source, hybrid, asp)
    if setup == 1:
        source = "released logs (0.027 lower; ordering)"
        yield exceeds("A4.resnet", source, bsp, by_arm["ASP 50 %, BSP"])


def exceeds(id, source, one, other):
    return Source(source).above(id, CLAIMS[id], paired_difference(one, other), errors=3)


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
    yield Source("setup 3").holds(
        "A3.resnet", CLAIMS["A3.resnet"], "in every run", statuses == wanted, told
    )


def momenta(outputs):
    final = accuracies(outputs, "gpu/setup1_resnet32_momentum", variant)
    yield exceeds("A8.resnet", "released logs (0.045; ordering)", final[UNCHANGED], final[ZERO])


def policies(outputs):
    found = accuracies(outputs, "gpu/scenario1_resnet32", policy)
    source = "figures (0.0205; ordering)"
    yield exceeds("S3.resnet", source, found["baseline"], found["greedy"])
