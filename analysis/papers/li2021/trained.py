"""What the small tasks that stand in for ResNets ended at."""

import json

from claims import sample

TASKS = {
    1: "setup 1, a perceptron of 64 units on 8 x 8 digits in place of ResNet32 on CIFAR-10",
    2: "setup 2, a perceptron of three layers on ten clusters in place of ResNet50 on CIFAR-100",
}
NAMES = {"sync": "BSP", "async": "ASP"}


def arm_of(row):
    """What a run did, such as "BSP 25 %, ASP"."""
    return ", ".join(map(phase, json.loads(row["sweep.protocol"])["phases"]))


def phase(one):
    share = f" {100 * one['end']['work']:g} %" if "end" in one else ""
    return NAMES[one["protocol"]["kind"]] + share


def accuracies(outputs, scenario, key):
    """{key(row of runs.csv): the Sample of test accuracies at the end}."""
    errors = outputs.samples(scenario, key, "final_test_error")
    return {name: sample(1 - one.values) for name, one in errors.items()}


def of_first(one, replicas):
    """The Sample of the first so many replicas."""
    return sample(one.values[:replicas])


def spread(one):
    """The standard deviation over replicas."""
    return float(one.values.std(ddof=1))


def told(samples):
    return ", ".join(f"{name}: {one}" for name, one in samples.items())
