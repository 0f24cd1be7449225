"""What a call takes: it is told before, bounded, refused where it does not fit, and ended by the first signal."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
import unittest

from program import IS_RELEASE, PROGRAM, ProgramTest, rows

EXPONENTIAL = {"distribution": "exponential", "mean": 1}
QUADRATIC = {"model": {"kind": "quadratic", "dimensions": 10_000}, "learning_rate": {"kind": "constant", "eta": 0.01}}
# A process's peak is at least that of the one that began it: a small one begins what is measured.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""

IS_LONG = bool(os.environ.get("GRADRACE_LONG"))
MANY = 20_000 if IS_LONG else 5000  # updates


def scenario(learners, protocol, updates, replicas=1, **more):
    cluster = {"learners": learners, "runtime": EXPONENTIAL}
    return {"cluster": cluster, "protocol": protocol, "stop": {"updates": updates}, "replicas": replicas, **more}


def gammas(count):
    return [{"distribution": "gamma", "shape": 2 + i / 1000, "scale": 1} for i in range(count)]


class Memory(ProgramTest):
    """Told and real, of runs of a few hundred MB: values of all learners, versions that learners hold, many runs."""

    def check(self, of, jobs="1"):
        path = self.write(of)
        told, _ = self.call("run", path, "--dry-run", "--jobs", jobs)
        megabytes = float(re.search(r"memory: about (\S+) MB", told)[1])
        run = [PROGRAM, "run", path, "--out", "out", "--jobs", jobs, "--quiet"]
        done = subprocess.run([sys.executable, "-c", PEAK, *map(os.fspath, run)], cwd=self.folder, capture_output=True, text=True, check=True)
        real = max(30, int(done.stdout) * 1024 / 1e6)
        self.assertLess(abs(megabytes - real), 0.2 * real, (megabytes, real))

    def test_of_learners_with_values_of_their_own(self):
        self.check(scenario(5000, {"kind": "ad-psgd", "graph": "ring"}, 5000, **QUADRATIC))

    def test_of_versions_that_learners_hold(self):
        self.check(scenario(3000, {"kind": "async"}, 9000, **QUADRATIC))

    def test_of_gradients_that_helpers_compute_ahead(self):
        model = {"model": {"kind": "quadratic", "dimensions": 3_000_000}, "learning_rate": QUADRATIC["learning_rate"]}
        self.check(scenario(16, {"kind": "sync"}, 3, **model), jobs="2")

    def test_of_a_disagreement(self):
        model = {"model": {"kind": "quadratic", "dimensions": 1_000_000}, "learning_rate": QUADRATIC["learning_rate"]}
        self.check(scenario(8, {"kind": "d-psgd", "graph": "ring"}, 3, record={"every_updates": 1}, **model))

    def test_of_factors_that_messages_carry(self):
        """Nine columns for ten rows: nearly as much as the model, beside every value."""
        data = {"kind": "synthetic", "features": 40_000, "rows": 64, "test_rows": 8}
        model = {"model": {"kind": "softmax", "dataset": data, "minibatch": 1}, "learning_rate": QUADRATIC["learning_rate"]}
        power = {"kind": "power", "rank": 9, "memory": {}}
        self.check(scenario(64, {"kind": "local-sgd", "tau": 2}, 6, compression=power, **model))

    def test_of_many_targets(self):
        levels = {"targets": {"loss": [i / 1e5 for i in range(1, 50_000)]}, "record": {"every_updates": 5}}
        self.check(scenario(4, {"kind": "async"}, 20, **levels, **QUADRATIC))

    def test_of_a_small_call(self):
        self.check(scenario(8, {"kind": "sync"}, 2))

    def test_of_many_runs(self):
        self.check(scenario(8, {"kind": "sync"}, 2, replicas=100_000))


class Refusals(ProgramTest):
    def refused(self, of, key, number, limit=None, commands=(("validate",), ("run", "--out", "out"), ("run", "--dry-run"))):
        path = self.write(of)
        for command in commands:
            keys = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))} if limit else {}
            begin = time.monotonic()
            done = subprocess.run([PROGRAM, command[0], path, *command[1:]], cwd=self.folder, capture_output=True, text=True, check=False, **keys)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(
                done.stderr, rf"error: {re.escape(key)}: does not fit into memory: .* take at least {number} GB, all together .*, and the limit is "
            )
            self.assertLess(time.monotonic() - begin, 10)
            if limit:
                self.assertIn("(ulimit -v (RLIMIT_AS))", done.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_a_model(self):
        of = scenario(8, {"kind": "sync"}, 2, model={"kind": "quadratic", "dimensions": 10**9}, learning_rate=QUADRATIC["learning_rate"])
        self.refused(of, "model", "8", limit=4_000_000 * 1024)

    def test_local_steps(self):
        of = scenario(100, {"kind": "k-async", "k": 100, "tau": 100_000}, 1, **QUADRATIC)
        self.refused(of, "protocol.tau", "4", limit=3_000_000 * 1024)

    def test_layers(self):
        model = {"kind": "mlp", "widths": [10**6, 10**6], "dataset": {"kind": "synthetic"}}
        self.refused(scenario(4, {"kind": "sync"}, 2, model=model, learning_rate=QUADRATIC["learning_rate"]), "model", r"8e\+03")

    def test_a_minibatch(self):
        model = {"kind": "softmax", "minibatch": 10**9, "dataset": {"kind": "synthetic"}}
        of = scenario(4, {"kind": "sync"}, 2, model=model, learning_rate=QUADRATIC["learning_rate"])
        self.refused(of, "model.minibatch", "44", limit=8 << 30)

    def test_data(self):
        model = {"kind": "softmax", "dataset": {"kind": "synthetic", "rows": 10**8}}
        of = scenario(4, {"kind": "sync"}, 2, model=model, learning_rate=QUADRATIC["learning_rate"])
        self.refused(of, "model.dataset", "12.9", limit=8 << 30)

    def test_runs(self):
        means = [1 + i / 1000 for i in range(1000)]
        of = scenario(8, {"kind": "sync"}, 2, replicas=16_777_215, sweep={"cluster.runtime.mean": means})
        self.refused(of, "replicas", r"6.71e\+03")

    def test_times_of_learners_that_train(self):
        of = scenario(16_000_000, {"kind": "async"}, 2, **QUADRATIC)
        self.refused(of, "cluster.learners", r"[\d.]+", limit=300 << 20)

    def test_versions_that_learners_hold(self):
        of = scenario(10_000, {"kind": "async"}, 40_000, **QUADRATIC)
        self.refused(of, "cluster.learners", r"[\d.]+", limit=200 << 20)


class Theory(ProgramTest):
    def check(self, cluster):
        path = self.write({"cluster": cluster, "protocol": {"kind": "sync"}, "stop": {"updates": 20}})
        begin = time.monotonic()
        self.call("run", path, "--out", "out", "--quiet", "--force")
        if IS_RELEASE:
            self.assertLess(time.monotonic() - begin, 10)
        [run] = rows(self.folder / "out/runs.csv")
        self.assertEqual((run["theory_iteration_time"], run["theory_basis"]), ("", ""))
        told, _ = self.call("theory", path, "--csv")
        self.assertIn("iteration time: its integrals take more than 1000000 evaluations of runtimes", told)
        told, _ = self.call("theory", path, "--table")
        self.assertIn("no iteration time: its integrals take more than 1000000 evaluations", told)

    def test_beyond_its_budget_is_not_known(self):
        if IS_LONG:
            self.check({"learners": 300, "runtimes": gammas(300)})
        mixture = {"distribution": "mixture", "weights": [1] * 300, "parts": gammas(300)}
        self.check({"learners": 4, "runtime": mixture})


class Signals(ProgramTest):
    def ends(self, of, seconds):
        """The first signal, so long after the beginning, ends the call within a second; as it was ended."""
        process = subprocess.Popen([PROGRAM, "run", self.write(of), "--out", "out"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        time.sleep(seconds)
        self.assertIsNone(process.poll(), "it was over before the signal")
        process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        process.communicate(timeout=60)
        if IS_RELEASE:
            self.assertLess(time.monotonic() - begin, 1)
        return process.returncode

    def test_theory(self):
        mixtures = [{"distribution": "mixture", "weights": [1] * 300, "parts": gammas(300 + i)[i:]} for i in range(20)]
        cluster = {"learners": 4, "runtime": mixtures[0]}
        of = {"cluster": cluster, "protocol": {"kind": "sync"}, "stop": {"updates": 20}, "sweep": {"cluster.runtime": mixtures}}
        self.assertEqual(self.ends(of, 1), -signal.SIGTERM)

    def test_exchanges_of_a_complete_graph(self):
        self.assertEqual(self.ends(scenario(100_000, {"kind": "d-psgd", "graph": "complete"}, 5), 3), 130)

    def test_a_long_gradient(self):
        model = {"kind": "quadratic", "dimensions": 50_000_000}
        self.assertEqual(self.ends(scenario(16, {"kind": "sync"}, 10, model=model, learning_rate=QUADRATIC["learning_rate"]), 3), 130)


class Before(ProgramTest):
    def test_a_long_run_says_so(self):
        model = {"kind": "mlp", "widths": [512, 512], "minibatch": 64, "dataset": {"kind": "synthetic"}}
        of = scenario(4, {"kind": "async"}, 10**8, model=model, learning_rate=QUADRATIC["learning_rate"])
        process = subprocess.Popen([PROGRAM, "run", self.write(of), "--out", "out"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        line = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertRegex(line, r"^gradrace: note: scenario will take about \d+ h \d\d min on this machine")

    def test_a_dry_run_tells_the_disk(self):
        """Also of a run that takes hardly more than its manifest, and where the first replica alone has a trace."""
        for of in (
            scenario(1000, {"kind": "sync"}, 100, record={"trace": True}),
            scenario(4, {"kind": "sync"}, 10),
            scenario(4, {"kind": "async"}, 10, replicas=100),
            scenario(4, {"kind": "async"}, 500, replicas=40, record={"trace": True}),
            scenario(8, {"kind": "async"}, MANY, record={"trace": True}),
            scenario(4, {"kind": "async"}, MANY, record={"every_updates": 1}, **QUADRATIC),
            scenario(9, {"kind": "ad-psgd", "graph": "ring"}, 900, record={"every_updates": 9, "evaluate": "each"}, **QUADRATIC),
        ):
            self.write(of)
            self.check_disk()

    def test_a_dry_run_tells_the_disk_of_clusters_of_many_sizes(self):
        sizes = {"cluster.learners": [10**i for i in range(6)]}
        self.write(scenario(8, {"kind": "sync"}, 30, sweep=sizes))
        self.check_disk()

    def test_a_dry_run_ends_where_theory_takes_long(self):
        """That of all points: each is within the budget."""
        parts = [{"distribution": "lognormal", "mu": i / 1000, "sigma": 1} for i in range(2000)]
        cluster = {"learners": 1000, "runtime": {"distribution": "mixture", "weights": [1] * 2000, "parts": parts}}
        protocols = [{"kind": "k-sync", "k": k} for k in range(1, 400)]
        path = self.write({"cluster": cluster, "stop": {"updates": 5}, "sweep": {"protocol": protocols}})
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        told, _ = self.call("run", path, "--dry-run", "--jobs", "1")
        if IS_RELEASE:
            self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 10)
        self.assertRegex(told, r"time: about \d+ s|time: about \d+ min")

    def test_a_dry_run_says_what_may_end_runs_sooner(self):
        of = scenario(8, {"kind": "async"}, 3000, record={"every_updates": 100}, **QUADRATIC)
        sooner = ", if no loss or error that stop names ends them sooner"
        for stop, is_told in (({"updates": 3000}, False), ({"updates": 3000, "loss": 0.1}, True)):
            told, _ = self.call("run", self.write({**of, "stop": stop}), "--dry-run", "--jobs", "1")
            self.assertEqual(sooner in told, is_told)

    def test_a_dry_run_knows_the_time_of_a_few_great_updates(self):
        told, _ = self.call("run", self.write(scenario(4_194_304, {"kind": "sync"}, 2)), "--dry-run", "--jobs", "1")
        self.assertNotIn("not known", told)

    def check_disk(self, *words):
        told, _ = self.call("run", "scenario.json", "--dry-run", *words)
        megabytes = float(re.search(r"disk: about (\S+) MB", told)[1])
        self.call("run", "scenario.json", "--out", "out", "--quiet", "--force", *words)
        real = sum(path.stat().st_size for path in (self.folder / "out").iterdir()) / 1e6
        self.assertLess(abs(megabytes - real), 0.2 * real, (megabytes, real))

    def test_a_dry_run_tells_the_disk_of_compressed_files(self):
        for way, of in (
            ("gzip", scenario(8, {"kind": "async"}, MANY, record={"trace": True})),
            ("zstd", scenario(4, {"kind": "async"}, MANY, record={"every_updates": 1}, **QUADRATIC)),
            ("zstd", scenario(200, {"kind": "k-sync", "k": 100}, 100, replicas=20)),
        ):
            self.write(of)
            self.check_disk("--compress", way)

    def test_a_dry_run_makes_a_part_of_large_data(self):
        """And tells what all of it takes."""
        data = {"kind": "synthetic", "rows": 60_000, "features": 1000, "test_rows": 2000}
        model = {"model": {"kind": "softmax", "dataset": data, "minibatch": 8}, "learning_rate": QUADRATIC["learning_rate"]}
        path = self.write(scenario(4, {"kind": "async"}, 2000, record={"every_updates": 100}, **model))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        told, _ = self.call("run", path, "--dry-run", "--jobs", "1")
        of_dry_run = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        words = [PROGRAM, "run", str(path), "--out", "out", "--jobs", "1", "--quiet"]
        peak = int(subprocess.run([sys.executable, "-c", PEAK, *words], cwd=self.folder, check=True, capture_output=True, text=True).stdout)
        of_run = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before - of_dry_run
        self.assertLess(of_dry_run, of_run)
        megabytes = float(re.search(r"memory: about (\S+) MB", told)[1])
        self.assertLess(abs(megabytes - peak * 1024 / 1e6), 0.2 * peak * 1024 / 1e6)


if __name__ == "__main__":
    unittest.main()
