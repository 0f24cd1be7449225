"""Overlap of computing and the server's work: item 11."""

from papers.zhang2016 import claim
from reproduce.claims import is_above, paired_difference, times
from reproduce.replicas import late


def overlap(outputs):
    scenario = "does_overlap_pay"

    def key(row):
        protocol = row["sweep.protocol"]
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
            claim(f"11.time-{n}").holds(
                is_above(sooner) if n > 1 else not is_above(times(sooner, -1)),
                f"{ends[before]} for {ends[after]}",
                gap=sooner if n > 1 else None,
            ),
            claim(f"11.stale-{n}").holds(
                abs((stale[before].mean - stale[after].mean) * 30 / n - 1) < 0.01,
                f"{stale[before]} for {stale[after]}",
            ),
        ]
    claims += [
        claim("11.error").ordered(
            (f"n = {n}", left[n, "after"], left[n, "before"]) for n in (1, 30)
        ),
        claim("11.threads").skipped(
            "a learner of gradrace does one thing at a time; the only overlap is with the "
            "server's work (pull before the own update)"
        ),
    ]
    return [], claims
