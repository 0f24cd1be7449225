"""The first rounds as a timeline: what each learner computed, what became of it, its transfers from
and to the server or exchanges with others, when it waited, and when updates were made."""

import statistics
import textwrap
from collections import defaultdict
from typing import NamedTuple

from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from plots import style
from plots.trace import read_traces

MOST_POINTS = 6
MOST_LEARNERS = 32
MOST_LINES = 40  # update lines in front of the bars; more of them go behind
UPDATES = 5
ROUNDS = 2
VISIBLE = 1e-3  # share of the axis


class Looks(NamedTuple):
    """Words of the legend, colours (several where bars of one kind may lie side by side), hatch,
    and the mark of what takes no time."""

    words: str
    colours: tuple
    hatch: str | None = None
    mark: str = "o"


# fate in the trace
FATES = {
    "used": Looks("computing: used in an update", (style.SKY,)),
    "waiting": Looks("computing: not yet used", (style.BLUE,)),
    "dropped": Looks("computing: dropped on arrival", (style.ORANGE,), "...."),
    "cancelled": Looks("computing: cancelled", (style.VERMILION,), "////"),
    "lost": Looks("computing: lost with its learner", (style.PURPLE,), "xxxx"),
    "in flight": Looks("computing at the end", (style.GREY,)),
}
TRANSFERS = {
    "pull": Looks("pull from the server", ("#F0E442",)),
    "push": Looks("push to the server", ("#882255",)),
}
GAPS = {
    "waiting": Looks("waiting", ("0.88",)),
    "down": Looks("down", ("0.45",), "||||"),
}
SHADES = ("#7A4B1E", "#5B3A94", "#00695C", "#808000")
EXCHANGES = {
    "all-reduce": Looks("average of all (all-reduce)", (style.GREEN,)),
    "group": Looks("average of a group (joined)", SHADES, None, "s"),
    "pair": Looks("exchange of two (joined)", SHADES, "\\\\\\\\", "D"),
    "gossip": Looks("exchange with neighbours", ("#B59F00",), "----", "^"),
    "push": Looks("push to the coordinator", ("#882255",), "++", "v"),
    "pull": Looks("pull from the coordinator", ("#B59F00",), "++", "<"),
}
BEYOND = {"facecolor": "0.95", "hatch": "xx", "edgecolor": "0.85", "linewidth": 0}


def bar_looks(looks):
    """Of a bar of one colour."""
    return {"facecolor": looks.colours[0], "hatch": looks.hatch, "edgecolor": "white"}


def exchange_looks(colour, hatch):
    """Of a bar that what is computed meanwhile can be seen in front of."""
    return {"facecolor": (colour, 0.35), "edgecolor": colour, "hatch": hatch, "linewidth": 0.8}


def rounds_of_half(ends, until):
    """When half of the learners have come to the end of ROUNDS of theirs; who never does counts as
    if it did at the time until."""
    return statistics.median(
        sorted(of_one)[ROUNDS - 1] if len(of_one) >= ROUNDS else until for of_one in ends.values()
    )


def two_rounds(trace):
    """When a point has made UPDATES updates (or all of its own) and half of its learners ROUNDS
    minibatches and exchanges."""
    computed, exchanged = defaultdict(list), defaultdict(list)
    for (learner, _), spans in trace.gradients.items():
        computed[learner] += [start + length for start, length in spans]
    for one in trace.exchanges:
        for learner in one.learners:
            exchanged[learner].append(one.end)
    ends = [rounds_of_half(each, trace.until) for each in (computed, exchanged) if each]
    return max([*trace.updates[:UPDATES][-1:], *ends])


def colours_of(exchanges):
    """The colour of each exchange, by number: one for groups and pairs that none has at the time."""
    free = dict.fromkeys(SHADES, float("-inf"))
    colours = {}
    for one in sorted(exchanges, key=lambda one: (one.start, one.number)):
        colours[one.number] = EXCHANGES[one.kind].colours[0]
        if one.kind in ("group", "pair"):
            idle = [colour for colour, since in free.items() if since <= one.start]
            colours[one.number] = idle[0] if idle else min(free, key=free.get)
            free[colours[one.number]] = one.end
    return colours


def draw_exchange(axes, one, colour, runs):
    """A bar across learners next to each other, a line between those that are not; marks where it
    takes no time."""
    if one.length > 0:
        looks = exchange_looks(colour, EXCHANGES[one.kind].hatch)
        for first, last in runs:
            corner, height = (one.start, first - 0.46), last - first + 0.92
            axes.add_patch(Rectangle(corner, one.length, height, **looks))
    else:
        shown = [learner for learner in one.learners if learner < MOST_LEARNERS]
        mark = EXCHANGES[one.kind].mark
        axes.plot([one.start] * len(shown), shown, mark, color=colour, markersize=4, zorder=3.5)
        runs = [(learner, learner) for learner in sorted(shown)]
    if one.joins():
        middle = one.start + one.length / 2
        for (_, above), (below, _) in zip(runs, runs[1:]):
            axes.vlines(middle, above, below, color=colour, linewidth=1.4, zorder=2.5)


def draw_exchanges(axes, exchanges, end):
    """Draws those that begin before the time end; returns what is to be seen: (kind, whether it
    takes time, colour)."""
    seen = set()
    colours = colours_of(exchanges)
    for one in exchanges:
        runs = [(first, last) for first, last in one.rows() if first < MOST_LEARNERS]
        if one.start < end and runs:
            seen.add((one.kind, one.length > 0, colours[one.number]))
            draw_exchange(axes, one, colours[one.number], runs)
    return seen


