"""TensorFlow's Fig 8 (Abadi et al., OSDI 2016): how many backups of 50 pay for their machines."""

import numpy as np
from papers.pan2017 import claim, figure_of
from reproduce.claims import Sample, difference, plus, ratio, sample, times
from reproduce.figures import PLOTTED, SIMULATED, Series, sampled
from reproduce.outputs import means

BACKUPS = range(9)
BEST, BEST_GAIN = 3, 1.095  # in the paper
SHORTEST, SHORTEST_STEP = 4, 1.93
FREE, NULL_STEPS, SLOW = "no network", "2.35 ms a transfer", "7 ms a transfer"
LINKS = {1e9: FREE, 425.0: NULL_STEPS, 143.0: SLOW}  # by bandwidth, models a second
SHORT = {FREE: "free", NULL_STEPS: "null-steps", SLOW: "slow"}
PARTS = 40


def of_parts(statistic, times):
    """With a standard error from those of parts of the run, which are as good as independent."""
    parts = [statistic(part) for part in np.array_split(times, PARTS)]
    return Sample(float(statistic(times)), sample(parts).error, PARTS - 1)


def setting(row):
    return LINKS[row["cluster.network.bandwidth"]], row["learners"] - 50


class Steps:
    """Median or mean steps: {(link, b): Sample}."""

    def __init__(self, name, samples):
        self.name, self.samples = name, samples

    def of(self, link):
        return [self.samples[link, b] for b in BACKUPS]

    def gains(self, link):
        """t(0) / t(b) 50 / (50 + b)."""
        steps = means(self.of(link))
        return [steps[0] / steps[b] * 50 / (50 + b) for b in BACKUPS]


def backups_of_50(outputs):
    found = outputs.updates("how_many_backups_for_50", setting, "iteration_time")
    times = {key: replicas[0] for key, replicas in found.items()}
    medians = Steps("median", {key: of_parts(np.median, one) for key, one in times.items()})
    averages = Steps("mean", {key: of_parts(np.mean, one) for key, one in times.items()})
    claims = [shortens(medians), *falls(medians), *interior(medians), *interior(averages)]
    claims += [*best(medians), *fifth(averages)]
    return [steps_figure(medians), gain_figure(medians)], claims


def shortens(medians):
    gain = times(ratio(medians.of(FREE)[0], medians.of(FREE)[BEST]), 50 / (50 + BEST))
    return claim("8.three").near(gain)


def falls(medians):
    for link in (FREE, NULL_STEPS):
        yield claim(f"8.median-{SHORT[link]}").rising(medians.of(link)[4::-1], gap=difference)


def interior(steps):
    for link in (FREE, NULL_STEPS):
        gain = steps.gains(link)
        at = int(np.argmax(gain))
        yield claim(f"8.gain-{steps.name}-{SHORT[link]}").holds(
            1 <= at <= 7,
            f"b = {at}: {100 * (gain[at] - 1):+.1f} %; b = 3: {100 * (gain[3] - 1):+.1f} %",
        )


def best(medians):
    for link in (FREE, NULL_STEPS):
        steps = medians.of(link)
        gains = [times(ratio(steps[0], steps[b]), 50 / (50 + b)) for b in BACKUPS]
        yield claim(f"8.best-{SHORT[link]}").ordered(
            [(f"b = {b}", gains[b], gains[BEST]) for b in BACKUPS if b != BEST], gap=difference
        )


def fifth(averages):
    steps = {link: averages.of(link) for link in (FREE, SLOW)}
    for link in (FREE, SLOW):
        over = ratio(steps[link][5], steps[link][4])
        change = plus(over, -1) if link == SLOW else plus(times(over, -1), 1)
        yield claim(f"8.fifth-{SHORT[link]}").above(change, told=f"t(5) / t(4) = {over}")
    shortest = int(np.argmin(means(steps[SLOW])))
    yield claim("8.shortest").holds(3 <= shortest <= 5, str(shortest))


def steps_figure(medians):
    figure = figure_of("osdi_fig8_step")
    for link in LINKS.values():
        found = medians.of(link)
        figure.series.append(sampled(link, list(BACKUPS), found))
    figure.series.append(Series("TensorFlow", PLOTTED, [SHORTEST], [SHORTEST_STEP]))
    return figure


def gain_figure(medians):
    figure = figure_of("osdi_fig8_gain")
    for link in LINKS.values():
        figure.series.append(Series(link, SIMULATED, list(BACKUPS), medians.gains(link)))
    figure.series.append(Series("TensorFlow", PLOTTED, [BEST], [BEST_GAIN]))
    return figure
