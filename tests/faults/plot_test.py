"""Plots and pages of odd texts, folders and surroundings."""

import json
import os
import pathlib
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
        for number, text in enumerate(("[]", '{"scenario": "x"}', '{"scenario": {"sweep": 3}}', "{", json.dumps(odd))):
            folder = self.folder / str(number)
            folder.mkdir()
            for path in (self.folder / "o").iterdir():
                (folder / path.name).write_bytes(path.read_bytes())
            (folder / "manifest.json").write_text(text)
            folders.append(folder.name)
        (self.folder / "4/curve.csv").write_text((self.folder / "o/curve.csv").read_text()[:150])
        told, errors = self.call("plot", *folders, status=1)
        self.assertNotIn("Traceback", told + errors)
        for name in folders[:4]:
            self.assertIn(f"plot: {name}/manifest.json: cannot be read", errors)
        (self.folder / "o/trace.json").write_text('{"traceEvents": [{"name": ')
        self.assertIn("plot: o/trace.json: cannot be read", self.call("plot", "o", status=1)[1])

    def test_extreme_times_and_a_home_of_nobody_give_no_warnings(self):
        self.call("run", self.write(BASE), "--out", "o", "--quiet", "--set", "cluster.runtime.mean=1e300", "--set", "record.every_time=1e300")
        nowhere = os.fspath(self.folder / "scenario.json")
        _, errors = self.call("plot", "o", HOME=nowhere, MPLCONFIGDIR=nowhere)
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
