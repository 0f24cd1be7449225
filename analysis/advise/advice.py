"""The steps from a question to an answer: runs without gradients, a design, models of it, a race."""

import json
import math

import numpy as np
from advise.candidates import Candidate, add_facts
from advise.changes import changes
from advise.design import a_optimal
from advise.forecast import Forecaster
from advise.race import Race
from advise.told import models_of, notes, report, sentence
from advise.trials import BudgetSpent, Trials
from asked import Ended
from printed import csv_text, known
from results.folder import read_point

MORE_RUNS = 6  # of a design, than there are facts


def candidate_of(told):
    return Candidate(read_point(told), told["learners"], told["price"])


class Advice:
    """What is found, as far as it is."""

    def __init__(self, asked):
        self.asked, self.target = asked, asked["target"]
        self.candidates = [candidate_of(one) for one in asked["points"]]
        self.trials = Trials(asked)
        self.forecaster, self.race = None, None
        self.later = None  # the Forecaster of all that ran when half of the share was spent
        self.design, self.changes, self.sure, self.is_cut, self.seconds = [], [], False, False, 0.0

    # ---- steps

    def seek(self):
        try:
            add_facts(self.candidates, self.trials.timings("timing", {}))
            self.run_design()
            self.forecaster = Forecaster(self.candidates, self.trials)
            self.race = Race(
                self.trials, self.in_order(), self.forecaster.forecasts, self.most_gradients
            )
            self.sure = self.race.run()
            self.changes = changes(self)  # for which time may lack
        except BudgetSpent:
            self.is_cut = True  # what is known is told
        if not self.trials.folders and self.trials.failed:
            raise Ended(1, f"advise: every candidate that ran failed: {self.first_failed}")

    @property
    def first_failed(self):
        return next(one.label for one in self.candidates if one.number in self.trials.failed)

    def run_design(self):
        """A replica of each, for twice as long until one gets there; those with the most gradients in a unit of time come
        first, as others are watched for no longer than pays."""
        rows = np.array([one.row for one in self.candidates])
        has_models = not math.isnan(self.candidates[0].update_time)
        count = np.linalg.matrix_rank(rows) + MORE_RUNS if has_models else 0
        chosen = [self.candidates[i] for i in a_optimal(rows, count)]
        chosen.sort(key=lambda one: -one.gradient_rate)
        while math.isinf(self.trials.best) and self.trials.patience < 1:
            self.trials.patience *= 2
            for one in chosen:
                self.run_first(one)

    def run_first(self, one):
        """A replica, for as long as is worth while."""
        limits = self.trials.limits.get(one.number)
        watched = self.trials.watched(one)
        if limits and not (limits[-1] < watched and self.trials.was_cut(one.number)):
            return
        if self.trials.run(one, 1, watched, again=bool(limits)) and not limits:
            self.refuse_met(one)
            self.design.append(one.number)

    def refuse_met(self, one):
        """Where the target is met before training begins."""
        folder, column = self.trials.folders[one.number], self.target["column"]
        first = folder.series("curve", column)[0, 0][0]
        if not self.target["is_budget"] and first <= self.target["level"]:
            raise Ended(
                2, f"{self.asked['file']}: --target {self.target['key']}={self.target['level']:g} is met before "
                f"training begins, where it is {first:.4g}; allowed: a lower one",
            )  # fmt: skip

    def in_order(self):
        """The order in which candidates enter the race: the most promising first."""
        said = {n: one.value for n, one in self.forecaster.forecasts.items()}
        ran = {n: mean for n in self.trials.folders if math.isfinite(mean := self.trials.mean(n))}
        return sorted(self.candidates, key=lambda one: (said | ran).get(one.number, math.inf))

    # ---- what is known

    @property
    def measured(self):
        """{candidate: Sample} of all that have runs."""
        return {n: self.trials.sample(n) for n in sorted(self.trials.folders)}

    @property
    def best(self):
        """The chosen candidate's number; None where none gets there, or none has run."""
        if self.race and self.race.front is not None:
            return self.race.front
        there = {n: mean for n in self.trials.folders if math.isfinite(mean := self.trials.mean(n))}
        return min(there, key=there.get, default=None)

    @property
    def all_gradients(self):
        """Computed where all candidates have the scenario's replicas, at least: those that did not run to the target
        need as many as they had computed, or as models foretell in sum, whose interval's lower end counts."""
        trials, forecaster = self.trials, self.later or self.forecaster
        seen = {one.number: trials.gradients_of(one.number) for one in self.candidates}
        ended = {n for n in seen if n in trials.failed or trials.gets_there(n)}
        rest = [one for one in self.candidates if one.number not in ended]
        if forecaster:
            of_time = lambda one, time: max(
                seen[one.number], trials.gradients_until(one, time) if time else 0.0
            )
            left = forecaster.least_gradients(rest, of_time)
        else:
            left = sum(seen[one.number] for one in rest)
        return self.asked["replicas"] * (sum(seen[n] for n in ended) + left)

    def most_gradients(self):
        """That the share may pay, by models of all that ran once half of it is spent."""
        most = self.asked["share"] * self.all_gradients
        if self.later or self.trials.spent < most / 2:
            return most
        self.later = Forecaster(self.candidates, self.trials)
        return self.asked["share"] * self.all_gradients

    def verdict_of(self, number):
        verdicts, found = self.race.verdicts if self.race else {}, self.measured.get(number)
        if number in self.trials.failed:
            return "failed"
        if number == self.best:
            return "best"
        if number in verdicts:
            return verdicts[number].word
        if found and found.never and not found.replicas and not self.trials.was_cut(number):
            return "never"
        return (
            "open"
            if not self.race or self.race.may_win(self.candidates[number])
            else "foretold worse"
        )

    def row(self, one):
        """Of advise.csv."""
        forecasts = self.forecaster.forecasts if self.forecaster else {}
        said = forecasts.get(one.number, (math.nan,) * 3)
        row = {"candidate": one.number, "label": one.label}
        row |= dict(zip(("foretold", "foretold_low", "foretold_high"), map(float, said)))
        ends = dict.fromkeys(("measured", "measured_95", "time", "value"), math.nan) | {
            "runs": 0,
            "never": 0,
        }
        if one.number in self.trials.folders:
            found, runs = self.measured[one.number], self.trials.folders[one.number].runs
            value = runs["final_" + self.target["column"]].where(
                runs["status"] != "diverged", math.inf
            )
            ends = {
                "measured": math.nan if found.never else found.mean, "measured_95": found.half,
                "time": float(runs["sim_time"].mean()), "value": float(value.mean()), "runs": len(runs),
                "never": found.never,
            }  # fmt: skip
        ends["cost"] = ends["time"] * one.price if one.price else math.nan
        ends["gradients"] = self.trials.computed[one.number] if ends["runs"] else 0
        folder = self.trials.name_of(one.number) if ends["runs"] else ""
        return {**row, **ends, "verdict": self.verdict_of(one.number), "folder": folder}

    def files(self):
        """{name: text} of what is published."""
        rows = [self.row(one) for one in self.candidates]
        facts = {
            **self.target,
            "confidence": self.asked["confidence"],
            "answer": sentence(self),
            "best": self.best,
            "sure": self.sure,
            "seconds": self.seconds,
            "gradients": self.trials.spent,
            "all_gradients": known(float(self.all_gradients)),
            "design": self.design,
            "notes": list(notes(self)),
            "models": models_of(self),
        }
        text = report(self.asked, facts, rows)
        return {"advise.csv": csv_text(rows), "advise.json": json.dumps(facts), "report": text}
