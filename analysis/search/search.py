"""Searches for the earliest switch from the first of two protocols to the second, as gradrace search asks:
search.py DIR. What is asked for stands in DIR/asked.new; what is found goes there too, where gradrace
takes it from: search.csv.new, costs.csv.new, search.json.new and the text report.new."""

import json
import math
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from asked import Ended, answer
from printed import csv_text, known
from scipy.special import betaincinv, stdtrit
from search.rule import Rule, count_successes, mean, search_cost, switch_point, total
from search.settings import Settings
from search.told import report

SEARCHES = 4000  # with runs drawn anew


def read_table(told, first_runs):
    """{share: accuracies} of rows; None where there are none."""
    if told is None:
        return None
    table = {}
    for share, accuracy in told["rows"]:
        table.setdefault(share, []).append(math.nan if accuracy is None else accuracy)
    where = f"--accuracies: {told['file']}: has no runs of"
    if first_runs and 1 not in table:
        raise Ended(2, f"{where} the first protocol alone, of share 1; allowed: --target")
    if 0.5 not in table:
        raise Ended(2, f"{where} share 0.5, which a search tries first")
    return table


def sample_of(values):
    """Mean, standard deviation and half of the mean's 95 % interval (Student's t); NaN of too few."""
    count = len(values)
    if count < 2:
        return (values[0] if count else math.nan), math.nan, math.nan
    sd = math.sqrt(total(np.square(values - mean(values))) / (count - 1))
    return float(mean(values)), sd, float(stdtrit(count - 1, 0.975) * sd / math.sqrt(count))


def row_of(setting, alone, verdict):
    """Of search.csv."""
    accuracy, accuracy_sd, accuracy_95 = sample_of(setting.accuracies)
    time, time_sd, _ = sample_of(setting.times)
    return {
        "share": setting.share, "runs": len(setting.accuracies),
        "diverged": int(np.isnan(setting.accuracies).sum()), "accuracy": accuracy,
        "accuracy_sd": accuracy_sd, "accuracy_95": accuracy_95, "time": time, "time_sd": time_sd,
        "relative_time": time / sample_of(alone.times)[0], "verdict": verdict, "folder": setting.folder,
    }  # fmt: skip


def success_of(*drawn):
    """The share of searches with runs drawn anew that take the same path, and its 95 % interval (Clopper
    and Pearson)."""
    hits = count_successes(*drawn)
    low = betaincinv(hits, SEARCHES - hits + 1, 0.025) if hits else 0.0
    high = betaincinv(hits + 1, SEARCHES - hits, 0.975) if hits < SEARCHES else 1.0
    return hits / SEARCHES, float(low), float(high)


def costs_of(rule, times, chosen, success):
    """Rows of costs.csv. success: of a Rule, what success_of gives."""
    names = "first_runs", "runs", "cost", "recurrences", "success", "success_low", "success_high"
    return [
        dict(
            zip(names, (one.first_runs, one.runs, *search_cost(one, times, chosen), *success(one)))
        )
        for one in rule.cheaper()
    ]


def path_of(rows):
    names = "share", "accuracy", "relative_time", "verdict", "folder"
    return [{name: known(row[name]) for name in names} for row in rows[1:]]


def search(asked):
    """{name: text} of what is found, and the exit status; raises Ended."""
    rule = Rule(**asked["rule"])
    table = read_table(asked["table"], rule.first_runs)
    if not rule.settings:  # as many as the table has
        rule = rule._replace(settings=len(table.keys() - {1}))
    settings = Settings(asked, rule, table)
    alone, target, tried = settings.first_alone(), asked["target"], []
    target = float(mean(alone.accuracies)) if target is None else target
    if math.isnan(target):
        why = "search: a run of the first protocol alone diverged, so that there is no accuracy to reach"
        raise Ended(1, f"{why}; see {alone.folder}")

    def accuracy_at(share):
        tried.append(settings.switched_at(share))
        return mean(tried[-1].accuracies) if tried[-1] else None

    share, path, lacking = switch_point(rule, target, accuracy_at)
    tried = [alone, *tried[: len(path)]]
    verdicts = ["target", *("pass" if passed else "fail" for _, _, passed in path)]
    rows = [row_of(one, alone, word) for one, word in zip(tried, verdicts, strict=True)]
    times = {row["share"]: row["relative_time"] for row in rows[1:]}
    chosen = times.get(share, 1.0)
    accuracies = [[*one.accuracies, *one.others] for one in tried]
    single = [one.share for one, of_it in zip(tried, accuracies) if len(of_it) == 1]
    searches = 0 if single or lacking else SEARCHES
    drawn = path, accuracies[0], accuracies[1:], SEARCHES, asked["scenario"]["seed"]
    success = lambda of: success_of(of, target, *drawn) if searches else [math.nan] * 3
    # Of the runs that decided, of which a table may have fewer than the rule asks for.
    paid = [row["relative_time"] * (row["runs"] / rule.runs) for row in rows[1:]]
    there = rule._replace(first_runs=min(rule.first_runs, rows[0]["runs"]))
    cost, recurrences = search_cost(there, paid, chosen)
    of_drawn, *interval = success(rule)
    facts = {
        "accuracies": table and asked["table"]["hash"],
        **rule._asdict(),
        "target": target,
        "path": path_of(rows),  # accuracy None: a run diverged
        "switch_point": share,  # 1: none
        "cost": cost,
        "recurrences": known(recurrences),  # None: never
        "unused": sorted((table or {}).keys() - {1, *times}),
        "searches": searches,
        "success": known(of_drawn),  # None: not known
        "success_95": [known(end) for end in interval],
    }
    costs = costs_of(rule, times.values(), chosen, success) if searches else []
    besides = {"single": single, "lacking": lacking, "drops_policy": settings.drops_policy}
    csvs = {"search.csv": csv_text(rows)} | ({"costs.csv": csv_text(costs)} if costs else {})
    text = report(asked["title"], facts, rows, costs, **besides)
    return csvs | {"search.json": json.dumps(facts), "report": text}, 0


if __name__ == "__main__":
    sys.exit(answer(Path(sys.argv[1]), search))
