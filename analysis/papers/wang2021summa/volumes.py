"""Block SUMMA itself, and what it exchanges: items 1 to 3."""

from functools import cache

from papers.wang2021summa import claim
from papers.wang2021summa.summa import Hops, layer_errors, megatron_error
from reproduce.claims import Sample

TOKENS, HIDDEN = 24, 12
GRIDS = [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (1, 4)]


def products(_outputs):
    found = [layer_errors(q, d, TOKENS, HIDDEN, "training", Hops()) for q, d in GRIDS]
    claims = [
        claim(f"1.{name}").near(Sample(max(one[name] for one in found)))
        for name in ("AB", "ABt", "AtB")
    ]
    row = max(megatron_error(p, TOKENS, HIDDEN, "training", Hops()) for p in (4, 9, 16, 18))
    return [], [*claims, claim("1.1-d").near(Sample(row))]


def identities(outputs):
    rows = outputs.runs("is_depth_data_parallel")
    square, shallow, deep, quarter, depth, learners = (
        Sample(row["mean_iteration_time"]) for row in rows
    )
    computing = 1e7
    return [], [
        claim("2.depth-1").near(shallow, square.mean),
        claim("2.data-parallel").near(depth, learners.mean),
        claim("2.depth").near(deep, quarter.mean + depth.mean - computing),
    ]


@cache
def counted(parallelism, q, d, passes, by_ring):
    """The Hops of a layer."""
    hops = Hops(by_ring)
    if parallelism == "1-d":
        megatron_error(q * q * d, TOKENS, HIDDEN, passes, hops)
    else:
        layer_errors(q, d, TOKENS, HIDDEN, passes, hops)
    return hops


def volumes(outputs):
    worst = {"numbers": 0.0, "messages": 0.0}
    for row in outputs.runs("what_does_a_layer_exchange"):
        q, _, d = row["cluster.group.grid"]
        passes = row["cluster.group.transformer.passes"]
        by_ring = row["cluster.group.broadcast"] == "ring"
        hops = counted(row["cluster.group.parallelism"], q, d, passes, by_ring)
        what = "numbers" if "bandwidth" in row["cluster.group.inside"] else "messages"
        expected = getattr(hops, what)
        exchange = row["mean_iteration_time"] - 1 / (q * q * d)
        worst[what] = max(worst[what], abs(exchange - expected) / max(1, expected))
    return [], [claim(f"3.{what}").near(Sample(one)) for what, one in worst.items()]
