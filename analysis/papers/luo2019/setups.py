"""Whose runs are whose: protocols by the names of the paper, networks, the slow learner."""

PS, AR, AD = "parameter server", "All-Reduce", "AD-PSGD"
STATIC, RANDOM, BUFFER = "static", "random", "group buffer"
DIVISION, INTRA = "group division", "inter-intra"
FILTERED = {DIVISION: f"{DIVISION} + filter", INTRA: f"{INTRA} + filter"}
NAMES = [PS, AR, AD, STATIC, RANDOM, BUFFER, DIVISION, FILTERED[DIVISION], INTRA, FILTERED[INTRA]]
ALONE, SHARED = "cards not shared", "cards shared"
CARDS = {ALONE: "alone", SHARED: "shared"}  # in names of figures

COMPUTE, JITTER = 0.045, 0.0009  # of a minibatch, seconds
LEARNERS = 16
BYTES, BETWEEN, SERVER = 6e7, 5e9, 6e9
RING = 2 * (LEARNERS - 1) / LEARNERS * BYTES / BETWEEN


def protocol_of(row):
    """As the paper names it."""
    protocol = row["sweep.protocol"]
    kind = protocol.get("schedule", protocol["kind"])
    names = {"sync": PS, "all-reduce": AR, "ad-psgd": AD, "group-buffer": BUFFER}
    name = names.get(kind) or kind.replace("group-division", DIVISION)
    return FILTERED[name] if "filter" in protocol else name


def slowness_of(row):
    """How many times as long the slowest learner takes."""
    return round(1 / min(row["cluster.speeds"]))


def cards_of(row):
    """Whether exchanges share network cards; the server's runs stand with both."""
    network = row["cluster.network"]
    return {True: SHARED, False: ALONE, None: None}[network.get("shared")]


def place_of(row):
    return cards_of(row), slowness_of(row), protocol_of(row)


def both_cards(found):
    """The runs of the server beside those of both kinds of cards."""
    server = {
        (cards, *at[1:]): one for cards in (ALONE, SHARED) for at, one in found.items() if not at[0]
    }
    return {at: one for at, one in (found | server).items() if at[0]}


def dashed(name):
    """As a part of a claim's id."""
    return name.replace(" ", "-")
