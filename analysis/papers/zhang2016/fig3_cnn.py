"""Fig 3 in full, where it was run: a CNN on CIFAR-10: item 5."""

from papers.zhang2016.fig3_mnist import CHANCE, divided, key, panels
from papers.zhang2016.words import claim
from reproduce.outputs import Missing


def fig3_cnn(outputs):
    scenario = "gpu/fig3_cnn_on_cifar10"
    try:
        errors = outputs.samples(scenario, key, "final_test_error")
    except Missing as reason:
        return [], [claim("5.cnn").skipped(str(reason))]
    failing = [errors["step", f"n = {n}"] for n in (15, 30)]
    return list(panels(outputs, scenario, "fig3_cnn", "CNN on CIFAR-10")), [
        claim("5.cnn-fails").holds(
            min(one.mean for one in failing) > CHANCE, " and ".join(map(str, failing))
        ),
        divided("cnn", errors, 0.03),
    ]
