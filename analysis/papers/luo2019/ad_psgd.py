"""AD-PSGD: who comes to a standstill, and what one slow learner costs: item 7."""

from papers.luo2019 import claim, figure_of
from papers.luo2019.setups import slowness_of
from reproduce.claims import paired_ratio
from reproduce.figures import sampled

LEARNERS = 16


def standstill(outputs):
    key = lambda row: (row["protocol.graph"], row["protocol.overlap"], row["status"])
    ends = outputs.values("does_ad_psgd_stand_still", key, "sim_time")
    claims = []
    for graph, overlap in sorted({at[:2] for at in ends}):
        stuck = sorted(ends.get((graph, overlap, "deadlocked"), []))
        runs = sum(len(times) for at, times in ends.items() if at[:2] == (graph, overlap))
        wanted = 0 if graph == "bipartite-exponential" else runs
        told = f"{len(stuck)} of {runs}"
        if stuck:
            told += f", after {stuck[len(stuck) // 2]:.3g} minibatches' time in the median"
        claims.append(
            claim(f"7.{graph}-{'overlap' if overlap else 'in-turn'}").holds(
                len(stuck) == wanted, told
            )
        )
    return [], claims


def slow_learner(outputs):
    scenario = "what_does_one_slow_learner_cost"
    key = lambda row: (row["protocol"], slowness_of(row))
    made = outputs.samples(scenario, key, "gradients_applied")
    times = outputs.samples(scenario, key, "mean_iteration_time")
    factors = sorted({factor for _, factor in made})
    kept = {at: paired_ratio(one, made[at[0], 1]) for at, one in made.items()}
    figure = figure_of("slow-learner")
    for name in ("ad-psgd", "all-reduce"):
        figure.series.append(sampled(name, factors, [kept[name, factor] for factor in factors]))
    lost = {factor: 1 - kept["ad-psgd", factor].mean for factor in factors}
    worst = max(lost, key=lost.get)
    claims = [
        claim("7.slow").holds(
            lost[worst] <= 1 / LEARNERS + 0.05, f"{lost[worst]:.2%} at {worst} times"
        ),
        claim("7.all-reduce").all_near(
            (f"{factor} times", factor, times["all-reduce", factor]) for factor in factors[1:]
        ),
    ]
    return [figure], claims
