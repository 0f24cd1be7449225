"""Instructions of short runs under callgrind, against instructions.json: no clock is read.

The counts are those of one compiler, C library and instruction set; elsewhere the test is skipped.  Recorded anew, by the
build that is tested:

    GRADRACE_RECORD=1 ctest --preset release -R instructions

The short form counts seven of the runs, with GRADRACE_LONG=1 all are counted.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from compiled_for import compiled_for
from program import IS_RELEASE, PROGRAM, ProgramTest, changed, skip

RECORDED = pathlib.Path(__file__).with_name("instructions.json")
RECORD = "GRADRACE_RECORD=1 ctest --preset release -R instructions"
MOST = 0.05  # of a count, by which it may differ from the recorded one
ALLOCATES = re.compile(r"(malloc|calloc|realloc|aligned_alloc|posix_memalign|(__libc_)?memalign)(@.*)?")

TIMING = {
    "cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
    "protocol": {"kind": "async"},
    "stop": {"gradients": 200000},
    "record": {"details": False},
}
DENSE = {"kind": "synthetic", "features": 784, "rows": 100, "test_rows": 10}
IMAGES = {"kind": "idx", "path": "images"}
SCATTERED = {"kind": "libsvm", "path": "scattered", "features": 784, "test_rows": 50}
SIDE, ROWS = 28, {"train": 250, "t10k": 50}


def of(learners):
    return {**TIMING["cluster"], "learners": learners}


def training(kind, dataset, updates, learners=1, **keys):
    return changed(
        TIMING,
        cluster=of(learners),
        model={"kind": kind, **keys, "minibatch": 32, "dataset": dataset},
        learning_rate={"kind": "constant", "eta": 0.01},
        stop={"updates": updates},
    )


def evaluating(kind, every, **keys):
    scenario = training(kind, IMAGES, 64, **keys)
    return changed(scenario, record={"details": False, "every_updates": every})


def stepping(updates, **optimiser):
    scenario = training("softmax", DENSE, updates)
    return changed(scenario, model={**scenario["model"], "minibatch": 1}, optimiser=optimiser)


# Whole runs, or a longer one less a shorter one, where what is counted would be little beside the start.
RUNS = {
    "async": (TIMING,),
    "async with a network": (
        changed(
            TIMING,
            cluster={**of(16), "network": {"bandwidth": 100, "model_bytes": 4}, "server": {"per_gradient": 0.01, "per_update": 0.01}},
            stop={"gradients": 60000},
        ),
    ),
    "k-sync of 1,000": (changed(TIMING, cluster=of(1000), protocol={"kind": "k-sync", "k": 500}),),
    "k-sync of a million, by order statistics": (
        changed(
            TIMING,
            sampler="order-statistic",
            cluster=of(1000000),
            protocol={"kind": "k-sync", "k": 500000},
            stop={"updates": 100000},
        ),
    ),
    "gradients of softmax": tuple(training("softmax", DENSE, n, 8) for n in (225, 25)),
    "gradients of softmax, images": tuple(training("softmax", IMAGES, n, 8) for n in (425, 25)),
    "gradients of softmax, scattered numbers": tuple(training("softmax", SCATTERED, n, 8) for n in (425, 25)),
    "gradients of mlp": tuple(training("mlp", DENSE, n, widths=[128]) for n in (24, 4)),
    "gradients of mlp, images": tuple(training("mlp", IMAGES, n, widths=[128]) for n in (44, 4)),
    "gradients of cnn": tuple(training("cnn", IMAGES, n) for n in (6, 2)),
    "updates by momentum of gradients": tuple(stepping(n, momentum=0.9, momentum_of="gradients") for n in (425, 25)),
    "updates by adam": tuple(stepping(n, kind="adam") for n in (425, 25)),
    "evaluations of softmax": tuple(evaluating("softmax", every) for every in (1, 32)),
    "evaluations of mlp": tuple(evaluating("mlp", every, widths=[128]) for every in (8, 64)),
}
SHORT = (
    "async",
    "async with a network",
    "k-sync of a million, by order statistics",
    "gradients of softmax, images",
    "gradients of mlp, images",
    "updates by momentum of gradients",
    "evaluations of mlp",
)
ASKED = RUNS if os.environ.get("GRADRACE_LONG") or os.environ.get("GRADRACE_RECORD") else SHORT
# Of 40 gradients and more, whose loops allocate nothing: only the tape's lists grow until a segment is full.
LOOPS = [name for name in ASKED if name.startswith("gradients of softmax")] + ["gradients of mlp, images"]
MOST_ALLOCATIONS = 35


def image(row):
    """A ring, some fifth of the pixels, somewhere near the middle."""
    x, y, radius = 11 + row % 6, 11 + row % 5, 4 + row % 4
    distances = (((i - y) ** 2 + (j - x) ** 2) ** 0.5 for i in range(SIDE) for j in range(SIDE))
    return bytes(max(0, int(255 - 110 * abs(distance - radius))) for distance in distances)


class Instructions(ProgramTest):
    def write_data(self):
        os.mkdir(self.folder / "images")
        for split, count in ROWS.items():
            head = b"".join(n.to_bytes(4, "big") for n in (0x803, count, SIDE, SIDE))
            path = self.folder / "images" / split
            path.with_name(f"{split}-images-idx3-ubyte").write_bytes(head + b"".join(map(image, range(count))))
            head = b"".join(n.to_bytes(4, "big") for n in (0x801, count))
            path.with_name(f"{split}-labels-idx1-ubyte").write_bytes(head + bytes(n % 10 for n in range(count)))
        with open(self.folder / "scattered", "w", encoding="utf-8") as file:
            for row in range(300):
                places = sorted({1 + (row * 131 + k * k * 37 + k * 211) % 784 for k in range(40)})
                file.write(" ".join([str(row % 10), *(f"{place}:{place % 7 + 0.5}" for place in places)]) + "\n")

    def run_counted(self, scenario):
        """(instructions, calls that allocate)"""
        path = self.write(scenario)
        words = ["run", os.fspath(path), "--out", "out", "--jobs", "1", "--quiet"]
        counts = self.folder / "counts"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}", PROGRAM, *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.rmtree(self.folder / "out")
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1)), allocations(counts)

    def count(self, name):
        counted = [self.run_counted(scenario) for scenario in RUNS[name]]
        return counted[0] if len(counted) == 1 else tuple(a - b for a, b in zip(*counted, strict=True))

    def test_no_run_takes_a_twentieth_more(self):
        self.write_data()
        counts = {name: self.count(name) for name in ASKED}
        for name in LOOPS:
            with self.subTest(f"{name} allocate nothing"):
                self.assertLess(counts[name][1], MOST_ALLOCATIONS)
        if os.environ.get("GRADRACE_RECORD"):
            recorded = {"compiled_for": compiled_for(), "instructions": {name: n for name, (n, _) in counts.items()}}
            RECORDED.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
        before = json.loads(RECORDED.read_text("utf-8"))["instructions"]
        self.assertEqual(list(before), list(RUNS), f"other runs than recorded; {RECORD}")
        for name, (count, allocated) in counts.items():
            more = count / before[name] - 1
            print(f"{name}: {count:,} instructions, {more:+.1%}; {allocated:,} allocations", file=sys.stderr)
            with self.subTest(name):
                self.assertLess(more, MOST, f"find out what costs them; or, if it is worth that, {RECORD}")
                self.assertGreater(more, -MOST, f"that they stay so few, {RECORD}")


class Allocations(unittest.TestCase):
    def test_calls_are_counted_by_names_that_are_written_once(self):
        lines = "fn=(1) main\ncfn=(2) malloc\ncalls=3 0\n1 60\ncfn=(3) memalign\ncalls=2 0\n1 40\ncfn=(4) free\ncalls=9 0\n1 9\nfn=(5) f\ncfn=(2)\ncalls=4 0\n1 80\n"
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(lines)
            file.flush()
            self.assertEqual(allocations(file.name), 3 + 2 + 4)


def allocations(path):
    """Calls of functions that give memory, in a file of callgrind, which names a function once and numbers it."""
    names, callee, total = {}, None, 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            if found := re.match(r"(c?fn)=(\(\d+\))(?: (.*))?", line):
                kind, number, name = found.groups()
                if name is not None:
                    names[number] = name
                callee = names[number] if kind == "cfn" else callee
            elif line.startswith("calls=") and ALLOCATES.fullmatch(callee):
                total += int(line[6:].split()[0])
    return total


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        skip("there is no valgrind (./setup.sh --valgrind installs it)")
    if not IS_RELEASE:
        skip("counts are those of a release build")
    known = json.loads(RECORDED.read_text("utf-8"))["compiled_for"] if RECORDED.exists() else None
    if not os.environ.get("GRADRACE_RECORD") and known != compiled_for():
        skip(f"recorded for {known}, and this is {compiled_for()}; {RECORD}")
    unittest.main()
