"""The cnns that stand in for Inception, where a GPU has run them: items 5, 9, 11 and 12."""

from itertools import pairwise

from papers.pan2017 import claim
from papers.pan2017.fig2 import ERRORS, delay_and_rate
from papers.pan2017.fig8 import MACHINES
from reproduce.claims import ratio
from reproduce.outputs import least
from reproduce.replicas import first_at, late, mean_curve

TARGET = 0.35  # test error on CIFAR-10


def fig2_cnn(outputs):
    errors = outputs.samples("gpu/fig2_how_stale_is_too_stale", delay_and_rate, "final_test_error")
    best = {d: least(one for (delay, _), one in errors.items() if delay == d) for d in ERRORS}
    over = [ratio(one, best[0]).mean for one in best.values()]
    return [], [claim("11.cnn").holds(rises(over), ", ".join(map(str, best.values())))]


def fig5_cnn(outputs):
    scenario = "gpu/fig5_how_many_updates_until_it_converges"
    gradients = lambda row: row["learners"] - 6
    curves = outputs.curves(scenario, gradients, "update", "test_error")
    updates = {n: first_at(*mean_curve(found), TARGET) for n, found in curves.items()}
    over = updates[50] / updates[100]
    return [], [claim("5.cnn").holds(1 < over < 2, f"{over:.3f}")]


def fig7_cnn(outputs):
    rate_of = lambda row: row["learning_rate.eta"]
    curves = outputs.curves("gpu/fig7_which_rate_is_best", rate_of, "update", "test_error")
    ends = {rate: late(found, 0.05).mean for rate, found in sorted(curves.items())}
    places = [first_at(*mean_curve(curves[rate]), 1.1 * end) for rate, end in ends.items()]
    falls = all(large < small for small, large in pairwise(ends.values()))
    told = ", ".join(f"{rate:g}: {end:.4f}" for rate, end in ends.items())
    told = f"{told}; {', '.join(map(str, places))}"
    return [], [claim("12.cnn").holds(falls and rises(places), told)]


def fig8_cnn(outputs):
    ends = {}
    for machines in MACHINES:
        scenario = f"gpu/fig8_who_wins_on_{machines}_machines"
        curves = outputs.curves(scenario, lambda row: row["protocol"], "time", "test_error")
        ends[machines] = [late(curves[name], 0.3) for name in ("backup", "async")]
    told = "; ".join(f"{m}: {sync} and {stale}" for m, (sync, stale) in ends.items())
    return [], [claim("9.cnn").holds(all(a.mean < b.mean for a, b in ends.values()), told)]


def rises(values):
    return all(low < high for low, high in pairwise(values))
