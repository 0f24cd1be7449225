"""What DaSGD's merge does to the mean of the learners' values: item 4."""

import numpy as np
from papers.zhou2020 import claim, figure_of
from papers.zhou2020.mean import expected_losses, merged_means
from papers.zhou2020.protocols import protocol_of
from reproduce.claims import Sample, difference
from reproduce.figures import SIMULATED, THEORY, Series, curve_series, sampled
from reproduce.replicas import first_at, late, mean_at, mean_curve


def merge(outputs):
    eta = 0.05
    curves = outputs.curves("what_does_the_merge_keep", protocol_of, "update", "loss")
    means = {one: [np.sqrt(2 * y) for _, y in found] for one, found in curves.items()}
    sync = next(one for one in means if one.kind == "all-reduce")
    noise = [(y[:-1] - y[1:]) / eta - y[:-1] for y in means[sync]]
    dasgd = [one for one in means if one != sync]
    far = {}
    for one in dasgd:
        expected = [merged_means(one, kicks, eta, y[0]) for kicks, y in zip(noise, means[one])]
        far[one] = max(float(np.max(np.abs(y / z - 1))) for y, z in zip(means[one], expected))
    figure = figure_of("merge")
    for one in (each for each in dasgd if each.tau == 4 and each.xi == 0.25):
        at = list(range(len(means[one][0])))
        figure.series += [
            Series(one.name, THEORY, at, list(merged_means(one, noise[0], eta, means[one][0][0]))),
            Series(one.name, SIMULATED, at, list(means[one][0])),
        ]
    words = lambda one: f"tau = {one.tau}, d = {one.delay}, xi = {one.xi:g}"
    return [figure], [
        claim("4.merge").holds(
            max(far.values()) <= 1e-11,
            f"at most {max(far.values()):.2g}, at {words(max(far, key=far.get))}",
        )
    ]


ETA, START, LEARNERS = 0.02, 50.0, 8
PLACES = (40, 100, 160, 240)


def effective_steps(outputs):
    curves = outputs.curves("how_many_of_its_steps_count", protocol_of, "update", "loss")
    updates = int(next(iter(curves.values()))[0][0][-1])
    expected = {one: expected_losses(one, updates, ETA, 1 / LEARNERS, START) for one in curves}
    local, *delayed = sorted(curves, key=lambda one: one.delay)
    needed = {one: first_at(*mean_curve(found), START / 100) for one, found in curves.items()}
    counted = {one: 4 * needed[local] / needed[one] for one in curves}
    left = {one: late(found) for one, found in curves.items()}
    floors = {one: expected[one][updates // 2 + 4 :: 4].mean() for one in curves}
    claims = [
        claim(f"4.factor-{one.delay}").near(Sample(counted[one]), one.effective_steps())
        for one in delayed
    ]
    claims += [
        claim("4.curve").all_near(
            (f"{one.name}, update {at}", expected[one][at], mean_at(curves[one], at))
            for one in curves
            for at in PLACES
        ),
        claim("4.floor").all_near((one.name, floors[one], left[one]) for one in curves),
        claim("4.floor-falls").rising(
            [left[one] for one in (delayed[3], delayed[1], local)], gap=difference
        ),
    ]
    return [loss_figure(curves, expected), steps_figure(curves, counted)], claims


def loss_figure(curves, expected):
    figure = figure_of("delayed_loss", eta=ETA, learners=LEARNERS)
    end = 1000
    for one, found in curves.items():
        cut = [(x[x <= end], y[x <= end]) for x, y in found]
        at = list(range(0, end + 1, 4))
        figure.series += [
            Series(one.name, THEORY, at, list(expected[one][at])),
            curve_series(one.name, cut),
        ]
    return figure


def steps_figure(curves, counted):
    figure = figure_of("effective_steps")
    delays = [one.delay for one in curves]
    figure.series = [
        Series("tau = 4", THEORY, delays, [4 - 0.75 * d for d in delays]),
        sampled("tau = 4", delays, [Sample(counted[one]) for one in curves]),
    ]
    return figure
