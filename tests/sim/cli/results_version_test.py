"""What runs find, against hashes that were recorded with `results_version` (sim/cli/scenario/identity.h).

A change that gives runs other results goes with another number, so that finished runs are not mixed with those of another
program.  The hashes are those of one compiler, C library and instruction set; elsewhere the test is skipped.  Recorded
anew, by the build that is tested:

    GRADRACE_RECORD=1 ctest --preset release -R "other results"
"""

import csv
import hashlib
import io
import json
import os
import pathlib
import re
import struct
import unittest

from compiled_for import compiled_for
from program import ROOT, IS_RELEASE, ProgramTest, changed, rows, skip

RECORDED = pathlib.Path(__file__).with_name("results_version.json")
NUMBER = int(re.search(r"results_version = (\d+);", (ROOT / "sim/cli/scenario/identity.h").read_text())[1])
BY_THEORY = ("theory_iteration_time", "theory_basis", "label")  # not found by runs

BASE = {
    "replicas": 2,
    "cluster": {"learners": 6, "runtime": {"distribution": "gamma", "shape": 2, "scale": 0.5}},
    "learning_rate": {"kind": "constant", "eta": 0.05},
    "stop": {"updates": 24},
    "record": {"every_updates": 6, "updates": True, "trace": True},
}
DATA = {"kind": "synthetic", "rows": 120, "test_rows": 40}
SERVER = [
    {"kind": "sync"}, {"kind": "k-sync", "k": 3}, {"kind": "k-batch-sync", "k": 3}, {"kind": "async"}, {"kind": "k-async", "k": 3},
    {"kind": "k-batch-async", "k": 3}, {"kind": "backup", "backups": 2}, {"kind": "softsync", "n": 2}, {"kind": "ssp", "bound": 2},
    {"kind": "deadline", "k": 4, "time": 0.5},
]  # fmt: skip
PEERS = [
    {"kind": "all-reduce"}, {"kind": "local-sgd", "tau": 3}, {"kind": "dasgd", "tau": 2, "delay": 1}, {"kind": "d-psgd", "graph": "ring"},
    {"kind": "ad-psgd", "graph": "complete"}, {"kind": "ripples", "schedule": "random", "group": 3}, {"kind": "partial-reduce", "group": 3},
]  # fmt: skip
SOFTMAX = {"kind": "softmax", "minibatch": 4, "dataset": DATA}
RUNTIMES = [
    {"distribution": "exponential", "mean": 1}, {"distribution": "pareto", "scale": 1, "shape": 3},
    {"distribution": "lognormal", "mu": 0, "sigma": 1}, {"distribution": "normal", "mean": 1, "sd": 0.2},
    {"distribution": "weibull", "scale": 1, "shape": 2}, {"distribution": "uniform", "low": 1, "high": 2},
]  # fmt: skip
CHANGING = [
    {"kind": "adasync", "variant": "k-sync", "k0": 2, "interval": 1}, {"kind": "adasync", "variant": "k-async", "k0": 1, "interval": 1},
    {"kind": "switch", "phases": [{"protocol": {"kind": "sync"}, "end": {"time": 2}}, {"protocol": {"kind": "async"}}]},
]  # fmt: skip
WORLDS = [
    {"runtime": {"distribution": "exponential", "mean": 1}, "network": {"bandwidth": 1e3, "model_bytes": 100},
     "server": {"per_gradient": 0.01, "per_update": 0.02}},
    {"runtime": {"distribution": "exponential", "mean": 1}, "server": {"per_gradient": 0.01, "shards": [1, 2]},
     "network": {"bandwidth": 1e3, "model_bytes": 100, "card": {"bandwidth": [200, 300, 400, 500, 600, 2000]}}},
    {"runtime": {"distribution": "gamma", "shape": 2, "scale": 0.5}, "persistence": {"kind": "ar1", "correlation": 0.9, "sd": 0.2}},
    {"runtime": {"distribution": "exponential", "mean": 1}, "speeds": [1, 1, 1, 1, 1, 0.5],
     "failures": {"up": {"distribution": "exponential", "mean": 5}, "down": {"distribution": "exponential", "mean": 1}}},
]  # fmt: skip
NODES = {"topology": "nodes", "per_node": 3, "inside": {"latency": 0.001, "bandwidth": 400}, "between": {"latency": 0.005, "bandwidth": 40},
         "model_bytes": 10}  # fmt: skip
