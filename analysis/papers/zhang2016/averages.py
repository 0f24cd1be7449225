"""What is in an update, and how stale it is on average: items 1, 2 and 3."""

from collections import Counter, defaultdict

from papers.zhang2016 import claim
from reproduce.outputs import law_of

LEARNERS = 30


def averages(outputs):
    found = defaultdict(list)

    def key(row):
        protocol = row["sweep.protocol"]
        pull = protocol.get("pull", "after") if "n" in protocol else "never"
        return pull, law_of(row), protocol.get("n", 0)

    for (pull, *at), one in outputs.samples("how_stale_on_average", key, "mean_staleness").items():
        found[pull].append((*at, one))
    claims = [claim("1.fresh").all_near((law, 0.0, one) for law, _, one in found["never"])]
    for pull, above in (("after", LEARNERS - 1), ("before", LEARNERS)):
        claims.append(
            claim(f"3.{pull}").all_near(
                (f"{law}, n = {n}", above / (LEARNERS // n), one) for law, n, one in found[pull]
            )
        )
    return [], claims


def updates(outputs):
    """Item 2, from the timelines."""
    scenario = "what_is_in_an_update"
    ns = {row["point"]: row["protocol.n"] for row in outputs.runs(scenario)}
    fates = {n: Counter() for n in ns.values()}
    sizes = {n: Counter() for n in ns.values()}
    for event in outputs.trace(scenario):
        if event.get("cat") != "gradient":
            continue
        n, facts = ns[event["pid"]], event["args"]
        fates[n][facts["fate"]] += 1
        if facts["fate"] == "used":
            sizes[n][facts["version"] + facts["staleness"]] += 1
    return [], [
        claim("2.size").holds(
            all(set(found.values()) == {LEARNERS // n} for n, found in sizes.items()),
            ", ".join(" or ".join(map(str, sorted(set(f.values())))) for f in sizes.values()),
        ),
        claim("2.dropped").holds(
            all(set(found) <= {"used", "waiting", "in flight"} for found in fates.values()),
            ", ".join(sorted(set().union(*fates.values()))),
        ),
        claim("2.remainder").holds(
            all(found["waiting"] < LEARNERS // n for n, found in fates.items()),
            ", ".join(str(found["waiting"]) for found in fates.values()),
        ),
    ]
