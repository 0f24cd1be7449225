"""Which keys of a scenario one chooses, for given machines, data and limits."""

RATE = "learning_rate"
# `run` names one of several output folders that are compared.
CHOICES = (
    "protocol", "sweep.protocol", RATE, "optimiser", "compression", "model.minibatch", "run",
)  # fmt: skip


def is_of(key, path):
    return key == path or key.startswith(path + ".")


def is_choice(key):
    """Whether one may choose it; else it is a fact of the machines or of the task."""
    return any(is_of(key, path) for path in CHOICES)


def is_rate(key):
    return is_of(key, RATE)
