"""The output folders of a paper's scenarios, as the reproduction of its figures reads them."""

import csv
import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
from reproduce.claims import sample
from plots import packed
from plots.results import number, read_evaluations, read_events, read_records

PAPERS = Path(__file__).resolve().parents[1] / "papers"


class Missing(Exception):
    """A scenario that was not run, and why."""

    def __init__(self, scenario, reason):
        super().__init__(reason)
        self.scenario = scenario


class Outputs:
    """The folders under `folder`; skipped.json names those that were not run. `asked` gathers the
    scenarios that were looked at."""

    def __init__(self, folder):
        self.folder = Path(folder)
        path = self.folder / "skipped.json"
        self.skipped = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self.asked = []

    def place(self, scenario):
        """The folder of its results; raises Missing."""
        if scenario not in self.asked:
            self.asked.append(scenario)
        if scenario in self.skipped:
            raise Missing(scenario, self.skipped[scenario])
        if not (self.folder / scenario / "runs.csv").is_file():
            raise Missing(scenario, f"{self.folder / scenario} holds no runs")
        return self.folder / scenario

    def runs(self, scenario):
        """Rows of runs.csv; raises Missing."""
        return read_records(self.place(scenario) / "runs.csv")

    def keys(self, scenario, key):
        """{point: key(row of runs.csv)}."""
        return {int(row["point"]): key(row) for row in self.runs(scenario)}

    def samples(self, scenario, key, column):
        """{key(row): the Sample of a column of runs.csv over the replicas}."""
        values = defaultdict(list)
        for row in self.runs(scenario):
            values[key(row)].append(number(row[column]))
        return {where: sample(column) for where, column in values.items()}

    def by_replica(self, scenario, key, file, read=read_records):
        """{key(row of runs.csv): [rows of another file, a list a replica]}."""
        keys = self.keys(scenario, key)
        found = defaultdict(list)
        for row in read(self.place(scenario) / file):
            found[int(row["point"]), int(row["replica"])].append(row)
        rows = defaultdict(list)
        for (point, _), one in sorted(found.items(), key=lambda item: item[0]):
            rows[keys[point]].append(one)
        return dict(rows)

    def curves(self, scenario, key, x, y):
        """{key(row of runs.csv): [(x, y) arrays, one a replica]} of columns of curve.csv."""
        column = lambda rows, name: np.array([number(row[name]) for row in rows])
        return {
            where: [(column(rows, x), column(rows, y)) for rows in replicas]
            for where, replicas in self.by_replica(
                scenario, key, "curve.csv", read_evaluations
            ).items()
        }

    def theory(self, scenario, key):
        """{(key(row of runs.csv), source): (times, losses)} of theory.csv."""
        keys = self.keys(scenario, key)
        found = defaultdict(lambda: ([], []))
        for row in read_records(self.place(scenario) / "theory.csv"):
            if row["loss"]:
                times, losses = found[keys[int(row["point"])], row["source"]]
                times.append(number(row["time"]))
                losses.append(number(row["loss"]))
        return {where: (np.array(x), np.array(y)) for where, (x, y) in found.items()}

    def log_curves(self, scenario, key, x):
        """{key(row of runs.csv): [(x, ln loss)]}: what papers call the log loss."""
        curves = self.curves(scenario, key, x, "loss")
        return {name: [(at, np.log(loss)) for at, loss in found] for name, found in curves.items()}

    def staleness(self, scenario, key):
        """{key(row of runs.csv): [{staleness: gradients}, one a replica]}."""
        return {
            where: [{int(row["staleness"]): int(row["count"]) for row in rows} for rows in replicas]
            for where, replicas in self.by_replica(scenario, key, "staleness.csv").items()
        }

    def fresh_fractions(self, scenario, key):
        """{key(row of runs.csv): the Sample of the share of gradients of staleness 0}."""
        return {
            where: sample([one.get(0, 0) / sum(one.values()) for one in counts])
            for where, counts in self.staleness(scenario, key).items()
        }

    def updates(self, scenario, key, column):
        """{key(row of runs.csv): [a column of updates.csv as an array, one a replica]}."""
        import pandas  # --list should not wait for it

        keys = self.keys(scenario, key)
        with packed.open_text(self.place(scenario) / "updates.csv") as file:
            wanted = ["point", "replica", column]
            table = pandas.read_csv(file, usecols=wanted, float_precision="round_trip")
        found = defaultdict(list)
        for (point, _), run in table.groupby(["point", "replica"]):
            found[keys[point]].append(run[column].to_numpy(float))
        return dict(found)

    def search(self, scenario):
        """search.json of a scenario in the folder search/, with rows of costs.csv, if there is one, as
        `costs`; raises Missing."""
        name = f"search/{scenario}"
        self.asked.append(name)
        if name in self.skipped:
            raise Missing(name, self.skipped[name])
        path = self.folder / name / "search.json"
        if not path.is_file():
            raise Missing(name, f"{self.folder / name} holds no search")
        costs = path.with_name("costs.csv")
        costs = read_records(costs) if costs.is_file() else []
        return json.loads(path.read_text(encoding="utf-8")) | {"costs": costs}

    def trace(self, scenario):
        """Events of trace.json."""
        return read_events(self.place(scenario) / "trace.json")


def digitised(paper, table):
    """Rows of a table of values plotted in the paper; its first lines say where they come from."""
    with open(PAPERS / paper / f"{table}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def law_of(row):
    """The kind of the swept distribution."""
    return json.loads(row["cluster.runtime"])["distribution"]


def update_of(row):
    """What decides the time of an update: law, protocol and K."""
    return law_of(row), row["protocol"], int(row["k"])


def least(samples):
    """The Sample of least mean; NaN never is."""
    return min(samples, key=lambda one: math.inf if math.isnan(one.mean) else one.mean)


def means(samples):
    return [one.mean for one in samples]
