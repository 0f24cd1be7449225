"""Which point of a sweep is best: what advise says follows its runs, it goes on where it was, and mistakes are told before."""

import contextlib
import json
import math
import os
import signal
import statistics
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from program import PROGRAM, ROOT, ProgramTest, changed, rows

PRICED = {"learners": 2, "price": 0.5, "runtime": {"distribution": "gamma", "shape": 4, "scale": 0.25}}
QUESTION = {
    "name": "question",
    "replicas": 6,
    "cluster": {**PRICED, "network": {"topology": "star", "bandwidth": 4000, "model_bytes": 80}},
    "model": {"kind": "quadratic", "dimensions": 20, "curvatures": [1, 0.4], "noise": 0.5},
    "learning_rate": {"kind": "constant", "eta": 0.1},
    "protocol": {"kind": "sync"},
    "stop": {"time": 200},
    "record": {"every_time": 0.2},
    "targets": {"loss": [1, 0.3]},
    "sweep": {"protocol": [{"kind": "sync"}, {"kind": "k-sync", "k": 2}, {"kind": "async"}], "cluster.learners": [2, 4, 8]},
}


class AdviseTest(ProgramTest):
    def advise(self, *words, scenario=QUESTION, out="out", status=0):
        return self.call("advise", self.write(scenario), "--out", out, *words, status=status)

    def found(self, out="out"):
        return json.loads((self.folder / out / "advise.json").read_text())

    def table(self, out="out"):
        return rows(self.folder / out / "advise.csv")


