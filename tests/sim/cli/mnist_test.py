"""The main job on real input; needs MNIST in the folder that GRADRACE_DATA names."""

import os
import pathlib
import time
import unittest

from program import IS_RELEASE, ROOT, ProgramTest, rows, skip

ONE_LEARNER = {
    "replicas": 3,
    "cluster": {"learners": 1, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {"kind": "softmax", "dataset": {"kind": "idx", "path": "mnist"}, "minibatch": 128},
    "protocol": {"kind": "sync"},
    "learning_rate": {"kind": "constant", "eta": 0.1},
    "stop": {"epochs": 10},
    "sweep": {"model.sampling": ["iid", "epoch"]},
}


class Mnist(ProgramTest):
    def test_softmax_reaches_92_percent_after_10_epochs(self):
        self.call("run", self.write(ONE_LEARNER), "--out", "out", "--quiet")
        table = rows(self.folder / "out/runs.csv")
        for sampling, known in (("iid", 0.921), ("epoch", 0.9205)):
            accuracy = [1 - float(row["final_test_error"]) for row in table if row["model.sampling"] == sampling]
            self.assertEqual(len(accuracy), 3)
            mean = sum(accuracy) / 3
            print(f"{sampling}: {100 * mean:.2f} % (known {100 * known:.2f})")
            self.assertLessEqual(abs(mean - 0.92), 0.003)
            self.assertLessEqual(abs(mean - known), 0.003)

    def test_all_six_protocols_with_3000_updates_take_less_than_a_minute(self):
        begin = time.monotonic()
        self.call("run", ROOT / "scenarios/mnist.json", "--out", "out", "--quiet")
        elapsed = time.monotonic() - begin
        print(f"six protocols: {elapsed:.1f} s")
        if IS_RELEASE:
            self.assertLess(elapsed, 60)
        table = rows(self.folder / "out/runs.csv")
        self.assertEqual(
            [row["protocol"] for row in table],
            ["sync", "k-sync", "k-batch-sync", "async", "k-async", "k-batch-async"],
        )
        for row in table:
            self.assertEqual(row["updates"], "3000")
            self.assertEqual(row["learners"], "8")
            self.assertLess(float(row["final_test_error"]), 0.1)


if __name__ == "__main__":
    folder = os.environ.get("GRADRACE_DATA", "")
    if not folder or not (pathlib.Path(folder) / "mnist").is_dir():
        skip("GRADRACE_DATA names no folder with an mnist in it")
    unittest.main()
