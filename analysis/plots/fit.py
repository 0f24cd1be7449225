"""How well families of runtime laws fit measured times, and how these differ between learners and
persist: from the output folder of gradrace fit."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from plots import style
from results.folder import read_columns, read_json, reading
from results.shape import check

SHOWN_FAMILIES = 3
MOST_LEARNERS = 24
MOST_LAGS = 40
LABEL_CHARACTERS = 36  # that fit below the boxes side by side
SHORT_LABEL, LONG_LABEL = 3, 16


@dataclass
class Fit:
    """An output folder: the title, what fit.json says, the families with the lowest AIC first, their
    quantiles (p and x), and by learner the times, the times over the learner's mean, whether
    the minibatch was cancelled then (none: no time is of such) and whether the time is an outlier,
    which the families are not fitted to."""

    title: str
    facts: dict
    families: list
    quantiles: dict
    times: dict
    evened: dict
    cancelled: dict
    outlier: dict

    @property
    def label(self):
        """What the times are called on an axis."""
        return (
            self.facts["column"] if self.facts["learner_column"] or len(self.times) == 1 else "time"
        )

    @property
    def far(self):
        """How many outliers there are."""
        return int(sum(x.sum() for x in self.outlier.values()))

    def without_outliers(self, series):
        return {name: x[self.outlier[name] == 0] for name, x in series.items()}

    @property
    def fitted_times(self):
        """What the families were fitted to, ascending: times of whole minibatches without outliers,
        and the weight of each in their distribution, which the product-limit estimate gives where
        others were cancelled."""
        series = self.without_outliers(self.evened if self.facts["evened"] else self.times)
        times = np.concatenate(list(series.values()))
        cancelled = np.concatenate(list(self.without_outliers(self.cancelled).values())).astype(
            bool
        )
        order = np.lexsort((cancelled, times))
        times, whole = times[order], ~cancelled[order]
        at_risk = np.arange(len(times), 0, -1)
        left = np.cumprod(np.where(whole, 1 - 1 / at_risk, 1))
        weights = -np.diff(left, prepend=1)
        return times[whole], weights[whole]


SHAPE = {
    "file": str, "verdict": str, "column": (str, None), "learner_column": (str, None), "evened": bool, "slowest_of?": int,
    "variation": (float, None), "variation_within": (float, None), "cluster": {"persistence?": {"kind?": str}},
}  # fmt: skip


def by_key(path, key, *columns):
    """Of each of a table's columns, {key: an array of its numbers}, in the order of the rows."""
    table = read_columns(path, [key])
    keys = np.array(table[key].to_pylist())  # pandas, which to_numpy takes, takes a while
    values = [np.array(table[column].to_pylist(), float) for column in columns]
    return [{name: of[keys == name] for name in dict.fromkeys(keys)} for of in values]


def read_fit(folder):
    """Everything the plots need of the output folder of a fit; raises ResultsError."""
    folder = Path(folder)
    with reading(folder):
        facts = read_json(folder / "fit.json")
        check(facts, SHAPE)
        title = f"{Path(facts['file']).name}: {facts['verdict']}"
        families = read_columns(folder / "fit.csv", ["family"])["family"].to_pylist()
        p, x = by_key(folder / "quantiles.csv", "family", "p", "quantile")
        quantiles = {family: (p[family], x[family]) for family in families}
        columns = "time", "evened", "cancelled", "outlier"
        sample = by_key(folder / "sample.csv", "learner", *columns)
        return Fit(title, facts, families, quantiles, *sample)


def density(p, x):
    """Middles and heights of the density between the quantiles x of p, where they rise."""
    rising = np.diff(x) > 0
    middle = (x[1:] + x[:-1]) / 2
    return middle[rising], (np.diff(p)[rising] / np.diff(x)[rising])


def shown_range(times):
    """The ends of an axis that holds nearly all times, far ones not."""
    low, high = np.quantile(times, [0.002, 0.998])
    margin = 0.15 * (high - low)
    return max(0, low - margin), high + margin


