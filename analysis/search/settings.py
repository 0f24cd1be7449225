"""The settings of a search: each is a call of gradrace run into a folder of its own, which goes on where
it was."""

import json
from pathlib import Path
from typing import NamedTuple

from asked import INTERRUPTED, Ended, Program
from printed import number_text
from results import read_folder


class Setting(NamedTuple):
    """The runs of a setting; times in the unit of the runtime distribution."""

    share: float  # of the work under the first protocol
    folder: str  # of their results
    times: list
    accuracies: list  # NaN: diverged
    others: list  # of more runs of a table, by which nothing is decided


def accuracies_of(runs):
    """Of a table of runs; runs that trained nothing have none."""
    diverged = runs["status"] == "diverged"
    accuracies = (1 - runs["final_test_error"]).mask(diverged)
    return accuracies[accuracies.notna() | diverged].tolist()


class Settings:
    """Runs settings of a scenario, or takes their accuracies from a table {share: accuracies} and runs them
    for their times."""

    def __init__(self, asked, rule, table):
        self.asked, self.rule, self.table = asked, rule, table
        self.program = Program(asked["program"])
        self.phase = self.first_phase(asked["scenario"]["protocol"].get("phases", []))
        # A greedy policy needs a phase after its own.
        self.drops_policy = (self.phase.get("stragglers") or {}).get("kind") == "greedy"
        if self.drops_policy:
            del self.phase["stragglers"]

    def refuse(self, what):
        raise Ended(2, f"{self.asked['file']}: search {what}")

    def first_phase(self, phases):
        """The first of two, without its end, which is what the search looks for."""
        if len(phases) != 2:
            self.refuse(
                "looks for the switch point of a protocol of two phases, and this scenario's is not one; see "
                "gradrace list switch"
            )
        if list(phases[0]["end"]) != ["work"]:
            self.refuse(
                "sets the work at which the first phase ends, and this one has another end; allowed: "
                "protocol.phases[0].end of work alone"
            )
        return {key: value for key, value in phases[0].items() if key != "end"}

    def switched_at(self, share):
        """The Setting; None where the table has no such runs."""
        sets, name = {"protocol.phases.0.end.work": share}, f"share-{number_text(share)}"
        if self.table is None:
            return self.run(share, name, self.rule.runs, sets)
        return self.timed(share, name, self.rule.runs, sets) if share in self.table else None

    def first_alone(self):
        """Trained where the target is to be found so, else run for its time."""
        sets, runs = {"protocol.phases": [self.phase]}, self.rule.first_runs
        if self.table is None and runs:
            return self.run(1.0, "first-protocol", runs, sets)
        return self.timed(1.0, "first-protocol-time", runs, sets)

    def timed(self, share, name, runs, sets):
        """Run without gradients; so many accuracies of the table, if there is one, decide."""
        sets["timing_only"] = True
        if self.program.status("validate", *self.words(sets)) == 2:
            option = "--target" if self.table is None else "--accuracies"
            cure = "; allowed: --first-runs" if self.table is None else ""
            self.refuse(f"{option} takes times from runs without gradients{cure}")
        setting = self.run(share, name, self.rule.runs, sets)
        known = self.table.get(share, []) if self.table and runs else []
        return setting._replace(accuracies=known[:runs], others=known[runs:])

    def words(self, sets):
        """The scenario with its changes and these, as words of a call."""
        changes = [f"--set={path}={json.dumps(value)}" for path, value in sets.items()]
        return [*self.asked["changes"], *changes, "--", self.asked["file"]]

    def run(self, share, name, runs, sets):
        words = self.words({**sets, "name": name, "replicas": runs})
        place = Path(self.asked["out"], name)
        status = self.program.status("run", f"--out={place}", *self.asked["options"], *words)
        if status in (2, INTERRUPTED):
            raise Ended(status)
        if status:
            raise Ended(1, f"{name}: some of its runs failed")
        runs = read_folder(place).runs
        return Setting(share, name, runs["sim_time"].dropna().tolist(), accuracies_of(runs), [])
