"""What bits by step save, and their shapes: items 4 and 5."""

import math

import numpy as np
from papers.yan2021 import claim, figure_of
from papers.yan2021.codes import SCALE, fixed_bits, name_of, whole_bits
from reproduce.claims import paired_difference, sample
from reproduce.figures import THEORY, Series, curve_series, sampled
from reproduce.replicas import jackknife

FEW, MANY = "does_it_save_bits_where_the_norm_stays", "does_it_save_bits_with_many_levels"
FALLING = "do_bits_follow_the_norm"
STEPS, ETA = 500, 0.005  # of gradients of one norm, 1
ALPHA = (1 - ETA) ** 2
MEANS = {FEW: (5, 6), MANY: (9,)}  # bits
BY_ERROR = "DQ-SGD, error 1e-05"
FALL_STEPS, FALL_ETA, FALL_NUMBERS, FALL_LEARNERS = 100, 0.03, 400, 4
EVEN, UNEVEN = (1,), (1, 1, 1, 0.05)  # curvatures
FALL_ERRORS = {EVEN: 1e-5, UNEVEN: 2.5e-4}


def mean_name(bits):
    return f"DQ-SGD, {bits} bits in the mean"


def constant_parts():
    """c_n of gradients of one norm, but for a factor."""
    return ALPHA ** np.arange(STEPS - 1, -1, -1.0)


def theory_saving():
    """Bits of a number: log2(arithmetic over geometric mean) / 2."""
    of = constant_parts()
    return 0.5 * (math.log2(of.mean()) - np.log2(of).mean())


def equal_error_bits(fixed, whole, other):
    """The bits, between whole ones, with which fixed ones add the error of the other; fixed: {bits: losses}."""
    bits = sorted(fixed)
    log_added = lambda losses: math.log2(max(np.mean(losses) - np.mean(whole), 1e-300))
    return float(np.interp(-log_added(other), [-log_added(fixed[one]) for one in bits], bits))


class Constant:
    """Runs of gradients of one norm, by their bits where these are fixed, else by the code's name."""

    def __init__(self, outputs, scenario):
        settings = outputs.manifest(scenario)["scenario"]
        self.numbers = settings["model"]["dimensions"]
        self.messages = STEPS * settings["cluster"]["learners"]
        key = lambda row: fixed_bits(row) or name_of(row)
        self.losses = outputs.samples(scenario, key, "final_loss")
        self.pushed = outputs.samples(scenario, key, "bytes_pushed")
        self.bits = outputs.curves(scenario, key, "update", "bits")
        self.fixed = sorted(at for at in self.losses if at in range(32))

    def mean_bits(self, at):
        return (8 * self.pushed[at].mean / self.messages - SCALE) / self.numbers

    def added(self, at):
        """To the last loss; replicas share their gradients' noise."""
        return paired_difference(self.losses[at], self.losses[32])

    def saved(self, name):
        """The Sample of the bits that fixed ones need more for the error of the code."""
        own, values = self.mean_bits(name), lambda at: list(self.losses[at].values)
        more = lambda other, whole, *of: (
            equal_error_bits(dict(zip(self.fixed, of)), whole, other) - own
        )
        return jackknife(more, values(name), values(32), *map(values, self.fixed))

    def steps(self, name):
        return bits_of(self.bits[name], self.numbers)


def saving(outputs):
    """With few levels, and with many."""
    figure = figure_of("saving")
    bits = figure_of("bits-constant")
    claims = []
    for scenario, means in MEANS.items():
        runs = Constant(outputs, scenario)
        words = f"{runs.numbers} numbers"
        names = [mean_name(mean) for mean in means]
        figure.series += [
            sampled(f"QSGD, {words}", runs.fixed, map(runs.added, runs.fixed)),
            sampled(f"DQ-SGD, {words}", list(map(runs.mean_bits, names)), map(runs.added, names)),
        ]
        for mean, name in zip(means, names):
            steps = runs.steps(name)
            best = line(f"{name}, {words}", mean, np.log2(constant_parts()) / 2)
            bits.series += [curve_series(best.group, steps), best]
            claims += of_mean(runs, mean, name, steps)
    claims.append(
        claim("5.grows-error").near(jackknife(slope, runs.steps(BY_ERROR)), GROWTH),
    )
    return [figure, bits], claims


