"""Fig 3 on a quadratic of curvature 1: items 1, 5, 6 and 7."""

import numpy as np
from papers.zhang2016 import claim, figure_of
from papers.zhang2016.fig1 import protocol_name
from plots.bands import band, linear
from reproduce.claims import paired_ratio
from reproduce.figures import SIMULATED, THEORY, Series, curve_series
from reproduce.replicas import late, mean_at

ETA, MOMENTUM, START = 0.012, 0.9, 1.0
TASK = "quadratic, curvature 1, alpha0 = 0.012, momentum 0.9, lambda = 30"
RATES = {"constant": "alpha0", "staleness": "alpha0 / tau"}
NS = (1, 2, 6, 15, 30)
# columns of runs that are the same for async and n = 30
SAME = ("sim_time", "max_staleness", "mean_staleness", "final_loss", "final_hash")


def floor_of_serial(minibatch):
    """The heavy ball's stationary loss, variance 1 of the gradient of one sample."""
    top = ETA / minibatch * (1 + MOMENTUM)
    return top / ((1 - MOMENTUM) * (2 * (1 + MOMENTUM) - ETA)) / 2


def fig3_quadratic(outputs):
    scenario = "fig3_on_a_quadratic"
    key = lambda row: (row["learning_rate.kind"], protocol_name(row))
    curves = outputs.curves(scenario, key, "time", "loss")
    columns = {name: outputs.values(scenario, key, name) for name in ("status", *SAME)}
    figures = [quadratic_figure(curves, kind) for kind in RATES]
    return figures, [*one_rate(curves, columns["status"]), *divided(curves), *identities(columns)]


def quadratic_figure(curves, kind):
    figure = figure_of("fig3_quadratic_{kind}", kind=kind, rates=RATES[kind], task=TASK)
    for name in ("hardsync", *(f"n = {n}" for n in NS)):
        cut = [(x[below(y)], y[below(y)]) for x, y in curves[kind, name]]
        figure.series.append(curve_series(name, cut))
    return figure


def below(loss):
    """Which evaluations come before the loss first passes 10."""
    beyond = ~(loss <= 10)
    return np.arange(len(loss)) < (np.argmax(beyond) if beyond.any() else len(loss))


def final_over_first(curves):
    """[last loss over the first], one a replica."""
    return [float(y[-1] / y[0]) if np.isfinite(y[-1]) else np.inf for _, y in curves]


def one_rate(curves, statuses):
    for n in NS:
        last = final_over_first(curves["constant", f"n = {n}"])
        diverged = statuses["constant", f"n = {n}"].count("diverged")
        fails = n >= 15
        yield claim(f"5.quadratic-{'fails' if fails else 'learns'}-{n}").holds(
            min(last) > 1 if fails else max(last) < 0.1,
            f"{min(last):.3g} to {max(last):.3g}; {diverged} of {len(last)} diverged",
        )
    yield claim("1.floor").near(late(curves["constant", "hardsync"]), floor_of_serial(30))
    floors = [late(curves["constant", name]) for name in ("hardsync", "n = 1", "n = 2", "n = 6")]
    yield claim("5.quadratic-rises").rising(floors)


def divided(curves):
    last = {n: max(final_over_first(curves["staleness", f"n = {n}"])) for n in NS}
    yield claim("5.quadratic-divided").holds(
        max(last.values()) < 0.01, f"at most {max(last.values()):.3g}"
    )
    hardsync = late(curves["staleness", "hardsync"])
    found = {n: paired_ratio(late(curves["staleness", f"n = {n}"]), hardsync) for n in NS}
    yield claim("5.quadratic-coincide").holds(
        max(one.mean for one in found.values()) <= 1.5,
        "; ".join(f"n = {n}: {one}" for n, one in found.items()),
    )


def identities(columns):
    """columns: of runs, by their name."""
    hashes = columns["final_hash"]
    constant, divided = (hashes[kind, "hardsync"] for kind in RATES)
    yield claim("6.fresh").holds(constant == divided, f"{len(constant)} replicas compared")
    differing = [
        f"{name} with {RATES[kind]}"
        for kind in RATES
        for name in SAME
        if columns[name][kind, "n = 30"] != columns[name][kind, "async"]
    ]
    yield claim("7.async").holds(not differing, f"differing: {', '.join(differing) or 'none'}")


def serial(outputs):
    """Item 1: hardsync and serial SGD against the mean loss of the heavy ball."""
    key = lambda row: row["cluster.learners"]
    curves = outputs.curves("is_hardsync_serial", key, "update", "loss")
    places = [20, 50, 100, 150, 200]
    exact = heavy_ball(places[-1], 30)
    figure = figure_of("serial")
    updates = list(range(0, 201, 10))
    figure.series.append(Series("exact", THEORY, updates, [exact[u] for u in updates]))
    names = {30: "30 learners, minibatches of 1", 1: "1 learner, minibatches of 30"}
    for learners, name in names.items():
        mean = band(curves[learners], linear)
        half = list(np.nan_to_num(mean.half))
        figure.series.append(Series(name, SIMULATED, list(mean.x), list(mean.mean), half))
    return [figure], [
        claim(f"1.serial-{learners}").all_near(
            (f"update {at}", exact[at], mean_at(curves[learners], at)) for at in places
        )
        for learners in names
    ]


def heavy_ball(updates, minibatch):
    """Mean loss after 0, 1, ... updates: v = m v + eta g, w = w - v, where g is w and noise of
    variance 1 / minibatch in all dimensions together."""
    step = np.array([[1 - ETA, -MOMENTUM], [ETA, MOMENTUM]])
    kick = ETA * np.array([-1.0, 1.0])
    mean = np.array([np.sqrt(2 * START), 0.0])
    spread = np.zeros((2, 2))
    losses = [START]
    for _ in range(updates):
        mean = step @ mean
        spread = step @ spread @ step.T + np.outer(kick, kick) / minibatch
        losses.append(float(mean[0] ** 2 + spread[0, 0]) / 2)
    return losses