def draw_bars(axes, bars, looks, height, end, **more):
    """Draws {(learner, what): [(start, duration)]} before the time end; returns what is to be
    seen."""
    seen = set()
    for (learner, what), spans in bars.items():
        spans = [span for span in spans if span[0] < end and span[1] > VISIBLE * end]
        if spans and learner < MOST_LEARNERS:
            seen.add(what)
            place = learner - height / 2, height
            axes.broken_barh(spans, place, **bar_looks(looks[what]), **more)
    return seen


def draw_updates(axes, updates, end):
    """Lines, in front of the bars where they are few; returns whether there are any."""
    times = [time for time in updates if time <= end]
    few = len(times) <= MOST_LINES
    looks = {"linewidth": 1.1, "zorder": 3} if few else {"linewidth": 0.6, "zorder": 0.5}
    axes.vlines(times, 0, 1, transform=axes.get_xaxis_transform(), color=style.BLACK, **looks)
    return bool(times)


def draw_panel(axes, trace, end):
    """Draws one point up to the time end, shaded where its trace says nothing; returns what is to
    be seen, by the kinds of the legend. Without a server no lines say that every gradient was an
    update."""
    height = 0.5 if trace.exchanged else 0.8
    widths = {"linewidth": 0.6, "zorder": 2}
    lines = [] if trace.exchanged and trace.updates_by_one() else trace.updates
    if trace.until < end:
        axes.axvspan(trace.until, end, **BEYOND)
    return {
        "gaps": draw_bars(axes, trace.gaps(), GAPS, 0.25, end, linewidth=0, zorder=0.8),
        "exchanges": draw_exchanges(axes, trace.exchanges, end),
        "fates": draw_bars(axes, trace.computed(), FATES, height, end, **widths),
        "transfers": draw_bars(axes, trace.transfers, TRANSFERS, height, end, **widths),
        "beyond": {True} if trace.until < end else set(),
        "updates": {True} if draw_updates(axes, lines, end) else set(),
    }


def label_panel(axes, label, learners, updates):
    """Title and learner axis of a panel."""
    shown = min(learners, MOST_LEARNERS)
    title = textwrap.shorten(label, 80, placeholder="...")
    axes.set_title(f"{title}: {updates} updates shown", loc="left", fontsize="medium")
    axes.set_ylim(shown - 0.4, -0.6)
    axes.set_yticks(range(0, shown, 1 if shown <= 8 else 4))
    axes.set_ylabel(
        "learner" if shown == learners else f"learner (of {learners})", fontsize="medium"
    )
    axes.grid(visible=False)


def exchange_handle(looks, takes_time, colours):
    """What the legend shows of a kind of exchange: a patch, or a mark, of each of those colours."""
    if takes_time:
        return tuple(Patch(**exchange_looks(colour, looks.hatch)) for colour in colours)
    mark = {"marker": looks.mark, "linestyle": "", "markersize": 4}
    return tuple(Line2D([], [], color=colour, **mark) for colour in colours)


def legend_entries(seen):
    """[(handle, words)] of what is to be seen."""
    entries = [
        (Patch(**bar_looks(looks)), looks.words)
        for name, kinds in (("fates", FATES), ("transfers", TRANSFERS), ("gaps", GAPS))
        for kind, looks in kinds.items()
        if kind in seen[name]
    ]
    for kind, looks in EXCHANGES.items():
        for takes_time in (True, False):
            colours = [one for one in looks.colours if (kind, takes_time, one) in seen["exchanges"]]
            if colours:
                words = looks.words if takes_time else looks.words + ", in no time"
                entries.append((exchange_handle(looks, takes_time, colours), words))
    if seen["beyond"]:
        entries.append((Patch(**BEYOND), "past the recording"))
    if seen["updates"]:
        entries.append((Line2D([], [], color=style.BLACK, linewidth=1.1), "update"))
    return entries


def draw_legend(figure, seen):
    """The legend of what is to be seen, under the panels."""
    handles, words = zip(*legend_entries(seen))
    style.legend_below(
        figure, handles, words, handler_map={tuple: HandlerTuple(ndivide=None, pad=0.1)}
    )


def draw_timeline(folder, curves, title):
    """The figure of curves, each with a number and a name; None where there is no trace or nothing in it;
    and what it leaves out."""
    traces = read_traces(folder.events, folder.learners_of)
    traced = [curve for curve in curves if curve.number in traces]
    curves = traced[:MOST_POINTS]
    if not curves:
        return None, []
    shown = [traces[curve.number] for curve in curves]
    end = min(1.03 * max(two_rounds(trace) for trace in shown), max(t.until for t in shown))
    heights = [0.55 + 0.11 * min(max(trace.learners, 6), MOST_LEARNERS) for trace in shown]
    figure = style.new_figure(title, 1.2 + sum(heights))
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False, height_ratios=heights).flat
    seen = defaultdict(set)
    for axes, trace, curve in zip(panels, shown, curves):
        for name, found in draw_panel(axes, trace, end).items():
            seen[name] |= found
        made = sum(time <= end for time in trace.updates)
        label_panel(axes, curve.name, trace.learners, made)
        axes.set_xlim(0, end)
    axes.set_xlabel(style.time_axis(folder.time_unit))
    left = len(folder.points) - len(curves)
    notes = [f"{left} of {len(folder.points)} points are left out."] if left else []
    style.add_text(figure, notes)
    draw_legend(figure, seen)
    return figure, notes
