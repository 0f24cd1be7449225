"""Instructions of short runs under callgrind, against instructions.json: no clock is read.

The counts are those of one compiler, C library and instruction set; elsewhere the test is skipped.  Recorded anew, by the
build that is tested:

    GRADRACE_RECORD=1 ctest --preset release -R instructions
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from compiled_for import compiled_for
from program import IS_RELEASE, PROGRAM, ProgramTest, changed, skip

RECORDED = pathlib.Path(__file__).with_name("instructions.json")
RECORD = "GRADRACE_RECORD=1 ctest --preset release -R instructions"
MOST = 0.05  # of a count, by which it may differ from the recorded one

TIMING = {
    "cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
    "stop": {"gradients": 200000},
    "record": {"details": False},
}
TRAINING = changed(
    TIMING,
    learning_rate={"kind": "constant", "eta": 0.01},
    record={"details": False, "every_updates": 50},
)


def of(learners):
    return {**TIMING["cluster"], "learners": learners}


def model(kind, **keys):
    data = {"kind": "synthetic", "features": 784, "rows": 200, "test_rows": 50}
    return {"kind": kind, **keys, "minibatch": 32, "dataset": data}


RUNS = {
    "async": changed(TIMING, protocol={"kind": "async"}),
    "k-sync of 1,000": changed(TIMING, cluster=of(1000), protocol={"kind": "k-sync", "k": 500}),
    "k-sync of a million, by order statistics": changed(
        TIMING,
        sampler="order-statistic",
        cluster=of(1000000),
        protocol={"kind": "k-sync", "k": 500000},
        stop={"updates": 100000},
    ),
    "softmax, async": changed(TRAINING, model=model("softmax"), protocol={"kind": "async"}, stop={"updates": 100}),
    "mlp, k-sync": changed(
        TRAINING,
        model=model("mlp", widths=[128]),
        protocol={"kind": "k-sync", "k": 4},
        stop={"updates": 4},
        record={"details": False, "every_updates": 2},
    ),
}


class Instructions(ProgramTest):
    def count(self, name):
        scenario = self.write(RUNS[name])
        words = ["run", os.fspath(scenario), "--out", "out", "--jobs", "1", "--quiet", "--force"]
        valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        done = subprocess.run(
            [*valgrind, PROGRAM, *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1))

    def test_no_run_takes_a_twentieth_more(self):
        counts = {name: self.count(name) for name in RUNS}
        if os.environ.get("GRADRACE_RECORD"):
            recorded = {"compiled_for": compiled_for(), "instructions": counts}
            RECORDED.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
        before = json.loads(RECORDED.read_text("utf-8"))["instructions"]
        self.assertEqual(list(before), list(RUNS), f"other runs than recorded; {RECORD}")
        for name, count in counts.items():
            more = count / before[name] - 1
            print(f"{name}: {count:,} instructions, {more:+.1%}", file=sys.stderr)
            with self.subTest(name):
                self.assertLess(more, MOST, f"find out what costs them; or, if it is worth that, {RECORD}")
                self.assertGreater(more, -MOST, f"that they stay so few, {RECORD}")


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        skip("there is no valgrind (./setup.sh --valgrind installs it)")
    if not IS_RELEASE:
        skip("counts are those of a release build")
    known = json.loads(RECORDED.read_text("utf-8"))["compiled_for"] if RECORDED.exists() else None
    if not os.environ.get("GRADRACE_RECORD") and known != compiled_for():
        skip(f"recorded for {known}, and this is {compiled_for()}; {RECORD}")
    unittest.main()
