"""What is said of an advice: its sentence, what it rests on, and how it is printed."""

import math

from advise.race import SAME
from advise.system import families, fit_system, sizes_and_times
from printed import aligned, count_text, known, short
from report.text import interval, number, plus_minus

MOST_NAMED = 3
MOST_ROWS, MOST_SYSTEMS = 16, 6
AS_GOOD = f"is as good as any within {100 * SAME:.0f} %"


def goal_text(target):
    return f"{target['key'].replace('_', ' ')} {target['level']:g}"


def labels(advice, numbers):
    """The first of them by name."""
    names = [advice.candidates[n].label for n in numbers[:MOST_NAMED]]
    more = len(numbers) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def lead_text(advice, measure):
    """How far ahead the chosen one is of the next."""
    verdicts = advice.race.verdicts if advice.race else {}
    leads = {n: one for n, one in verdicts.items() if one.lead and one.lead.mean > 0}
    if not leads:
        return ""
    nearest = min(leads, key=lambda n: leads[n].lead.mean)
    found = leads[nearest]
    least = "at least " if found.is_bound else ""
    how_sure = f" (95 % interval {interval(found.lead)})" if found.lead.replicas > 1 else ""
    return (
        f", {measure.better} than {advice.candidates[nearest].label} by {least}"
        f"{number(found.lead.mean)}{how_sure}"
    )


def mean_text(measure, sample):
    """Of runs that never got there how many did, too."""
    if not sample.never:
        return measure.amount(plus_minus(sample))
    return f"{measure.amount(number(sample.mean))} {plus_minus(sample)}"


def nearest_text(advice):
    """Where no candidate gets there: the one that came nearest."""
    column, target = advice.target["column"], advice.target
    ends = {n: one.runs["final_" + column].min() for n, one in advice.trials.folders.items()}
    ends = {n: value for n, value in ends.items() if math.isfinite(value)}
    if not ends:
        return f"None reaches {goal_text(target)}: all that ran diverged."
    nearest = min(ends, key=ends.get)
    reaches = "reaches" if advice.sure else "has reached"
    return (
        f"None {reaches} {goal_text(target)}; the nearest is {advice.candidates[nearest].label}, which came to "
        f"{number(ends[nearest], 4)}."
    )


def about_as_good(advice):
    """Those that are no better, and behind by no more than they might be better."""
    if not advice.race or advice.race.front is None:
        return []
    most = SAME * advice.measured[advice.race.front].mean
    leads = {n: advice.race.verdicts[n].lead for n in advice.race.of("no better")}
    return [n for n, lead in leads.items() if lead and lead.mean <= most]


def claim(advice):
    """That it is best where it is surely better than each that raced, and no interval of a difference holds 0."""
    if not advice.sure:
        return "looks best"
    others = advice.race.verdicts.values()
    return "is best" if all(one.word == "worse" and one.is_apart for one in others) else AS_GOOD


def sentence(advice):
    """The answer."""
    if not advice.trials.folders:
        return "Nothing is known yet: the budget ended before any candidate had trained."
    sure = "" if advice.sure else "Not sure yet: " if advice.is_cut else "Not sure: "
    if advice.best is None:
        return sure + nearest_text(advice)
    measure = advice.trials.measure(advice.trials.folders)
    found = mean_text(measure, measure.samples[advice.best])
    where = f" within {goal_text(advice.target)}" if advice.target["is_budget"] else ""
    same = about_as_good(advice)
    return (
        f"{sure}{advice.candidates[advice.best].label} {claim(advice)} for {measure.name}{where}: {found}"
        f"{lead_text(advice, measure)}"
        + (f"; about as good: {labels(advice, same)}" if same else "")
        + "."
    )


# ---- models


def models_of(advice):
    """What was fitted, as JSON."""
    fitted = [(of, fit_system(*sizes_and_times(of))) for of in families(advice.candidates)]
    systems = [
        {
            "of": [one.number for one in of], "theta": system.theta.tolist(), "error": system.error,
            "fastest": known(system.fastest),
        }
        for of, system in fitted
    ]  # fmt: skip
    model = advice.forecaster and advice.forecaster.model
    if not model:
        return {"systems": systems}
    residuals = {str(n): one for n, one in advice.forecaster.residuals.items()}
    least = {"least": float(model.least), "penalty": float(model.alpha), "weights": model.weights}
    return {"systems": systems, **least, "residuals": residuals, "spread": advice.forecaster.spread}


def undecided_text(advice):
    if not advice.race.is_spent:
        return f", which {advice.race.most} replicas do not tell"
    share = advice.asked["share"]
    more = "a larger one goes on" if share < 1 else "more replicas go on"
    return f"; what is left of --share {number(share)} of all runs' gradients does not pay for another round, and {more}"


