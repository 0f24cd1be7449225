"""How groups average: items 1, 2 and 9."""

import numpy as np
from papers.luo2019 import claim, figure_of
from reproduce.claims import THEORY, Sample, sample
from reproduce.figures import Series, sampled

ETA, CURVATURE, NOISE = 0.1, 1.0, 1.0
KEPT = 1 - ETA * CURVATURE  # of a distance, in a step
ADDED = ETA**2 * NOISE**2  # to the expected ||x||^2 of a learner, in a step
LEARNERS = 16
START = 40  # steps, of whole cycles, until the start is forgotten


def mean(outputs):
    scenario = "does_the_mean_stay"
    protocols, hashes = (
        outputs.keys(scenario, lambda row, name=name: row[name])
        for name in ("sweep.protocol", "final_hash")
    )
    curves = outputs.curves(scenario, lambda row: row["point"], "time", "loss")
    reference, *losses = (found[0][1] for found in curves.values())  # first All-Reduce
    far = [float(np.max(np.abs(one / reference - 1))) for one in losses]
    label = outputs.folder_of(scenario).points[1 + int(np.argmax(far))].label
    is_of_all = lambda one: one.get("group") == LEARNERS or one.get("tau") == 1
    of_all = [hashes[at] for at, one in protocols.items() if is_of_all(one)]
    (alone,) = (hashes[at] for at, one in protocols.items() if one.get("group") == 1)
    return [], [
        claim("1.mean").holds(max(far) <= 1e-12, f"at most {max(far):.2g} ({label})"),
        claim("1.all").holds(len(of_all) == 3 and len(set(of_all)) == 1, ", ".join(of_all)),
        claim("1.alone").holds(
            alone not in of_all, "another" if alone not in of_all else "the same"
        ),
    ]


# ---- disagreement of a long run: S, the covariance of the learners in one coordinate times their number


def projections(partition, learners):
    """F of a partition: the average within its groups."""
    matrix = np.zeros((learners, learners))
    for group in partition:
        matrix[np.ix_(group, group)] = 1 / len(group)
    return matrix


def disagreement(S):
    """The expected mean over learners of ||x_i - mean||^2."""
    n = len(S)
    return float(np.trace(S) - S.sum() / n) / n


def static_partition(phase, learners):
    """The groups of a phase; whoever is in none is alone."""
    nodes = [list(range(first, first + 4)) for first in range(0, learners, 4)]
    if phase % 2 == 1:
        return nodes
    across, alone, pair = (0, 1, (2, 3)) if phase == 0 else (1, 2, (0, 3))
    groups = [[node[across] for node in nodes]]
    for node in nodes:
        groups += [[node[alone]], [node[i] for i in pair]]
    return groups


def static_disagreement(learners):
    """After each phase of a cycle, in the long run."""
    averages = [projections(static_partition(phase, learners), learners) for phase in range(4)]
    S = np.zeros((learners, learners))
    for _ in range(100):
        after = []
        for F in averages:
            S = F @ (KEPT**2 * S + ADDED * np.eye(learners)) @ F
            after.append(disagreement(S))
    return after


def contraction(learners):
    """Of the distance from agreement, in a cycle of phases: the largest."""
    cycle = np.eye(learners)
    for phase in range(4):
        cycle = projections(static_partition(phase, learners), learners) @ cycle
    return float(np.linalg.norm(cycle - np.full_like(cycle, 1 / learners), 2))


def whole_steps(curves):
    """[replica, step]: the disagreement half a step after each step, from START on."""
    found = []
    for time, values in curves:
        at_half = (np.floor(time) != time) & (time > START + 1)
        found.append(values[at_half])
    return np.array(found)


def static(outputs):
    scenario = "how_much_does_the_static_schedule_agree"
    learners = lambda row: row["cluster.learners"]
    curves = outputs.curves(scenario, learners, "time", "disagreement")
    figure = figure_of("static-agreement", ticks=[f"phase {phase}" for phase in range(4)])
    claims = []
    for n, found in sorted(curves.items()):
        steps = whole_steps(found)
        expected = static_disagreement(n)
        by_phase = [sample(steps[:, phase::4].mean(axis=1)) for phase in range(4)]
        figure.series += [
            Series(f"P = {n}", THEORY, list(range(4)), expected),
            sampled(f"P = {n}", list(range(4)), by_phase),
        ]
        claims.append(
            claim(f"2.table-{n}").all_near(
                (f"phase {phase}", expected[phase], by_phase[phase]) for phase in range(4)
            )
        )
        claims.append(claim(f"2.contraction-{n}").near(Sample(contraction(n))))
    return [figure], claims


def groups(outputs):
    """A random partition of n into m groups leaves rho = (m - 1) / (n - 1) of a squared distance."""
    scenario = "how_much_do_groups_agree"
    size = lambda row: row["sweep.protocol"].get("group", 3)
    curves = outputs.curves(scenario, size, "time", "disagreement")
    n, sizes = 16, sorted(curves)
    rho = {g: (round(n / g) - 1) / (n - 1) for g in sizes}
    expected = {g: rho[g] * ADDED * (1 - 1 / n) / (1 - rho[g] * KEPT**2) for g in sizes}
    found = {g: sample(whole_steps(curves[g]).mean(axis=1)) for g in sizes}
    figure = figure_of("agreement")
    figure.series = [
        Series("group division", THEORY, sizes, [expected[g] for g in sizes]),
        sampled("group division", sizes, [found[g] for g in sizes]),
    ]
    return [figure], [
        claim("9.rho").all_near((f"groups of {g}", expected[g], found[g]) for g in sizes)
    ]
