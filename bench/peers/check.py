"""Whether contestants did the same work; each function returns what is wrong, "" where nothing is."""

from math import isfinite, sqrt
from statistics import fmean, stdev

from peers.works import expected_time

REPLICAS = 8  # of gradrace, whose losses say how far chance takes a run
SAME_DRAWS = 1e-3  # relative, for losses of peers with the same rows in float32


def check_time(work, result):
    """The mean time between updates against its expectation, within 4 standard errors."""
    mean, error = expected_time(work, result["updates"])
    measured = result["time"] / result["updates"]
    if abs(measured - mean) <= 4 * error:
        return ""
    return f"mean iteration time {measured:.6g}, expected {mean:.6g} +- {error:.2g}"


def check_loss(work, result, replicas, losses_of_gradrace, first_peer):
    """The loss after work["compared"] updates within 4 standard deviations of gradrace's replicas, which
    have other draws; of a single replica also equal to that of the first peer, whose draws it has.
    """
    loss, updates = result["loss"], result["updates"]
    if updates != work["compared"]:
        return f"{updates} updates, not {work['compared']}"
    if not isfinite(loss):
        return f"loss {loss}"
    mean, sd = fmean(losses_of_gradrace), stdev(losses_of_gradrace)
    bound = 4 * sd * sqrt(1 / replicas + 1 / len(losses_of_gradrace))
    if abs(loss - mean) > bound:
        return f"loss {loss:.5g} after {updates} updates, gradrace {mean:.5g} +- {bound:.2g}"
    if replicas == 1 and first_peer and abs(loss - first_peer) > SAME_DRAWS * first_peer:
        return f"loss {loss:.7g} after {updates} updates, another peer {first_peer:.7g}"
    return ""
