"""SSP at its two ends: item 2."""

from papers.ho2013 import claim
from reproduce.claims import Sample


def ends(outputs):
    scenario = "is_it_sync_at_0_and_async_without_bound"
    found = {}
    for row in outputs.runs(scenario):
        protocol = row["sweep.protocol"]
        found[protocol.get("bound", protocol["kind"]), row["replica"]] = row
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
        claim("2.bsp-time").holds(not times, f"{len(times)} of {len(replicas)} differ"),
        claim("2.bsp-loss").all_near(
            (
                f"replica {replica}",
                float(found["sync", replica]["final_loss"]),
                Sample(float(found[0, replica]["final_loss"])),
            )
            for replica in replicas
        ),
        claim("2.async").holds(
            not any(same_async.values()),
            ", ".join(f"{len(differ)} differ" for differ in same_async.values()),
        ),
    ]
