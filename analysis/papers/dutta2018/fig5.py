"""Fig 5: how much faster async updates than sync."""

from claims import LONG_RUN, Sample, Tolerance, all_near, disagrees, holds, ordered, ratio
from figures import PLOTTED, SIMULATED, THEORY, Figure, Series
from outputs import band_of, digitised, law_of, means
from papers.laws import LAWS, NAME, speedup


def fig5(outputs):
    key = lambda row: (law_of(row), int(row["learners"]), row["protocol"])
    times = outputs.samples("fig5_how_much_faster_is_async", key, "mean_iteration_time")
    learners = sorted({p for _, p, _ in times})
    measured = {
        (law, p): ratio(times[law, p, "sync"], times[law, p, "async"])
        for law in LAWS[:3]
        for p in learners
    }
    read = [
        (row["law"], int(row["learners"]), float(row["speedup"]))
        for row in digitised("dutta2018", "fig5")
    ]
    figure = Figure(
        "fig5",
        "Fig 5: how much faster async updates than sync",
        "P (learners)",
        "speed-up",
        log_y=True,
    )
    for law in LAWS[:3]:
        samples = [measured[law, p] for p in learners]
        seen = [(p, y) for name, p, y in read if name == law]
        figure.series += [
            Series(NAME[law], THEORY, learners, [speedup(law, p) for p in learners]),
            Series(NAME[law], SIMULATED, learners, means(samples), band_of(samples)),
            Series(NAME[law], PLOTTED, [p for p, _ in seen], [y for _, y in seen]),
        ]
    return [figure], [*fig5_values(measured, read), *fig5_order(measured)]


def fig5_values(measured, read):
    for law in LAWS[:3]:
        places = [p for name, p, _ in read if name == law]
        yield all_near(
            f"8.exact-{law}",
            "Theorem 1",
            f"{NAME[law]}, P = {', '.join(map(str, places))}: speed-up P E[X_{{P:P}}] / E[X]",
            [(f"P = {p}", speedup(law, p), measured[law, p]) for p in places],
            LONG_RUN,
        )
        yield all_near(
            f"8.plotted-{law}",
            "Fig 5",
            f"{NAME[law]}: the plotted speed-ups, against the simulated ones",
            [(f"P = {p}", measured[law, p].mean, Sample(y)) for name, p, y in read if name == law],
            Tolerance(relative=0.08),
        )
    yield disagrees(
        "8.cold",
        "Fig 5 against Theorem 1",
        "1 + exp(1), P = 20: the plotted speed-up is P E[X_{P:P}] / E[X] (it fits some 100 "
        "iterations from a cold start)",
        speedup("shifted-exponential", 20),
        next(y for name, p, y in read if (name, p) == ("shifted-exponential", 20)),
        Tolerance(relative=0.05),
    )


def fig5_order(measured):
    orders = ((12, "pareto", "exponential"), (13, "exponential", "pareto"))
    exact = {p: speedup("pareto", p) - speedup("exponential", p) for p, _, _ in orders}
    yield holds(
        "8.crossing-exact",
        "Theorem 1",
        "Pareto(2, 1) overtakes exp(1) between P = 12 and P = 13, in closed form",
        "difference < 0 at 12, > 0 at 13",
        exact[12] < 0 < exact[13],
        f"{exact[12]:.4f} and {exact[13]:.4f}",
    )
    yield ordered(
        "8.crossing",
        "Fig 5",
        "simulated: exp(1) gains no less at P = 12, Pareto(2, 1) at P = 13",
        [(f"P = {p}", measured[low, p], measured[high, p]) for p, low, high in orders],
    )
    yield ordered(
        "8.shifted",
        "Fig 5",
        "1 + exp(1) gains least from async, P = 2 to 20",
        [
            (f"P = {p}", measured["shifted-exponential", p], measured[law, p])
            for p in range(2, 21)
            for law in ("exponential", "pareto")
        ],
    )
