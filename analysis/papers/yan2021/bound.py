"""Whole runs against the bound of the loss: item 3."""

import numpy as np
from papers.yan2021 import claim, figure_of
from papers.yan2021.codes import fixed_bits, levels, name_of, whole_bits
from reproduce.claims import chance, paired_difference, sample, times
from reproduce.figures import THEORY, Series, curve_series

SCENARIO = "does_the_error_stay_below_its_bound"
LEARNERS, NUMBERS, ETA, SMOOTHNESS = 4, 400, 0.1, 1.0
UPPER = 2.3263  # standard errors of a normal law's upper 99 % limit
MODELS = {"isotropic": ([1], 0), "noise": ([1], 1), "curvatures": ([1, 0.5, 0.2, 0.1], 1)}
MIDDLE = "QSGD, 6 bits"  # without noise numbers stay near the middle between two levels
MANY_LEVELS = (5, 6)  # bits: numbers reach over levels, whatever these are


def place_of(row):
    return tuple(row["model.curvatures"]), row["model.noise"], name_of(row)


def bounds(losses, bits, curvatures, noise):
    """[step]: the bound of F - F*, by the norms that the runs of a point had, from their mean losses;
    losses, bits: one array a replica. ||g||^2 is at most 2 L F and the noise's, and that where curvatures
    are all L."""
    convexity = min(curvatures)
    alpha = 1 - 2 * convexity * ETA + SMOOTHNESS * convexity * ETA**2
    squares = 2 * SMOOTHNESS * np.asarray(losses)[:, :-1] + noise**2
    quantised = (squares / levels(bits) ** 2).mean(axis=0) * NUMBERS / 4
    added = SMOOTHNESS * ETA**2 / (2 * LEARNERS) * (quantised + noise**2)
    found = [losses[0][0]]
    for one in added:
        found.append(alpha * found[-1] + one)
    return np.array(found)


def bits_of_steps(outputs):
    """{place: [bits of each step, one array a replica]}."""
    fixed = {place_of(row): fixed_bits(row) for row in outputs.runs(SCENARIO)}
    columns = outputs.series(SCENARIO, place_of, "curve", "bits")
    return {
        place: [np.full(len(one) - 1, fixed[place]) if fixed[place] else whole_bits(one[1:], NUMBERS) for one in found]
        for place, found in columns.items()
    }  # fmt: skip


def late(values):
    """The mean over the second half of the steps."""
    return values[len(values) // 2 :].mean()


def upper(one):
    """Its upper 99 % limit."""
    return one.mean + chance(one, UPPER)


class Model:
    """Runs of one quadratic by the names of their codes."""

    def __init__(self, outputs, bits, curvatures, noise):
        curves = outputs.curves(SCENARIO, place_of, "update", "loss")
        inside = {
            place: found
            for place, found in curves.items()
            if place[:2] == (tuple(curvatures), noise)
        }
        self.curves = {place[2]: found for place, found in inside.items()}
        self.bounds = {
            place[2]: bounds([y for _, y in found], bits[place], curvatures, noise)
            for place, found in inside.items()
        }
        self.late = {
            name: sample([late(y) for _, y in found]) for name, found in self.curves.items()
        }
        self.ends = {name: sample([y[-1] for _, y in found]) for name, found in self.curves.items()}
        self.quantised = [name for name in self.curves if name != "float32"]

    def added(self, name, of):
        """What quantising adds: replicas share their gradients' noise."""
        return paired_difference(of[name], of["float32"])

    def added_share(self, name):
        """The Sample of that over the bound's part."""
        part = late(self.bounds[name]) - late(self.bounds["float32"])
        return times(self.added(name, self.late), 1 / part)

    def figure(self, id, words):
        figure = figure_of("bound-{id}", id=id, words=words)
        for name in ("QSGD, 2 bits", "QSGD, 3 bits", "QSGD, 4 bits", "DQ-SGD, 5 bits in the mean"):
            figure.series += [
                curve_series(name, self.curves[name]),
                Series(name, THEORY, list(range(len(self.bounds[name]))), list(self.bounds[name])),
            ]
        return figure


WORDS = {
    "isotropic": "equal curvatures, no noise",
    "noise": "equal curvatures, noise",
    "curvatures": "curvatures 1, 0.5, 0.2, 0.1, noise",
}


def bound(outputs):
    bits = bits_of_steps(outputs)
    models = {id: Model(outputs, bits, *model) for id, model in MODELS.items()}
    noisy, quiet = models["noise"], models["isotropic"]
    by_error = "DQ-SGD, error 0.01"
    added = max(upper(model.added(by_error, model.ends)) for model in models.values())
    position = (levels(6) / NUMBERS**0.5) % 1
    return [model.figure(id, WORDS[id]) for id, model in models.items()], [
        *(never_above(id, model) for id, model in models.items()),
        claim("3.error").holds(added <= 0.01, f"at most {added:.3g}"),
        claim("3.middle").near(quiet.added_share(MIDDLE), 4 * position * (1 - position)),
        claim("3.equality").near(noisy.late["float32"], late(noisy.bounds["float32"])),
        claim("3.two-thirds").all_near(
            (name, 2 / 3, noisy.added_share(name))
            for name in (f"QSGD, {bits} bits" for bits in MANY_LEVELS)
        ),
    ]


def never_above(id, model):
    """Where curvatures are equal, of what quantising adds: the rest of the bound is met, and chance would
    be above it half of the time."""
    if id == "curvatures":
        shares = {name: upper(model.late[name]) / late(model.bounds[name]) for name in model.curves}
    else:
        shares = {name: upper(model.added_share(name)) for name in model.quantised}
    if id == "isotropic":
        del shares[MIDDLE]  # likewise
    worst = max(shares, key=shares.get)
    told = f"{shares[worst]:.4g} of it at most, of {worst}"
    return claim(f"3.{id}").holds(shares[worst] <= 1, told)
