"""SSP at its two ends: item 2."""

import json

from reproduce.claims import Sample, Source, Tolerance


def ends(outputs):
    scenario = "is_it_sync_at_0_and_async_without_bound"
    found = {}
    for row in outputs.runs(scenario):
        protocol = json.loads(row["sweep.protocol"])
        found[protocol.get("bound", protocol["kind"]), int(row["replica"])] = row
    replicas = sorted({replica for _, replica in found})
    differing = lambda one, other, column: [
        replica
        for replica in replicas
        if found[one, replica][column] != found[other, replica][column]
    ]
    without = max(name for name, _ in found if isinstance(name, int))
    times = differing(0, "sync", "sim_time")
    same_async = {
        column: differing(without, "async", column)
        for column in ("sim_time", "mean_staleness", "max_staleness", "final_hash")
    }
    return [], [
        Source("section 3").holds(
            "2.bsp-time",
            "s = 0: time of 200 clocks, sync's to the last digit",
            "equal in every replica",
            not times,
            f"{len(times)} of {len(replicas)} differ",
        ),
        Source("section 3").all_near(
            "2.bsp-loss",
            "s = 0, quadratic: loss after 200 clocks, sync's with 32 times the rate",
            [
                (
                    f"replica {replica}",
                    float(found["sync", replica]["final_loss"]),
                    Sample(float(found[0, replica]["final_loss"])),
                )
                for replica in replicas
            ],
            Tolerance(relative=1e-9),
        ),
        Source("section 3").holds(
            "2.async",
            f"s = {without}, quadratic: {', '.join(same_async)}, async's to the last bit",
            "equal in every replica",
            not any(same_async.values()),
            ", ".join(f"{len(differ)} differ" for differ in same_async.values()),
        ),
    ]
