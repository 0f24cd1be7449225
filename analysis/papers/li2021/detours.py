"""What the online policies cost in accuracy: S3."""

from papers.li2021 import claim, figure_of
from papers.li2021.trained import TASKS, accuracies, with_gaps
from reproduce.claims import chance, paired_difference

SCENARIO = "scenario1_what_do_policies_cost_in_accuracy"
TASK = f"scenario 1 on {TASKS[1]}"
# Accuracy in the figure.
PAPER = {"baseline": 0.9153, "greedy": 0.8948, "elastic": 0.9162}


def policy(row):
    if not row["cluster.windows"]:
        return "no straggler"
    phase = row["sweep.protocol"]["phases"][0]
    return phase.get("stragglers", {"kind": "baseline"})["kind"]


def detours(outputs):
    found = accuracies(outputs, SCENARIO, policy)
    clean, gap = found["no straggler"], paired_difference(found["baseline"], found["greedy"])
    claims = [
        claim("S3.greedy").above(gap, told=f"{gap} ({found['baseline']} and {found['greedy']})"),
        claim("S3.elastic-above-greedy").above(
            paired_difference(found["elastic"], found["greedy"])
        ),
        *(keeps(name, found[name], clean, gap.mean / 2) for name in ("baseline", "elastic")),
    ]
    return [with_gaps(figure_of("detours", task=TASK), "policy", found, PAPER)], claims


def keeps(name, one, clean, bound):
    gap = paired_difference(one, clean)
    return claim(f"S3.{name}", bound=bound).holds(abs(gap.mean) + chance(gap, 3) <= bound, gap)
