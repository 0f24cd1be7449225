"""What `run` ends with: the report's own sentence, few rows, no line wider than the terminal; and that scenarios
and what others call things are found by their names."""

import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import termios
import unittest

from program import PROGRAM, ROOT, ProgramTest, changed, rows

PYTHON = ROOT / ".venv/bin/python"
RACE = {
    "name": "race",
    "replicas": 4,
    "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {"kind": "softmax", "dataset": {"kind": "synthetic", "rows": 200, "test_rows": 100}, "minibatch": 5},
    "learning_rate": {"kind": "constant", "eta": 0.1},
    "stop": {"time": 20},
    "record": {"every_time": 1},
    "targets": {"test_error": [0.3]},
    "sweep": {"protocol": [{"kind": "sync"}, {"kind": "async"}, {"kind": "k-sync", "k": 2}], "learning_rate.eta": [0.01 * i for i in range(1, 15)]},
}
FEW = changed(RACE, sweep={"protocol": RACE["sweep"]["protocol"]})


class Answer(ProgramTest):
    def run_race(self, *words, scenario=FEW, **environment):
        return self.call("run", self.write(scenario), "--out", "out", "--force", *words, **environment)[0]

    def table(self, told):
        """The rows of the table of points."""
        lines = told.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("  point "))
        return lines[first + 1 : lines.index("", first)]

    def test_the_sentence_is_that_of_the_report(self):
        if not PYTHON.exists():
            self.skipTest("no .venv: setup.sh could not make the Python environment of the reports")
        for _ in range(5):  # a busy machine may take too long
            last = self.run_race(GRADRACE_PYTHON=os.fspath(PYTHON)).splitlines()[-1]
            if not last.startswith("gradrace report"):
                break
        else:
            self.skipTest("this machine is too busy for an answer in time")
        self.call("report", "out")
        page = (self.folder / "out/report.html").read_text(encoding="utf-8")
        lead = re.search(r'<p class="lead">(.*?)</p>', page, re.DOTALL)[1]
        self.assertEqual(last, html.unescape(re.sub(r"<[^>]*>", "", lead)))
        self.assertLessEqual(len(last.split()), 30)

    def test_without_its_python_the_report_is_named(self):
        told = self.run_race(GRADRACE_PYTHON="/nowhere/python")
        self.assertEqual(told.splitlines()[-1], "gradrace report out says which is best")

    def test_of_a_single_point_the_table_says_all(self):
        told = self.run_race(scenario=changed(RACE, sweep=None, protocol={"kind": "sync"}), GRADRACE_PYTHON="/nowhere/python")
        self.assertEqual(told.splitlines()[-1], "results: out/")

    def test_quiet_has_neither(self):
        self.assertEqual(self.run_race("--quiet", GRADRACE_PYTHON=os.fspath(PYTHON)), "results: out/\n")

    def test_many_points_are_twenty_rows_with_the_best_of_each_protocol(self):
        told = self.run_race(scenario=RACE)
        shown = [line.split("  ")[1] for line in self.table(told)]
        self.assertEqual(len(shown), 20)
        self.assertIn("20 of 42 points: the best of each protocol, and the best others, by time_to_error_0.3; runs.csv has all", told)
        times = {}
        for row in rows(self.folder / "out/runs.csv"):
            times.setdefault((row["protocol"], row["label"]), []).append(float(row["time_to_error_0.3"] or "inf"))
        for protocol in ("sync", "async", "k-sync"):
            mean = {label: sum(one) / len(one) for (kind, label), one in times.items() if kind == protocol}
            whole = [label for label in mean if mean[label] < float("inf")]
            if whole:
                best = min(map(mean.get, whole))
                self.assertTrue(any(mean[name] == best for name in whole if name in shown), shown)

    def test_points_that_the_sentence_names_are_among_the_rows(self):
        """Of three circumstances, of which the rows would be those of the last alone."""
        if not PYTHON.exists():
            self.skipTest("no .venv: setup.sh could not make the Python environment of the reports")
        scenario = changed(RACE, replicas=2, sweep={**RACE["sweep"], "cluster.learners": [2, 3, 16]})
        told = self.run_race(scenario=scenario, GRADRACE_PYTHON=os.fspath(PYTHON))
        shown = [re.split("  +", line)[1] for line in self.table(told)]
        self.assertEqual(len(shown), 20)
        answers = [line for line in told.splitlines() if line.startswith("cluster.learners=")]
        if not answers:
            self.skipTest("this machine is too busy for an answer in time")
        self.assertEqual(len(answers), 3)
        points = {row["label"] for row in rows(self.folder / "out/runs.csv")}
        self.assertIn("20 of 126 points: those that the answer names, the best of each protocol, and", told)
        for where, _, words in (line.removeprefix("cluster.").partition(": ") for line in answers):
            own = {label.replace(f" {where}", ""): label for label in points if where in label.split(" ")}
            named = {label for name, label in own.items() if re.search(rf"(^| ){re.escape(name)}(?![\d.])", words)}
            self.assertTrue(named, words)
            self.assertLessEqual(named, set(shown))

    def on_terminal(self, columns):
        """What a run says on a terminal of so many columns."""
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        words = [PROGRAM, "run", os.fspath(self.write(FEW)), "--out", "out", "--force"]
        environment = {**os.environ, "GRADRACE_PYTHON": "none"}
        with subprocess.Popen(words, cwd=self.folder, stdout=side, stderr=subprocess.DEVNULL, env=environment) as process:
            os.close(side)
            told = b""
            while piece := self.piece(main):
                told += piece
            process.wait()
        os.close(main)
        return told.decode()

    @staticmethod
    def piece(terminal):
        try:
            return os.read(terminal, 4096)
        except OSError:  # the other end is closed
            return b""

    def test_the_table_fits_the_terminal(self):
        for columns in (120, 80, 60):
            told = self.on_terminal(columns)
            table = self.table(told.replace("\r", ""))
            self.assertEqual(len(table), 3)
            self.assertLessEqual(max(map(len, table)), columns)
            gone = told.replace("\r", "").partition("this terminal has no room for ")[2].partition("; runs.csv")[0]
            gone = " ".join(gone.split()).split(", ")
            self.assertIn("theory of staleness", gone)
            self.assertIn("theory of iteration time", gone)
            self.assertEqual(sum(bool(cell.strip()) for cell in table[0].split("  ")) + len(gone), 10)
        self.assertNotIn("no room", self.on_terminal(200))

    def test_a_scenario_that_comes_with_it_is_found_by_name(self):
        told = self.call("validate", "quickstart")[0]
        self.assertIn("quickstart", told)
        self.call("run", "quickstart", "--replicas", "1", "--timing-only", "--set", 'stop={"updates": 5}', "--quiet")
        self.assertTrue((self.folder / "out/quickstart/runs.csv").exists())
        self.assertIn('"quickstart" comes with gradrace', self.call("run", "quickstrat", status=2)[1])

    def test_what_others_call_something_is_known(self):
        for word, here in (("BSP", "sync"), ("asp", "async"), ("ddp", "all-reduce"), ("FedAvg", "local-sgd"), ("hogwild", "async"), ("worker", "learners")):
            self.assertIn(here, self.call("list", word)[0].splitlines()[0])
        for word, here in (("bsp", "sync"), ("fedavg", "local-sgd"), ("ring-allreduce", "all-reduce")):
            scenario = changed(FEW, sweep=None, protocol={"kind": word})
            self.assertIn(f'did you mean "{here}"?', self.call("validate", self.write(scenario), status=2)[1])
        told = self.call("validate", self.write(changed(FEW, targets={"test_accuracy": [0.9]})), status=2)[1]
        self.assertIn('did you mean "test_error" (1 - accuracy)?', told)

    def test_the_glossary_of_the_readme_is_that_of_the_program(self):
        told = " ".join(self.call("list", "glossary")[0].split())
        words = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Words")[2].partition("##")[0]
        table = re.findall(r"^\| `(\S+)` \| (.*) \|$", words, re.MULTILINE)
        self.assertGreaterEqual(len(table), 12)
        for here, theirs in table:
            self.assertIn(f"{here} {theirs}", told)


if __name__ == "__main__":
    unittest.main()
