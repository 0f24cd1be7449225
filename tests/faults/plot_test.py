"""Plots and pages of odd texts, folders and surroundings."""

import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from program import PROGRAM, ROOT, ProgramTest, skip

BASE = {
    "name": "base",
    "title": "Is $\\eta$ or $\\frac{1}$ better, <script>alert(1)</script> or the $5 machine?",
    "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {"kind": "quadratic", "minibatch": 1},
    "learning_rate": {"kind": "constant", "eta": 0.1},
    "protocol": {"kind": "async"},
    "stop": {"updates": 20},
    "record": {"every_time": 1},
}

IS_LONG = bool(os.environ.get("GRADRACE_LONG"))

ODD = "x\x1b]0;owned\x07\u202ey\x9b31m\u2028\ud800\0\u200b\n<z>"
UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069]")
FOUND = {"scenario": {"title": "T" + ODD, "time_unit": "s" + ODD}, "file": "f" + ODD, "notes": ["n" + ODD]}
ADVICE = {
    "key": "loss", "level": 1, "is_budget": False, "by": "time", "column": "loss", "answer": "A" + ODD, "best": 0,
    "sure": True, "gradients": 9, "all_gradients": 9,
}  # fmt: skip
SEARCH = {"target": 0.9, "beta": 0.1, "switch_point": 0.5, "cost": 3, "runs": 1, "searches": 0, "recurrences": None, "success": None}


