"""One message: its error, its bytes, its time: items 1, 2 and 6, and of item 3 a single step."""

import math

from papers.yan2021 import claim, figure_of
from papers.yan2021.codes import WHOLE, bytes_of, fixed_bits, whole_bits
from reproduce.claims import sample
from reproduce.figures import THEORY, Series, sampled

ONE_STEP = "how_large_is_the_error_of_a_message"
LEARNERS = 4
ETA = 0.5  # of the step
NUMBERS = 100
MIDDLE = 15  # levels: every number lies in the middle between two
COST = "what_does_a_message_cost"
MANY = "is_it_sgd_with_many_levels"


def variance(levels):
    """E||Q(v) - v||^2 / ||v||^2 where all |v_i| / ||v|| are d^-1/2."""
    position = levels / math.sqrt(NUMBERS)
    part = position - math.floor(position)
    return NUMBERS * part * (1 - part) / levels**2


def quarter(levels):
    """Its bound in the rule for bits."""
    return NUMBERS / (4 * levels**2)


def textbook(levels):
    """Its bound by Alistarh et al., 2017."""
    return min(NUMBERS / levels**2, math.sqrt(NUMBERS) / levels)


def error(outputs):
    levels_of = lambda row: row["compression"]["levels"]
    curves = outputs.curves(ONE_STEP, levels_of, "update", "compression_error")
    errors = {s: sample([y[-1] for _, y in found]) for s, found in curves.items()}
    losses = outputs.samples(ONE_STEP, levels_of, "final_loss")
    start = NUMBERS / 2
    after = lambda one: start * ((1 - ETA) ** 2 + ETA**2 * one / LEARNERS)
    levels = sorted(errors)
    few = [s for s in levels if s < math.sqrt(NUMBERS)]
    figure = figure_of("message-error")
    figure.series = [
        sampled("a message", levels, (errors[s] for s in levels)),
        Series("sum of p (1 - p) / s^2", THEORY, levels, [variance(s) for s in levels]),
        Series("bound d / (4 s^2)", THEORY, levels, [quarter(s) for s in levels]),
        Series("bound min(d / s^2, d^1/2 / s)", THEORY, levels, [textbook(s) for s in levels]),
    ]
    over = max(errors[s].mean / min(quarter(s), textbook(s)) for s in levels)
    return [figure], [
        claim("1.variance").all_near((f"s = {s}", variance(s), errors[s]) for s in levels),
        claim("1.few-levels").all_near(
            (f"s = {s}", math.sqrt(NUMBERS) / s - 1, errors[s]) for s in few
        ),
        claim("1.bounds").holds(over <= 1 + 1e-5, f"at most {over:.6g} of the lower bound"),
        claim("1.unbiased").all_near((f"s = {s}", after(variance(s)), losses[s]) for s in levels),
        claim("3.one-step").near(losses[MIDDLE], after(quarter(MIDDLE))),
    ]


def cost(outputs):
    settings = outputs.manifest(COST)["scenario"]
    network, numbers = settings["cluster"]["network"], settings["model"]["dimensions"]
    updates = settings["stop"]["updates"]
    bits_of = lambda row: fixed_bits(row) or "dq-sgd"
    pushed = outputs.samples(COST, bits_of, "bytes_pushed")
    times = outputs.samples(COST, bits_of, "mean_iteration_time")
    # All computes at once, and what passes the link shares it.
    time_of = lambda size: 1.25 + LEARNERS * (size + network["model_bytes"]) / network["bandwidth"]
    by_step = pushed.pop("dq-sgd")
    dq_time = times.pop("dq-sgd")
    sizes = {bits: bytes_of(bits, numbers) for bits in pushed}
    (column,) = outputs.series(COST, bits_of, "curve", "bits")["dq-sgd"]
    steps = [bytes_of(bits, numbers) for bits in whole_bits(column[1:], numbers)]
    figure = figure_of("message-time")
    bits = sorted(sizes)
    figure.series = [
        sampled("an update", bits, (times[one] for one in bits)),
        Series("1.25 + bytes / bandwidth", THEORY, bits, [time_of(sizes[one]) for one in bits]),
    ]
    return [figure], [
        claim("2.bytes").all_near(
            (f"{one} bits", LEARNERS * updates * sizes[one], pushed[one]) for one in bits
        ),
        claim("2.time").all_near((f"{one} bits", time_of(sizes[one]), times[one]) for one in bits),
        claim("2.bytes-by-step").near(by_step, LEARNERS * sum(steps)),
        claim("2.time-by-step").near(dq_time, time_of(sum(steps) / updates)),
    ]


def many_levels(outputs):
    kind = lambda row: (
        row["compression"]["kind"], row["compression"].get("levels"),
        row["compression"].get("bits"),
    )  # fmt: skip
    losses = outputs.series(MANY, kind, "curve", "loss")
    hashes = outputs.values(MANY, kind, "final_hash")
    whole, many = losses["qsgd", None, WHOLE], losses["qsgd", 2**23 - 1, None]
    apart = max(float((abs(a - b) / a).max()) for a, b in zip(whole, many))
    return [], [
        claim("6.many").holds(apart < 1e-6, f"{apart:.2g} at most"),
        claim("6.terngrad").holds(
            hashes["qsgd", 1, None] == hashes["terngrad", None, None]
            and hashes["qsgd", 1, None] != hashes["qsgd", None, WHOLE],
            f"{hashes['qsgd', 1, None][0]} and {hashes['terngrad', None, None][0]}",
        ),
    ]
