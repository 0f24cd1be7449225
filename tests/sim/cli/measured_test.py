"""Runs whose minibatch times were measured."""

import csv
import io
import json
import math
import os
import pathlib
import random
import unittest

from program import ROOT, ProgramTest, changed, rows

TRACE = {"distribution": "empirical", "path": "t.csv", "column": "t"}
OF_LEARNERS = {**TRACE, "learner_column": "who"}
SCENARIO = {
    "name": "measured",
    "cluster": {"learners": 3, "runtime": {**OF_LEARNERS, "mode": "replay"}},
    "protocol": {"kind": "sync"},
    "stop": {"updates": 40},
}


def runtime(mode="bootstrap", **keys):
    law = TRACE if mode == "bootstrap" else OF_LEARNERS
    return {"learners": 3, "runtime": {**law, "mode": mode, **keys}}


class Measured(ProgramTest):
    def setUp(self):
        super().setUp()
        numbers = random.Random(7)
        self.times = {who: [round(numbers.uniform(1, 9), 3) for _ in range(40)] for who in range(3)}
        self.write_trace()

    def write_trace(self):
        lines = [f"{who},{self.times[who][n]}" for n in range(40) for who in (2, 0, 1)]
        (self.folder / "t.csv").write_text("\n".join(["who,t", *lines]) + "\n")

    def run_it(self, scenario, *words):
        told, _ = self.call("run", self.write(scenario), "--out", "out", "--force", *words)
        return told, json.loads((self.folder / "out/manifest.json").read_text())

    def test_sync_waits_for_the_longest_of_each_row(self):
        told, manifest = self.run_it(changed(SCENARIO, replicas=2))
        known = sum(max(self.times[who][n] for who in range(3)) for n in range(40))
        for run in rows(self.folder / "out/runs.csv"):
            self.assertAlmostEqual(float(run["sim_time"]), known, delta=1e-9)
            self.assertEqual((run["theory_iteration_time"], run["theory_basis"]), ("", ""))
        self.assertEqual(manifest["notes"], [])
        self.assertNotIn("note:", told)
        self.assertNotRegex(told, r"±\s*0\b")

    def test_momentum_with_stale_gradients_follows_a_loop_written_out(self):
        eta, beta, curvatures, start = 0.1, 0.9, (1.0, 0.25), 1.0
        model = {"kind": "quadratic", "dimensions": 2, "curvatures": curvatures, "noise": 0, "start": start, "precision": "float64"}
        scenario = changed(
            SCENARIO,
            protocol={"kind": "async"},
            model=model,
            learning_rate={"kind": "constant", "eta": eta},
            optimiser={"kind": "sgd", "momentum": beta},
            stop={"updates": 60},
            record={"every_updates": 1},
        )
        self.run_it(scenario)
        found = [float(row["loss"]) for row in rows(self.folder / "out/curve.csv")]
        w, v = [start, start], [0.0, 0.0]
        clock, read = [self.times[who][0] for who in range(3)], [list(w) for _ in range(3)]
        made, known = [1, 1, 1], []
        for _ in range(61):
            known.append(sum(c * x * x for c, x in zip(curvatures, w, strict=True)) / 2)
            first = min(range(3), key=lambda who: clock[who])
            v = [beta * a + c * x for a, c, x in zip(v, curvatures, read[first], strict=True)]
            w = [x - eta * a for x, a in zip(w, v, strict=True)]
            read[first] = list(w)
            clock[first] += self.times[first][made[first] % 40]
            made[first] += 1
        self.assertEqual(len(found), 61)
        for a, b in zip(found, known, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-13 * b)

    def test_a_replay_that_runs_out_starts_again_and_says_so(self):
        told, manifest = self.run_it(changed(SCENARIO, replicas=2, stop={"updates": 50}))
        longest = [max(self.times[who][n % 40] for who in range(3)) for n in range(50)]
        for run in rows(self.folder / "out/runs.csv"):
            self.assertAlmostEqual(float(run["sim_time"]), sum(longest), delta=1e-9)
        path = os.fspath((self.folder / "t.csv").resolve())
        note = f"replay of {path} ran out in 2 runs and started again: learner 0 made 50 draws of 40 measured times"
        self.assertEqual(manifest["notes"], [note])
        self.assertIn(f"note: {note}\n", told)
        self.assertNotIn("note:", self.run_it(changed(SCENARIO, stop={"updates": 50}), "--quiet")[0])

    def test_measured_times_of_any_law_of_the_cluster_are_hashed_and_noted(self):
        law = {**OF_LEARNERS, "mode": "replay"}
        plain = {"learners": 3, "runtime": {"distribution": "exponential", "mean": 1}}
        for more in (
            {"network": {"push": law}},
            {"network": {"pull": law}},
            {"outliers": {"probability": 0.5, "runtime": law}},
        ):
            with self.subTest(more):
                _, manifest = self.run_it(changed(SCENARIO, cluster={**plain, **more}, stop={"updates": 50}))
                self.assertEqual(len(manifest["hashes"]["data"]), 1)
                self.assertEqual(len(manifest["notes"]), 1)
        failures = {"up": {"distribution": "exponential", "mean": 50}, "down": law}
        _, manifest = self.run_it(changed(SCENARIO, cluster={**plain, "failures": failures}))
        self.assertEqual(len(manifest["hashes"]["data"]), 1)

    def test_the_manifest_hashes_the_times_and_repeats_the_run(self):
        _, first = self.run_it(SCENARIO)
        self.assertEqual(len(first["hashes"]["data"]), 1)
        tables = self.tables(self.folder / "out")
        (self.folder / "away").mkdir()
        again = self.write(first["scenario"], "away/again.json")
        self.call("run", again, "--out", "again")
        self.assertEqual(tables, self.tables(self.folder / "again"))
        self.times[1][3] += 0.5
        self.write_trace()
        self.assertNotEqual(first["hashes"]["data"], self.run_it(SCENARIO)[1]["hashes"]["data"])

    def test_theory_knows_the_iteration_time_of_independent_draws_only(self):
        points = [{"kind": "sync"}, {"kind": "async"}]
        for mode in ("bootstrap", "block", "replay"):
            scenario = changed(SCENARIO, cluster=runtime(mode=mode), sweep={"protocol": points})
            told, _ = self.call("theory", self.write(scenario))
            table = list(csv.DictReader(io.StringIO(told)))
            self.assertEqual([row["theory_staleness"] for row in table], ["0", "2"])
            if mode != "bootstrap":
                self.assertEqual({row["theory_iteration_time"] for row in table}, {""})
                continue
            every = sorted(time for times in self.times.values() for time in times)
            # The largest of 3 draws with replacement from 120 is the i-th with probability
            # (i^3 - (i - 1)^3) / 120^3.
            longest = sum(x * (i**3 - (i - 1) ** 3) for i, x in enumerate(every, 1)) / 120**3
            self.assertAlmostEqual(float(table[0]["theory_iteration_time"]), longest, delta=1e-9)
            self.assertAlmostEqual(float(table[1]["theory_iteration_time"]), sum(every) / 360, delta=1e-9)

    def test_a_bootstrap_takes_as_long_as_theory_says(self):
        scenario = changed(SCENARIO, cluster=runtime(), stop={"updates": 400}, replicas=25)
        self.run_it(scenario)
        table = rows(self.folder / "out/runs.csv")
        times = [float(row["mean_iteration_time"]) for row in table]
        mean = sum(times) / 25
        error = math.sqrt(sum((time - mean) ** 2 for time in times) / 24 / 25)
        # 25 replicas of 400 updates; 4 standard errors.
        self.assertLess(abs(mean - float(table[0]["theory_iteration_time"])), 4 * error)

    def test_modes_may_be_swept_and_replicas_of_a_block_differ(self):
        scenario = changed(SCENARIO, replicas=2, sweep={"cluster.runtime.mode": ["bootstrap", "block", "replay"]})
        self.run_it(scenario)
        times = [row["sim_time"] for row in rows(self.folder / "out/runs.csv")]
        self.assertNotEqual(times[0], times[1])
        self.assertNotEqual(times[2], times[3])
        self.assertEqual(times[4], times[5])

    def test_a_trace_is_asked_what_fit_asks_of_it(self):
        numbers = random.Random(1)

        def validated(header, table, status=0, **keys):
            (self.folder / "t.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in table)]) + "\n")
            law = {"distribution": "empirical", "path": "t.csv", "column": header.split(",")[-1], **keys}
            told = self.call("validate", self.write(changed(SCENARIO, cluster={"learners": 3, "runtime": law})), status=status)
            return "".join(told)

        def times(count, mean=0.5):
            return [round(mean * numbers.uniform(0.9, 1.1), 4) for _ in range(count)]

        parts = [(op, time) for n in range(50) for op, mean in (("forward", 0.03), ("step", 1)) for time in times(1, mean)]
        told = validated("op,time", parts, 2)
        self.assertIn("cluster.runtime.column: rows are of 2 kinds by column op", told)
        self.assertIn("makes of it, whose sample.csv a scenario reads; its options: --where 'op=PATTERN'", told)
        totals = [(round(sum(times(n)), 4),) for n in range(1, 100)]
        self.assertIn('"time" only rises', validated("time", totals, 2))
        self.assertIn("is a rate by its name", validated("samples_per_sec", [(500 + x,) for x in times(50)], 2))
        self.assertIn("say --skip 1", validated("time", [(30,), *((x,) for x in times(50))]))
        of_two = [(who, times(1)[0]) for _ in range(50) for who in "ab"]
        self.assertIn("column worker says whose a time is", validated("worker,time", of_two, mode="replay"))
        jumbled = [(n, x) for n, x in enumerate(times(50))]
        numbers.shuffle(jumbled)
        self.assertIn("not the order of their steps", validated("step,time", jumbled, mode="replay"))
        for header, table, keys in (
            ("worker,time", of_two, {"mode": "replay", "learner_column": "worker"}),
            ("worker,time", of_two, {}),
            ("time", [(x,) for x in times(50)], {"mode": "replay"}),
        ):
            self.assertNotIn("note:", validated(header, table, **keys))

    def test_what_fit_was_told_of_a_trace_is_asked_no_more(self):
        (self.folder / "t.csv").write_text("\n".join(["time", *(f"{0.5 + n / 100}" for n in range(60))]) + "\n")
        self.call("fit", "t.csv", "--durations", "--out", "fitted")
        law = {"distribution": "empirical", "path": "fitted/sample.csv", "column": "time", "mode": "replay"}
        told = self.call("validate", self.write(changed(SCENARIO, cluster={"learners": 3, "runtime": law})))
        self.assertNotIn("note:", "".join(told))

    def test_a_trace_is_found_under_the_data_folder(self):
        (self.folder / "data/traces").mkdir(parents=True)
        (self.folder / "t.csv").rename(self.folder / "data/traces/u.csv")
        scenario = changed(SCENARIO, cluster=runtime(mode="replay", path="../elsewhere/traces/u.csv"))
        self.run_it(scenario, "--data", "data")
        _, told = self.call("run", self.write(scenario), status=2, GRADRACE_DATA="")
        self.assertIn('cluster.runtime.path: no file "../elsewhere/traces/u.csv"', told)


class Alibaba(ProgramTest):
    """The scenarios that replay the traces of three real jobs."""

    def test_each_runs_on_its_trace(self):
        data = pathlib.Path(os.environ.get("GRADRACE_DATA") or "nowhere")
        files = sorted((ROOT / "scenarios").glob("alibaba_job_*.json"))
        self.assertEqual(len(files), 3)
        if not (data / "traces").is_dir():
            self.skipTest("GRADRACE_DATA names no folder with traces in it")
        for file in files:
            with self.subTest(file.name):
                self.call("run", file, "--out", file.stem, "--quiet")
                runs = {row["protocol"]: row for row in rows(self.folder / file.stem / "runs.csv")}
                self.assertEqual(len(runs), 6)
                scenario = json.loads(file.read_text())
                self.assertIn("CC BY 4.0", scenario["notes"])
                law = scenario["cluster"]["runtime"]
                series = {}
                for row in rows(data / "traces" / pathlib.Path(law["path"]).name):
                    series.setdefault(row["worker"], []).append(float(row["batch_time_norm"]))
                n = int(runs["sync"]["updates"])
                longest = [max(times[i] for times in series.values()) for i in range(n)]
                mean = float(runs["sync"]["mean_iteration_time"])
                self.assertAlmostEqual(mean, law["scale"] * sum(longest) / n, delta=1e-9)
                self.assertGreater(mean, float(runs["k-sync"]["mean_iteration_time"]))


if __name__ == "__main__":
    unittest.main()