class Strangers(ProgramTest):
    """Folders that somebody else made."""

    def setUp(self):
        super().setUp()
        self.call("run", self.write(BASE | {"targets": {"loss": [0.5]}}), "--out", "o", "--quiet")
        self.out = self.folder / "o"
        self.manifest = json.loads((self.out / "manifest.json").read_text())

    def told(self, *words, status=1):
        """The lines of stderr but for the note that the results are no longer as they were."""
        lines = self.call(*words, status=status)[1].splitlines()
        return "\n".join(line for line in lines if not line.startswith("gradrace: note: o: half published"))

    def check_is_printable(self, folder, shown):
        page = self.folder / folder / "report.html"
        for text in (*self.call("report", folder), page.read_text(encoding="utf-8")):
            self.assertFalse(UNPRINTABLE.findall(text), text[:2000])
        for text in shown:
            self.assertIn(text + r"x\u001b]0;owned\u0007\u202ey\u009b31m\u2028\ud800\u0000\u200b", page.read_text(encoding="utf-8"))

    def test_texts_of_runs_are_printable(self):
        told = self.manifest
        for point in told["points"]:
            point["parts"].append(["", "p" + ODD])
            point["settings"].append({"path": "s" + ODD, "value": {"v" + ODD: ODD}})
        for one in (one for columns in told["columns"].values() for one in columns):
            one |= {"unit": ODD, "definition": ODD}
        told["scenario"] |= {"title": "T" + ODD, "name": "n" + ODD, "notes": "N" + ODD, "time_unit": "u" + ODD}
        told["version"]["number"] = told["file"] = "f" + ODD
        told["notes"] = ["m" + ODD]
        (self.out / "manifest.json").write_text(json.dumps(told))
        runs = (self.out / "runs.csv").read_text()
        (self.out / "runs.csv").write_text(runs.replace("exact", "exact\x1b[31m\u202e"))
        self.check_is_printable("o", "pTNufm")

    def test_texts_of_advice_and_of_a_search_are_printable(self):
        for name, facts in (("advise", FOUND | ADVICE), ("search", FOUND | SEARCH)):
            (self.folder / name).mkdir()
            (self.folder / name / f"{name}.json").write_text(json.dumps(facts))
        heads = "candidate,label,foretold,foretold_low,foretold_high,measured,measured_95,runs,never,time,value,cost,gradients,verdict,folder\n"
        label = ODD.replace("\0", "\\u0000").replace("\ud800", "\\ud800").replace("\n", "")
        (self.folder / "advise/advise.csv").write_text(f'{heads}0,"c{label}",1,1,1,1,0.1,2,0,1,1,1,9,best,\n', encoding="utf-8")
        self.check_is_printable("advise", "TAfnc")
        rows = "share,accuracy,accuracy_95,relative_time,verdict,runs,diverged,folder\n1,0.9,,1,target,1,0,\n0.5,0.9,,0.5,pass,1,0,\n"
        (self.folder / "search/search.csv").write_text(rows)
        self.check_is_printable("search", "Tf")

    def test_texts_of_a_fit_are_printable(self):
        rows = "".join(f"{1 + i * i * 7919 % 101},{'ab'[i % 2]}\n" for i in range(80))
        (self.folder / "t.csv").write_text(f"t,who\n{rows}")
        self.call("fit", "t.csv", "--column", "t", "--learner", "who", "--out", "f")
        facts = json.loads((self.folder / "f/fit.json").read_text())
        (self.folder / "f/fit.json").write_text(json.dumps(facts | {"file": "f" + ODD, "column": "c" + ODD}))
        sample = (self.folder / "f/sample.csv").read_text()
        (self.folder / "f/sample.csv").write_text(sample.replace("a,", "a\x1b[31m\u202e,"), encoding="utf-8")
        self.call("plot", "f")
        for path in (self.folder / "f").glob("plots/*.svg"):
            self.assertFalse(UNPRINTABLE.findall(path.read_text(encoding="utf-8")))

    def test_counts_that_are_none_are_told_with_file_and_column(self):
        text = (self.out / "staleness.csv").read_text()
        for command, count in (("report", "1e400"), ("plot", "2.5")):
            (self.out / "staleness.csv").write_text(re.sub(r"(\n0,0,\d+),\d+", rf"\1,{count}", text, count=1))
            got = count.replace("1e400", "inf")
            why = f"cannot be read: column count: expected whole numbers from 0 to 2^53, got {got}"
            self.assertEqual(self.told(command, "o"), f"{command}: o/staleness.csv: {why}")

    def test_names_of_files_are_no_paths_or_patterns(self):
        for command, name in (("plot", "/dev/zero"), ("plot", "**"), ("report", "../x")):
            (self.out / "manifest.json").write_text(json.dumps(self.manifest | {"files": self.manifest["files"] | {name: "0"}}))
            why = f'o/manifest.json: cannot be read: files: expected names of files, got "{name}"'
            self.assertEqual(self.told(command, "o"), f"{command}: {why}")

    def test_a_table_that_unpacks_to_more_than_fits_is_named(self):
        """Arrow ended the process."""
        heads, row, *_ = (self.out / "curve.csv").read_text().splitlines(keepends=True)
        (self.out / "curve.csv").unlink()
        with gzip.open(self.out / "curve.csv.gz", "wt", 1) as file:
            file.writelines([heads, row * 5_000_000])
        words = ["sh", "-c", f"ulimit -v 2000000; exec {PROGRAM} report o"]
        done = subprocess.run(words, cwd=self.folder, check=False, capture_output=True, text=True)
        self.assertRegex(done.stderr, r"report: o/curve.csv.gz: cannot be read: it takes more than the \d.\d GB of memory that are left\n$")
        self.assertEqual(done.returncode, 1)

    def test_learners_without_time_are_told_no_shares_of_it(self):
        network = {"bandwidth": 1, "model_bytes": 1}
        scenario = BASE | {"cluster": BASE["cluster"] | {"network": network}, "sweep": {"protocol": [{"kind": "sync"}, {"kind": "async"}]}}
        self.call("run", self.write(scenario, "net.json"), "--out", "net", "--quiet")
        path = self.folder / "net/learners.csv"
        heads, *told = (line.split(",") for line in path.read_text().splitlines())
        times = {heads.index(name) for name in ("busy", "idle", "wasted", "communicating", "waiting")}
        lines = [",".join("0" if i in times else cell for i, cell in enumerate(row)) for row in [heads, *told]]
        path.write_text("\n".join([",".join(heads), *lines[1:]]) + "\n")
        self.call("report", "net")
        page = (self.folder / "net/report.html").read_text(encoding="utf-8")
        self.assertIn("the busiest resource is the server&#39;s link", page)
        self.assertNotIn("learners compute", page)

    def test_a_message_of_a_table_is_printable(self):
        (self.out / "curve.csv").write_text("time,loss\x1b[31m\n1\x1b[2J\u202e\n", encoding="utf-8")
        told = self.told("report", "o")
        self.assertIn("o/curve.csv: cannot be read", told)
        self.assertFalse(UNPRINTABLE.findall(told), told)


