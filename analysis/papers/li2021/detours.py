"""What the online policies cost in accuracy: S3."""

import json

from reproduce.claims import AFTER_THE_FACT, Source, chance, paired_difference
from papers.li2021.trained import TASKS, accuracies, gaps_figure

SCENARIO = "scenario1_what_do_policies_cost_in_accuracy"
TASK = f"scenario 1 on {TASKS[1]}"
# Accuracy in the figure.
PAPER = {"baseline": 0.9153, "greedy": 0.8948, "elastic": 0.9162}


def policy(row):
    if not json.loads(row["cluster.windows"]):
        return "no straggler"
    phase = json.loads(row["sweep.protocol"])["phases"][0]
    return phase.get("stragglers", {"kind": "baseline"})["kind"]


def detours(outputs):
    found = accuracies(outputs, SCENARIO, policy)
    clean, gap = found["no straggler"], paired_difference(found["baseline"], found["greedy"])
    claims = [
        Source("figures (0.0205; ordering)", AFTER_THE_FACT).above(
            "S3.greedy",
            f"{TASK}: accuracy of the baseline less that of greedy",
            gap,
            errors=3,
            told=f"{gap} ({found['baseline']} and {found['greedy']})",
        ),
        Source("figures (0.0214; ordering)", AFTER_THE_FACT).above(
            "S3.elastic-above-greedy",
            f"{TASK}: accuracy of elastic less that of greedy",
            paired_difference(found["elastic"], found["greedy"]),
            errors=3,
        ),
        *(keeps(name, found[name], clean, gap.mean / 2) for name in ("baseline", "elastic")),
    ]
    return [
        gaps_figure(
            "detours",
            "Scenario 1: accuracy at the end, less that of the baseline",
            found,
            PAPER,
            label="policy",
            first="the baseline",
            task=TASK,
        )
    ], claims


def keeps(name, one, clean, bound):
    gap = paired_difference(one, clean)
    return Source("figures", AFTER_THE_FACT).holds(
        f"S3.{name}",
        f"{TASK}: accuracy of {name} less that of Sync-Switch without stragglers",
        f"within half of greedy's loss, {bound:.2g}, by 3 standard errors",
        abs(gap.mean) + chance(gap, 3) <= bound,
        gap,
    )
