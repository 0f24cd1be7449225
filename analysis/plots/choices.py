"""Which keys of a scenario one chooses, for given machines, data and limits."""

RATE = "learning_rate"
# `run` names one of several output folders that are compared.
CHOICES = (
    "protocol", RATE, "optimiser", "model.minibatch", "run",
)  # fmt: skip


def is_of(key, path):
    return key == path or key.startswith(path + ".")


def is_choice(key):
    """Whether one may choose it; else it is a fact of the machines or of the task."""
    return any(is_of(key, path) for path in CHOICES)


def is_chosen(key, scenario):
    """Whether a swept key is a choice, or the network of a protocol, beside which a zip lists it:
    protocols with a server and without one take different ones."""
    zipped = scenario.get("sweep", {}).get("zip", {})
    of_protocol = key in zipped and any(is_of(other, "protocol") for other in zipped)
    return is_choice(key) or (is_of(key, "cluster.network") and of_protocol)


def is_rate(key):
    return is_of(key, RATE)