class Plots(ProgramTest):
    def test_text_is_text_and_a_folder_is_a_folder(self):
        (self.folder / "matplotlibrc").write_text("text.usetex: True\nfigure.dpi: 3\n")
        told, _ = self.call("run", self.write(BASE), "--out=-h", "--plot")
        self.assertIn("plots: -h/plots/", told)
        drawn = (self.folder / "-h/plots/error_time.svg").read_text(encoding="utf-8")
        self.assertNotIn("<script", drawn)
        self.assertTrue((self.folder / "-h/plots/error_time.png").stat().st_size > 1000)

    def test_a_page_of_runs_that_all_failed_says_so(self):
        path = self.write(BASE)
        words = [PROGRAM, "run", path, "--set", "cluster.runtime.mean=1e308", "--out", "o", "--quiet"]
        self.assertEqual(subprocess.run(words, cwd=self.folder, capture_output=True, check=False).returncode, 1)
        told, _ = self.call("report", "o")
        self.assertIn("nothing to compare", told)

    def test_no_traceback_reaches_a_user(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        manifest = pathlib.Path(self.folder / "o/manifest.json")
        odd = json.loads(manifest.read_text())
        odd["scenario"]["title"] = 3
        folders = []
        for number, text in enumerate(("[]", '{"scenario": "x"}', '{"scenario": {"sweep": 3}}', "{", "[" * 100_000, json.dumps(odd))):
            folder = self.folder / str(number)
            folder.mkdir()
            for path in (self.folder / "o").iterdir():
                (folder / path.name).write_bytes(path.read_bytes())
            (folder / "manifest.json").write_text(text)
            folders.append(folder.name)
        (self.folder / "5/curve.csv").write_text((self.folder / "o/curve.csv").read_text()[:150])
        told, errors = self.call("plot", *folders, status=1)
        self.assertNotIn("Traceback", told + errors)
        for name in folders[:5]:
            self.assertIn(f"plot: {name}/manifest.json: cannot be read", errors)
        self.assertIn("plot: 4/manifest.json: cannot be read: its JSON is nested too deep", errors)
        self.assertIn("report: 4/manifest.json: cannot be read: its JSON is nested too deep", self.call("report", "4", status=1)[1])
        (self.folder / "o/trace.json").write_text('{"traceEvents": [{"name": ')
        self.assertIn("plot: o/trace.json: cannot be read", self.call("plot", "o", status=1)[1])

    def test_files_that_were_cut_or_edited_are_named(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        self.call("run", self.write(BASE | {"replicas": 9}, "nine.json"), "--out", "nine", "--quiet")
        runs, curve = ((self.folder / "o" / name).read_text() for name in ("runs.csv", "curve.csv"))
        rows = curve.splitlines(keepends=True)
        for name, text, told in (
            ("runs.csv", runs[:-20], "o/runs.csv: cannot be read: the file is cut: its last line has no end"),
            ("curve.csv", "".join(rows[:2]) + "1,2\n", "o/curve.csv: "),
            ("curve.csv", (self.folder / "nine/curve.csv").read_text(), "o/curve.csv: cannot be read: runs.csv has no replica"),
            ("runs.csv", runs.replace("mean_iteration_time", "renamed", 1), "o: its files are not as gradrace writes them: KeyError"),
        ):
            (self.folder / "o" / name).write_text(text)
            calls = {
                words[0]: subprocess.run([PROGRAM, *words], cwd=self.folder, check=False, capture_output=True, text=True)
                for words in (("plot", "o", "--format", "png"), ("report", "o"))
            }
            told_by = [command for command, done in calls.items() if told in done.stderr]
            self.assertTrue(told_by, [done.stderr for done in calls.values()])
            for command, done in calls.items():
                self.assertNotIn("Traceback", done.stderr)
                self.assertEqual(done.returncode, int(command in told_by), done.stderr)
            (self.folder / "o/runs.csv").write_text(runs)
            (self.folder / "o/curve.csv").write_text(curve)
        (self.folder / "o/manifest.json").write_text((self.folder / "o/manifest.json").read_text().replace('"version": {', '"version": 5, "other": {'))
        self.assertIn("o/manifest.json: cannot be read: version: expected an object, got 5", self.call("report", "o", status=1)[1])

    def test_a_compressed_file_is_named_as_it_is(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        self.call("collect", "o", "--compress", "gzip", "--quiet")
        with gzip.open(self.folder / "o/curve.csv.gz", "wb") as file:
            file.write(b"time,loss\n1")
        self.assertIn("o/curve.csv.gz: cannot be read", self.call("plot", "o", status=1)[1])

    def test_a_file_that_is_not_there_is_told(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        for name, why in (("curve.csv", "curve.csv is not there, which the manifest names"), ("staleness.csv", "staleness: staleness.csv is not there")):
            text = (self.folder / "o" / name).read_text()
            (self.folder / "o" / name).unlink()
            self.assertIn(why, self.call("plot", "o", "--format", "png")[0])
            (self.folder / "o" / name).write_text(text)

    def test_too_little_memory_is_told_and_hangs_nothing(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        for number, limit in enumerate((300_000, 400_000, 500_000, 600_000)):
            for command in ("plot", "report") if IS_LONG else (("plot", "report")[number % 2],):
                done = subprocess.run(
                    ["sh", "-c", f"ulimit -v {limit}; exec {PROGRAM} {command} o"], cwd=self.folder, check=False, capture_output=True, text=True, timeout=60
                )
                self.assertEqual((done.returncode, "out of memory" in done.stderr), (1, True), (limit, command, done.stderr))

    def test_what_ends_the_drawing_is_told(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        (self.folder / "killed").write_text("#!/bin/sh\ncase $1 in -c) exit 0;; esac\nkill -9 $$\n")
        os.chmod(self.folder / "killed", 0o755)
        told = self.call("plot", "o", GRADRACE_PYTHON=os.fspath(self.folder / "killed"), status=1)[1]
        self.assertIn("gradrace: its Python was ended by a signal: Killed", told)

    def test_extreme_times_and_a_home_of_nobody_give_no_warnings(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet", "--set", "cluster.runtime.mean=1e300", "--set", "record.every_time=1e300")
        nowhere = os.fspath(self.folder / "scenario.json")
        _, errors = self.call("plot", "o", "--format", "png", HOME=nowhere, MPLCONFIGDIR=nowhere)
        self.assertEqual(errors, "")

    def test_drawing_ends_with_the_call_that_waits_for_it(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        call = subprocess.Popen([PROGRAM, "plot", "o"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        time.sleep(0.3)
        call.terminate()
        begin = time.monotonic()
        call.communicate(timeout=60)  # until the drawing, which has the pipe too, ends
        self.assertEqual(call.returncode, -signal.SIGTERM)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertFalse([path for path in (self.folder / "o").glob("plots/*") if path.suffix in (".png", ".svg")])

    def test_where_nothing_can_be_written_is_told(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        for words, told in (
            ("report o", "report: o/report.html: cannot be written: File too large; use --out FILE for a page where you may write"),
            ("report o --out /proc/none/x.html", "report: /proc/none/x.html: cannot be written: No such file or directory"),
            ("plot o", "plot: o/plots/error_time.png: cannot be written: File too large"),
        ):
            words = ["sh", "-c", f"ulimit -f 1; exec {PROGRAM} {words}"]
            done = subprocess.run(words, cwd=self.folder, check=False, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (1, told + "\n"))

    def test_a_full_stdout_is_told_in_a_line(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "plot", "o"], cwd=self.folder, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("Traceback", done.stderr)
        self.assertIn("No space left on device", done.stderr)


if __name__ == "__main__":
    if not (ROOT / ".venv/bin/python").exists() and "GRADRACE_PYTHON" not in os.environ:
        skip("no .venv, which ./setup.sh makes")
    unittest.main()
