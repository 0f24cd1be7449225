"""Local SGD against sync on the same samples: item 1."""

import numpy as np
from papers.zhou2020 import claim, figure_of
from papers.zhou2020.protocols import protocol_of
from reproduce.figures import SIMULATED, Series

BOUNDS = {"float64": 1e-12, "float32": 1e-5}


def worst_relative(ones, others):
    """The greatest relative difference of the curves of replicas."""
    pairs = list(zip(ones, others, strict=True))
    assert all(len(y) == len(z) for (_, y), (_, z) in pairs)
    return max(float(np.max(np.abs(y / z - 1))) for (_, y), (_, z) in pairs)


def agrees(id, bound, found):
    return claim(id).holds(found <= bound, f"at most {found:.2g}")


def one_step(outputs):
    key = lambda row: (row["model.precision"], row["optimiser.momentum"], protocol_of(row).kind)
    curves = outputs.curves("is_local_sgd_of_one_step_sync", key, "update", "loss")
    claims = []
    for precision, bound in BOUNDS.items():
        for momentum in (0.0, 0.9):
            found = worst_relative(
                curves[precision, momentum, "local-sgd"], curves[precision, momentum, "all-reduce"]
            )
            name = f"1.{precision}{'-momentum' if momentum else ''}"
            claims.append(agrees(name, bound, found))
    return [], claims


def quadratic(outputs):
    scenario = "does_the_mean_follow_sync"
    curves = outputs.curves(scenario, protocol_of, "update", "loss")
    apart = outputs.curves(scenario, protocol_of, "update", "disagreement")
    sync = next(one for one in curves if one.kind == "all-reduce")
    local = [one for one in curves if one != sync]
    figure = figure_of("mean")
    x, y = curves[sync][0]
    figure.series.append(Series("sync", SIMULATED, list(x), list(y), is_curve=True))
    for i, one in enumerate(local):
        x, y = curves[one][0]
        here = slice(4 * i + 1, None, 20)
        figure.series.append(Series(one.name, SIMULATED, list(x[here]), list(y[here])))
    found = {one.tau: worst_relative(curves[one], curves[sync]) for one in local}
    spread = {one.tau: float(np.mean([y[-1] for _, y in apart[one]])) for one in local}
    return [figure], [
        agrees("1.quadratic", BOUNDS["float64"], max(found.values())),
        claim("1.apart").holds(
            min(spread.values()) > 0, ", ".join(f"{one:.2g}" for one in spread.values())
        ),
    ]
