"""Why a point is best: how fast it works, what its learners do with their time, which resource is
the busiest, how stale its gradients are."""

from markupsafe import Markup
from report.means import crossing
from report.text import bold, joined, number, percent

MOST_REASONS = 4
NOT_KNOWN = float("nan")


def reasons(case, found):
    """Why: what the best one, or the one that looks best, does other than the nearest, the slowest
    and the fastest; a line each."""
    contests = [one.contest for one in found if one.contest]
    if not contests or case.facts["rate"].isna().all() or len(case.points) < 2:
        return []
    rate = case.facts["rate"][case.leaders]
    fronts = [one.front for one in contests]
    ends = [rate.idxmin(), rate.idxmax()] if rate.notna().any() else []
    told = list(dict.fromkeys([*fronts, *case.leaders[:2], *ends]))
    of_each = list({case.family_label(point): point for point in reversed(told)}.values())[::-1]
    lines = [doing(case, point) for point in of_each[:MOST_REASONS]]
    return [line for line in [*lines, turn(case, found)] if line]


LEAST_TOLD = 0.005  # of a share of time
RESOURCES = {
    "computing": "the learners' computing",
    "link": "the server's link",
    "cards": "the learners' cards",
    "network": "the network",
    "server": "the server",
}


def have_cards(folder):
    """Whether learners have cards of their own around a server, at some point."""
    network = folder.scenario.get("cluster", {}).get("network", {})
    return "card" in network or any(
        path.startswith("cluster.network.card") for path in folder.swept
    )


def shares(facts, cards=False):
    """The share of time for which each resource is busy, of those that are known. A link, or a
    network, is busy at least while the mean learner has an exchange, or else the learners' cards are."""
    link = facts.get("link_utilisation", NOT_KNOWN)
    hidden = facts.get("hidden", NOT_KNOWN)
    exchanging = facts["communicating"] + (hidden if hidden == hidden else 0)
    alone = link if cards else max(link, exchanging)
    found = {
        "computing": facts["useful"] + facts["wasted"],
        "link": alone if link == link else NOT_KNOWN,
        "cards": exchanging if cards and link == link else NOT_KNOWN,
        "network": exchanging if link != link else NOT_KNOWN,
        "server": facts.get("server_utilisation", NOT_KNOWN),
    }
    return {name: share for name, share in found.items() if share == share}


COSTS = {
    "communicating": "communication costs time",
    "encoding": "making and reading messages costs time",
    "waiting": "waiting costs time",
    "wasted": "gradients that are thrown away cost time",
}


def what_costs(case):
    """What the learners of the best looking points lose most of their time to, if they lose any, and
    whether staleness costs accuracy."""
    lost = case.facts.loc[case.leaders, list(COSTS)].mean()
    told = [COSTS[lost.idxmax()]] if lost.max() > LEAST_TOLD else []
    return [*told, "staleness costs accuracy"] if is_stale(case) else told


def is_stale(case):
    """Whether runs that train use stale gradients."""
    staleness = case.folder.runs.get("mean_staleness")
    trains = bool(case.measures) and case.measures[0].key != "rate"
    return trains and staleness is not None and staleness.max() > 0


def doing(case, point):
    """How fast a point works, what its learners do with their time, which resource is the busiest,
    how stale its gradients are."""
    facts = case.facts.loc[point]
    told = [f"{number(facts['rate'])} gradients per {case.folder.time_unit or 'unit of time'}"]
    busy = shares(facts, have_cards(case.folder))
    if "computing" in busy:
        verbs = {
            "communicating": "communicate",
            "encoding": "make and read messages",
            "waiting": "wait",
            "down": "are down",
        }
        lost = [
            f"{verb} {percent(facts[part])}"
            for part, verb in verbs.items()
            if facts[part] > LEAST_TOLD
        ]
        spent = joined([f"compute {percent(busy['computing'])}", *lost])
        told.append(f"learners {spent} of the time")
    if facts["wasted"] > LEAST_TOLD:
        told.append(f"throw {percent(facts['wasted'])} of it away")
    told += busiest(facts, busy)
    stale = facts.get("mean_staleness", NOT_KNOWN)
    if stale == stale:
        told.append("fresh gradients" if stale == 0 else f"gradients {number(stale)} updates stale")
    return Markup("{}: {}.").format(bold(case.label(point)), "; ".join(told))


def busiest(facts, busy):
    """Which resource is the busiest, where learners share any."""
    shared = [share for name, share in busy.items() if name != "computing"]
    if max(shared, default=0) < LEAST_TOLD:
        return []
    name = max(busy, key=busy.get)
    direction = ""
    if name == "link":
        direction = f" (its busier direction {percent(facts['link_utilisation'])}{turns(facts)})"
    if name == "server":
        direction = f" ({percent(facts['server_utilisation'])})"
    return [f"the busiest resource is {RESOURCES[name]}{direction}"]


def turns(facts):
    """Why learners communicate for longer than each direction is busy, where both together last so long."""
    one, both = facts["link_utilisation"], facts["communicating"]
    explains = one + LEAST_TOLD < both <= 2 * one
    return "; pulls and pushes take turns" if explains else ""


def turn(case, found):
    """From when on the one that ends better is ahead of the one that is sooner; empty where they
    are one, or never cross."""
    fronts = [one.contest.front for one in found if one.contest]
    if len(set(fronts)) < 2:
        return ""
    time = crossing(case, *fronts)
    if time is None:
        return ""
    early, late = (bold(case.label(point)) for point in fronts)
    words = "Until time {} the mean error of {} is the lower one, from then on that of {}."
    return Markup(words).format(f"{number(time)} {case.folder.time_unit}".rstrip(), early, late)
