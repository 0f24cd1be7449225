"""What setting up communicators costs: item 10."""

from reproduce.claims import Source, ratio
from papers.luo2019.setups import AR, DIVISION, RANDOM, STATIC, protocol_of

SOURCE = Source("the authors' program (preduce)")
SETUP = 0.1


def communicators(outputs):
    scenario = "what_does_a_new_group_cost"
    key = lambda row: (protocol_of(row), float(row["cluster.network.communicator_setup"]))
    made = outputs.samples(scenario, key, "gradients_applied")
    seconds = outputs.samples(scenario, key, "sim_time")[AR, 0.0].mean
    lost = {name: made[name, 0.0].mean - made[name, SETUP].mean for name in (AR, STATIC)}
    # Both are in step: as many minibatches a second are made before and after the set-up.
    paid = {name: lost[name] / made[name, 0.0].mean * seconds for name in lost}
    left = {name: ratio(made[name, SETUP], made[name, 0.0]) for name in (RANDOM, DIVISION)}
    return [], [
        SOURCE.holds(
            f"10.{name}",
            f"100 ms for a new group: what {name} pays in all, where {times} of its groups in turn are new "
            "and the others meanwhile, and where a run ends within an iteration",
            f"{times * SETUP:.1f} s, up to an iteration",
            abs(paid[name] - times * SETUP) <= 0.08,
            f"{paid[name]:.3g} s of {seconds:.3g}",
        )
        for name, times in ((AR, 1), (STATIC, 3))
    ] + [
        SOURCE.holds(
            "10.random",
            "100 ms for a new group: random keeps of its minibatches, as 560 groups do not fit among 60",
            "less than half",
            left[RANDOM].mean < 0.5,
            left[RANDOM],
        ),
        SOURCE.holds(
            "10.division",
            "100 ms for a new group: group division too draws its groups anew: it keeps of its minibatches",
            "less than half",
            left[DIVISION].mean < 0.5,
            left[DIVISION],
        ),
    ]
