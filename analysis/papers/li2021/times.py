"""How long a run is that begins in BSP: items T3 and T4."""

from claims import Tolerance, holds, near, scaled
from figures import PLOTTED, SIMULATED, Figure, Series
from outputs import band_of, means

# Share of the work done in BSP: time over that of BSP, in the released logs.
LOGS = {
    1: {
        0.02: 0.168,
        0.04: 0.186,
        0.05: 0.195,
        0.0625: 0.197,
        0.1: 0.238,
        0.15: 0.281,
        0.2: 0.324,
        0.25: 0.367,
        0.5: 0.581,
        0.75: 0.80,
    },
    2: {0.0625: 0.569, 0.125: 0.6015, 0.25: 0.646, 0.5: 0.754},
    3: {0.5: 0.536},
}
# Where the paper switches, and the range of the speed-up.
SPEED_UPS = {1: (0.0625, 4.8, 5.3), 2: (0.125, 1.6, 1.75), 3: (0.5, 1.8, 1.95)}
SOURCE = "released logs"


def times(outputs):
    figure = Figure(
        "times", "Time of a run", "share of the work done in BSP", "time over that of BSP"
    )
    claims = []
    for setup, logged in LOGS.items():
        shares = outputs.samples(
            f"setup{setup}_how_long_is_a_run",
            lambda row: float(row["protocol.phases.0.end.work"]),
            "sim_time",
        )
        shares = scaled(shares, 1 / shares[1.0].mean)
        xs = sorted(shares)
        found = [shares[x] for x in xs]
        name = f"setup {setup}"
        figure.series += [
            Series(name, SIMULATED, xs, means(found), band_of(found)),
            Series(name, PLOTTED, list(logged), list(logged.values())),
        ]
        claims += [
            near(
                f"T3.setup-{setup}.{share:g}",
                SOURCE,
                f"setup {setup}, BSP for {100 * share:g} % of the work: time over that of BSP",
                value,
                shares[share],
                Tolerance(absolute=0.02),
            )
            for share, value in logged.items()
        ]
        share, low, high = SPEED_UPS[setup]
        speed_up = 1 / shares[share].mean
        claims.append(
            holds(
                f"T4.setup-{setup}",
                "figures",
                f"setup {setup}: speed-up over BSP of the switch at {100 * share:g} %",
                f"{low} to {high}",
                low <= speed_up <= high,
                f"{speed_up:.4g}",
            )
        )
    return [figure], claims