GROWTH = math.log2(1 / ALPHA) / 2  # bits a step


def of_mean(runs, mean, name, steps):
    saved = runs.saved(name)
    yield claim(f"4.saves-{mean}").near(saved, theory_saving())
    yield claim(f"4.fewer-bytes-{mean}").above(saved)
    yield claim(f"4.equal-bits-{mean}").above(
        paired_difference(runs.losses[mean], runs.losses[name])
    )
    yield claim(f"5.grows-{mean}").near(jackknife(slope, steps), GROWTH)


def bits_of(curves, numbers):
    """[(step, its bits), one a replica], but for the first step, before which no norm is known."""
    return [(x[2:], whole_bits(y[2:], numbers)) for x, y in curves]


def line(name, mean, halves):
    """Of bits whose log2 s is `halves` and a number more that makes the mean so; halves: [step]."""
    s = 2 ** (halves - halves.mean() + math.log2(2 ** (mean - 1) - 1))
    return Series(name, THEORY, list(range(1, len(s) + 1)), list(np.log2(s + 1) + 1))


def slope(curves):
    """Of the mean bits from step to step, by least squares."""
    return float(np.polyfit(curves[0][0], np.mean([y for _, y in curves], axis=0), 1)[0])


def falling_parts(curvatures):
    """c_n of gradients without noise from a start of ones, of as many numbers as there are."""
    n = np.arange(FALL_STEPS)
    convexity = min(curvatures)
    alpha = 1 - 2 * convexity * FALL_ETA + convexity * FALL_ETA**2
    squares = sum(one**2 * (1 - FALL_ETA * one) ** (2 * n) for one in curvatures)
    squares = squares * FALL_NUMBERS / len(curvatures)
    scale = FALL_ETA**2 * FALL_NUMBERS / (8 * FALL_LEARNERS)
    return scale * alpha ** (FALL_STEPS - 1.0 - n) * squares


def rule(curvatures):
    """The bits of steps 2, 3, ... by the error and the norm of the gradient of the step before."""
    of = falling_parts(curvatures)
    convexity = min(curvatures)
    alpha = 1 - 2 * convexity * FALL_ETA + convexity * FALL_ETA**2
    levels = np.sqrt(FALL_STEPS * of[:-1] / alpha / FALL_ERRORS[curvatures])
    return np.ceil(np.log2(levels + 1) + 1)


def shapes(outputs):
    key = lambda row: (tuple(row["model.curvatures"]), "error" in row["compression"])
    curves = outputs.curves(FALLING, key, "update", "bits")
    steps = {at: bits_of(found, FALL_NUMBERS) for at, found in curves.items()}
    figure = figure_of("bits-falling")
    words = {EVEN: "as fast as the bound", UNEVEN: "faster"}
    for curvatures, name in words.items():
        halves = np.log2(falling_parts(curvatures)) / 2
        by_error = rule(curvatures)
        places = list(range(2, FALL_STEPS + 1))
        figure.series += [
            curve_series(f"{name}, 8 bits in the mean", steps[curvatures, False]),
            line(f"{name}, 8 bits in the mean", 8, halves),
            curve_series(f"{name}, by error", steps[curvatures, True]),
            Series(f"{name}, by error", THEORY, places, list(by_error)),
        ]
    return [figure], [stays(steps), *shrinks(steps), by_rule(steps)]


def stays(steps):
    late = [
        np.array([y[len(y) // 5 :] for _, y in steps[EVEN, is_error]]) for is_error in (True, False)
    ]
    told = "; ".join(f"{one.min():g} to {one.max():g}" for one in late)
    return claim("5.stays").holds(all(one.max() - one.min() <= 1 for one in late), told)


def shrinks(steps):
    halves = np.log2(falling_parts(UNEVEN)) / 2
    expected = float(np.polyfit(np.arange(FALL_STEPS), halves, 1)[0])
    for id, is_error in (("error", True), ("mean", False)):
        yield claim(f"5.shrinks-{id}").near(jackknife(slope, steps[UNEVEN, is_error]), expected)


def by_rule(steps):
    """The share of steps with the very bits of the rule, in the worse of the two."""
    shares = [
        sample([(y == rule(curvatures)).mean() for _, y in steps[curvatures, True]])
        for curvatures in (EVEN, UNEVEN)
    ]
    return claim("5.rule").within(min(shares, key=lambda one: one.mean))
