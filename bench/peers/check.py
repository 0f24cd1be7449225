"""Whether contestants did the same work; each function returns what is wrong, "" where nothing is."""

from math import exp, isfinite, sqrt
from statistics import fmean, stdev

from peers.works import expected_time

REPLICAS = 16  # of gradrace, whose losses say how far chance takes a run
STARTS = 8  # of a peer whose single loss says little, as chance takes it as far as learning does
SAME_DRAWS = 1e-3  # relative, for losses of peers with the same rows in float32


def check_time(work, result):
    """The mean time between updates against its expectation, within 4 standard errors."""
    mean, error = expected_time(work, result["updates"])
    measured = result["time"] / result["updates"]
    if abs(measured - mean) <= 4 * error:
        return ""
    return f"mean iteration time {measured:.6g}, expected {mean:.6g} +- {error:.2g}"


def as_rare(z, freedom):
    """What Student's t of so many degrees of freedom exceeds as rarely as N(0, 1) exceeds z, within
    2 % for z = 4 and freedom >= 7 (Wallace, Ann. Math. Stat. 30, 1959).
    """
    scaled = z * (8 * freedom + 3) / (8 * freedom + 1)
    return sqrt(freedom * (exp(scaled**2 / freedom) - 1))


def check_loss(work, loss, updates, replicas, losses_of_gradrace, same_draws):
    """The loss after work["compared"] updates, a mean over replicas, against those of gradrace, which
    have other draws: farther apart than normal ones of one law are as rarely as by 4 standard
    deviations; and equal to same_draws, if not None, the loss of a peer with the same draws.
    """
    if updates != work["compared"]:
        return f"{updates} updates, not {work['compared']}"
    if not isfinite(loss):
        return f"loss {loss}"
    mean, sd = fmean(losses_of_gradrace), stdev(losses_of_gradrace)
    count = len(losses_of_gradrace)
    bound = as_rare(4, count - 1) * sd * sqrt(1 / replicas + 1 / count)
    if abs(loss - mean) > bound:
        return f"loss {loss:.5g} after {updates} updates, gradrace {mean:.5g} +- {bound:.2g}"
    if same_draws is not None and not abs(loss - same_draws) <= SAME_DRAWS * same_draws:
        return f"loss {loss:.7g} after {updates} updates, another peer {same_draws:.7g}"
    return ""
