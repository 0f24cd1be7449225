"""Fig 8 on MNIST: sync with and without backups, and async, each at six rates, on three numbers of
machines. Some replicas choose the rate of each protocol, the others judge it."""

import math
from itertools import pairwise

import numpy as np
from papers.pan2017 import claim, figure_of
from papers.pan2017.fig8 import LATE, MACHINES, PROTOCOLS, Race, curves_figure, panels
from reproduce.claims import LEAST_FREEDOM, left_open, paired_difference, sample
from reproduce.figures import sampled
from reproduce.replicas import first_at, late

CHOOSING = 0.25  # of the replicas choose the rates, the others judge
COMMON = 0.0004  # the one rate at which all are compared too
TARGETS = (0.085, 0.10, 0.12, 0.15)


def protocol_and_rate(row):
    return row["protocol"], row["learning_rate.eta"]


class Rates:
    """The three protocols at every rate, on one number of machines."""

    def __init__(self, outputs, machines):
        scenario = f"fig8_who_wins_on_mnist_with_{machines}_machines"
        self.gradients = MACHINES[machines]
        self.curves, self.by_update = (
            outputs.curves(scenario, protocol_and_rate, x, "test_error") for x in ("time", "update")
        )
        self.step = outputs.samples(scenario, protocol_and_rate, "mean_iteration_time")
        self.rates = sorted({rate for _, rate in self.curves})
        count = len(self.curves["async", COMMON])
        self.choosing = max(1, int(CHOOSING * count))
        self.judging = slice(self.choosing if count > 1 else 0, None)

    def best(self, protocol):
        """The rate of the lowest end, by the replicas that choose."""
        ends = {
            rate: late(self.curves[protocol, rate][: self.choosing], LATE).mean
            for rate in self.rates
        }
        return min(ends, key=lambda rate: math.inf if math.isnan(ends[rate]) else ends[rate])

    def all_best(self):
        return {protocol: self.best(protocol) for protocol in PROTOCOLS}

    def race(self, rates):
        """At the rates {protocol: rate}, the curves of the replicas that judge."""
        curves, by_update = (
            {protocol: found[protocol, rate][self.judging] for protocol, rate in rates.items()}
            for found in (self.curves, self.by_update)
        )
        step = {protocol: self.step[protocol, rate] for protocol, rate in rates.items()}
        return Race(curves, by_update, step, self.gradients, TARGETS[0])


def fig8_mnist(outputs):
    swept = {machines: Rates(outputs, machines) for machines in MACHINES}
    best = {machines: one.race(one.all_best()) for machines, one in swept.items()}
    common = {m: one.race(dict.fromkeys(PROTOCOLS, COMMON)) for m, one in swept.items()}
    figures = [rates_figure(machines, one) for machines, one in swept.items()]
    figures += [curves_figure(m, race, "test", "A small mlp") for m, race in best.items()]
    figures += panels(best, "test", "A small mlp")
    told = {machines: told_rates(one.all_best()) for machines, one in swept.items()}
    at_best = {m: f"each at the rate of its lowest end ({words})" for m, words in told.items()}
    at_common = dict.fromkeys(MACHINES, f"one rate, {COMMON:g} of each gradient")
    claims = [*errors(best, at_best), *crossover(best, at_best, "best-")]
    claims += crossover(common, at_common, "")
    return figures, undecided(claims, best) if judges(best) <= LEAST_FREEDOM else claims


def judges(races):
    return len(races[53].curves["async"])


def undecided(claims, races):
    """As quick forms leave them."""
    reason = f"{judges(races)} replicas judge; it takes {LEAST_FREEDOM + 1}"
    return [left_open(one, reason) for one in claims]


def told_rates(rates):
    return ", ".join(f"{PROTOCOLS[protocol]} {rate:g}" for protocol, rate in rates.items())


# ---- Item 9: final errors


def errors(races, rates):
    gaps = {machines: race.gap() for machines, race in races.items()}
    for machines, gap in gaps.items():
        yield claim(f"9.mnist-{machines}", rates=rates[machines]).above(gap)
    for few, many in pairwise(MACHINES):
        yield claim(f"9.mnist-gap-{many}").above(paired_difference(gaps[many], gaps[few]))


# ---- Item 10: who is first


class Lead:
    """ln of one protocol's time to a target over another's, a value a replica; where the one is never
    there it counts as if it were at the end of its run, so that it is at least so much."""

    def __init__(self, slow, fast, target):
        times = [[first_at(*one, target) for one in curves] for curves in (slow, fast)]
        slow_is_never, fast_is_never = (~np.isfinite(found) for found in times)
        self.never, self.count = int(slow_is_never.sum()), len(slow)
        self.is_known = not fast_is_never.any()
        if self.is_known:
            ends = [x[-1] for x, _ in slow]
            self.sample = sample(np.log(np.minimum(times[0], ends) / times[1]))

    def told(self, name):
        """The ratio of times, and how often the slow one never comes."""
        at_least = "at least " if self.never else ""
        ratio = f"{at_least}{math.exp(self.sample.mean):.3f} (ln: {self.sample})"
        return ratio + f"; {name} is never there in {self.never} of {self.count}" * (self.never > 0)


def crossover(races, rates, ending):
    for target in TARGETS:
        for machines, race in races.items():
            yield first_at_target(machines, race.curves, target, rates[machines], ending)
        yield margin(races, target, ending)


def first_at_target(machines, curves, target, rates, ending):
    first, last = ("async", "backup") if machines == 53 else ("backup", "async")
    one = claim(f"10.mnist-{ending}{machines}-{100 * target:g}", rates=rates)
    lead = Lead(curves[last], curves[first], target)
    if lead.is_known:
        return one.above(lead.sample, told=lead.told(PROTOCOLS[last]))
    return one.skipped(f"{PROTOCOLS[first]} is not there in all replicas")


def margin(races, target, ending):
    """Only where few machines are always there is it known that it rises."""
    one = claim(f"10.mnist-{ending}margin-{100 * target:g}")
    leads = [Lead(race.curves["async"], race.curves["backup"], target) for race in races.values()]
    if not all(lead.is_known for lead in leads) or any(lead.never for lead in leads[:-1]):
        return one.skipped("not all replicas are there on 53 and 106 machines")
    gaps = [paired_difference(many.sample, few.sample) for few, many in pairwise(leads)]
    return one.all_above(gaps, "; ".join(lead.told("async") for lead in leads))


def rates_figure(machines, swept):
    figure = figure_of("fig8_rates_{machines}", machines=machines)
    for protocol, name in PROTOCOLS.items():
        ends = [late(swept.curves[protocol, rate], LATE) for rate in swept.rates]
        figure.series.append(sampled(name, swept.rates, ends))
    return figure
