"""A search as it is printed."""

import math

from printed import aligned, count_text, number_text, short

ENOUGH_RUNS = 20


def percent(*shares):
    return ", ".join(f"{number_text(100 * share)} %" for share in shares)


def settings_table(rows):
    heads = ["share", "accuracy", "SD", "95 %", "time", "relative", "verdict", "runs"]
    cells = [
        [
            percent(row["share"]), short(row["accuracy"]), short(row["accuracy_sd"], 2),
            "-" if math.isnan(row["accuracy_95"]) else f"± {short(row['accuracy_95'], 2)}",
            short(row["time"]), short(row["relative_time"]), row["verdict"],
            f"{row['runs']}" + (f" ({row['diverged']} diverged)" if row["diverged"] else ""),
        ]
        for row in rows
    ]  # fmt: skip
    return aligned(heads, cells)


def costs_table(costs):
    heads = ["first runs", "runs a setting", "cost", "pays after", "success"]
    cells = [
        [
            str(row["first_runs"] or "target known"), str(row["runs"]), short(row["cost"]),
            "never" if math.isinf(row["recurrences"]) else short(row["recurrences"], 3),
            f"{short(100 * row['success'], 3)} %",
        ]
        for row in costs
    ]  # fmt: skip
    return f"\n  searches with as many runs or fewer:\n\n{aligned(heads, cells)}" if costs else ""


def success_text(facts, single):
    if single:
        return f"not known: a single run of {percent(*single)} shows no spread"
    if not facts["searches"]:
        return "not known: the search was cut short"
    share, low, high = (short(100 * one, 3) for one in (facts["success"], *facts["success_95"]))
    runs = facts["runs"]
    rough = ", so only a rough guide" if runs < ENOUGH_RUNS else ""
    return (
        f"{share} % of {facts['searches']} searches with runs drawn anew from these end there too (95 % "
        f"interval {low} to {high} %,\n           resampled from {count_text(runs, 'run')} a setting{rough})"
    )


def findings(facts, rows, single, lacking, drops_policy):
    """A line each."""
    passing, share = facts["target"] - facts["beta"], facts["switch_point"]
    sum_of = f"{short(passing)} = {short(facts['target'])} - {short(facts['beta'])}"
    given = "" if facts["first_runs"] else ", the target given"
    yield f"accuracy is 1 - final test error; it passes from {sum_of}{given}"
    yield "share of the work under the first protocol; SD over runs; 95 %: interval of the mean, by Student's t\n"
    never = "never: no share that was tried passes"
    yield f"switch:  {f'at {percent(share)} of the work' if share < 1 else never}"
    cost, saved = short(facts["cost"]), facts["recurrences"]
    pays = f"saves that in {short(saved, 3)} runs of the job" if saved else "never saves that"
    yield f"cost:    the search took as long as {cost} runs of the first protocol alone; the switch {pays}"
    yield f"success: {success_text(facts, single)}"
    if lacking:
        yield f"ended:   the table has no runs of {percent(lacking)}"
    elif rows[-1]["verdict"] == "pass":
        yield (
            f"ended:   with the last of {len(rows) - 1} settings, which passed: an earlier switch may do too; more "
            "--settings would tell"
        )
    if facts["unused"]:
        yield f"unused:  the table's runs of {percent(*facts['unused'])}, which the search did not come to"
    if drops_policy:
        yield "alone:   the first protocol went without its greedy policy, which has no phase to go over to"
    far = lambda row: abs(row["accuracy"] - passing) > row["accuracy_95"]
    unclear = [row["share"] for row in rows[1:] if not math.isnan(row["accuracy"]) and not far(row)]
    if unclear:
        yield (
            f"unclear: {percent(*unclear)}: the 95 % interval of the accuracy contains {short(passing)}, so that "
            "other runs may change the verdict; take more --runs"
        )


def report(title, facts, rows, costs, **known):
    """The text of search.json's facts, of rows of search.csv and costs.csv, and of what else is known."""
    trained = (
        ", runs of a table" if facts["accuracies"] else f" x {count_text(facts['runs'], 'run')}"
    )
    lines = "".join(f"  {line}\n" for line in findings(facts, rows, **known))
    tried = count_text(len(rows) - 1, "setting")
    return f"\n{title} ({tried}{trained})\n\n{settings_table(rows)}\n{lines}{costs_table(costs)}"
