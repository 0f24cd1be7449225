"""Whether the best learning rate of a protocol may lie beyond those that were swept."""

from markupsafe import Markup
from report.text import bold, joined


def edges(case):
    """A sentence where the best looking learning rate of a protocol is the smallest or the largest
    one that was swept, and no other is equal to it; nothing else."""
    found = {}
    for points in case.families.values():
        rates = case.rates.reindex(points).dropna()
        if rates.nunique() < 2 or not case.measures:
            continue
        best = min(rates.index, key=case.rank)
        trained = (one for one in case.measures if one.key != "rate")
        known = [one for one in trained if one.value(best).replicas]
        if not known:
            continue
        order = {point: case.order(known[0], point) for point in rates.index}
        equal = {rates[point] for point in rates.index if order[point] == order[best]}
        for edge, rate in (("smallest", rates.min()), ("largest", rates.max())):
            if equal == {rate}:
                labels = found.setdefault(known[0].name, {}).setdefault(edge, [])
                labels.append(bold(case.label(best)))
    said = []
    for name, edges_of in found.items():
        at = [
            Markup("{} at the {} one").format(joined(labels), edge)
            for edge, labels in edges_of.items()
        ]
        said.append(Markup("for {}, {}").format(name, joined(at)))
    if not said:
        return []
    what = Markup("; ").join(said)
    return [
        Markup(
            "Best at an edge of the learning rates swept: {}; rates beyond may do better."
        ).format(what)
    ]
