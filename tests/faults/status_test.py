"""Runs that cannot go on: of each the status and the reason, and what becomes of the others."""

import signal
import subprocess
import time
import unittest

from program import PROGRAM, ProgramTest, changed, rows

BASE = {
    "name": "base",
    "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
    "protocol": {"kind": "sync"},
    "stop": {"updates": 50},
}

OVERFLOW = "simulated time overflows"
STANDS = "simulated time stands still"
TINY = "simulated time underflows"
UNDERFLOW = "the time of a minibatch underflows"
ASYNC = {"kind": "async"}


def law(distribution, **keys):
    return {"cluster.runtime": {"distribution": distribution, **keys}}


def windows(count, **keys):
    return {"cluster.windows": [{"start": 0, "length": 1e300, **keys}] * count}


# What is changed, and what the reason begins with.
FAILING = [
    (law("exponential", mean=1e308), OVERFLOW),
    (law("pareto", shape=2, scale=1e308), OVERFLOW),
    (law("uniform", low=1e308, high=1.7e308), OVERFLOW),
    (law("deterministic", value=1e308), OVERFLOW),
    (law("shifted-exponential", shift=1e308, mean=1), OVERFLOW),
    (law("deterministic", value=1e308) | {"sampler": "order-statistic"}, OVERFLOW),
    ({"cluster.persistence": {"kind": "ar1", "correlation": 0.5, "sd": 1e308}}, UNDERFLOW),
    ({"cluster.persistence": {"kind": "ar1", "correlation": 0.5, "sd": 40}}, UNDERFLOW),
    ({"cluster.persistence": {"kind": "ar1", "correlation": 0.5, "sd": 40}, "stop": {"time": 1}}, UNDERFLOW),
    ({"cluster.windows": [{"start": 0, "delay": 1e308}]}, OVERFLOW),
    ({"cluster.windows": [{"start": 0, "delay": 1e308}], "protocol": ASYNC}, OVERFLOW),
    ({"cluster.server": {"per_update": 1e308}}, OVERFLOW),
    ({"cluster.server": {"per_gradient": 1e308}, "protocol": ASYNC}, OVERFLOW),
    (
        {"cluster.network": {"topology": "star", "bandwidth": 1e308, "model_bytes": 1e308}, "cluster.runtime.mean": 1e308},
        OVERFLOW,
    ),
    ({"record": {"every_time": 1e-9, "details": False}}, "makes more than 10000000 evaluations"),
    ({"cluster.network": {"topology": "star", "push": {"distribution": "deterministic", "value": 1e308}}}, OVERFLOW),
    (windows(40, factor=1e-9), UNDERFLOW),
    (windows(40, factor=1e9), STANDS),
    (law("uniform", low=0, high=5e-324), TINY),
    (law("exponential", mean=5e-324), TINY),
    (law("exponential", mean=1e-320) | {"protocol": ASYNC}, TINY),
    (law("exponential", mean=1e-320) | {"sampler": "order-statistic"}, TINY),
    (law("deterministic", value=5e-324), TINY),
    ({"cluster.windows": [{"start": 0, "length": 1, "delay": 1e17}]} | law("uniform", low=0, high=1e-9), STANDS),
    (law("two-point", low=0, high=1e-300, probability=1e-9) | {"protocol": ASYNC, "stop": {"time": 1, "updates": 4000000000}}, STANDS),
    (
        law("deterministic", value=1e6)
        | {
            "cluster.windows": [
                {"start": 0, "length": 1e-7, "factor": 2, "every": 1e-6},
                {"start": 0, "length": 3e-7, "factor": 2, "every": 1.1e-6},
            ]
        },
        "windows open and close more than 100000 times during one minibatch",
    ),
    (
        {
            "cluster.failures": {
                "up": {"distribution": "deterministic", "value": 1e-300},
                "down": {"distribution": "deterministic", "value": 1e-300},
            }
        },
        "learners failed",
    ),
]


def with_changes(changes):
    scenario = changed(BASE)
    for path, value in changes.items():
        part = scenario
        *above, last = path.split(".")
        for key in above:
            part = part[key]
        part[last] = value
    return scenario


