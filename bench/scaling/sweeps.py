"""What gradrace's cost may grow with, and how fast it is expected to."""

from dataclasses import dataclass
from typing import Callable

EXPONENTIAL = {"distribution": "exponential", "mean": 1}


@dataclass(frozen=True)
class Sweep:
    """Cost ~ value^exponent for values from `begin` on, the exponent within `expected`."""

    name: str
    unit: str  # of the work whose cost it is
    values: list
    begin: int
    expected: tuple  # least, greatest
    reason: str
    scenario: Callable

    def shorter(self, value):
        """Updates of the shorter run: 2 P of async in timing-only mode, else 8."""
        return 2 * value if self.name == "learners" else 8


def scenario(learners, protocol, **more):
    cluster = {"learners": learners, "runtime": EXPONENTIAL}
    stop = {"stop": {"updates": 1}, "record": {"details": False}}
    return {"title": "bench/scaling", "cluster": cluster, "protocol": protocol} | stop | more


def softmax(minibatch, features, learners=8, protocol=None, **more):
    dataset = {"kind": "synthetic", "features": features, "rows": 2000, "test_rows": 100}
    model = {"kind": "softmax", "minibatch": minibatch, "dataset": dataset}
    rate = {"kind": "constant", "eta": 1e-4}
    protocol = protocol or {"kind": "async"}
    return scenario(learners, protocol, model=model, learning_rate=rate, **more)


SWEEPS = [
    Sweep(
        "learners",
        "minibatch, timing-only",
        [8, 64, 512, 4096, 32768, 262144, 1048576],
        8,
        (0, 0.3),
        "log P for the next event, then caches",
        lambda p: scenario(p, {"kind": "async"}),
    ),
    Sweep(
        "K",
        "update of k-sync, P = 64, softmax",
        [1, 2, 4, 8, 16, 32, 64],
        4,
        (0.85, 1.1),
        "K gradients; below, the restart of P learners",
        lambda k: softmax(32, 256, 64, {"kind": "k-sync", "k": k}),
    ),
    Sweep(
        "minibatch",
        "gradient of softmax 784 x 10",
        [1, 4, 16, 64, 256, 1024],
        64,
        (0.85, 1.1),
        "m rows; below, the update of all parameters",
        lambda m: softmax(m, 784),
    ),
    Sweep(
        "dimension",
        "gradient of softmax d x 10, m = 32",
        [16, 64, 256, 1024, 4096, 16384],
        256,
        (0.85, 1.2),
        "d numbers a row; below, what a gradient costs anyway; above, caches",
        lambda d: softmax(32, d),
    ),
    Sweep(
        "replicas",
        "update of all replicas, softmax 784 x 10, m = 32",
        [1, 2, 4, 8, 16],
        1,
        (0.9, 1.1),
        "they share nothing but the data",
        lambda r: softmax(32, 784, replicas=r),
    ),
]
