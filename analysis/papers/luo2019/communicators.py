"""What setting up communicators costs: item 10."""

from papers.luo2019 import claim
from papers.luo2019.setups import AR, DIVISION, RANDOM, STATIC, protocol_of
from reproduce.claims import ratio

SETUP = 0.1


def communicators(outputs):
    scenario = "what_does_a_new_group_cost"
    key = lambda row: (protocol_of(row), row["cluster.network.communicator_setup"])
    made = outputs.samples(scenario, key, "gradients_applied")
    seconds = outputs.samples(scenario, key, "sim_time")[AR, 0.0].mean
    lost = {name: made[name, 0.0].mean - made[name, SETUP].mean for name in (AR, STATIC)}
    # Both are in step: as many minibatches a second are made before and after the set-up.
    paid = {name: lost[name] / made[name, 0.0].mean * seconds for name in lost}
    left = {name: ratio(made[name, SETUP], made[name, 0.0]) for name in (RANDOM, DIVISION)}
    return [], [
        claim(f"10.{name}").holds(
            abs(paid[name] - times * SETUP) <= 0.08, f"{paid[name]:.3g} s of {seconds:.3g}"
        )
        for name, times in ((AR, 1), (STATIC, 3))
    ] + [
        claim("10.random").holds(left[RANDOM].mean < 0.5, left[RANDOM]),
        claim("10.division").holds(left[DIVISION].mean < 0.5, left[DIVISION]),
    ]
