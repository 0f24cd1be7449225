"""Which updates the policies make: items S5 and S6."""

import numpy as np
from papers.li2021 import claim, figure_of
from papers.li2021.stragglers import DETECTOR, POLICIES, policy_of
from reproduce.figures import SIMULATED, Series


def updates_made(outputs):
    """S5 and S6."""
    scenario = "which_updates_do_policies_make"

    def key(row):
        windows = row["cluster.windows"]
        return len(windows[0]["learners"]), policy_of(row)

    sizes = outputs.updates(scenario, key, "gradients")
    done = outputs.samples(scenario, key, "gradients_applied")
    claims = []
    for (number, policy), runs in sizes.items():
        changes = [int(np.sum(np.diff(one > 1) != 0)) for one in runs]
        wanted = 3 if policy == "greedy" else 1
        claims.append(
            claim(f"S5.{number}.{policy}").holds(
                set(changes) == {wanted}, ", ".join(map(str, changes))
            )
        )
        together = [int(one[one > 1].sum()) for one in runs]
        most = 3207 if policy == "elastic" else 3200
        claims.append(
            claim(f"S6.{number}.{policy}").holds(
                all(3200 <= one <= most for one in together)
                and set(done[number, policy].values) == {25_600},
                ", ".join(map(str, together)) + f"; {done[number, policy].mean:,.0f}",
            )
        )
    return [steps_figure(outputs, scenario, key)], [*claims, everything(outputs)]


def everything(outputs):
    """At full length."""
    done = {}
    for number in (1, 2):
        found = outputs.samples(
            f"scenario{number}_what_do_policies_save", policy_of, "gradients_applied"
        )
        done |= {(number, policy): set(one.values) for policy, one in found.items()}
    return claim("S6.all").holds(
        all(one == {64000} for one in done.values()),
        " ".join(sorted({f"{value:,.0f}" for one in done.values() for value in one})),
    )


def steps_figure(outputs, scenario, key):
    """How much of the work is done when."""
    sizes = outputs.updates(scenario, key, "gradients")
    times = outputs.updates(scenario, key, "time")
    figure = figure_of("policies", detector=DETECTOR, marks=[127, 527])
    for policy in POLICIES:
        time, done = times[2, policy][0], np.cumsum(sizes[2, policy][0])
        kept = time <= 700
        few = slice(None, None, 20)
        figure.series.append(
            Series(policy, SIMULATED, list(time[kept][few]), list(done[kept][few]), None, True)
        )
    return figure
