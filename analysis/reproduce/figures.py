"""What a reproduced figure shows, apart from how it is drawn."""

import math
from dataclasses import dataclass, field

import numpy as np
from plots.bands import band, linear
from reproduce.claims import SIMULATED, THEORY, chance

PLOTTED = "as plotted"
LEVEL = "level"  # to compare with


@dataclass
class Series:
    """One curve. Theory and a level are lines; simulation is points (or a line, where it is a `curve`)
    with a 95 % band; what the paper plots is marks. Series of one group are toggled together."""

    group: str
    kind: str
    x: list
    y: list
    band: list | None = None  # half its height
    is_curve: bool = False
    width: float = 0  # of its bars, where simulation is bars and no points

    @property
    def name(self):
        return self.group if self.kind == LEVEL else f"{self.group}, {self.kind}"


@dataclass
class Figure:
    """In the paper's own axes."""

    name: str  # of its files
    title: str
    x_label: str
    y_label: str
    series: list = field(default_factory=list)
    drawn: object = None  # a figure of plots, in place of series
    marks: list = field(default_factory=list)  # places of vertical lines
    ticks: list = field(default_factory=list)  # words at x = 0, 1, 2 ... in place of numbers
    log_x: bool = False
    log_y: bool = False
    note: str = ""
    in_paper: str = ""  # which figure of the paper it is

    def groups(self):
        """Names of the groups of its series, in order."""
        return list(dict.fromkeys(one.group for one in self.series))

    def may_be_log(self, axis):
        """Whether a logarithmic axis would show all of it, but for a start at x = 0; bars have none."""
        if self.ticks:
            return False
        values = [value for one in self.series for value in getattr(one, axis)]
        values = [value for value in values if math.isfinite(value)]
        return bool(values) and (
            min(values) > 0 or (axis == "x" and min(values) == 0 < max(values))
        )


@dataclass
class Table:
    """Among the figures: text in rows."""

    name: str
    title: str
    heads: list
    rows: list  # of cells
    note: str = ""
    in_paper = ""


def sampled(name, x, samples, **more):
    """Simulation: the means of Samples, with a band of 95 %, by Student's t."""
    samples = list(samples)
    band = [chance(one, 1.96) for one in samples]
    return Series(name, SIMULATED, x, [one.mean for one in samples], band, **more)


def side_by_side(groups):
    """Bars of several groups around each tick: {group: its distance from the tick}, their width."""
    width = 0.8 / len(groups)
    places = {group: width * (i - (len(groups) - 1) / 2) for i, group in enumerate(groups)}
    return places, 0.92 * width


def curve_series(name, curves):
    """The mean of the curves [(x, y)] of replicas, as far as all of them run."""
    mean = band(curves, linear)
    whole = mean.running == len(curves)
    half = np.nan_to_num(mean.half[whole])
    return Series(name, SIMULATED, list(mean.x[whole]), list(mean.mean[whole]), list(half), True)


def plotted_series(table, column, names, x, y="ln_loss"):
    """Marks for each group {value of a column: its name} of a digitised table."""
    for value, name in names.items():
        rows = [row for row in table if row[column] == value]
        yield Series(name, PLOTTED, [row[x] for row in rows], [row[y] for row in rows])
