"""Which K the rules choose at which loss."""

import math

import numpy as np
from papers.dutta2021 import claim, figure_of
from reproduce.claims import Sample
from reproduce.figures import SIMULATED, THEORY, Series

LEARNERS = 8
SLOW, BATCH = ("k-sync", "k-async"), ("k-batch-sync", "k-batch-async")
# {K0: {r: K*}}
QUADRATIC = {
    1: {2: 1.38, 4: 1.87, 9: 2.63, 16: 3.28, 25: 3.85, 50: 4.79, 100: 5.71, 1000: 7.60},
    2: {4: 3.47, 16: 5.33, 100: 7.22},
}
ROOT = {1: {4: 2, 9: 3, 16: 4, 64: 8}}


def wanted(variant, k0, r):
    """K* before it is rounded: of K^2 / (P - K) = r K0^2 / (P - K0), or K0 sqrt(r)."""
    if variant in BATCH:
        return k0 * np.sqrt(r)
    q = r * k0**2 / (LEARNERS - k0)
    return 2 * LEARNERS / (1 + np.sqrt(1 + 4 * LEARNERS / q))


def rounded(k):
    return np.minimum(LEARNERS, np.floor(k + 0.5))


def choices(outputs):
    key = lambda row: (row["protocol.variant"], row["protocol.k0"])
    curves = outputs.curves("which_k_does_the_rule_choose", key, "loss", "k")
    # The K of an evaluation is what the one before has chosen.
    chosen = {where: (loss[0] / loss[:-1], k[1:]) for where, [(loss, k), *_] in curves.items()}
    return [rule_figure(chosen)], [*lookups(chosen), *rule_claims(chosen), *ends(chosen)]


def rule_figure(chosen):
    figure = figure_of("rule")
    for variant, k0 in (("k-sync", 1), ("k-sync", 2), ("k-batch-sync", 1)):
        r, k = chosen[variant, k0]
        grid = np.geomspace(1, r[-1], 200)
        name = f"{variant}, K0 = {k0}"
        line = np.minimum(LEARNERS, wanted(variant, k0, grid))
        figure.series += [
            Series(name, THEORY, list(grid), list(line)),
            Series(name, SIMULATED, list(r), list(k), None, True),
        ]
    return figure


def lookups(chosen):
    for variants, table in ((SLOW, QUADRATIC), (BATCH, ROOT)):
        for variant in variants:
            for k0, values in table.items():
                yield lookup(variant, k0, values, *chosen[variant, k0])


def lookup(variant, k0, values, r, k):
    """The choices at the recorded losses that are nearest."""
    at = {place: int(np.argmin(np.abs(np.log(r / place)))) for place in values}
    return claim(f"20.lookup-{variant}-{k0}").all_near(
        (f"r = {r[at[place]]:.4g}", rounded(value), Sample(k[at[place]]))
        for place, value in values.items()
    )


def rule_claims(chosen):
    for (variant, k0), (r, k) in chosen.items():
        wrong = int((rounded(wanted(variant, k0, r)) != k).sum())
        yield claim(f"20.rule-{variant}-{k0}").holds(wrong == 0, f"{wrong} of {len(k)}")
    starts = {where: k[0] for where, (_, k) in chosen.items()}
    yield claim("20.start").holds(
        all(k == k0 for (_, k0), k in starts.items()),
        ", ".join(f"{k:g} for {k0}" for (_, k0), k in starts.items()),
    )


def ends(chosen):
    """K rounds to P where K* passes P - 1/2."""
    half = LEARNERS - 0.5
    for variant, k0 in chosen:
        r, k = chosen[variant, k0]
        if variant in SLOW:
            limit = half**2 / (LEARNERS - half) * (LEARNERS - k0) / k0**2
        else:
            limit = (half / k0) ** 2
        before, after = r[k < LEARNERS].max(), r[k == LEARNERS].min(initial=math.inf)
        yield claim(f"20.end-{variant}-{k0}").holds(
            before <= limit <= after < math.inf,
            f"K = {k[k < LEARNERS].max():g} up to {before:.5g}, P from {after:.5g} on",
        )
