"""Momentum after the switch: A8."""

from papers.li2021 import claim, figure_of
from papers.li2021.trained import accuracies, with_gaps
from reproduce.claims import paired_difference
from reproduce.figures import curve_series, sampled
from reproduce.replicas import best_of, judging, mean_at

SCENARIO = "setup1_which_momentum_after_the_switch"
TASK = "setup 1, a perceptron of 64 units on 8 x 8 digits in place of ResNet32 on CIFAR-10, switch at 10 %"
# As `momentum` of the second phase has it; mean accuracy in the released logs.
UNCHANGED, TWO_STAGE, LINEAR = "unchanged", "two-stage", "linear"
NON_LINEAR, FIXED, ZERO = "non-linear", "scaled", "zero"
LOGS = {
    UNCHANGED: 0.9142,
    TWO_STAGE: 0.9116,
    LINEAR: 0.9051,
    NON_LINEAR: 0.8970,
    FIXED: 0.892,
    ZERO: 0.869,
}
VARIANTS = {
    (): UNCHANGED,
    (0,): ZERO,
    (0.1125,): FIXED,
    (0.1125, 0.9): TWO_STAGE,
    (0.1125, 0.225, 0.45, 0.9): NON_LINEAR,
}
RIGHT_AFTER = 0.131  # share of the work; the switch is at 0.1
TIE = 0.005
ONE_RATE = 0.0145  # of SCENARIO


def variant(row):
    momenta = row["sweep.protocol"]["phases"][1].get("momentum", [])
    return VARIANTS.get(tuple(momenta), LINEAR)


def momentum(outputs):
    final = accuracies(outputs, SCENARIO, variant)
    found = outputs.curves(SCENARIO, variant, "gradients", "test_error")
    curves = {name: [(x / x[-1], 1 - y) for x, y in of] for name, of in found.items()}
    claims = [*at_the_end(final), *after_the_switch(curves)]
    ends = with_gaps(figure_of("momentum_final", task=TASK), "momentum", final, LOGS)
    return [curves_figure(curves), ends], claims


def at_the_end(final):
    for high, low in ((UNCHANGED, LINEAR), (LINEAR, NON_LINEAR), (FIXED, ZERO)):
        gap = paired_difference(final[high], final[low])
        yield claim(f"A8.{high}-{low}".replace(" ", "-")).above(
            gap, told=f"{gap} ({final[high]} and {final[low]})"
        )
    for one, other in ((NON_LINEAR, FIXED), (UNCHANGED, TWO_STAGE)):
        gap = paired_difference(final[one], final[other])
        yield claim(f"A8.{one}-{other}".replace(" ", "-")).holds(abs(gap.mean) <= TIE, gap)


def after_the_switch(curves):
    then = {name: mean_at(of, RIGHT_AFTER) for name, of in curves.items()}
    gaps = [paired_difference(then[name], then[UNCHANGED]) for name in (FIXED, ZERO)]
    yield claim("A8.after").all_above(
        gaps, told=", ".join(f"{name}: {then[name]}" for name in (UNCHANGED, FIXED, ZERO))
    )


def curves_figure(curves):
    return figure_of(
        "momentum",
        task=TASK,
        marks=[0.1, 0.5],
        series=[curve_series(name, curves[name]) for name in LOGS],
    )


def momentum_at_its_own_rate(outputs):
    """Is what zero momentum loses a matter of the rate, which is that of unchanged momentum?"""
    key = lambda row: (variant(row), row["learning_rate.eta"])
    errors = outputs.samples("setup1_which_momentum_at_its_own_rate", key, "final_test_error")
    rates = sorted({rate for _, rate in errors})
    arms = (UNCHANGED, ZERO)
    best = {arm: best_of({rate: errors[arm, rate] for rate in rates}) for arm in arms}
    lost = [
        paired_difference(judging(errors[ZERO, zero]), judging(errors[UNCHANGED, unchanged]))
        for zero, unchanged in ((ONE_RATE, ONE_RATE), (best[ZERO], best[UNCHANGED]))
    ]
    told = ", ".join(f"{arm}: {best[arm]:g}" for arm in arms)
    figure = figure_of(
        "momentum_rates",
        task=TASK,
        series=[sampled(arm, rates, [errors[arm, rate] for rate in rates]) for arm in arms],
    )
    return [figure], [
        claim("A8.own-rate", rates=told).above(
            paired_difference(*lost),
            told=f"test error above that of unchanged momentum: {lost[0]} at one rate, {lost[1]} at the best",
        )
    ]