def draw_densities(axes, fit):
    """A histogram of the times and the densities of the best families."""
    times, weights = fit.fitted_times
    low, high = shown_range(times)
    inside = (times >= low) & (times <= high)
    bins = min(60, max(10, round(2 * inside.sum() ** (1 / 3))))
    heights, edges = np.histogram(times[inside], bins, (low, high), weights=weights[inside])
    heights = heights / np.diff(edges)
    axes.stairs(heights, edges, fill=True, color=style.GREY, label="measured")
    for i, family in enumerate(fit.families[:SHOWN_FAMILIES]):
        axes.plot(*density(*fit.quantiles[family]), label=family, **family_style(i))
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.35 * heights.max())
    beyond = 1 - weights[inside].sum()
    note = f"\n({100 * beyond:.2g} % lie beyond)" if beyond > 1e-9 else ""
    axes.set_xlabel(times_label(fit) + note)
    axes.set_ylabel("density")
    axes.legend(frameon=False)


def times_label(fit):
    """What the fitted times are."""
    made = ", learners' means made equal" if fit.facts["evened"] else ""
    slowest = fit.facts.get("slowest_of", 1)
    if slowest > 1:
        made = f", the slowest of {slowest}"
    elif fit.facts.get("censored"):
        made = ", cancelled ones as lower bounds"
    return f"{fit.label}{made}{outliers_note(fit)}"


def outliers_note(fit):
    """What a plot that draws what was fitted says of the times that were not."""
    return f", without {fit.far} outliers" if fit.far else ""


def family_style(index):
    """Curves that lie on each other are told apart by their dashes too."""
    return {"color": style.COLOURS[index], "linestyle": style.LINES[index], "linewidth": 1.6}


def draw_quantiles(axes, fit):
    """Quantiles of the best families against those of the times: on the diagonal where they fit."""
    times, weights = fit.fitted_times
    reached = np.cumsum(weights)
    ends = []
    for i, family in enumerate(fit.families[:SHOWN_FAMILIES]):
        p, x = fit.quantiles[family]
        known = p <= reached[-1]
        p, x = p[known], x[known]
        measured = times[np.minimum(np.searchsorted(reached, p - 1e-12), len(times) - 1)]
        axes.plot(x, measured, label=family, **family_style(i))
        ends += [x.min(), x.max(), measured.min(), measured.max()]
    low, high = min(ends), max(ends)
    axes.axline((low, low), slope=1, color=style.BLACK, linewidth=0.8, zorder=1)
    margin = 0.03 * (high - low)
    axes.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin))
    axes.set_xlabel("quantile of the family")
    axes.set_ylabel(f"quantile as measured{outliers_note(fit)}")
    axes.legend(frameon=False, loc="upper left")


def draw_fit(fit):
    """The figure of the families."""
    columns = style.beside(3, 2)
    figure = style.new_figure(fit.title, 3.8 * (3 - columns))
    left, right = figure.subplots(3 - columns, columns)
    draw_densities(left, fit)
    draw_quantiles(right, fit)
    return figure


def autocorrelation(series, lags):
    """Of several series about 1, together: lags 0 to `lags`."""
    whole = sum(((x - 1) ** 2).sum() for x in series)
    return np.array(
        [
            sum(((x[lag:] - 1) * (x[: len(x) - lag] - 1)).sum() for x in series) / whole
            for lag in range(lags + 1)
        ]
    )


def fitted_autocorrelation(facts, lags):
    """What the printed cluster's persistence gives, None where it has none: Cov / mean^2 is
    exp(sd^2 correlation^lag) - 1."""
    persistence = facts["cluster"].get("persistence")
    if not persistence:
        return None
    lag = np.arange(lags + 1)
    covariance = np.expm1(persistence["sd"] ** 2 * persistence["correlation"] ** lag)
    without_outliers = facts["evened"] or "outliers" in facts["cluster"]
    variation = facts["variation_within" if without_outliers else "variation"]
    covariance[0] = variation**2
    return covariance / variation**2


