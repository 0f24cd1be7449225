"""What is in an update, and how stale it is on average: items 1, 2 and 3."""

import json
from collections import Counter, defaultdict

from reproduce.claims import Source, Tolerance
from reproduce.outputs import law_of

LEARNERS = 30


def averages(outputs):
    found = defaultdict(list)
    scenario = "how_stale_on_average"
    named = lambda row: (law_of(row), row["sweep.protocol"])
    for (law, text), one in outputs.samples(scenario, named, "mean_staleness").items():
        protocol = json.loads(text)
        pull = protocol.get("pull", "after") if "n" in protocol else "never"
        found[pull].append((law, protocol.get("n", 0), one))
    claims = [
        Source("section 2.3").all_near(
            "1.fresh",
            "hardsync, exp(1), normal, Pareto: mean staleness",
            [(law, 0.0, one) for law, _, one in found["never"]],
            Tolerance(),
        )
    ]
    for pull, formula, above in (
        ("after", "(lambda - 1) / c", LEARNERS - 1),
        ("before", "lambda / c", LEARNERS),
    ):
        claims.append(
            Source("derived (section 2.4: about n)").all_near(
                f"3.{pull}",
                f"n-softsync, exp(1), normal, Pareto, 30 learners that read {pull} their own "
                f"update: mean staleness {formula}, but for gradients in flight at the end",
                [(f"{law}, n = {n}", above / (LEARNERS // n), one) for law, n, one in found[pull]],
                Tolerance(relative=0.002),
            )
        )
    return [], claims


def updates(outputs):
    """Item 2, from the timelines."""
    scenario = "what_is_in_an_update"
    ns = {int(row["point"]): int(row["protocol.n"]) for row in outputs.runs(scenario)}
    fates = {n: Counter() for n in ns.values()}
    sizes = {n: Counter() for n in ns.values()}
    for event in outputs.trace(scenario):
        if event.get("cat") != "gradient":
            continue
        n, facts = ns[event["pid"]], event["args"]
        fates[n][facts["fate"]] += 1
        if facts["fate"] == "used":
            sizes[n][facts["version"] + facts["staleness"]] += 1
    told = f"n-softsync, lambda = 30, n = {', '.join(map(str, sizes))}"
    return [], [
        Source("section 2.2").holds(
            "2.size",
            f"{told}: gradients of every update",
            f"{', '.join(str(LEARNERS // n) for n in sizes)} (floor(30 / n))",
            all(set(found.values()) == {LEARNERS // n} for n, found in sizes.items()),
            ", ".join(" or ".join(map(str, sorted(set(f.values())))) for f in sizes.values()),
        ),
        Source("section 2.2").holds(
            "2.dropped",
            f"{told}: no gradient is dropped, cancelled or lost",
            "used, waiting for an update or in flight at the end",
            all(set(found) <= {"used", "waiting", "in flight"} for found in fates.values()),
            ", ".join(sorted(set().union(*fates.values()))),
        ),
        Source("derived").holds(
            "2.remainder",
            f"{told}: gradients pushed, less those in updates, at the end",
            "0 to c - 1",
            all(found["waiting"] < LEARNERS // n for n, found in fates.items()),
            ", ".join(str(found["waiting"]) for found in fates.values()),
        ),
    ]
