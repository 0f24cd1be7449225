"""What updates that take time do to lambda-softsync: item 9."""

from papers.zhang2016 import claim, figure_of
from reproduce.claims import paired_ratio, plus, scaled
from reproduce.figures import sampled

ROWS = 50_000  # of CIFAR-10's training set
NAMES = {
    ("hardsync", 30): "hardsync",
    ("softsync", 30): "1-softsync",
    ("softsync", 1): "30-softsync",
}
TASK = "lambda = 30, a minibatch takes mu / 128 + 0.01, an update 0.0018"


def epochs(outputs):
    scenario = "how_long_is_an_epoch"
    key = lambda row: (NAMES[row["protocol"], row["k"]], row["model.minibatch"])
    runs = outputs.samples(scenario, key, "sim_time")
    updates = outputs.samples(scenario, key, "updates")
    gradients = outputs.samples(scenario, key, "gradients_applied")
    each = {at: paired_ratio(one, gradients[at]) for at, one in runs.items()}
    sizes = sorted({mu for _, mu in each})
    figure = figure_of("epochs", task=TASK)
    for name in NAMES.values():
        found = [scaled({0: each[name, mu]}, ROWS / mu)[0] for mu in sizes]
        figure.series.append(sampled(name, sizes, found))
    return [figure], claims_of(each, updates, gradients, sizes)


def claims_of(each, updates, gradients, sizes):
    per_update = {
        name: paired_ratio(gradients[name, 4], updates[name, 4]).mean for name in NAMES.values()
    }
    over = lambda mu: paired_ratio(each["30-softsync", mu], each["1-softsync", mu])
    return [
        claim("9.updates").holds(
            [per_update[name] for name in NAMES.values()] == [30, 30, 1],
            ", ".join(f"{name}: {count:g}" for name, count in per_update.items()),
        ),
        claim("9.small").above(plus(over(4), -1.2), told=over(4)),
        claim("9.saturated").near(each["30-softsync", 4]),
        claim("9.large").near(over(128)),
        claim("9.between").ordered(
            (f"mu = {mu}: {low} and {high}", each[low, mu], each[high, mu])
            for mu in sizes
            for low, high in (("1-softsync", "30-softsync"), ("30-softsync", "hardsync"))
        ),
    ]
