"""Which points of a sweep a figure shows, in which panel, and how each of them looks."""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from plots import style
from plots.sweep import keys_of, ranking

MOST_CURVES = 12  # of a panel, told apart by colour and dashes
MOST_SHADES = 8  # of a sequential colour map
MOST_PANELS = 9


@dataclass
class Curve:
    """A point that is shown: its number, its name, that in its panel, and how its line looks."""

    number: int
    name: str
    label: str
    looks: dict


@dataclass
class Panel:
    """Curves in front of the points that are left out, which are grey."""

    title: str
    curves: list
    rest: list = field(default_factory=list)

    @property
    def looks(self):
        """Of each curve, by its number."""
        return {curve.number: curve.looks for curve in self.curves}


@dataclass
class Plan:
    """The panels of a figure, its title, of which points it is, and what it says of those that it
    leaves out."""

    panels: list
    title: str
    points: list
    notes: list = field(default_factory=list)

    @property
    def curves(self):
        """Of all panels."""
        return [curve for panel in self.panels for curve in panel.curves]


def shades(key):
    """The look of each value of a key: a sequential colour for a number, black for none."""
    numbers = [value for value in key.values if value is not None]
    looks = {value: style.shade(i, len(numbers)) for i, value in enumerate(numbers)}
    return {
        value: {"color": looks.get(value, style.BLACK), "linestyle": "-"} for value in key.values
    }


def looks_of(key, shown=None):
    """The look of each value of a key (or of those shown) that is told by it alone."""
    if key.is_number:
        return shades(key)
    return {value: style.line_style(i) for i, value in enumerate(shown or key.values)}


def two_looks(first, second):
    """The look of each pair of values: one key is the colour, of a number if it can be, the other
    the dashes. None where neither has as few values as there are dashes."""
    pairs = [(first, second), (second, first)]
    fits = [pair for pair in pairs if len(pair[1].values) <= len(style.LINES)]
    fits.sort(key=lambda pair: not pair[0].is_number)
    if not fits:
        return None
    colour, dash = fits[0]
    colours = looks_of(colour)
    return lambda number: (
        colours[colour.of[number]] | {"linestyle": style.LINES[dash.values.index(dash.of[number])]}
    )


def looks_of_few(points, keys):
    """The look of each point, by its number, where all are shown in one panel."""
    if len(keys) == 1:
        looks = looks_of(keys[0])
        return {number: looks[keys[0].of[number]] for number in points}
    is_grid = len(keys) == 2 and len(points) == len(keys[0].values) * len(keys[1].values)
    look = two_looks(*keys) if is_grid else None
    if look:
        return {number: look(number) for number in points}
    return {number: style.line_style(i) for i, number in enumerate(points)}


def spread(values, most, wanted):
    """At most so many of the values, evenly, with the ends and the wanted one."""
    if len(values) <= most:
        return list(values)
    places = np.linspace(0, len(values) - 1, most).round().astype(int)
    place = values.index(wanted)
    if place not in places and most > 2:
        places[1:-1][np.abs(places[1:-1] - place).argmin()] = place
    return [values[i] for i in places]


def shown_values(key, numbers, ranks, most=None):
    """The values of a key that are shown of these points, at most so many (else as many as can be
    told apart): of numbers some from end to end, of words the best."""
    most = most or (MOST_SHADES if key.is_number else MOST_CURVES)
    best = {}
    for number in sorted(numbers, key=ranks.rank.get):
        best.setdefault(key.of[number], number)
    values = [value for value in key.values if value in best]
    if key.is_number:
        return spread(values, most, min(values, key=lambda v: ranks.rank[best[v]]))
    few = sorted(values, key=lambda v: ranks.rank[best[v]])[:most]
    return [value for value in values if value in few]


def best_of_each(key, values, numbers, ranks):
    """Of each of these values of the key, as far as points have it, the best point."""
    inside = [[n for n in numbers if key.of[n] == value] for value in values]
    return [ranks.best(some) for some in inside if some]


def parts_of(points, numbers):
    """{number: the parts of its label}, and the parts that all of these points have."""
    parts = {n: points[n].label.phrases for n in numbers}
    first, *rest = parts.values()
    return parts, [part for part in first if all(part in one for one in rest)]


def split_labels(points, numbers, value):
    """A panel's title and the names of its points in it: what they share, but not all points, goes
    to the title, which has the panel's value at its head."""
    parts, shared = parts_of(points, numbers)
    if len(numbers) == 1:
        return value, {n: " ".join(one) for n, one in parts.items()}
    _, of_all = parts_of(points, points)
    told = [part for part in shared if not value or part not in of_all]
    short = {n: " ".join(part for part in one if part not in shared) for n, one in parts.items()}
    names = {n: short[n].removeprefix(value + " ") or " ".join(parts[n]) for n in numbers}
    return ", ".join(dict.fromkeys([value, *told] if value else told)), names


