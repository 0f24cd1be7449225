"""Fig 1: how stale gradients are, 30 learners: item 4."""

from papers.zhang2016 import claim, figure_of
from reproduce.claims import against_one_run, sample
from reproduce.figures import sampled

NS = (1, 15, 30)

# Law: shares of staleness 0, 1, 2 for n = 1; share beyond 2 n for n = 1, 15, 30; the largest of
# 200,000 for n = 15, 30.
TABLE_ROWS = {
    "normal, 1 %": ((0.034, 0.965, 0.001), (0, 0, 0), (17, 34)),
    "normal, 5 %": ((0.045, 0.944, 0.011), (0, 0, 0), (20, 39)),
    "normal, 10 %": ((0.063, 0.908, 0.029), (0, 0, 0), (23, 45)),
    "normal, 20 %": ((0.101, 0.832, 0.067), (0, 0, 0), (29, 59)),
    "normal, 30 %": ((0.139, 0.756, 0.105), (4e-5, 3.3e-4, 3.6e-4), (34, 69)),
    "0.5 + exp(0.5)": ((0.202, 0.650, 0.129), (0.019, 0.042, 0.043), (96, 191)),
    "exp(1)": ((0.383, 0.394, 0.143), (0.080, 0.124, 0.126), (180, 359)),
}
LOW_JITTER = ("normal, 1 %", "normal, 5 %", "normal, 10 %", "normal, 20 %")


def law_name(row):
    law = row["cluster.runtime"]
    if law["distribution"] == "normal":
        return f"normal, {100 * law['sd']:g} %"
    return {"exponential": "exp(1)", "shifted-exponential": "0.5 + exp(0.5)"}[law["distribution"]]


def protocol_name(row):
    """ "n = 6" of softsync, else the kind."""
    protocol = row["sweep.protocol"]
    return f"n = {protocol['n']}" if "n" in protocol else protocol["kind"]


def point_of(row):
    return law_name(row), row["protocol.n"]


def share(counts, wanted):
    """The Sample of the share of gradients whose staleness is wanted."""
    return sample(
        [sum(n for tau, n in one.items() if wanted(tau)) / sum(one.values()) for one in counts]
    )


def mode(counts):
    """The most frequent staleness of all replicas."""
    total = {}
    for one in counts:
        for tau, n in one.items():
            total[tau] = total.get(tau, 0) + n
    return max(total, key=total.get)


def fig1(outputs):
    counts = outputs.staleness("fig1_how_stale_is_a_gradient", point_of)
    return list(histograms(counts)), [*table(counts), *published_bound(counts)]


def histograms(counts):
    for n in NS:
        figure = figure_of("fig1_{n}", n=n, marks=[n, 2 * n])
        shown = (*LOW_JITTER[1:], "normal, 30 %", "exp(1)")
        for law in shown:
            taus = range(0, 2 * n + 2 + n // 3)
            found = [share(counts[law, n], lambda tau, at=tau: tau == at) for tau in taus]
            figure.series.append(sampled(law, list(taus), found, is_curve=True))
        yield figure


def table(counts):
    for tau in range(3):
        yield claim(f"4.share-{tau}").all_near(
            (
                law,
                row[0][tau],
                against_one_run(share(counts[law, 1], lambda t: t == tau), 0.001),
            )
            for law, row in TABLE_ROWS.items()
        )
    for i, n in enumerate(NS):
        values = []
        for law, row in TABLE_ROWS.items():
            unit = 0.001 if row[1][i] > 0.01 else 1e-5
            one = against_one_run(share(counts[law, n], lambda tau: tau > 2 * n), unit)
            values.append((law, row[1][i], one))
        yield claim(f"4.beyond-{n}").all_near(values)
    for i, n in enumerate(NS[1:]):
        yield claim(f"4.largest-{n}").all_near(
            (law, row[2][i], against_one_run(sample([max(one) for one in counts[law, n]]), 1))
            for law, row in TABLE_ROWS.items()
        )


def published_bound(counts):
    beyond = lambda law, n: share(counts[law, n], lambda tau: tau > 2 * n)
    yield from low_jitter("", {law: {n: counts[law, n] for n in NS} for law in LOW_JITTER})
    for name, law, is_met in (
        ("25", "normal, 25 %", lambda p: p < 1e-4),
        ("30", "normal, 30 %", lambda p: p > 1e-4),
        ("exponential", "exp(1)", lambda p: p > 0.05),
    ):
        found = [beyond(law, n) for n in NS[1:]]
        yield claim(f"4.jitter-{name}").holds(
            all(is_met(one.mean) for one in found), " and ".join(map(str, found))
        )


def low_jitter(ending, laws):
    """What Fig 1 shows; laws: {name: {n: counts}}."""
    ones = {law: max(max(one) for one in found[1]) for law, found in laws.items()}
    yield claim(f"4.window{ending}").holds(max(ones.values()) <= 2, f"largest {max(ones.values())}")
    shares = [
        (law, n, share(found[n], lambda tau, n=n: tau > 2 * n))
        for law, found in laws.items()
        for n in NS
    ]
    law, n, worst = max(shares, key=lambda one: one[2].mean)
    yield claim(f"4.bound{ending}").holds(worst.mean < 1e-4, f"at most {worst} ({law}, n = {n})")
    modes = {(law, n): mode(found[n]) for law, found in laws.items() for n in NS}
    yield claim(f"4.mode{ending}").holds(
        all(n - 1 <= value <= n for (_, n), value in modes.items()),
        " ".join(map(str, modes.values())),
    )


def fig1_in_step(outputs):
    key = lambda row: (f"normal, {100 * row['cluster.runtime.sd']:g} %", row["protocol.n"])
    counts = outputs.staleness("fig1_from_a_start_in_step", key)
    laws = {law: {n: counts[law, n] for n in NS} for law in LOW_JITTER}
    largest = sample([max(one) for one in counts["normal, 1 %", 30]])
    return [], [*low_jitter("-in-step", laws), claim("4.start").near(largest)]
