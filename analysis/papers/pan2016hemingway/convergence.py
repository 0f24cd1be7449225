"""Rounds and time to a loss, and what the models say of them: items 3 to 5."""

from functools import partial

import numpy as np
from papers.pan2016hemingway import claim, figure_of, machines
from papers.pan2016hemingway.system import round_times
from reproduce.claims import difference, paired_difference, paired_ratio
from reproduce.figures import LEVEL, Series, Table, curve_series, sampled
from results import sample

SCENARIO = "how_many_rounds_does_a_target_take"
OF_BATCHES, OF_STEPS = "what_does_mini-batch_sgd_take", "how_far_comes_local_sgd"
AVERAGED, ADDED = NAMES = "CoCoA", "CoCoA+"
BATCH, LOCAL = "mini-batch SGD", "local SGD"
TARGET, LOOSE = 1e-3, 1e-2  # above the least loss


def least_loss(outputs):
    """The dual objective of a long run, which the least loss is not below."""
    column = partial(outputs.series, "what_is_the_least_loss", lambda row: 0, "curve")
    return float((column("loss")[0][0] - column("duality_gap")[0][0]).max())


def curves_of(outputs, scenario, key):
    """{key(row): [(rounds from 1 on, loss above the least), one a replica]}."""
    least = least_loss(outputs)
    found = outputs.curves(scenario, key, "epoch", "loss")
    return {at: [(x[1:], y[1:] - least) for x, y in of] for at, of in found.items()}


def point_of(row):
    return NAMES["gamma" in row["sweep.protocol"]], int(row["learners"])


def sgd_of(row):
    name = BATCH if row["protocol"] == "all-reduce" else LOCAL
    return name if row["learning_rate"]["kind"] == "step" else f"{name}, rate tuned"


def rounds_to(curves, level=0.0):
    """The Sample of rounds until a loss is so far above the least, or all that were made."""
    return sample([x[np.append(np.flatnonzero(y <= level), -1)[0]] for x, y in curves])


def sizes_of(samples):
    return sorted({m for _, m in samples})


def exponent(rounds, name, sizes):
    """The Sample of log-log slopes of rounds over machines."""
    logs = np.log([rounds[name, m].values for m in sizes])
    return sample(np.polyfit(np.log(sizes), logs, 1)[0])


def sgd_curves(outputs):
    return curves_of(outputs, OF_BATCHES, sgd_of) | curves_of(outputs, OF_STEPS, sgd_of)


def rounds(outputs):
    taken = outputs.samples(SCENARIO, point_of, "updates")
    curves, sgd = curves_of(outputs, SCENARIO, point_of), sgd_curves(outputs)
    sizes = sizes_of(taken)
    averaged, added = (exponent(taken, name, sizes) for name in NAMES)
    slower = [rounds_to(sgd[name]) for name in (BATCH, LOCAL)]
    return [on_sixteen({name: curves[name, 16] for name in NAMES} | sgd)], [
        *(claim(f"3.{name}").rising([taken[name, m] for m in sizes[::2]]) for name in NAMES),
        claim("3.slower").above(paired_difference(averaged, added), f"{added} and {averaged}"),
        claim("3.rank").all_above(difference(one, taken[name, 16]) for one in slower for name in NAMES),
    ]  # fmt: skip


def on_sixteen(curves):
    """What rounds achieve."""
    rows = []
    for name, of in curves.items():
        after = [f"{np.mean([y[i - 1] for _, y in of]):.2g}" for i in (1, 3, 10)]
        is_there = max(y[-1] for _, y in of) < 1.01 * TARGET
        rows.append([name, *after, f"{'' if is_there else 'more than '}{rounds_to(of).mean:.0f}"])
    heads = ["", *(f"after {i} round{'s' * (i > 1)}" for i in (1, 3, 10)), "rounds to 1e-3"]
    words = figure_of("sixteen")
    return Table(words.name, words.title, heads, rows, words.note)


# ---- the convergence model


NO_FACTS = np.array([])  # of a candidate, but its machines


