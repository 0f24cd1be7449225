"""Fig 10: K-async and K-batch-async on MNIST."""

from papers.dutta2018 import claim, figure_of
from papers.laws import theorem_2
from reproduce.claims import paired_difference, paired_ratio
from reproduce.figures import PLOTTED, Series, curve_series
from reproduce.replicas import mean_at


def fig10(outputs):
    scenario = "fig10_k_async_against_k_batch_async"
    by_protocol = lambda row: row["protocol"]
    names = ("k-async", "k-batch-async")
    by_time = outputs.log_curves(scenario, by_protocol, "time")
    by_update = outputs.log_curves(scenario, by_protocol, "update")
    ends = outputs.samples(scenario, by_protocol, "mean_iteration_time")
    note = "P = 10, K = 8 and a mean of 10 are inferred from the plotted times. Marks: the ends."
    figure = figure_of("fig10", note=note)
    figure.series += [curve_series(name, by_time[name]) for name in names]
    figure.series += [
        Series("k-async", PLOTTED, [1486], [0.485]),
        Series("k-batch-async", PLOTTED, [805], [0.485]),
    ]
    late, batch = (mean_at(by_update[name], 100) for name in names)
    claims = [
        claim("16.loss").near(paired_difference(late, batch)),
        claim("16.time").near(
            paired_ratio(ends["k-async"], ends["k-batch-async"]), theorem_2(8, 10)
        ),
    ]
    claims.append(claim("16.caption").disagrees(805 / 100))
    return [figure], claims
