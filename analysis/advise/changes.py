"""What would change the answer, by the models: links half as fast, one learner more."""

import math

import numpy as np
from advise.candidates import flat, update_times
from advise.system import families, fit_system, sizes_and_times
from plots.choices import is_rate
from report.text import number


def values_of(advice, factors=None):
    """{candidate: what it is compared by, as measured, else as foretold}, times as many as updates take more."""
    found = {}
    for one in advice.candidates:
        sample, said = advice.measured.get(one.number), advice.forecaster.forecasts.get(one.number)
        factor = 1.0 if factors is None else factors[one.number]
        if sample and sample.replicas and not sample.never:
            found[one.number] = sample.mean * factor
        elif said and one.number not in advice.measured:
            found[one.number] = said.value * factor
    return found


def slower_links(advice):
    """A line; none where the network is swept, or none of its links has a bandwidth."""
    network = advice.asked["scenario"]["cluster"].get("network") or {}
    told = {path: value for path, value in flat(network).items() if path.endswith("bandwidth")}
    numbers = {path: value for path, value in told.items() if isinstance(value, float)}
    changes = {f"cluster.network.{path}": value / 2 for path, value in numbers.items()}
    swept = any(path.startswith("cluster.network") for path in advice.candidates[0].point.settings)
    timing = (
        advice.trials.timings("timing-slower-links", changes) if changes and not swept else None
    )
    if timing is None:
        return None
    slower = update_times(timing)
    factors = {one.number: slower[one.number] / one.update_time for one in advice.candidates}
    then = values_of(advice, factors)
    best = min(then, key=then.get)
    label, longer = advice.candidates[best].label, then[best] / values_of(advice)[advice.best]
    who = f"{label} stays best" if best == advice.best else f"{label} would be best"
    return f"With links half as fast {who}, at {number(longer)} times what is best now (by the times of its updates)."


def same_rate(one, other):
    of = lambda candidate: {k: v for k, v in candidate.point.settings.items() if is_rate(k)}
    return of(one) == of(other)


def one_more(advice):
    """A line; none where too few numbers of learners are swept, or the models foresee no end."""
    best, model = advice.candidates[advice.best], advice.forecaster.model
    family = next((of for of in families(advice.candidates) if best in of), None)
    sizes, times = sizes_and_times(family or ())
    if not sizes or best.learners + 1 in sizes:
        return None
    system = fit_system(sizes, times)
    mine = [one for one in family if same_rate(one, best)]
    logs = np.log([one.learners for one in mine])
    facts = np.array([list(one.facts.values()) for one in mine])
    lines = [np.polyfit(logs, column, 1) for column in facts.T]
    level, more = advice.target["level"], best.learners + 1
    x_of = lambda m: np.array([np.polyval(line, math.log(m)) for line in lines])
    updates = [model.updates_to(level, m, x_of(m)) for m in (best.learners, more)]
    if not all(map(math.isfinite, updates)):
        return None
    price = more / best.learners if advice.target["by"] == "cost" else 1.0
    factor = price * float(system.time(more) / system.time(best.learners)) * updates[1] / updates[0]
    value = number(advice.measured[best.number].mean * factor)
    return f"With one learner more, {more}, it would be {value} (by the models)."


def changes(advice):
    """Lines; none of a budget, or where no candidate is known to get there every time."""
    best = advice.measured.get(advice.best)
    has_models = advice.forecaster and advice.forecaster.model
    if not has_models or not best or best.never or advice.target["is_budget"]:
        return []
    return [line for line in (slower_links(advice), one_more(advice)) if line]