PARTITIONS = [{"kind": "iid"}, {"kind": "dirichlet", "alpha": 0.5}, {"kind": "by-class", "classes": 1}]
OPTIMISERS = [{"momentum": 0.9}, {"kind": "adam"}, {"kind": "adamw", "weight_decay": 0.01}]

SCENARIOS = {
    "servers": changed(BASE, model=SOFTMAX, sweep={"protocol": SERVER}),
    "peers": changed(BASE, model=SOFTMAX, sweep={"protocol": PEERS}),
    "runtimes": changed(BASE, learning_rate=None, protocol={"kind": "async"}, sweep={"cluster.runtime": RUNTIMES}),
    "quadratic": changed(BASE, model={"kind": "quadratic"}, protocol={"kind": "async"}),
    "mlp": changed(BASE, model={"kind": "mlp", "widths": [24], "minibatch": 4, "dataset": DATA}, protocol={"kind": "async"},
                   sweep={"optimiser": OPTIMISERS}),
    "logistic": changed(BASE, model={"kind": "logistic", "minibatch": 4, "l2": 0.01, "dataset": {**DATA, "classes": 2}},
                        protocol={"kind": "k-sync", "k": 3}),
    "phases": changed(BASE, model=SOFTMAX, sweep={"protocol": CHANGING}),
    "worlds": changed(BASE, model=SOFTMAX, protocol={"kind": "k-async", "k": 2},
                      sweep={"cluster": [{"learners": 6, **world} for world in WORLDS]}),
    "nodes": changed(BASE, model=SOFTMAX, sweep={"protocol": PEERS}, cluster={**BASE["cluster"], "network": NODES}),
    "partitions": changed(BASE, model=SOFTMAX, protocol={"kind": "async"}, sweep={"model.dataset.partition": PARTITIONS}),
    "cnn": changed(BASE, replicas=1, stop={"updates": 6}, record={"every_updates": 3}, protocol={"kind": "async"},
                   model={"kind": "cnn", "minibatch": 3, "channels": [2, 3], "kernel": 3, "dense": [8], "dataset": {"kind": "idx", "path": "images"}}),
}  # fmt: skip


def write_images(folder, rows=20, size=12):
    """A data set in the IDX format: grey images of one bright bar, whose place is the class."""
    folder.mkdir()
    for name in ("train", "t10k"):
        labels = bytes(row % 4 for row in range(rows))
        pixels = bytes(
            255 - 7 * (row % 9) if column // 3 == row % 4 else 5 * (line % 7)
            for row in range(rows) for line in range(size) for column in range(size)
        )  # fmt: skip
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 2051, rows, size, size) + pixels)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 2049, rows) + labels)


def found_by_runs(path):
    if path.name != "runs.csv":
        return path.read_bytes()
    text = io.StringIO()
    kept = [{key: value for key, value in row.items() if key not in BY_THEORY} for row in rows(path)]
    writer = csv.DictWriter(text, kept[0])
    writer.writeheader()
    writer.writerows(kept)
    return text.getvalue().encode()


def hash_of(folder):
    """Of all that runs found; `folder`: their results."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.name not in ("manifest.json", "runs.store", "theory.csv"):
            digest.update(path.name.encode() + b"\0" + found_by_runs(path))
    return digest.hexdigest()[:16]


class Results(ProgramTest):
    def hashes(self):
        found = {}
        write_images(self.folder / "images")
        for name, scenario in SCENARIOS.items():
            self.call("run", self.write(changed(scenario, name=name)), "--quiet")
            found[name] = hash_of(self.folder / "out" / name)
        return found

    def test_other_results_go_with_another_number(self):
        found = {"results_version": NUMBER, "compiled_for": compiled_for(), "hashes": self.hashes()}
        if os.environ.get("GRADRACE_RECORD"):
            RECORDED.write_text(json.dumps(found, indent=2) + "\n")
            return
        recorded = json.loads(RECORDED.read_text())
        if recorded["compiled_for"] != found["compiled_for"]:
            self.skipTest(f"recorded for {recorded['compiled_for']}, this is {found['compiled_for']}")
        self.assertEqual(recorded["results_version"], NUMBER, "results_version has changed; record its hashes (the text of this file says how)")
        self.assertEqual(
            recorded["hashes"], found["hashes"],
            "runs give other results: raise results_version in sim/cli/scenario/identity.h and record the hashes anew",
        )  # fmt: skip


if __name__ == "__main__":
    if not IS_RELEASE:
        skip("the hashes are those of a release build")
    unittest.main()
