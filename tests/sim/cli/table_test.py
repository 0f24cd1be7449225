"""cli: a measured learning curve trains as the runs did that it was made from"""

import math
import unittest

from program import ProgramTest, changed, rows

ONE = {"learners": 1, "runtime": {"distribution": "deterministic", "value": 1}}
TABLE = {
    "name": "table",
    "cluster": ONE,
    "model": {"kind": "table", "path": "curve.csv", "minibatch": 10},
    "protocol": {"kind": "async"},
    "stop": {"updates": 4},
    "record": {"every_updates": 1},
}
CURVE = "samples,loss,test_error\n0,4,0.9\n10,2,0.5\n40,1,0.25\n"
TRAINED = {
    "name": "trained",
    "replicas": 1,
    "cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {"kind": "softmax", "dataset": {"kind": "synthetic", "rows": 2000, "test_rows": 200}, "minibatch": 8},
    "learning_rate": {"kind": "constant", "eta": 0.05},
    "stop": {"updates": 600},
    "record": {"every_time": 0.5},
}


class TableTest(ProgramTest):
    def curve(self, scenario, table, *words):
        """curve.csv of a run with that table."""
        (self.folder / "curve.csv").write_text(table, encoding="utf-8")
        out = self.folder / "out"
        self.told = self.call("run", self.write(scenario), "--out", out, "--force", *words)
        self.runs = rows(out / "runs.csv")
        return rows(out / "curve.csv")

    def levels(self, scenario, table, column="loss"):
        return [float(row[column]) for row in self.curve(scenario, table)]

    def check_near(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertAlmostEqual(one, other, delta=1e-12)

    def refused(self, table, text, **keys):
        (self.folder / "curve.csv").write_text(table, encoding="utf-8")
        model = {**TABLE["model"], **keys.pop("model", {})}
        _, errors = self.call("run", self.write(changed(TABLE, model=model, **keys)), status=2)
        self.assertIn(text, errors)

    def test_levels_are_linear_in_the_logarithm_of_samples(self):
        share = math.log(3) / math.log(4)
        self.check_near(self.levels(TABLE, CURVE), [4, 2, 1.5, 2 - share, 1])
        self.check_near(self.levels(TABLE, CURVE, "test_error"), [0.9, 0.5, 0.375, 0.5 - share / 4, 0.25])
        self.assertEqual({row["learning_rate"] for row in rows(self.folder / "out/curve.csv")}, {""})
        five = changed(TABLE, model={**TABLE["model"], "minibatch": 5}, stop={"updates": 1})
        self.check_near(self.levels(five, CURVE), [4, 3])

    def test_a_late_gradient_is_worth_what_the_table_says(self):
        late = "staleness,samples,loss\n0,0,4\n0,10,2\n0,40,1\n2,0,4\n2,20,2\n2,80,1\n"
        two = changed(TABLE, cluster={**ONE, "learners": 2}, record={"every_updates": 1, "updates": True})
        level = lambda n: 2 - math.log(n / 10) / math.log(4)
        self.check_near(self.levels(two, late), [4, 2, level(17.5), level(25), level(32.5)])
        sync = changed(two, protocol={"kind": "sync"}, stop={"updates": 2})
        self.check_near(self.levels(sync, late), [4, 1.5, 1])

    def test_a_larger_update_is_worth_what_the_table_says(self):
        batches = "minibatch,samples,loss\n10,0,4\n10,10,2\n10,40,1\n40,0,4\n40,20,2\n40,80,1\n"
        two = changed(TABLE, cluster={**ONE, "learners": 2}, protocol={"kind": "sync"}, stop={"updates": 2})
        level = lambda n: 2 - math.log(n / 10) / math.log(4)
        self.check_near(self.levels(two, batches), [4, 2 - math.log(15 / 10) / math.log(4), level(30)])

    def test_targets_stop_and_adasync_go_by_the_table(self):
        reached = changed(TABLE, stop={"updates": 9, "loss": 1.5}, targets={"loss": [2], "test_error": [0.4]})
        self.curve(reached, CURVE)
        self.assertEqual((self.runs[0]["updates"], self.runs[0]["time_to_loss_2"], self.runs[0]["time_to_error_0.4"]), ("2", "1", "2"))
        adasync = {"kind": "adasync", "variant": "k-async", "k0": 1, "interval": 5}
        four = changed(TABLE, cluster={**ONE, "learners": 4}, protocol=adasync, stop={"time": 60})
        k = [int(row["k"]) for row in self.curve(four, "samples,loss\n0,4\n10,2\n10000,0.01\n")]
        self.assertEqual((k[0], k[-1]), (1, 2))

    def test_a_table_of_a_run_reaches_targets_when_that_run_did(self):
        targets = {"loss": [1.6, 1.2, 0.9, 0.7]}
        for protocol in {"kind": "sync"}, {"kind": "k-async", "k": 3}, {"kind": "async"}:
            trained = changed(TRAINED, protocol=protocol, targets=targets)
            if protocol["kind"] == "async":
                trained = changed(trained, stop={"updates": 2000}, learning_rate={"kind": "constant", "eta": 0.02})
            curve = self.curve(trained, "")
            expected = {name: float(value) for name, value in self.runs[0].items() if name.startswith("time_to_loss")}
            self.assertEqual(len(expected), len(targets["loss"]))
            table = "samples,loss\n" + "".join(f"{8 * int(row['gradients'])},{row['loss']}\n" for row in unique(curve))
            measured = changed(trained, model={"kind": "table", "path": "curve.csv", "minibatch": 8}, learning_rate=None)
            for words in (), ("--seed", "2"):
                self.curve(measured, table, *words)
                for name, time in expected.items():
                    with self.subTest(protocol=protocol, target=name, words=words):
                        bound = 0.05 if not words else 0.25  # of another draw of the runtimes
                        self.assertAlmostEqual(float(self.runs[0][name]), time, delta=bound * time)

    def test_what_is_beyond_the_table_is_refused_or_held(self):
        six = changed(TABLE, stop={"updates": 6})
        (self.folder / "curve.csv").write_text(CURVE, encoding="utf-8")
        _, errors = self.call("run", self.write(six), "--out", self.folder / "out", status=1)
        self.assertIn("curve.csv: was not measured at more than 40 effective samples", " ".join(errors.split()))
        self.assertIn("model.extrapolate: hold", " ".join(errors.split()))
        held = changed(six, model={**TABLE["model"], "extrapolate": "hold"})
        self.assertEqual(self.levels(held, CURVE)[-3:], [1, 1, 1])
        self.assertIn("held at what was: more than 40 effective samples", " ".join("".join(self.told).split()))
        late = "staleness,samples,loss\n0,0,4\n0,10,2\n0,40,1\n1,0,4\n1,20,2\n1,80,1\n"
        three = changed(held, cluster={**ONE, "learners": 3}, stop={"updates": 3})
        self.check_near(self.levels(three, late), [4, 2, 2 - math.log(1.5) / math.log(4), 1.5])
        self.assertIn("held at what was: staleness above 1", " ".join("".join(self.told).split()))
        short = "staleness,samples,loss\n0,0,4\n0,10,2\n0,40,1\n1,0,4\n1,20,2\n"
        self.check_near(self.levels(changed(three, cluster={**ONE, "learners": 2}), short)[:3], [4, 2, 2 - math.log(1.5) / math.log(4)])
        self.assertIn("losses below 2, where the first curve ends", " ".join("".join(self.told).split()))

    def test_equal_bits_for_any_jobs_and_after_a_resume(self):
        many = changed(TRAINED, model={"kind": "table", "path": "curve.csv", "extrapolate": "hold"}, learning_rate=None, replicas=6)
        many = changed(many, protocol={"kind": "k-async", "k": 3}, stop={"updates": 100})
        self.curve(many, CURVE, "--jobs", "1")
        one = self.tables(self.folder / "out")
        self.curve(many, CURVE, "--jobs", "4")
        self.assertEqual(one, self.tables(self.folder / "out"))
        manifest = self.folder / "out/manifest.json"
        self.call("run", manifest, "--out", self.folder / "again")
        self.assertEqual(one, self.tables(self.folder / "again"))
        (self.folder / "curve.csv").write_text(CURVE.replace("40,1", "41,1"), encoding="utf-8")
        _, errors = self.call("run", self.folder / "scenario.json", "--out", self.folder / "out", "--resume", status=2)
        self.assertIn("data", errors)

    def test_rows_that_rise_are_left_out_and_told(self):
        rising = CURVE.replace("40,1", "20,3,0.4\n40,1")
        self.check_near(self.levels(TABLE, rising), self.levels(TABLE, CURVE))
        self.curve(TABLE, rising)
        self.assertIn("1 of 4 rows say nothing, as their loss is not below all before them", " ".join("".join(self.told).split()))
        self.check_near(self.levels(TABLE, rising, "test_error")[1:3], [0.5, 0.4])

    def test_a_table_that_is_none_is_refused_at_its_place(self):
        for table, text in {
            "": "curve.csv:1:1: has no rows; columns are samples, loss, test_error, staleness, minibatch",
            "samples,error\n0,1\n": "curve.csv:1:1: lacks the column loss",
            "samples,loss,loss\n": "curve.csv:1:14: column loss is there twice",
            "samples,loss\n0,4\n10,two\n": 'curve.csv:3:4: loss is no finite number: "two"',
            "samples,loss\n0,4\n10,nan\n": 'curve.csv:3:4: loss is no finite number: "nan"',
            "samples,loss\n0,4\n10\n": "curve.csv:3: expected a comma",
            "samples,loss\n0,4\n10,3,2\n": "curve.csv:3: expected the end of the line",
            "samples,loss\n0,4\n10,3\n10,2\n": "curve.csv:4:1: samples of a curve rise, and 10 follows 10",
            "samples,loss\n5,4\n": "curve.csv:2:1: a curve begins at 0 samples, got 5",
            "samples,loss\n0,4\n10,5\n": "curve.csv:2:1: begins a curve whose loss never falls",
            "samples,loss,staleness\n0,4,-1\n": "curve.csv:2:5: staleness must be >= 0, got -1",
            "samples,loss,minibatch\n0,4,0\n": "curve.csv:2:5: minibatch must be > 0, got 0",
            "samples,loss,test_error\n0,4,7\n": "curve.csv:2:5: test_error must be from 0 to 1, got 7",
            "samples,loss,staleness\n0,4,1\n5,3,1\n": "curve.csv:1:1: has no rows of staleness 0",
            "samples,loss,staleness,minibatch\n0,4,0,1\n5,3,0,1\n0,4,1,2\n5,3,1,2\n": "has rows of staleness 0 and of minibatch 2, but none of both",
        }.items():
            with self.subTest(table=table):
                self.refused(table, text)
                _, errors = self.call("validate", self.folder / "scenario.json", status=2)
                self.assertIn(text, errors)

    def test_keys_that_say_nothing_of_a_table_are_refused(self):
        nothing = "says nothing of a model without parameters"
        self.refused(CURVE, "learning_rate: " + nothing, learning_rate={"kind": "constant", "eta": 0.1})
        self.refused(CURVE, "optimiser: " + nothing, optimiser={"momentum": 0.9})
        phases = [
            {"protocol": {"kind": "sync"}, "learning_rate": {"kind": "constant", "eta": 9}, "momentum": 0.5, "end": {"updates": 2}},
            {"protocol": {"kind": "async"}, "velocity": "reset"},
        ]
        for key in "[0].learning_rate", "[0].momentum", "[1].velocity":
            self.refused(CURVE, f"protocol.phases{key}: {nothing}", protocol={"kind": "switch", "phases": phases})
        self.refused(CURVE, "compression: is of the numbers of gradients, and this model has none", compression={"kind": "sign"})
        self.refused(CURVE, "protocol: has learners with values of their own", protocol={"kind": "local-sgd", "tau": 2}, cluster={**ONE, "learners": 2})
        self.refused(CURVE, 'no file "other.csv"', model={"path": "other.csv"})
        self.refused("samples,loss\n0,4\n9,1\n", "stop.test_error", stop={"test_error": 0.1})
        all_reduce = changed(TABLE, protocol={"kind": "all-reduce"}, stop={"updates": 4})
        self.check_near(self.levels(all_reduce, CURVE), self.levels(TABLE, CURVE))


def unique(curve):
    """The rows of a curve but those of no further gradients."""
    seen = set()
    return [row for row in curve if not (row["gradients"] in seen or seen.add(row["gradients"]))]


if __name__ == "__main__":
    unittest.main()