class Statuses(ProgramTest):
    def test_a_run_that_cannot_go_on_has_a_status_and_a_reason(self):
        for number, (changes, reason) in enumerate(FAILING):
            with self.subTest(changes=changes):
                path = self.write(with_changes(changes))
                self.call("validate", path)
                _, told = self.call("run", path, "--out", str(number), "--quiet", status=1)
                self.assertIn(f"gradrace: failed: {BASE['protocol']['kind'] if 'protocol' not in changes else 'async'}, replica 0: ", told)
                self.assertNotIn("invariant", told)
                (row,) = rows(self.folder / str(number) / "runs.csv")
                self.assertEqual(row["status"], "failed")
                self.assertTrue(row["reason"].startswith(reason), row["reason"])
        self.call("run", path, "--out", str(number), "--quiet", status=1)  # tries again
        self.call("run", path, "--out", str(number), "--dry-run")

    def test_odd_times_that_can_be_told_run(self):
        for changes in (
            law("deterministic", value=1e-306),
            law("deterministic", value=1e300),
            law("two-point", low=0, high=1, probability=0.1) | {"protocol": ASYNC},
            {"record": {"every_time": 1e307}},
            {"cluster.persistence": {"kind": "ar1", "correlation": 0.5, "sd": 5}},
        ):
            with self.subTest(changes=changes):
                self.call("run", self.write(with_changes(changes)), "--out", "o", "--force", "--quiet")
                (row,) = rows(self.folder / "o/runs.csv")
                self.assertEqual(row["status"], "finished")
                self.assertGreater(float(row["sim_time"]), 0)

    def test_the_others_go_on_and_the_next_file_too(self):
        means = {"cluster.runtime.mean": [1, 1e308, 2]}
        first = self.write(changed(BASE, name="first", replicas=3, sweep=means), "first.json")
        second = self.write(changed(BASE, name="second"), "second.json")
        for jobs in (1, 3):
            out = f"jobs-{jobs}"
            told, errors = self.call("run", first, second, "--out", out, "--jobs", str(jobs), status=1)
            for replica in range(3):
                self.assertIn(f"gradrace: failed: sync runtime.mean=1e+308, replica {replica}: {OVERFLOW}", errors)
            self.assertIn("3 runs failed; the same call tries again", errors)
            statuses = [row["status"] for row in rows(self.folder / out / "first/runs.csv")]
            self.assertEqual(statuses, ["finished"] * 3 + ["failed"] * 3 + ["finished"] * 3)
            self.assertEqual([row["status"] for row in rows(self.folder / out / "second/runs.csv")], ["finished"])
        self.assertEqual(self.tables(self.folder / "jobs-1/first"), self.tables(self.folder / "jobs-3/first"))

    def test_more_minibatches_and_evaluations_than_a_run_has_are_refused(self):
        for changes, told in (
            ({"stop": {"gradients": 2**33}}, "stop.gradients: takes 8589934592 minibatches"),
            ({"stop": {"updates": 300}, "cluster.learners": 2**24}, "stop.updates: takes 5033164800 minibatches"),
            ({"stop": {"time": 1}, "record": {"every_time": 1e-9}}, "stop.time: makes more than 10000000 evaluations"),
            ({"stop": {"updates": 10**9}, "record": {"every_updates": 1}}, "stop.updates: makes more than 10000000"),
        ):
            self.assertIn(told, self.call("validate", self.write(with_changes(changes)), status=2)[1])


class Interrupts(ProgramTest):
    """Long work hears a signal."""

    def test_it_is_heard(self):
        softmax = {"kind": "softmax", "dataset": {"kind": "synthetic"}, "minibatch": 1_000_000}
        for name, scenario in (
            ("evaluations", with_changes({"record": {"every_time": 1e-9}})),
            ("minibatches", changed(BASE, model=softmax, learning_rate={"kind": "constant", "eta": 0.1})),
            ("gradients", with_changes({"stop": {"gradients": 2**32 - 1}})),
        ):
            with self.subTest(name):
                words = [PROGRAM, "run", self.write(scenario), "--out", name, "--quiet"]
                with subprocess.Popen(words, cwd=self.folder, stderr=subprocess.PIPE, text=True) as process:
                    time.sleep(0.7)
                    process.send_signal(signal.SIGTERM)
                    _, told = process.communicate(timeout=30)
                self.assertEqual(process.returncode, 130, told)


if __name__ == "__main__":
    unittest.main()
