"""How numbers and lists are said."""

import math

from markupsafe import Markup

MOST_NAMED = 3
MOST_DIGITS = 12  # of a whole number that is written out
ROUNDING = 1e-12  # of a mean: an interval that is no wider comes of rounding


def number(value, digits=3):
    """Plain digits; thousands with commas."""
    if math.isnan(value):
        return "unknown"
    if abs(value) >= 10**MOST_DIGITS:
        return f"{value:.{digits}g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return text if "e" not in text or abs(value) < 1e-4 else f"{value:f}".rstrip("0")


def rounded(value, half):
    """The value with as many decimals as two digits of the half width have."""
    if not (math.isfinite(half) and half > 0) or max(abs(value), half) >= 10**MOST_DIGITS:
        return number(value)
    decimals = max(0, 1 - math.floor(math.log10(half)))
    return f"{round(value, decimals) + 0.0:,.{decimals}f}" if decimals < 8 else number(value)


def is_exact(sample):
    """Whether its values are all equal, as those of a replayed trace are."""
    return sample.half <= ROUNDING * abs(sample.mean)


def plus_minus(sample):
    """Mean and interval of a Sample; of runs that never got there how many did."""
    if sample.never:
        return f"in {sample.replicas} of {sample.replicas + sample.never} runs"
    if not sample.replicas:
        return "-"
    if math.isnan(sample.half) or is_exact(sample):
        return number(sample.mean)
    return f"{rounded(sample.mean, sample.half)} \u00b1 {rounded(sample.half, sample.half)}"


def interval(sample):
    """A Sample's interval."""
    if math.isnan(sample.half):
        return "no interval"
    low, high = sample.mean - sample.half, sample.mean + sample.half
    return f"{rounded(low, sample.half)} to {rounded(high, sample.half)}".replace("-", "\u2212")


def chance(p):
    """A corrected p."""
    return "< 0.001" if p < 0.001 else "1" if p >= 1 else f"{p:.2g}"


def percent(share):
    return f"{round(100 * share)} %" if math.isfinite(share) else "-"


def bold(label):
    return Markup("<b>{}</b>").format(label)


def plain(text):
    """Without marks."""
    return Markup(text).striptags()


def joined(words, last="and"):
    """a, b and c; of many the first ones and how many more there are."""
    words = list(words)
    if len(words) > MOST_NAMED + 1:
        words = [*words[:MOST_NAMED], f"{len(words) - MOST_NAMED} others"]
    if len(words) < 2:
        return Markup("").join(words)
    return Markup("{} {} {}").format(Markup(", ").join(words[:-1]), last, words[-1])
