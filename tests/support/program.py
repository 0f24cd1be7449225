"""What the tests of the command line share: the program, and a folder of one's own for each test."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("GRADRACE_PROGRAM", os.fspath(ROOT / "build/release/gradrace"))

# Bounds on time hold for a release build.
IS_RELEASE = os.environ.get("GRADRACE_BUILD", "Release") == "Release"

SIX = [
    {"kind": "sync"},
    {"kind": "k-sync", "k": 3},
    {"kind": "k-batch-sync", "k": 3},
    {"kind": "async"},
    {"kind": "k-async", "k": 3},
    {"kind": "k-batch-async", "k": 3},
]

SMALL = {
    "name": "small",
    "replicas": 2,
    "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {
        "kind": "softmax",
        "dataset": {"kind": "synthetic", "rows": 200, "test_rows": 50},
        "minibatch": 5,
    },
    "learning_rate": {"kind": "constant", "eta": 0.1},
    "stop": {"updates": 60},
    "record": {"every_time": 1, "updates": True, "trace": True},
    "sweep": {"protocol": SIX},
}


def changed(scenario, **keys):
    """A copy with other keys; None takes one away."""
    result = json.loads(json.dumps(scenario))
    for key, value in keys.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def stamped(text, name):
    """As gradrace stamps what it draws under that name."""
    return f"{text}gradrace-crc32:{zlib.crc32((text + name).encode()):08x}"


class ProgramTest(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)

    def write(self, scenario, name="scenario.json"):
        path = self.folder / name
        path.write_text(json.dumps(scenario), encoding="utf-8")
        return path

    def call(self, *words, status=0, folder=None, **environment):
        """Runs the program, checks its exit status (None: any), returns stdout and stderr. A run does not ask for its answer, which
        takes as long as a small run."""
        if "run" in words[:1] and "--plot" not in words:
            environment = {"GRADRACE_PYTHON": "none", **environment}
        done = subprocess.run(
            [PROGRAM, *map(os.fspath, words)],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder or self.folder,
            env={**os.environ, **environment},
        )
        self.assertIn(done.returncode, (0, 1, 2) if status is None else (status,), done.stdout + done.stderr)
        return done.stdout, done.stderr

    def tables(self, folder):
        """Bytes of every result file but the manifest, which tells the time taken, and the store of runs."""
        others = ("manifest.json", "runs.store")
        names = sorted(path.name for path in folder.iterdir() if path.name not in others)
        return {name: (folder / name).read_bytes() for name in names}


def skip(reason):
    """Ends the whole test program as skipped."""
    print(f"skipped: {reason}")
    sys.exit(77)