def words(keys):
    names = [key.name for key in keys]
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def left_out_words(others, thinned, ranks, lead=()):
    """Which points are shown where some are left out: of the other keys the best for each value of
    the leading ones, of the thinned keys some values."""
    told = []
    if others:
        of_each = f" for each {words(lead)}" if lead else ""
        told.append(f"the best {words(others)}{of_each} is shown ({ranks.words})")
    if thinned:
        best = ", the best among them" if any(key.is_choice for key in thinned) else ""
        told.append(f"of {words(thinned)} some values are shown{best}")
    return "; ".join(told)


def notes_on_rest(points, plan, lead, others, ranks):
    """What the figure says of the points that it does not show in colour."""
    numbers = [curve.number for curve in plan.curves]
    left = len(points) - len(numbers)
    if not left:
        return []
    thinned = [key for key in lead if len({key.of[n] for n in numbers}) < len(key.values)]
    which = left_out_words(others, thinned, ranks, lead)
    return [f"{left} of {len(points)} points are left out (grey): {which}."]


def facets_of(keys, lead, points, ranks):
    """{key that no one chooses, besides the leading one: its values that have panels}."""
    found, panels = {}, 1
    for key in keys:
        if key is lead or key.is_choice:
            continue
        room = MOST_PANELS // panels
        few = len(key.values) <= room
        found[key] = key.values if few else shown_values(key, list(points), ranks, room)
        panels *= len(found[key])
    return found


def race(results):
    """All points in one panel where they are few; else the best of each value of the first key, in
    a panel for each setting that no one chooses."""
    points = results.points
    keys = keys_of(points)
    if len(points) <= MOST_CURVES or not keys:
        return few(results, keys)
    ranks = ranking(results)
    lead, facets = keys[0], facets_of(keys, keys[0], points, ranks)
    values = shown_values(lead, list(points), ranks)
    panels = []
    for setting in product(*facets.values()):
        inside = [n for n in points if all(k.of[n] == v for k, v in zip(facets, setting))]
        if not inside:
            continue
        title = ", ".join(key.text(value) for key, value in zip(facets, setting))
        panels.append(panel_of(points, inside, title, lead, values, ranks))
    plan = Plan(panels, results.heading, list(points))
    others = [key for key in keys if key is not lead and key not in facets]
    plan.notes = notes_on_rest(points, plan, [lead, *facets], others, ranks)
    return plan


def panel_of(points, inside, title, key, values, ranks):
    """A panel of the points inside: of each of these values of the key the best."""
    shown, looks = best_of_each(key, values, inside, ranks), looks_of(key, values)
    title, labels = split_labels(points, inside, title)
    curves = [Curve(n, points[n].label, labels[n], looks[key.of[n]]) for n in shown]
    return Panel(title, curves, [n for n in inside if n not in shown])


def few(results, keys):
    """All points in one panel, or, where nothing tells more of them apart, the best ones."""
    points = results.points
    ranks = ranking(results) if len(points) > MOST_CURVES else None
    shown = sorted(points, key=ranks.rank.get)[:MOST_CURVES] if ranks else list(points)
    shown.sort()
    looks = looks_of_few(shown, keys)
    names = {n: points[n].label for n in shown}
    curves = [Curve(n, names[n], names[n], looks[n]) for n in shown]
    rest = [n for n in points if n not in shown]
    plan = Plan([Panel("", curves, rest)], results.heading, list(points))
    if ranks:
        which = f"the best are shown ({ranks.words})"
        plan.notes = [
            f"{len(points) - len(shown)} of {len(points)} points are left out (grey): {which}."
        ]
    return plan


def by_value(results):
    """Of a sweep that a race cannot show whole: a panel for each value of the first key, in it a
    curve for each value of the second. None where there is no second key."""
    points = results.points
    keys = keys_of(points)
    if len(points) <= MOST_CURVES or len(keys) < 2:
        return None
    ranks = ranking(results)
    lead, colour = keys[:2]
    shown = shown_values(colour, list(points), ranks)
    panels = []
    for value in shown_values(lead, list(points), ranks, MOST_PANELS):
        inside = [n for n in points if lead.of[n] == value]
        panels.append(panel_of(points, inside, lead.text(value), colour, shown, ranks))
    plan = Plan(panels, results.heading, list(points))
    plan.notes = notes_on_rest(points, plan, [lead, colour], keys[2:], ranks)
    return plan
