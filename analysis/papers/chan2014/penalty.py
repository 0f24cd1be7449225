"""eta rho^tau against eta / tau and one eta, on a quadratic of curvature 1: items D1, D2 and D3."""

import math

import numpy as np
from papers.chan2014 import claim, figure_of
from reproduce.claims import Sample
from reproduce.figures import THEORY, Series, curve_series
from reproduce.replicas import late

ETA = 0.1
FOR_5 = math.sqrt(0.5)  # rho^4 = 1/4
TASK = "quadratic, curvature 1, eta = 0.1, async"


def rule_of(row):
    """ "eta", "eta / tau", or the rho of eta rho^tau."""
    rate = row["learning_rate"]
    names = {"constant": "eta", "staleness": "eta / tau"}
    return names.get(rate["kind"]) or rate["rho"]


def name_of(rule):
    return rule if isinstance(rule, str) else f"eta rho^tau, rho = {rule:.3g}"


def factor_of(rule, tau):
    """Of eta, for a gradient of that staleness."""
    if rule == "eta / tau":
        return 1 / max(1, tau)
    return 1.0 if rule == "eta" else rule**tau


def multipliers():
    figure = figure_of("multipliers")
    taus = list(range(31))
    for rule in ("eta / tau", FOR_5, 0.9, 0.99):
        shares = [factor_of(rule, tau) for tau in taus]
        figure.series.append(Series(name_of(rule), THEORY, taus, shares))
    return figure


def penalty(outputs):
    scenario = "does_a_penalty_for_5_learners_do_for_30"
    key = lambda row: (row["cluster.learners"], rule_of(row))
    curves = outputs.curves(scenario, key, "time", "loss")
    figures = [multipliers()]
    for learners in (5, 30):
        figure = figure_of("penalty_{learners}", learners=learners, task=TASK)
        for (count, rule), found in curves.items():
            if count == learners:
                figure.series.append(curve_series(name_of(rule), [between(*one) for one in found]))
        figures.append(figure)
    return figures, [*converge(curves), *of_30(curves)]


def between(x, y):
    """As far as the loss lies between."""
    beyond = ~((y >= 1e-12) & (y <= 1e6))
    end = np.argmax(beyond) if beyond.any() else len(y)
    return x[:end], y[:end]


def last(curves):
    """[last loss over the first], one a replica; infinite if the run diverged."""
    return [float(y[-1] / y[0]) if np.isfinite(y[-1]) else math.inf for _, y in curves]


def converge(curves):
    found = {rule: max(last(curves[5, rule])) for rule in ("eta / tau", FOR_5)}
    yield claim("D1.learns").holds(
        max(found.values()) < 1e-6, " and ".join(f"at most {one:.3g}" for one in found.values())
    )


def of_30(curves):
    wanted = {
        "stalls": (FOR_5, lambda found: 0.1 < min(found) and max(found) < 1),
        "divided": ("eta / tau", lambda found: max(found) < 1e-6),
        "near-1": (0.99, lambda found: min(found) > 1e6),
        "one-rate": ("eta", lambda found: min(found) > 1e6),
    }
    for name, (rule, is_met) in wanted.items():
        found = last(curves[30, rule])
        yield claim(f"D2.{name}").holds(is_met(found), f"{min(found):.3g} to {max(found):.3g}")


def similar(outputs):
    scenario = "what_do_5_learners_leave"
    curves = outputs.curves(scenario, rule_of, "time", "loss")
    left = {rule: late(found) for rule, found in curves.items()}
    told = " and ".join(f"{one} with {name_of(rule)}" for rule, one in left.items())
    return [], [
        claim("D1.left", left=told).all_near(
            (name_of(rule), expected_left(rule, counts[0]), left[rule])
            for rule, counts in outputs.staleness(scenario, rule_of).items()
        )
    ]


def expected_left(rule, counts):
    """Of gradients {staleness: count}: the mean step is eta times the mean factor, its staleness
    is weighted with the factors, and the variance of the noise is the mean square's."""
    count = np.array(list(counts.values())) / sum(counts.values())
    tau = np.array(list(counts))
    factor = np.array([factor_of(rule, int(one)) for one in tau])
    mean, square = count @ factor, count @ factor**2
    delay = float(count @ (factor * tau) / mean)
    low = int(delay)
    left = np.interp(
        delay, [low, low + 1], [left_at(ETA * mean, low), left_at(ETA * mean, low + 1)]
    )
    return float(left * square / mean**2)


def left_at(eta, tau):
    """Half the stationary variance of w where w(k + 1) = w(k) - eta (w(k - tau) + noise of variance 1)."""
    step = np.eye(tau + 1, k=-1)
    step[0, 0] = 1
    step[0, tau] -= eta
    kick = np.zeros((tau + 1, tau + 1))
    kick[0, 0] = eta**2
    size = (tau + 1) ** 2
    spread = np.linalg.solve(np.eye(size) - np.kron(step, step), kick.reshape(size))
    return float(spread[0]) / 2


def delayed(outputs):
    """Where all gradients are equally stale after the start the loss is a recursion."""
    scenario = "how_fast_with_equal_runtimes"
    key = lambda row: (row["cluster.learners"], rule_of(row))
    losses = outputs.samples(scenario, key, "final_loss")
    updates = int(outputs.runs(scenario)[0]["updates"])
    return [], [
        claim(f"D{item}.work", updates=updates).all_near(
            (name_of(rule), log_loss(rule, learners, updates), Sample(math.log(one.mean)))
            for (count, rule), one in losses.items()
            if count == learners
        )
        for item, learners in ((1, 5), (2, 30))
    ]


def log_loss(rule, learners, updates):
    """ln of the loss after so many updates from 1."""
    past, logarithm = [1.0] * learners, 0.0
    for update in range(updates):
        tau = min(update, learners - 1)
        past.append(past[-1] - ETA * factor_of(rule, tau) * past[-1 - tau])
        past = past[-learners:]
        if abs(past[-1]) < 1e-100:
            past = [one * 1e100 for one in past]
            logarithm -= 2 * math.log(1e100)
    return 2 * math.log(abs(past[-1])) + logarithm


def fresh(outputs):
    found = outputs.values("is_a_fresh_gradient_penalised", rule_of, "final_hash")
    return [], [
        claim(f"D3.{name}").holds(
            found[rule] == found["eta"], f"{len(found[rule])} replicas compared"
        )
        for name, rule in (("divided", "eta / tau"), ("penalty", 0.5))
    ]
