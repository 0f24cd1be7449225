"""Fig 10: K-async and K-batch-async on MNIST."""

from reproduce.claims import UNCAPPED, Source, Tolerance, paired_difference, paired_ratio
from reproduce.figures import PLOTTED, Figure, Series, curve_series
from papers.laws import theorem_2
from reproduce.replicas import mean_at


def fig10(outputs):
    scenario = "fig10_k_async_against_k_batch_async"
    by_protocol = lambda row: row["protocol"]
    names = ("k-async", "k-batch-async")
    by_time = outputs.log_curves(scenario, by_protocol, "time")
    by_update = outputs.log_curves(scenario, by_protocol, "update")
    ends = outputs.samples(scenario, by_protocol, "mean_iteration_time")
    note = "P = 10, K = 8 and a mean of 10 are inferred from the plotted times. Marks: the ends."
    figure = Figure(
        "fig10", "Fig 10: MNIST, K-async and K-batch-async", "time", "ln loss", note=note
    )
    figure.series += [curve_series(name, by_time[name]) for name in names]
    figure.series += [
        Series("k-async", PLOTTED, [1486], [0.485]),
        Series("k-batch-async", PLOTTED, [805], [0.485]),
    ]
    late, batch = (mean_at(by_update[name], 100) for name in names)
    claims = [
        Source("Fig 10").near(
            "16.loss",
            "ln loss after 100 iterations: K-async's less K-batch-async's",
            0.0,
            paired_difference(late, batch),
            UNCAPPED,
        ),
        Source("Theorem 2").near(
            "16.time",
            "K-async's time of an update over K-batch-async's, P = 10, K = 8",
            theorem_2(8, 10),
            paired_ratio(ends["k-async"], ends["k-batch-async"]),
            Tolerance(relative=0.02, errors=4),
        ),
    ]
    claims.append(
        Source("Fig 10 against its caption (no run)").disagrees(
            "16.caption",
            "K-batch-async's time of an update, from the end of the plotted curve: at most E[X] = 1, "
            "which Lemma 4 has for the caption's exp(1), whatever K and P are",
            1.0,
            805 / 100,
            Tolerance(relative=0.05),
        )
    )
    return [figure], claims
