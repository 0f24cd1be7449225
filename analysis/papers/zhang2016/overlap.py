"""Overlap of computing and the server's work: item 11."""

import json

from reproduce.claims import Source, is_above, paired_difference, times
from reproduce.replicas import late

COMPANION = Source("Gupta et al., ICDM 2016 (Rudra-adv*; ordering, from memory)")
TASK = "lambda = 30, an update takes the server 0.02 of a minibatch"


def overlap(outputs):
    scenario = "does_overlap_pay"

    def key(row):
        protocol = json.loads(row["sweep.protocol"])
        return protocol["n"], protocol.get("pull", "after")

    ends = outputs.samples(scenario, key, "sim_time")
    stale = outputs.samples(scenario, key, "mean_staleness")
    curves = outputs.curves(scenario, key, "time", "loss")
    left = {at: late(found) for at, found in curves.items()}
    claims = []
    for n in (1, 30):
        before, after = (n, "before"), (n, "after")
        sooner = paired_difference(ends[after], ends[before])
        claims += [
            COMPANION.holds(
                f"11.time-{n}",
                f"{TASK}, {n}-softsync: to read before the own update shortens the epoch",
                f"{'' if n > 1 else 'not longer '}by more than 4 standard errors",
                is_above(sooner) if n > 1 else not is_above(times(sooner, -1)),
                f"{ends[before]} for {ends[after]}",
                gap=sooner if n > 1 else None,
            ),
            COMPANION.holds(
                f"11.stale-{n}",
                f"{TASK}, {n}-softsync: and makes gradients staler, by 1 / c",
                f"by {n / 30:.3g} +- 1 %",
                abs((stale[before].mean - stale[after].mean) * 30 / n - 1) < 0.01,
                f"{stale[before]} for {stale[after]}",
            ),
        ]
    claims += [
        COMPANION.ordered(
            "11.error",
            f"quadratic, {TASK}, alpha0 / tau: and leaves no less loss, but for 4 standard errors",
            [(f"n = {n}", left[n, "after"], left[n, "before"]) for n in (1, 30)],
            gap=paired_difference,
        ),
        COMPANION.skipped(
            "11.threads",
            "communication threads that push and pull while the learner computes: shorter "
            "epochs, staleness no longer bounded, slightly worse error",
            "a learner of gradrace does one thing at a time; the only overlap is with the "
            "server's work (pull before the own update)",
        ),
    ]
    return [], claims
