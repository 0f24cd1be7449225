"""A project of its own: the program and analysis/, with made-up papers that run in no time."""

import json
import pathlib
import shutil

from program import PROGRAM, ROOT

PAGE = {
    "link": "https://example.org",
    "question": "How long does sync take?",
    "experiments": {"judged:time": ["1"], "judged:mnist": ["2"], "judged:deep": ["3"]},
}

JUDGED = """
from reproduce.claims import Tolerance
from reproduce.figures import SIMULATED, Figure, Series
from reproduce.rows import Row


def time(outputs):
    times = outputs.samples("how_long", lambda row: row["protocol"], "mean_iteration_time")
    return [{figures}], [Row("1.sync", "Fig 1", item="1", claim="sync takes 2").near(times["sync"], 2, Tolerance(relative=1e-9))]


def mnist(outputs):
    outputs.runs("on_mnist")
    return [], [Row("2.runs", "Fig 2", item="2", claim="it ran").near(times, 1)]


def deep(outputs):
    times = outputs.samples("gpu/deep", lambda row: row["protocol"], "mean_iteration_time")
    return [], [Row("3.deep", "Fig 3", item="3", claim="so does a deep network").near(times["sync"], 2, Tolerance(relative=1e-9))]
"""

TABLES = {
    "answers": "figure,answer\ntimes,Sync of one learner takes as long as a minibatch.\n",
    "caveats": "caveat\nA minibatch always takes 2.\n",
    "checklist": "item,about\n1,time of an update\n2,MNIST\n3,a deep network\n",
}

# What takes time is drawing.
FIGURES = {
    "big": 'Figure("times", "Times", "P", "time", [Series("sync", SIMULATED, [1], [2.0])])',
    "small": "",
}

HOW_LONG = {
    "title": "How long does an update take?",
    "replicas": 2,
    "cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 2}},
    "stop": {"updates": 50},
    "quick": {"stop.updates": 10},
    "record": {"details": False},
    "protocol": {"kind": "sync"},
}

SEARCHED = {
    "title": "How early may it switch?",
    "cluster": {"learners": 2, "runtime": {"distribution": "deterministic", "value": 2}},
    "stop": {"gradients": 40},
    "timing_only": True,
    "protocol": {
        "kind": "switch",
        "phases": [
            {"protocol": {"kind": "sync"}, "per_update": 1, "end": {"work": 0.5}},
            {"protocol": {"kind": "async"}},
        ],
    },
}

ON_MNIST = {
    "cluster": {"learners": 1, "runtime": {"distribution": "deterministic", "value": 2}},
    "model": {"kind": "softmax", "dataset": {"kind": "idx", "path": "mnist"}, "minibatch": 1},
    "learning_rate": {"kind": "constant", "eta": 0.1},
    "stop": {"updates": 5},
    "protocol": {"kind": "sync"},
}

A9A = {"kind": "libsvm", "path": "libsvm/a9a", "test_rows": 5}
ON_A9A = ON_MNIST | {"model": {"kind": "softmax", "dataset": A9A, "minibatch": 1}}


def write_scenario(folder, name, scenario):
    path = folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(scenario), encoding="utf-8")
    return path


class Project:
    """In a folder: its program, and the papers "big" and "small"."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.program = self.folder / "build/release/gradrace"
        self.program.parent.mkdir(parents=True)
        shutil.copy2(PROGRAM, self.program)
        (self.folder / ".venv").symlink_to(ROOT / ".venv")
        ignored = shutil.ignore_patterns("papers", "__pycache__")
        shutil.copytree(ROOT / "analysis", self.folder / "analysis", ignore=ignored)
        (self.folder / "analysis/papers").mkdir()
        for name in ("big", "small"):
            package = self.folder / f"analysis/papers/{name}"
            package.mkdir()
            (package / "__init__.py").touch()
            (package / "page.json").write_text(json.dumps(PAGE | {"title": f"The {name} paper"}), encoding="utf-8")
            (package / "judged.py").write_text(JUDGED.format(figures=FIGURES[name]), encoding="utf-8")
            for table, text in TABLES.items():
                (package / f"{table}.csv").write_text(text, encoding="utf-8")
            write_scenario(self.paper(name), "how_long", HOW_LONG)
        write_scenario(self.paper("big"), "on_mnist", ON_MNIST)
        write_scenario(self.paper("big"), "on_a9a", ON_A9A)
        write_scenario(self.paper("big"), "gpu/deep", ON_MNIST)

    def paper(self, name):
        """The folder of its scenarios."""
        return self.folder / "scenarios/papers" / name
