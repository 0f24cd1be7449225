"""What the small tasks that stand in for ResNets ended at."""

import numpy as np
from reproduce.claims import paired_difference, sample
from reproduce.figures import PLOTTED, Series, sampled

TASKS = {
    setup: f"setup {setup}, a perceptron of three layers on clusters, five sets of data, in place of {net}"
    for setup, net in ((1, "ResNet32 on CIFAR-10"), (2, "ResNet50 on CIFAR-100"))
}
DATA_SETS = 5  # of the clusters, in every scenario that trains on them
NAMES = {"sync": "BSP", "async": "ASP"}


def arm_of(row):
    """What a run did, such as "BSP 25 %, ASP"."""
    return ", ".join(map(phase, row["sweep.protocol"]["phases"]))


def phase(one):
    share = f" {100 * one['end']['work']:g} %" if "end" in one else ""
    return NAMES[one["protocol"]["kind"]] + share


def accuracies(outputs, scenario, key):
    """{key(row of runs.csv): the Sample of test accuracies at the end}."""
    errors = outputs.samples(scenario, key, "final_test_error")
    return {name: sample(1 - one.values) for name, one in errors.items()}


def within(one, data_sets=DATA_SETS):
    """Values, data set after data set, less the mean of their own."""
    values = np.reshape(one.values, (data_sets, -1))
    return (values - values.mean(axis=1, keepdims=True)).ravel()


def spread(one, data_sets=DATA_SETS):
    """The standard deviation over the runs on a data set."""
    apart = within(one, data_sets)
    return float(np.sqrt((apart**2).sum() / (len(apart) - data_sets)))


def told(samples):
    return ", ".join(f"{name}: {one}" for name, one in samples.items())


def with_gaps(figure, label, found, logs):
    """The figure with accuracies at the end less that of the first of logs {arm: accuracy of ResNet32}.

    label: of the points; found: {arm: Sample}.
    """
    reference, *_ = logs
    gaps = [paired_difference(found[arm], found[reference]) for arm in logs]
    places, figure.ticks = list(range(len(logs))), list(logs)
    figure.series = [
        sampled(label, places, gaps),
        Series(label, PLOTTED, places, [accuracy - logs[reference] for accuracy in logs.values()]),
    ]
    return figure
