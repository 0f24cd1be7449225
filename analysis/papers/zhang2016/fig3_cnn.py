"""Fig 3 in full, where it was run: a CNN on CIFAR-10: item 5."""

from reproduce.claims import Source
from reproduce.outputs import Missing
from papers.zhang2016.fig3_mnist import CHANCE, divided, key, panels

TASK = "CNN on CIFAR-10, 140 epochs, lambda = 30, mu = 4"


def fig3_cnn(outputs):
    scenario = "gpu/fig3_cnn_on_cifar10"
    try:
        errors = outputs.samples(scenario, key, "final_test_error")
    except Missing as reason:
        what = "alpha0 fails for n = 15 and 30 (error 90 %), alpha0 / tau is hardsync for all n"
        return [], [Source("Fig 3").skipped("5.cnn", f"{TASK}: {what}", str(reason))]
    failing = [errors["step", f"n = {n}"] for n in (15, 30)]
    return list(panels(outputs, scenario, "fig3_cnn", "CNN on CIFAR-10")), [
        Source("Fig 3 (error 90 %)").holds(
            "5.cnn-fails",
            f"{TASK}, alpha0, n = 15 and 30: do not learn, test errors",
            f"> {CHANCE:g}",
            min(one.mean for one in failing) > CHANCE,
            " and ".join(map(str, failing)),
        ),
        divided(Source("Fig 3 (the curves coincide)"), "cnn", TASK, errors, 0.03),
    ]
