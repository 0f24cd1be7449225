"""The works that gradrace and its peers do, and how each is said to gradrace.

A work is a dict of plain values, so that it can be handed to a program of any language.
"""

from math import sqrt

ETA = 0.01
GRADIENT_LEARNERS = 8
MINIBATCHES = (1, 32, 128)
LEARNERS = (8, 1000, 1_000_000)
# Updates after which losses are compared, and steps of one compiled scan, chosen for short calls.
MODELS = {
    "softmax": {"compared": 256, "scan": 256},
    "mlp": {"compared": 256, "scan": 64},
    "lenet": {"compared": 32, "scan": 8},
}
# Networks for images of CIFAR-10's shape, which not every peer has.
IMAGE_MODELS = {
    "cifar10-full": {"compared": 32, "scan": 8},
    "resnet-8": {"compared": 32, "scan": 8},
}
IMAGE_MINIBATCHES = (32, 128)


def timing_work(protocol, learners):
    """Times alone: exponential runtimes of mean 1; k-sync waits for half of the learners."""
    k = 1 if protocol == "async" else learners // 2
    name = f"{protocol} P={learners}"
    return {"kind": "timing", "name": name, "protocol": protocol, "learners": learners, "k": k}


def gradient_work(model, minibatch):
    """Async SGD of P = 8 learners with exponential runtimes, every value kept that a learner has."""
    work = {"kind": "gradients", "name": f"{model} m={minibatch}", "model": model}
    work |= {"minibatch": minibatch, "learners": GRADIENT_LEARNERS, "eta": ETA}
    return work | (MODELS | IMAGE_MODELS)[model]


def has_images(work):
    return work.get("model") in IMAGE_MODELS


def all_works():
    timing = [timing_work(p, n) for p in ("async", "k-sync") for n in LEARNERS]
    of_mnist = [gradient_work(model, m) for model in MODELS for m in MINIBATCHES]
    of_images = [gradient_work(model, m) for model in IMAGE_MODELS for m in IMAGE_MINIBATCHES]
    return timing + of_mnist + of_images


def quick_works():
    """What shows in seconds that everything goes."""
    timing = [timing_work("async", 8), timing_work("k-sync", 8)]
    return timing + [gradient_work(model, 32) for model in ("softmax", "mlp")]


def minibatches_per_update(work):
    """Begun in timing-only mode; computed where there are gradients."""
    return work["learners"] if work.get("protocol") == "k-sync" else 1


def expected_time(work, updates):
    """Mean time between updates and its standard error over so many, with exponential runtimes.

    X(K:P) of P exponentials of mean 1 is the sum over i = P-K+1 .. P of independent exponentials of
    mean 1 / i; async is K = 1 over and over, as all are without memory.
    """
    learners, k = work["learners"], work["k"]
    parts = range(learners - k + 1, learners + 1)
    return sum(1 / i for i in parts), sqrt(sum(1 / i**2 for i in parts) / updates)


def scenario_of(work, data):
    """The scenario of gradrace that is this work; data is the folder of MNIST's files or of images."""
    learners = {"learners": work["learners"]}
    scenario = {
        "title": f"bench/peers: {work['name']}",
        "cluster": learners | {"runtime": {"distribution": "exponential", "mean": 1}},
        "protocol": {"kind": work.get("protocol", "async")},
        "stop": {"updates": 1},
        "record": {"details": False},
    }
    if work["kind"] == "timing":
        if work["protocol"] == "k-sync":
            scenario["protocol"]["k"] = work["k"]
        return scenario
    kind = {
        "softmax": {"kind": "softmax"},
        "mlp": {"kind": "mlp", "widths": [128]},
        "lenet": {"kind": "cnn"},
        "cifar10-full": {"kind": "cnn", "net": "cifar10-full"},
        "resnet-8": {"kind": "resnet", "depth": 8},
    }[work["model"]]
    dataset = {"dataset": {"kind": "idx", "path": str(data)}}
    if has_images(work):
        images = {"kind": "cifar10", "path": str(data), "divisor": 1, "subtract": "pixel-mean"}
        dataset = {"dataset": images}
    scenario["model"] = kind | dataset | {"minibatch": work["minibatch"]}
    scenario["learning_rate"] = {"kind": "constant", "eta": work["eta"]}
    return scenario
