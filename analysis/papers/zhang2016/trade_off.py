"""Learners against minibatches: item 10."""

from papers.zhang2016 import claim, figure_of
from reproduce.figures import SIMULATED, Series, sampled
from reproduce.outputs import means

TASK = "softmax on MNIST in place of the CNN, 1 epoch, alpha0 / tau"
NAMES = {"hardsync": "hardsync", "softsync": "1-softsync", "async": "lambda-softsync"}
PRODUCTS = (128, 256, 512, 1024)


def name_and_pair(row):
    """The protocol, lambda and mu."""
    return NAMES[row["protocol"]], row["cluster.learners"], row["model.minibatch"]


def trade_off(outputs):
    scenario = "does_error_follow_mu_lambda"
    errors = outputs.samples(scenario, name_and_pair, "final_test_error")
    times = outputs.samples(scenario, name_and_pair, "sim_time")
    figures = [error_figure(errors), *race_figures(errors, times)]
    claims = [one for name in NAMES.values() for one in product_claims(name, errors, times)]
    return figures, [*claims, *orders(errors, times)]


def at_product(values, name, product, least=1):
    """{learners: Sample} along mu lambda = product."""
    return {
        p: one
        for (protocol, p, mu), one in values.items()
        if protocol == name and p * mu == product and p >= least
    }


def error_figure(errors):
    figure = figure_of("mu_lambda", task=TASK)
    for name in NAMES.values():
        rows = sorted(
            (p * mu, one.mean) for (protocol, p, mu), one in errors.items() if protocol == name
        )
        figure.series.append(Series(name, SIMULATED, [x for x, _ in rows], [y for _, y in rows]))
    return figure


def race_figures(errors, times):
    """Test error against time, a curve for each number of learners."""
    for name in NAMES.values():
        figure = figure_of("race_{id}", id=name.replace("-", "_"), name=name, task=TASK)
        learners = sorted({p for protocol, p, _ in errors if protocol == name})
        for p in learners:
            sizes = sorted(mu for protocol, q, mu in errors if (protocol, q) == (name, p))
            found = [errors[name, p, mu] for mu in sizes]
            figure.series.append(
                sampled(f"lambda = {p}", means(times[name, p, mu] for mu in sizes), found)
            )
        yield figure


def product_claims(name, errors, times):
    levels = {product: means(at_product(errors, name, product).values()) for product in PRODUCTS}
    apart = all(max(levels[low]) < min(levels[high]) for low, high in zip(PRODUCTS, PRODUCTS[1:]))
    yield claim(f"10.error-{name}").holds(
        apart,
        "; ".join(f"{product}: {min(e):.4f} to {max(e):.4f}" for product, e in levels.items()),
    )
    falls = []
    for product in PRODUCTS:
        along = at_product(times, name, product, least=2)
        falls += [
            (product, few, many)
            for few, many in zip(sorted(along), sorted(along)[1:])
            if along[many].mean >= along[few].mean
        ]
    yield claim(f"10.time-{name}").holds(not falls, "always" if not falls else f"not at {falls}")


def orders(errors, times):
    at = [(p, mu) for name, p, mu in errors if name == "hardsync" and p > 1]
    no_sooner = [
        (p, mu) for p, mu in at if times["hardsync", p, mu].mean <= times["1-softsync", p, mu].mean
    ]
    yield claim("10.hardsync-slowest").holds(
        not no_sooner, "always" if not no_sooner else f"not at {no_sooner}"
    )
    base, many = errors["hardsync", 1, 128], errors["1-softsync", 32, 4]
    faster = times["hardsync", 1, 128].mean / times["1-softsync", 32, 4].mean
    yield claim("10.prescription").holds(
        abs(many.mean - base.mean) <= 0.01 and faster > 15,
        f"{base} and {many}, {faster:.3g} times faster",
    )