def draw_series(axes, fit):
    """The times of each learner, in their order."""
    for i, (name, times) in enumerate(list(fit.times.items())[:MOST_LEARNERS]):
        axes.plot(times, linewidth=0.8, label=name or "times", **style.line_style(i))
    axes.set_xlabel("row of the learner")
    axes.set_ylabel(fit.label)
    axes.margins(x=0.01)
    if 1 < len(fit.times) <= 12:
        axes.legend(
            title=fit.facts["learner_column"],
            loc="upper left",
            bbox_to_anchor=(1, 1.03),
            frameon=False,
            handlelength=1.5,
        )


def draw_autocorrelation(axes, fit):
    """Of each learner (thin), of all (thick) and of the fitted law (dashed), against the lag."""
    fitted_to = fit.without_outliers(fit.times).values()
    series = [times / times.mean() for times in fitted_to]
    varying = [x for x in series if np.ptp(x) > 0]
    lags = max(1, min([MOST_LAGS, *(len(x) // 3 for x in varying)]))
    for x in varying[:MOST_LEARNERS] if len(varying) > 1 else []:
        axes.plot(autocorrelation([x], lags), color=style.GREY, linewidth=0.7)
    if varying:
        axes.plot(autocorrelation(varying, lags), color=style.BLUE, linewidth=2, label="measured")
    fitted = fitted_autocorrelation(fit.facts, lags)
    if fitted is not None:
        axes.plot(fitted, color=style.VERMILION, linestyle="--", linewidth=1.6, label="fitted")
    chance = 2 / math.sqrt(sum(len(x) for x in series))
    axes.axhspan(-chance, chance, color=style.BLACK, alpha=0.12, linewidth=0)
    axes.set_xlabel("lag (rows); thin: each learner, band: chance")
    axes.set_ylabel(f"autocorrelation{outliers_note(fit)}")
    axes.set_xlim(0, lags)
    axes.legend(frameon=False)


def thin_labels(axes, names):
    """Names below the boxes that do not overlap: upright where they are long, cut where they are
    very long, and of many short ones each second or third."""
    longest = max(map(len, names))
    if longest * len(names) <= LABEL_CHARACTERS:
        return
    if longest <= SHORT_LABEL:
        step = math.ceil(longest * len(names) / LABEL_CHARACTERS)
        shown = [name if i % step == 0 else "" for i, name in enumerate(names)]
        axes.set_xticklabels(shown)
        return
    cut = [name if len(name) <= LONG_LABEL else f"…{name[-LONG_LABEL:]}" for name in names]
    axes.set_xticklabels(cut, rotation=90, fontsize=8 if len(names) <= 16 else 6)


def draw_learners(axes, fit):
    """Quartiles and far times of each learner."""
    shown = dict(list(fit.times.items())[:MOST_LEARNERS])
    names = [name or "all" for name in shown]
    axes.boxplot(
        list(shown.values()),
        tick_labels=names,
        widths=0.6,
        flierprops={"markersize": 2, "markeredgecolor": style.GREY},
        medianprops={"color": style.VERMILION},
    )
    thin_labels(axes, names)
    axes.set_xlabel(fit.facts["learner_column"] or ("learner" if len(names) > 1 else "one learner"))
    axes.set_ylabel(fit.label)
    axes.grid(axis="x", visible=False)


def draw_persistence(fit):
    """The figure of the learners: their times in order, how these hang together, how they differ."""
    figure = style.new_figure(fit.title, 6.4)
    panels = figure.subplot_mosaic([["series", "series"], ["autocorrelation", "learners"]])
    draw_series(panels["series"], fit)
    draw_autocorrelation(panels["autocorrelation"], fit)
    draw_learners(panels["learners"], fit)
    return figure


def draw_folder(folder):
    """The figures of a fit's output folder by name, and what they leave out."""
    fit = read_fit(folder)
    more = len(fit.times) > MOST_LEARNERS
    notes = [f"{len(fit.times)} learners: the first {MOST_LEARNERS} are shown"] if more else []
    figures = {"persistence": draw_persistence(fit)}
    if fit.families:
        figures = {"fit": draw_fit(fit), **figures}
    else:
        notes.append("a learner's times do not vary: plot of the families left out")
    return figures, notes