def model_of(curves):
    """The convergence model of mean curves {m: [(rounds, loss above the least)]}."""
    from advise.convergence import Convergence, Curve, names_of, thinned  # which needs scikit-learn

    told = []
    for m, of in curves.items():
        mean = curve_series("", of)
        told.append(Curve(m, m, NO_FACTS, np.array(mean.x), np.minimum.accumulate(mean.y)))
    return Convergence([thinned(one) for one in told], 0.0, names_of([]))


def error(model, m, curves):
    """The Sample of mean distances of logarithms of what is left after rounds, over their mean."""
    logs = [(np.log(model.value(x, m, NO_FACTS)), np.log(y)) for x, y in curves]
    return sample([np.abs(said - true).mean() / np.abs(true).mean() for said, true in logs])


def curves_of_algorithm(outputs, name):
    found = curves_of(outputs, SCENARIO, point_of)
    return {m: curves for (one, m), curves in found.items() if one == name}


def foretold(outputs):
    curves, figure = curves_of_algorithm(outputs, AVERAGED), figure_of("held-out")
    whole = model_of(curves)
    unseen = {m: whole.without(m) for m in curves}
    for m in (1, 4, 32):
        series = curve_series(machines(m), curves[m])
        said = list(unseen[m].value(series.x, m, NO_FACTS))
        figure.series += [series, Series(series.group, LEVEL, series.x, said)]
    weights = ", ".join(f"{name} {weight:.2g}" for name, weight in whole.weights.items())
    errors = [(machines(m), 0, error(unseen[m], m, of)) for m, of in curves.items()]
    return [figure], [
        claim("4.dominant").holds(next(iter(whole.weights)) == "i/m", weights),
        claim("4.held-out").all_near(errors),
    ]


# ---- the choice


def choice(outputs):
    took = outputs.samples(SCENARIO, point_of, "sim_time")
    of_round, system = round_times(outputs)
    figure, longer, shared, claims = figure_of("time", marks=[32]), [], [], []
    figure.series = [
        sampled("a round", sorted(of_round), [of_round[m] for m in sorted(of_round)]),
        Series("a round", LEVEL, sorted(of_round), list(system.time(sorted(of_round)))),
    ]
    for name in NAMES:
        curves, of = (
            curves_of_algorithm(outputs, name),
            {m: one for (n, m), one in took.items() if n == name},
        )
        sizes, model = sorted(of), model_of(curves)
        said = {m: float(system.time(m)) * model.updates_to(TARGET, m, NO_FACTS) for m in sizes}
        best, chosen = min(sizes, key=lambda m: of[m].mean), min(sizes, key=said.get)
        shortest = min(sizes, key=lambda m: of_round[m].mean)
        longer += [difference(of[m], of[best]) for m in (sizes[0], sizes[-1])]
        shared.append(difference(of[shortest], of[min(best, shortest)]))
        claims.append(claim(f"5.{name}").within(paired_ratio(of[chosen], of[best])))
        figure.series += [
            sampled(name, sizes, [of[m] for m in sizes]),
            Series(name, LEVEL, sizes, list(said.values())),
        ]
    return [figure, fastest(outputs, of_round)], [
        claim("5.inside").all_above(longer),
        claim("5.smaller").all_above(shared),
        *claims,
    ]


def fastest(outputs, of_round):
    """Rounds and their time, and who is first."""
    curves, sgd = curves_of(outputs, SCENARIO, point_of), sgd_curves(outputs)
    rows = []
    for m in sizes_of(curves):
        of = {name: curves[name, m] for name in NAMES} | {BATCH: sgd[BATCH]}
        loose, tight = (
            {name: rounds_to(one, level).mean for name, one in of.items()}
            for level in (LOOSE, TARGET)
        )
        cells = [f"{taken:.0f}, {taken * of_round[m].mean:.0f} s" for taken in tight.values()]
        rows.append([str(m), *cells, min(tight, key=tight.get), min(loose, key=loose.get)])
    heads = ["machines", *(f"{name} to 1e-3" for name in of), "first to 1e-3", "first to 1e-2"]
    words = figure_of("fastest")
    return Table(words.name, words.title, heads, rows, words.note)
