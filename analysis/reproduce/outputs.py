"""The output folders of a paper's scenarios, as the reproduction of its figures reads them."""

import math
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from results import Folder, sample
from results.folder import read_json
from results.search import read_search

PAPERS = Path(__file__).resolve().parents[1] / "papers"


class Missing(Exception):
    """A scenario that was not run, and why."""

    def __init__(self, scenario, reason):
        super().__init__(reason)
        self.scenario = scenario


class Files:
    """The results under a folder, each read once. scenario: the name of its folder; table: "curve" of curve.csv."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.of = cache(lambda scenario: Folder(self.folder / scenario))
        self.rows, self.series = cache(self.rows), cache(self.series)

    def rows(self, scenario, table):
        """Rows of a table as dictionaries; those of runs with the values of settings."""
        if table == "costs":
            return read_search(self.folder / scenario).costs
        folder = self.of(scenario)
        return folder.run_rows if table == "runs" else folder.table(table).to_dict("records")

    def series(self, scenario, table, column):
        """{(point, replica): a column of a table as an array of numbers, NaN where it is empty}."""
        return self.of(scenario).series(table, column)

    def events(self, scenario):
        """Events of trace.json."""
        return self.of(scenario).events


class Outputs:
    """The folders under `folder`; skipped.json names those that were not run. `asked` gathers the
    scenarios that were looked at; `files` reads what lies there."""

    def __init__(self, folder, files=None):
        self.folder = Path(folder)
        self.files = files or Files(self.folder)
        path = self.folder / "skipped.json"
        self.skipped = read_json(path) if path.is_file() else {}
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

    def folder_of(self, scenario):
        """The Folder of its results; raises Missing."""
        self.place(scenario)
        return self.files.of(scenario)

    def runs(self, scenario):
        """Rows of runs.csv, with the values of settings; raises Missing."""
        self.place(scenario)
        return self.files.rows(scenario, "runs")

    def need(self, scenario, replicas):
        """Raises Missing where fewer were run, as of a quick form that leaves this to the full one."""
        count = 1 + max(row["replica"] for row in self.runs(scenario))
        if count < replicas:
            raise Missing(scenario, f"it takes {replicas} replicas, of which here are {count}")

    def keys(self, scenario, key):
        """{point: key(row of runs.csv)}."""
        firsts = {row["point"]: row for row in reversed(self.runs(scenario))}
        return {point: key(row) for point, row in sorted(firsts.items())}

    def values(self, scenario, key, column):
        """{key(row of runs.csv): [its numbers or texts in a column, one a replica]}."""
        found = defaultdict(list)
        for row in self.runs(scenario):
            found[key(row)].append(row[column])
        return dict(found)

    def samples(self, scenario, key, column):
        """{key(row): the Sample of a column of runs.csv over the replicas}."""
        values = self.series(scenario, key, "runs", column)
        return {where: sample(np.concatenate(of)) for where, of in values.items()}

    def series(self, scenario, key, table, column):
        """{key(row of runs.csv): [a column of another table as an array, one a replica]}."""
        keys, found = self.keys(scenario, key), defaultdict(list)
        for (point, _), one in self.files.series(scenario, table, column).items():
            found[keys[point]].append(one)
        return dict(found)

    def curves(self, scenario, key, x, y):
        """{key(row of runs.csv): [(x, y) arrays, one a replica]} of columns of curve.csv."""
        xs, ys = (self.series(scenario, key, "curve", name) for name in (x, y))
        return {where: list(zip(xs[where], ys[where])) for where in xs}

    def theory(self, scenario, key):
        """{(key(row of runs.csv), source): (times, losses)} of theory.csv."""
        keys = self.keys(scenario, key)
        found = defaultdict(lambda: ([], []))
        for row in self.files.rows(scenario, "theory"):
            if not math.isnan(row["loss"]):
                times, losses = found[keys[row["point"]], row["source"]]
                times.append(row["time"])
                losses.append(row["loss"])
        return {where: (np.array(x), np.array(y)) for where, (x, y) in found.items()}

    def log_curves(self, scenario, key, x):
        """{key(row of runs.csv): [(x, ln loss)]}: what papers call the log loss."""
        curves = self.curves(scenario, key, x, "loss")
        return {name: [(at, np.log(loss)) for at, loss in found] for name, found in curves.items()}

    def staleness(self, scenario, key):
        """{key(row of runs.csv): [{staleness: gradients}, one a replica]}."""
        taus, counts = (
            self.series(scenario, key, "staleness", name) for name in ("staleness", "count")
        )
        whole = lambda values: values.astype(int).tolist()
        return {
            where: [dict(zip(whole(tau), whole(n))) for tau, n in zip(taus[where], counts[where])]
            for where in taus
        }

    def fresh_fractions(self, scenario, key):
        """{key(row of runs.csv): the Sample of the share of gradients of staleness 0}."""
        return {
            where: sample([one.get(0, 0) / sum(one.values()) for one in counts])
            for where, counts in self.staleness(scenario, key).items()
        }

    def updates(self, scenario, key, column):
        """{key(row of runs.csv): [a column of updates.csv as an array, one a replica]}."""
        return self.series(scenario, key, "updates", column)

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
        return read_json(path) | {"costs": self.files.rows(name, "costs")}

    def manifest(self, scenario):
        """What the runs were made with; raises Missing."""
        return read_json(self.place(scenario) / "manifest.json")

    def trace(self, scenario):
        """Events of trace.json."""
        self.place(scenario)
        return self.files.events(scenario)


def digitised(paper, table):
    """Rows of a table of values plotted in the paper; its first lines say where they come from."""
    import pandas as pd

    return pd.read_csv(PAPERS / paper / f"{table}.csv", comment="#").to_dict("records")


def law_of(row):
    """The kind of the swept distribution."""
    return row["cluster.runtime"]["distribution"]


def update_of(row):
    """What decides the time of an update: law, protocol and K."""
    return law_of(row), row["protocol"], row["k"]


def least(samples):
    """The Sample of least mean; NaN never is."""
    return min(samples, key=lambda one: math.inf if math.isnan(one.mean) else one.mean)


def means(samples):
    return [one.mean for one in samples]
