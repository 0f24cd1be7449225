"""A run's memory does not grow with its length: what is told of it is written as it happens.  That
of a sweep does not grow with what its points share."""

import os
import subprocess
import sys
import unittest

from program import PROGRAM, ProgramTest, changed, rows

MOST = 5 << 20  # bytes that a longer run may take more

# A process's peak is at least that of the one that began it: a small one begins what is measured.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""

TIMING = {
    "cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
    "protocol": {"kind": "async"},
    "stop": {"updates": 20_000},
    "record": {"every_updates": 1, "updates": True, "trace": True},
}
MODEL = {"model": {"kind": "quadratic"}, "learning_rate": {"kind": "constant", "eta": 0.01}}


class Memory(ProgramTest):
    def peak(self, scenario):
        """In bytes, of a run of the scenario into `out`."""
        run = [PROGRAM, "run", self.write(scenario), "--out", "out", "--jobs", "1"]
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *map(os.fspath, run), "--quiet", "--force"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout) * 1024

    def check(self, scenario):
        """Ten times the updates, whose text alone is more than MOST, take no more memory."""
        longer = changed(scenario, stop={"updates": 10 * scenario["stop"]["updates"]})
        peaks = [self.peak(scenario), self.peak(longer)]
        text = sum(path.stat().st_size for path in (self.folder / "out").iterdir())
        self.assertGreater(text, 1.2 * MOST)
        self.assertLess(peaks[1] - peaks[0], MOST, peaks)

    def test_of_a_timing_only_run(self):
        self.check(TIMING)

    def test_without_a_server(self):
        network = {"topology": "mesh", "latency": 0.1, "bandwidth": 4, "model_bytes": 2}
        cluster = {**TIMING["cluster"], "network": network}
        protocol = {"kind": "ad-psgd", "graph": "bipartite-exponential"}
        self.check(changed(TIMING, cluster=cluster, protocol=protocol))

    def test_of_training(self):
        self.check(changed(TIMING, **MODEL))

    def test_of_a_run_whose_trace_ends_early(self):
        self.check(changed(TIMING, record={"every_time": 0.1, "trace": True, "trace_updates": 50}))

    def test_of_evaluations_between_updates(self):
        stop, record = {"updates": 200}, {"every_time": 0.001}
        self.check(changed(TIMING, stop=stop, record=record))

    def test_of_a_run_that_diverges(self):
        peaks = []
        for updates in (2_000, 60_000):
            # |w| grows e^44-fold in so many updates: soon its square is no float32.
            diverging = changed(
                TIMING,
                cluster={**TIMING["cluster"], "learners": 1},
                model={"kind": "quadratic", "curvatures": [1], "dimensions": 1},
                learning_rate={"kind": "constant", "eta": 2 + 44 / updates},
                stop={"updates": 2 * updates},
            )
            peaks.append(self.peak(diverging))
            [run] = rows(self.folder / "out/runs.csv")
            self.assertEqual(run["status"], "diverged")
            self.assertGreater(int(run["updates"]), updates / 2)
            for name, more in (("updates.csv", 0), ("curve.csv", 1)):
                self.assertEqual(len(rows(self.folder / "out" / name)), int(run["updates"]) + more)
        self.assertLess(peaks[1] - peaks[0], MOST, peaks)


class SharedByPoints(ProgramTest):
    peak = Memory.peak

    def check(self, scenario, sweep):
        """Many points take little more memory than one."""
        one = {path: values[:1] for path, values in sweep.items()}
        peaks = [self.peak(changed(scenario, sweep=of)) for of in (one, sweep)]
        self.assertLess(peaks[1] - peaks[0], MOST, peaks)

    def train(self, dataset, sweep):
        model = {"kind": "mlp", "widths": [4], "dataset": dataset}
        scenario = changed(TIMING, model=model, learning_rate=MODEL["learning_rate"])
        record = {"every_updates": 10, "train_rows": 100, "test_rows": 100}
        self.check(changed(scenario, stop={"updates": 10}, record=record), sweep)

    def test_data_of_models_that_differ(self):
        table = self.folder / "data.csv"
        values = ",".join(f"{i / 7:.3f}" for i in range(300))
        table.write_text("\n".join([",".join(f"f{i}" for i in range(300)) + ",label", *(f"{values},{i % 2}" for i in range(3000))]))
        sweep = {"model.widths": [[2], [3], [4], [5], [6]], "model.l2": [0, 0.1], "model.minibatch": [1, 2]}
        synthetic = {"kind": "synthetic", "rows": 3000, "features": 300}
        for dataset in synthetic, {"kind": "csv", "path": "data.csv", "label": "label", "test_rows": 100}:
            self.train(dataset, sweep)

    def test_times_of_a_trace(self):
        (self.folder / "times.csv").write_text("time\n" + "\n".join(str(1 + i * i * 31 % 977) for i in range(20_000)))
        runtime = {"distribution": "empirical", "path": "times.csv", "column": "time"}
        scenario = changed(TIMING, cluster={"learners": 2, "runtime": runtime}, record=None, protocol={"kind": "k-async"})
        self.check(scenario, {"protocol.k": [1, 2], "stop.updates": [10 + i for i in range(25)]})  # 8 MB if each had its own


if __name__ == "__main__":
    unittest.main()
