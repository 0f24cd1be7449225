"""Bytes and times of messages, and when they take less than whole gradients: items 1 to 3."""

from papers.vogels2019 import claim, figure_of
from papers.vogels2019.codes import SIGN, TOP_K, WHOLE, bytes_of, factors, name_of
from reproduce.figures import THEORY, Series, sampled

COST = "what_does_a_message_cost"
LATENCY = "when_does_it_pay"
MORE = "what_do_more_learners_cost"
RANK = 2


def exchange_time(size, learners, network, rounds=1):
    """Of a ring that adds so many bytes, in so many collectives."""
    ahead = 2 * (learners - 1)
    return (
        rounds * ahead * network.get("latency", 0) + ahead / learners * size / network["bandwidth"]
    )


def gather_time(size, learners, network):
    """Of a ring that carries each message to all."""
    return (learners - 1) * (network.get("latency", 0) + size / network["bandwidth"])


def codes_of(outputs, scenario):
    """{name: (bytes of a message, collectives that it takes)}."""
    settings = outputs.manifest(scenario)["scenario"]
    return {
        name_of({"compression": code}): (
            bytes_of(code, settings), 2 if code["kind"] == "power" else 1,
        )
        for code in settings["sweep"]["compression"]
    }  # fmt: skip


def cost(outputs):
    settings = outputs.manifest(COST)["scenario"]
    learners, network = settings["cluster"]["learners"], settings["cluster"]["network"]
    codes, updates = codes_of(outputs, COST), settings["stop"]["updates"]
    sent = outputs.samples(COST, name_of, "bytes_sent")
    messages = outputs.samples(COST, name_of, "messages")
    times = outputs.samples(COST, name_of, "mean_iteration_time")
    expected = {
        name: 1 + exchange_time(size, learners, network, rounds)
        for name, (size, rounds) in codes.items()
    }
    ranks = [code["rank"] for code in settings["sweep"]["compression"] if code["kind"] == "power"]
    names = [factors(rank) for rank in ranks]
    figure = figure_of("message-time")
    figure.series = [
        sampled("an update", ranks, (times[name] for name in names)),
        Series("of the formula", THEORY, ranks, [expected[name] for name in names]),
        Series(WHOLE, THEORY, ranks, [expected[WHOLE]] * len(ranks)),
    ]
    around = 2 * (learners - 1) * updates
    return [figure], [
        claim("1.bytes").all_near(
            (name, around * size, sent[name]) for name, (size, _) in codes.items()
        ),
        claim("2.time").all_near((name, expected[name], times[name]) for name in codes),
        claim("2.collectives").all_near(
            (name, around * learners * rounds, messages[name])
            for name, (_, rounds) in codes.items()
        ),
    ]


def latency(outputs):
    settings = outputs.manifest(LATENCY)["scenario"]
    learners, network = settings["cluster"]["learners"], settings["cluster"]["network"]
    codes = codes_of(outputs, LATENCY)
    key = lambda row: (row["cluster.network.latency"], name_of(row))
    times = outputs.samples(LATENCY, key, "mean_iteration_time")
    few, whole = factors(RANK), WHOLE
    level = (codes[whole][0] - codes[few][0]) / (learners * network["bandwidth"])
    latencies = sorted({one for one, _ in times})
    figure = figure_of("latency")
    for name, (size, rounds) in codes.items():
        figure.series += [
            sampled(name, latencies, (times[one, name] for one in latencies)),
            Series(
                name, THEORY, latencies,
                [1 + exchange_time(size, learners, network | {"latency": one}, rounds) for one in latencies],
            ),
        ]  # fmt: skip
    figure.marks = [level]
    sooner = {one: times[one, whole].mean - times[one, few].mean for one in latencies}
    right = all(
        (gap > 0) == (one < level) for one, gap in sooner.items() if abs(one / level - 1) > 1e-9
    )
    at_level = min(latencies, key=lambda one: abs(one - level))
    told = "; ".join(f"{one:g}: {gap:.4g}" for one, gap in sooner.items())
    return [figure], [
        claim("3.latency", level=level).holds(right, told),
        claim("3.equal", level=level).near(times[at_level, few], times[at_level, whole].mean),
    ]


def learners(outputs):
    settings = outputs.manifest(MORE)["scenario"]
    network, codes = settings["cluster"]["network"], codes_of(outputs, MORE)
    key = lambda row: (row["cluster.learners"], name_of(row))
    times = outputs.samples(MORE, key, "mean_iteration_time")
    counts = sorted({one for one, _ in times})
    gathered = (TOP_K, SIGN)

    def expected(name, count):
        size, rounds = codes[name]
        if name in gathered:
            return 1 + gather_time(size, count, network)
        return 1 + exchange_time(size, count, network, rounds)

    figure = figure_of("learners")
    for name in codes:
        figure.series += [
            sampled(name, counts, (times[one, name] for one in counts)),
            Series(name, THEORY, counts, [expected(name, one) for one in counts]),
        ]
    levels = {name: 2 * codes[WHOLE][0] / codes[name][0] for name in gathered}
    right = all(
        (times[one, name].mean > times[one, WHOLE].mean) == (one > levels[name])
        for name in gathered
        for one in counts
    )
    share = codes[factors(RANK)][0] / codes[WHOLE][0]
    exchange = lambda one, name: times[one, name].mean - 1
    shares = [exchange(one, factors(RANK)) / exchange(one, WHOLE) for one in counts]
    told = "; ".join(f"{name}: from {level:.1f} learners on" for name, level in levels.items())
    return [figure], [
        claim("3.time").all_near(
            (f"{name}, {one}", expected(name, one), times[one, name])
            for name in codes
            for one in counts
        ),
        claim("3.gathered").holds(right, told),
        claim("3.factors", share=share).holds(
            max(abs(one / share - 1) for one in shares) < 1e-9,
            f"{min(shares):.6f} to {max(shares):.6f}",
        ),
    ]