class Found(AdviseTest):
    """One call, of which each test looks at something."""

    held = told = None

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    def setUp(self):
        if not Found.held:
            Found.held = tempfile.TemporaryDirectory()
            self.folder = Path(Found.held.name)
            Found.told, _ = self.advise("--explain", "--jobs", "1")
        self.folder = Path(Found.held.name)

    def test_the_answer_and_its_numbers_are_those_of_the_runs(self):
        told = self.told
        facts, table = self.found(), self.table()
        listed = self.call("list", "columns")[0].partition("advise.csv: ")[2].partition("\n\n")[0]
        names = [line.split()[0] for line in listed.splitlines()[1:] if line[2] != " "]
        self.assertEqual(names, list(table[0]))
        self.assertEqual([row["label"] for row in table][:4], ["sync learners=2", "sync learners=4", "sync learners=8", "k-sync k=2 learners=2"])
        self.assertTrue(facts["sure"])
        self.assertEqual((facts["key"], facts["level"], facts["column"]), ("loss", 0.3, "loss"))
        computed = 0
        for row in table:
            if row["runs"] == "0":
                self.assertEqual((row["measured"], row["folder"], row["verdict"]), ("", "", "foretold worse"))
                continue
            runs = rows(self.folder / "out" / row["folder"] / "runs.csv")
            times = [float(run["time_to_loss_0.3"] or "inf") for run in runs]
            self.assertEqual((len(times), sum(map(math.isinf, times))), (int(row["runs"]), int(row["never"])))
            if all(map(math.isfinite, times)):
                self.assertAlmostEqual(float(row["measured"]), statistics.mean(times), delta=1e-9)
                self.assertAlmostEqual(float(row["cost"]), statistics.mean(times) * 0.5 * int(runs[0]["learners"]), delta=1e-9)
            self.assertEqual(int(row["gradients"]), sum(int(run["gradients_computed"]) for run in runs))
            computed += int(row["gradients"])
        self.assertGreaterEqual(facts["gradients"], computed)
        best = table[facts["best"]]
        self.assertEqual(best["verdict"], "best")
        self.assertEqual(float(best["measured"]), min(float(row["measured"]) for row in table if row["measured"]))
        self.assertTrue(facts["answer"].startswith(f"{best['label']} is "))
        for words in (facts["answer"], "With links half as fast ", "by the Lasso", "time of an update on m learners", "It computed "):
            self.assertIn(words, told)

    def test_it_agrees_with_all_candidates_run(self):
        stop = {**QUESTION["stop"], "loss": 0.3}
        self.call("run", self.write(changed(QUESTION, stop=stop, replicas=16), "all.json"), "--out", "all", "--quiet")
        times = {}
        for run in rows(self.folder / "all/runs.csv"):
            times.setdefault(int(run["point"]), []).append(float(run["time_to_loss_0.3"] or "inf"))
        means = [statistics.mean(of) for _, of in sorted(times.items())]
        self.assertLessEqual(means[self.found()["best"]], 1.1 * min(means))

    def test_the_page_and_the_plots_say_the_same(self):
        told, _ = self.call("report", "out")
        self.assertIn(self.found()["answer"], told)
        page = (self.folder / "out/report.html").read_text(encoding="utf-8")
        self.assertEqual(page.count('<th scope="row">'), len(self.table()))
        self.call("plot", "out")
        self.assertTrue((self.folder / "out/plots/candidates.svg").is_file())

    def test_a_second_call_with_other_jobs_runs_nothing_again_and_says_the_same(self):
        table = (self.folder / "out/advise.csv").read_bytes()
        _, told = self.advise("--jobs", "2")
        self.assertRegex(told, "^timing: 18 of 18 runs are there\n")
        for line in told.splitlines():
            if line.startswith("candidate-"):
                self.assertRegex(line, r": (\d+) of \1 runs? (is|are) there$")
        self.assertEqual((self.folder / "out/advise.csv").read_bytes(), table)
        before = self.written()
        _, told = self.advise("--budget", "0.001s", "--force", out="new", status=1)
        self.assertIn("Nothing is known yet: the budget ended before any candidate had trained.", self.found("new")["answer"])
        self.assertFalse(self.found("new")["sure"])
        self.end_early("new")
        self.assertEqual((self.folder / "new/advise.csv").read_bytes(), table)
        self.assertEqual(self.written(), before)

    def written(self, out="out"):
        return {path.parent.name: path.stat().st_mtime_ns for path in (self.folder / out).glob("*/manifest.json")}

    def end_early(self, out):
        """By a signal; the same call goes on where it was."""
        path = self.folder / "scenario.json"
        call = subprocess.Popen(
            [PROGRAM, "advise", path, "--out", out, "--budget", "1h"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        while not self.written(out):
            time.sleep(0.01)
        call.send_signal(signal.SIGINT)
        _, told = call.communicate(timeout=60)
        self.assertEqual(call.returncode, 130, "it had ended before")
        self.assertIn("the same call goes on where it was", told)
        before = self.written(out)
        self.advise("--quiet", "--budget", "1h", out=out)
        self.assertEqual({name: self.written(out)[name] for name in before}, before)


class Asked(AdviseTest):
    def test_money_may_choose_another_one_and_a_budget_of_it_bounds_every_run(self):
        few = changed(QUESTION, sweep={"protocol": [{"kind": "sync"}, {"kind": "async"}], "cluster.learners": [2, 8]})
        self.advise("--by", "cost", "--quiet", scenario=few)
        facts, table = self.found(), self.table()
        self.assertIn(" for cost to loss 0.3: ", facts["answer"])
        best = table[facts["best"]]
        self.assertAlmostEqual(float(best["measured"]), float(best["cost"]), delta=0.3)
        self.advise("--target", "cost=10", "--quiet", scenario=few, out="cost")
        facts = self.found("cost")
        self.assertIn(" for final loss within cost 10: ", facts["answer"])
        for row in self.table("cost"):
            if row["runs"] != "0":
                self.assertAlmostEqual(float(row["cost"]), 10, delta=1e-9)

    def simulations(self):
        """Processes of them in this folder that train."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(process / "cwd") == os.fspath(self.folder) and b"/candidate-" in (process / "cmdline").read_bytes():
                    found.append(process)
        return found

    def wait_until(self, holds):
        end = time.monotonic() + 30
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_its_simulations_end_with_it_whatever_ends_it(self):
        slow = {"learning_rate": {"kind": "constant", "eta": 1e-9}, "record": {"every_time": 1000}, "stop": {"time": 1e9}}
        long = self.write(changed(QUESTION, **slow))
        with subprocess.Popen([PROGRAM, "advise", long, "--quiet"], cwd=self.folder, stderr=subprocess.DEVNULL) as call:
            self.wait_until(self.simulations)
            call.kill()
        self.wait_until(lambda: not self.simulations())

    def test_a_target_that_none_reaches_is_an_answer(self):
        few = changed(QUESTION, stop={"time": 4}, sweep={"cluster.learners": [2, 4]})
        self.advise("--quiet", "--target", "loss=0.02", "--share", "1", scenario=few)
        self.assertRegex(self.found()["answer"], "^(Not sure: )?None (reaches|has reached) loss 0.02; the nearest is .*, which came to [0-9.]+[.]$")
        self.assertIsNone(self.found()["best"])

    def test_candidates_that_diverge_are_not_chosen(self):
        self.advise("--quiet", scenario=changed(QUESTION, sweep={"cluster.learners": [2, 4], "learning_rate.eta": [0.1, 50]}))
        for row in self.table():
            if "eta=50" in row["label"]:
                self.assertNotEqual(row["verdict"], "best")
                self.assertEqual(row["never"], row["runs"])


class Mistakes(AdviseTest):
    def refused(self, *words, told, scenario=QUESTION):
        _, problem = self.advise(*words, scenario=scenario, status=2)
        self.assertIn(told, problem)
        self.assertFalse((self.folder / "out").exists() and any((self.folder / "out").glob("*/runs.csv")))

    def test_they_are_told_before_anything_is_run(self):
        one_price = {key: value for key, value in QUESTION["cluster"].items() if key != "price"}
        one_value = changed(QUESTION, sweep={**QUESTION["sweep"], "learning_rate.eta": [0.1]})
        for words, told, scenario in (
            (("--target", "los=0.1"), 'no such target; allowed: test_error, loss, time, cost; did you mean "loss"?', QUESTION),
            (("--target", "loss=x"), "allowed: loss=VALUE with a number above 0", QUESTION),
            (("--target", "loss"), "allowed: loss=VALUE with a number above 0", QUESTION),
            (("--budget", "2 weeks"), "allowed: 90, 30s, 2min, 1h", QUESTION),
            (("--confidence", "1"), "--confidence must be 0.5 to 0.999, got 1", QUESTION),
            (("--by", "luck"), "--by luck: allowed: time, cost", QUESTION),
            (("--by", "cost"), "asks for money, and no machine has a price; allowed: cluster.price", changed(QUESTION, cluster=one_price)),
            (("--target", "cost=5"), "asks for money, and no machine has a price", changed(QUESTION, cluster=one_price)),
            (("--target", "time=5", "--by", "cost"), "--target is a budget; take one", QUESTION),
            (("--target", "test_error=0.1"), "looks for a test error, and this scenario has none; allowed: --target loss=..", QUESTION),
            ((), "sweep.learning_rate.eta has one value, 0.1; allowed: two values or more", one_value),
            ((), "this scenario has one point; allowed: a sweep of protocols", changed(QUESTION, sweep=None)),
            ((), "asks which point is best for a target, and this scenario has none", changed(QUESTION, targets=None)),
            ((), "compares losses or errors, and this scenario trains nothing", changed(QUESTION, timing_only=True)),
            ((), "allowed in stop: time, updates, gradients, epochs", changed(QUESTION, stop={"loss": 0.3})),
            (("--target", "loss=1e-9"), "--target loss=1e-09 is below what runs settle at, 0.00", changed(QUESTION, cluster=one_price, sweep={"cluster.learners": [2, 4]})),
            (("--target", "loss=100"), "is met before training begins, where it is 7; allowed: a lower one", QUESTION),
        ):  # fmt: skip
            with self.subTest(told):
                scenario = changed(scenario)
                if words[1:] == ("loss=100",):
                    self.assertIn(told, self.advise(*words, scenario=scenario, status=2)[1])
                else:
                    self.refused(*words, told=told, scenario=scenario)

    def test_without_scikit_learn_the_command_that_installs_it_is_named(self):
        hidden = self.folder / "hidden"
        hidden.mkdir()
        (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['sklearn'] = None")
        python = os.environ.get("GRADRACE_PYTHON") or ROOT / ".venv/bin/python"
        _, told = self.call("advise", self.write(QUESTION), "--out", "out", status=1, PYTHONPATH=os.fspath(hidden), GRADRACE_PYTHON=os.fspath(python))
        self.assertRegex(told, "scikit-learn is not there, .* -m pip install --no-deps -r .*requirements.txt installs it")


if __name__ == "__main__":
    if not (ROOT / ".venv/bin/python").exists():
        raise SystemExit(77)
    unittest.main()