def notes(advice):
    """What the answer rests on, a line each."""
    verdicts = {one.number: advice.verdict_of(one.number) for one in advice.candidates}
    untried = [
        n for n in verdicts if n not in advice.trials.folders and n not in advice.trials.failed
    ]
    if untried:
        yield f"Not trained: {labels(advice, untried)}; models foretell them as worse, or as less likely to be best."
    if failed := [n for n, word in verdicts.items() if word == "failed"]:
        yield f"Failed, and left out: {labels(advice, failed)}."
    diverged = [
        n for n, one in advice.trials.folders.items() if (one.runs["status"] == "diverged").any()
    ]
    if diverged:
        yield f"Runs diverged of: {labels(advice, diverged)}."
    raced = advice.race.live if advice.race else set(advice.trials.folders)
    if still := [n for n in sorted(raced) if n != advice.best]:
        why = "" if advice.is_cut else undecided_text(advice)
        yield f"May be as good, or better: {labels(advice, still)}{why}."
    yield from advice.changes
    yield f"It computed {number(advice.trials.spent, 4)} gradients{of_all_text(advice)}."


def of_all_text(advice):
    """Of what all candidates would compute; empty where nothing of that is known."""
    most, count = advice.all_gradients, len(advice.candidates)
    if not most or not math.isfinite(most):
        return ""
    replicas = count_text(advice.asked["replicas"], "replica")
    share = number(100 * advice.trials.spent / most)
    return f"; all {count} candidates with {replicas} take {number(most, 4)} or more, of which that is {share} %"


# ---- as it is printed


def range_text(row):
    if math.isnan(row["foretold"]):
        return "-"
    if math.isinf(row["foretold"]):
        low = row["foretold_low"]
        return "never" if math.isinf(low) else f"> {short(low, 3)}"
    return f"{short(row['foretold'])} ({short(row['foretold_low'], 3)} to {short(row['foretold_high'], 3)})"


def measured_text(row):
    if not row["runs"]:
        return "-"
    if row["never"]:
        ended = f", ended at {short(row['time'], 3)}" if row["never"] == row["runs"] else ""
        return f"in {row['runs'] - row['never']} of {row['runs']} runs{ended}"
    half = row["measured_95"]
    return short(row["measured"]) + ("" if math.isnan(half) else f" \u00b1 {short(half, 2)}")


def table(rows):
    measured = lambda row: row["measured"] if row["measured"] == row["measured"] else math.inf
    said = lambda row: row["foretold"] if row["foretold"] == row["foretold"] else math.inf
    ordered = sorted(rows, key=lambda row: (row["verdict"] != "best", measured(row), said(row)))
    ordered, left = ordered[:MOST_ROWS], ordered[MOST_ROWS:]
    heads = ["point", "foretold", "measured", "runs", "gradients", "verdict"]
    cells = [
        [row["label"], range_text(row), measured_text(row), f"{row['runs']}", f"{row['gradients']:,}", row["verdict"]]
        for row in ordered
    ]  # fmt: skip
    return aligned(heads, cells) + (f"  and {len(left)} more in advise.csv\n" if left else "")


def explained(models, rows):
    """What was fitted, a line each."""
    for one in models["systems"][:MOST_SYSTEMS]:
        names = ", ".join(rows[n]["label"] for n in one["of"][:2])
        theta = " + ".join(
            f"{short(t, 3)}{f}" for t, f in zip(one["theta"], ("", "/m", " log m", " m")) if t
        )
        yield f"time of an update on m learners, {names} ...: {theta} (at most {100 * one['error']:.2g} % off)"
        if one["fastest"]:
            yield f"  which is least on {number(one['fastest'])} learners"
    if "weights" not in models:
        return
    heaviest = list(models["weights"].items())[:8]
    weights = ", ".join(f"{name} {weight:+.2g}" for name, weight in heaviest)
    yield f"log(value - {short(models['least'])}) by the Lasso, penalty {short(models['penalty'], 2)}: {weights}"
    off = ", ".join(
        f"{rows[int(n)]['label']} {math.exp(one):.2f}" for n, one in models["residuals"].items()
    )
    yield f"foretold without its own run, over what that says: {off}"
    yield f"spread of their logarithms: {short(models['spread'], 2)}"


def report(asked, facts, rows):
    """The text of advise.json's facts and of rows of advise.csv."""
    lines = list(facts["notes"]) + (
        list(explained(facts["models"], rows)) if asked["explain"] else []
    )
    text = "".join(f"  {line}\n" for line in lines)
    return f"\n{asked['title']} ({count_text(len(rows), 'candidate')})\n\n{table(rows)}\n{text}\n{facts['answer']}\n"
