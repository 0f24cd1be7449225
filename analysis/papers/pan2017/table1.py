"""Table 1: how stale async's gradients are."""

from papers.pan2017 import claim

WORKERS = 40


def table1(outputs):
    scenario = "how_stale_is_async"
    mean = outputs.samples(scenario, lambda row: row["protocol"], "mean_staleness")["async"]
    updates = float(outputs.runs(scenario)[0]["updates"])
    # The gradients of the start are as stale as others were computed before: 0, 1, 2, ...
    expected = WORKERS - 1 - (WORKERS - 1) * WORKERS / 2 / updates
    return [], [
        claim("13.mean").near(mean, expected),
        claim("13.layers").skipped(
            "layers are not modelled: a learner reads and sends the whole model at once"
        ),
    ]
