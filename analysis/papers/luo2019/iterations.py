"""Minibatches to a loss: item 8."""

from papers.luo2019 import claim, figure_of
from papers.luo2019.losses import level_of
from reproduce.claims import paired_ratio, sample
from reproduce.figures import curve_series
from reproduce.replicas import first_at

SCENARIO = "do_larger_groups_need_fewer_iterations"
LEARNERS = 16
SIZES = (2, 3, 4, 8, 16)


def name_of(row):
    protocol = row["sweep.protocol"]
    if protocol.get("schedule") == "group-division":
        return f"groups of {protocol['group']}"
    return {"all-reduce": "All-Reduce", "ad-psgd": "AD-PSGD"}.get(protocol["kind"], "static")


def iterations(outputs):
    level = level_of(outputs, SCENARIO)
    curves = outputs.curves(SCENARIO, name_of, "gradients", "loss")
    each = {name: [(x / LEARNERS, y) for x, y in found] for name, found in curves.items()}
    needed = {name: sample([first_at(x, y, level) for x, y in one]) for name, one in each.items()}
    figure = figure_of("iterations")
    figure.series = [curve_series(name, found) for name, found in each.items()]
    more = {name: paired_ratio(one, needed["All-Reduce"]) for name, one in needed.items()}
    claims = [
        claim(f"8.{name.replace(' ', '-')}").holds(one.mean <= 1.3, one)
        for name, one in more.items()
        if name != "All-Reduce"
    ]
    claims.append(
        claim("8.larger").ordered(
            (f"{few} and {many}", needed[f"groups of {many}"], needed[f"groups of {few}"])
            for few, many in zip(SIZES, SIZES[1:])
        )
    )
    return [figure], claims
