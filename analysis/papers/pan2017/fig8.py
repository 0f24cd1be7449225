"""Fig 8: sync with and without backups, and async, on three numbers of machines."""

from itertools import pairwise

import numpy as np
from papers.pan2017 import claim, figure_of
from papers.pan2017.stand_in import TARGET, place_of
from reproduce.claims import Sample, difference, paired_difference, scaled
from reproduce.figures import SIMULATED, Series, curve_series, sampled
from reproduce.replicas import late, mean_curve

# Machines: gradients of an update with backups.
MACHINES = {53: 50, 106: 100, 212: 200}
LATE = 0.3  # of a run: its end
LABELS = {"loss": "loss", "test": "test error"}  # of what is raced to
PROTOCOLS = {"sync": "sync", "backup": "sync with backups", "async": "async"}


class Race:
    """The three protocols on one number of machines: their curves, by the time and by the update, and
    the mean times of an update."""

    def __init__(self, curves, by_update, step, gradients, target):
        self.curves = curves
        # An epoch is an update of sync, a round of N updates of async.
        self.epoch = step | scaled({"async": step["async"]}, gradients)
        self.final = {name: late(found, LATE) for name, found in self.curves.items()}
        self.time = {name: place_of(found, target) for name, found in self.curves.items()}
        self.epochs = {name: place_of(found, target) for name, found in by_update.items()}
        self.epochs["async"] /= gradients

    def gap(self):
        """Async's end less that of sync with backups; the two of a replica start the same."""
        return paired_difference(self.final["async"], self.final["backup"])

    def async_when_sync_is_there(self, target):
        """What async is at when sync with backups is at the target, over the target."""
        x, mean = mean_curve(self.curves["async"])
        return float(np.exp(np.interp(min(self.time["backup"], x[-1]), x, np.log(mean)))) / target


def race_of(outputs, machines, gradients):
    """On the quadratic."""
    scenario = f"fig8_who_wins_on_{machines}_machines"
    by_protocol = lambda row: row["protocol"]
    curves, by_update = (
        outputs.curves(scenario, by_protocol, x, "loss") for x in ("time", "update")
    )
    step = outputs.samples(scenario, by_protocol, "mean_iteration_time")
    return Race(curves, by_update, step, gradients, TARGET)


def fig8(outputs):
    races = {
        machines: race_of(outputs, machines, gradients) for machines, gradients in MACHINES.items()
    }
    claims = [*errors(races), *epoch_times(races), *crossover(races)]
    figures = [curves_figure(m, race, "loss", "A quadratic") for m, race in races.items()]
    return [*figures, *panels(races, "loss", "A quadratic")], claims


def errors(races):
    """Item 9, but for the times."""
    gaps = {m: race.gap() for m, race in races.items()}
    for machines, gap in gaps.items():
        yield claim(f"9.error-{machines}").above(gap)
    for few, many in pairwise(MACHINES):
        yield claim(f"9.gap-{many}").above(difference(gaps[many], gaps[few]))


def epoch_times(races):
    for machines, race in races.items():
        plain, backup, late = (race.epoch[name] for name in PROTOCOLS)
        yield claim(f"9.epoch-{machines}").holds(
            late.mean <= backup.mean < plain.mean, f"{late}, {backup}, {plain}"
        )
        share = (backup.mean - late.mean) / (plain.mean - late.mean)
        yield claim(f"9.near-async-{machines}").holds(share < 0.5, f"{share:.3f}")


def crossover(races):
    """Item 10."""
    margin = {m: race.async_when_sync_is_there(TARGET) for m, race in races.items()}
    for machines, race in races.items():
        others = race.time["async"] / race.time["backup"]
        yield claim(f"10.time-{machines}").holds(
            others < 1 if machines == 53 else others > 1,
            f"{others:.3f}" if np.isfinite(others) else "async is never there",
        )
    yield claim("10.margin").holds(
        margin[53] < margin[106] < margin[212], ", ".join(f"{x:.3f}" for x in margin.values())
    )
    over = Sample(TARGET / races[106].final["async"].mean)
    yield claim("10.target").within(over, f"{over.mean:.3f}")


def curves_figure(machines, race, what, who):
    label = LABELS[what]
    figure = figure_of(
        "fig8a_{machines}_{what}", machines=machines, what=what, label=label, who=who
    )
    figure.series = [curve_series(name, race.curves[kind]) for kind, name in PROTOCOLS.items()]
    return figure


def panels(races, what, who):
    label = LABELS[what]
    for panel, title, unit, values in (
        ("b", f"final {label}", label, "final"),
        ("c", "epochs to converge", "epochs (updates of sync, rounds of async)", "epochs"),
        ("d", "time to converge", "time (s)", "time"),
        ("e", "mean time of an epoch", "time (s)", "epoch"),
    ):
        figure = figure_of(
            "fig8{panel}_{what}", panel=panel, what=what, title=title, unit=unit, who=who
        )
        for kind, protocol in PROTOCOLS.items():
            found = [getattr(race, values)[kind] for race in races.values()]
            figure.series.append(points(protocol, list(races), found))
        yield figure


def points(name, machines, found):
    """Samples, or plain numbers; what is infinite is never there and left out."""
    if isinstance(found[0], Sample):
        return sampled(name, machines, found)
    return Series(name, SIMULATED, machines, found)
