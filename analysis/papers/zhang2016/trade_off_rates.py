"""Learners against minibatches, each at its best alpha0: is the error a function of mu lambda, or is that
one alpha0's doing?  Item 10."""

from collections import defaultdict
from itertools import combinations

import numpy as np
from papers.zhang2016 import claim, figure_of
from papers.zhang2016.trade_off import NAMES, TASK, at_product, name_and_pair
from reproduce.claims import paired_difference, sample
from reproduce.figures import sampled
from reproduce.replicas import best_of, decided, judging

ONE_RATE = 0.003  # of does_error_follow_mu_lambda
STALE = ("1-softsync", "lambda-softsync")
PRODUCTS = SMALL, LARGE = 128, 512


def trade_off_rates(outputs):
    scenario = "does_error_follow_mu_lambda_at_the_best_rate"
    key = lambda row: (name_and_pair(row), row["learning_rate.eta"])
    errors = defaultdict(dict)
    for (at, rate), one in outputs.samples(scenario, key, "final_test_error").items():
        errors[at][rate] = one
    best = {at: best_of(of) for at, of in errors.items()}
    at_one = {at: judging(of[ONE_RATE]) for at, of in errors.items()}
    at_best = {at: judging(of[best[at]]) for at, of in errors.items()}
    claims = [tuned(name, at_one, at_best) for name in NAMES.values()]
    claims += [pairs(at_best), same_products(at_best)]
    claims += [rising_products(name, at_best) for name in STALE]
    claims += [best_rates(best), prescription(at_best)]
    return list(figures(errors)), decided(claims, at_best["hardsync", 1, 128])


def tuned(name, at_one, at_best):
    rises = [mean_of(between_products(ends, name).values()) for ends in (at_one, at_best)]
    return claim(f"10.tuned-{name}").above(
        paired_difference(*rises),
        told=f"test error above that of {SMALL}, mean over pairs: {rises[0]} at one alpha0, {rises[1]} "
        "at the best",
    )


def pairs(at_best):
    gaps = [
        (f"{name}, mu lambda = {product}, lambda = {few} and {many}", 0.0, gap)
        for name in NAMES.values()
        for product in PRODUCTS
        for (few, many), gap in between_pairs(at_best, name, product).items()
    ]
    return claim("10.tuned-pairs").all_near(gaps)


def same_products(at_best):
    gaps = between_products(at_best, "hardsync")
    return claim("10.tuned-products-hardsync").all_near(
        (f"lambda = {many} and {few}", 0.0, gap) for (few, many), gap in gaps.items()
    )


def rising_products(name, at_best):
    gaps = list(between_products(at_best, name).values())
    return claim(f"10.tuned-products-{name}").all_above(
        gaps, told=f"mean over pairs: {mean_of(gaps)}"
    )


def best_rates(best):
    found = {name: list(at_product(best, name, LARGE).values()) for name in NAMES.values()}
    return claim("10.tuned-alpha0").holds(
        all(min(found["hardsync"]) > max(found[name]) for name in STALE),
        "; ".join(f"{name}: {', '.join(f'{rate:g}' for rate in of)}" for name, of in found.items()),
    )


def prescription(at_best):
    base, many = at_best["hardsync", 1, 128], at_best["1-softsync", 32, 4]
    return claim("10.tuned-prescription").near(paired_difference(many, base))


def between_pairs(ends, name, product):
    """{(few, many learners): by how much many end above few}."""
    along = at_product(ends, name, product)
    return {
        (few, many): paired_difference(along[many], along[few])
        for few, many in combinations(sorted(along), 2)
    }


def between_products(ends, name):
    """{(learners, learners): by how much a pair of the large product ends above one of the small}."""
    small, large = (at_product(ends, name, product) for product in PRODUCTS)
    return {(p, q): paired_difference(large[q], small[p]) for p in small for q in large}


def mean_of(samples):
    """The Sample of the mean of some whose replicas share their seeds."""
    return sample(np.mean([one.values for one in samples], axis=0))


def figures(errors):
    """Test error against alpha0, a curve for each pair."""
    for name in NAMES.values():
        figure = figure_of("mu_lambda_rates_{id}", id=name.replace("-", "_"), name=name, task=TASK)
        for (protocol, p, mu), of in errors.items():
            if protocol == name:
                figure.series.append(sampled(f"{p} x {mu} = {p * mu}", list(of), of.values()))
        yield figure
