"""Overlap of computing and the server's work: item 11."""

import json

from claims import holds, ordered, sample, skipped
from replicas import late_mean

COMPANION = "Gupta et al., ICDM 2016 (Rudra-adv*; ordering, from memory)"
TASK = "lambda = 30, an update takes the server 0.02 of a minibatch"


def overlap(outputs):
    scenario = "does_overlap_pay"

    def key(row):
        protocol = json.loads(row["sweep.protocol"])
        return protocol["n"], protocol.get("pull", "after")

    times = outputs.samples(scenario, key, "sim_time")
    stale = outputs.samples(scenario, key, "mean_staleness")
    curves = outputs.curves(scenario, key, "time", "loss")
    left = {at: sample([late_mean(one) for one in found]) for at, found in curves.items()}
    claims = []
    for n in (1, 30):
        before, after = (n, "before"), (n, "after")
        claims += [
            holds(
                f"11.time-{n}",
                COMPANION,
                f"{TASK}, {n}-softsync: to read before the own update shortens the epoch",
                "by more than 4 standard errors" if n > 1 else "no longer",
                gap(times[after], times[before]) > (4 if n > 1 else -4),
                f"{times[before]} for {times[after]}",
            ),
            holds(
                f"11.stale-{n}",
                COMPANION,
                f"{TASK}, {n}-softsync: and makes gradients staler, by 1 / c",
                f"by {n / 30:.3g} +- 1 %",
                abs((stale[before].mean - stale[after].mean) * 30 / n - 1) < 0.01,
                f"{stale[before]} for {stale[after]}",
            ),
        ]
    claims += [
        ordered(
            "11.error",
            COMPANION,
            f"quadratic, {TASK}, alpha0 / tau: and leaves no less loss",
            [(f"n = {n}", left[n, "after"], left[n, "before"]) for n in (1, 30)],
        ),
        skipped(
            "11.threads",
            COMPANION,
            "communication threads that push and pull while the learner computes: shorter "
            "epochs, staleness no longer bounded, slightly worse error",
            "a learner of gradrace does one thing at a time; the only overlap is with the "
            "server's work (pull before the own update)",
        ),
    ]
    return [], claims


def gap(one, other):
    """one less other, in standard errors."""
    return (one.mean - other.mean) / (one.error**2 + other.error**2) ** 0.5
