"""Table 1: how stale async's gradients are."""

from reproduce.claims import Source, Tolerance

WORKERS = 40


def table1(outputs):
    scenario = "how_stale_is_async"
    mean = outputs.samples(scenario, lambda row: row["protocol"], "mean_staleness")["async"]
    updates = float(outputs.runs(scenario)[0]["updates"])
    # The gradients of the start are as stale as others were computed before: 0, 1, 2, ...
    expected = WORKERS - 1 - (WORKERS - 1) * WORKERS / 2 / updates
    return [], [
        Source("Algorithm 1; workshop version").near(
            "13.mean",
            "async on 40 workers: a gradient is stale by N - 1 updates on average, less those of "
            "the start (from a read to its update, as the paper's lowest layer: 38.97, from "
            "memory)",
            expected,
            mean,
            Tolerance(absolute=0.01, errors=4),
        ),
        Source("Table 1").skipped(
            "13.layers",
            "upper layers are 0.3 to 0.4 times as stale as the lowest",
            "layers are not modelled: a learner reads and sends the whole model at once",
        ),
    ]
