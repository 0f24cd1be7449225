"""The Python package: runs scenarios, reads folders, passes on what the program says."""

import ast
import contextlib
import io
import json
import os
import pathlib
import sys
import unittest
import unittest.mock
import warnings

from program import PROGRAM, ROOT, SMALL, ProgramTest, changed, skip

sys.path.insert(0, str(ROOT / "python"))
try:
    import gradrace
    import numpy as np
    from gradrace.calls import words_of
except ImportError as missing:
    skip(f"{missing}: setup.sh could not make the Python environment of the plots")


class PackageTest(ProgramTest):
    def setUp(self):
        super().setUp()
        before = os.environ.get("GRADRACE_PROGRAM")
        os.environ["GRADRACE_PROGRAM"] = os.fspath(PROGRAM)
        self.addCleanup(lambda: os.environ.update(GRADRACE_PROGRAM=before) if before else os.environ.pop("GRADRACE_PROGRAM"))

    def test_a_dict_runs_without_a_folder(self):
        here = sorted(pathlib.Path.cwd().iterdir())
        runs = gradrace.run(SMALL, replicas=3)
        self.assertEqual(runs.replica.max(), 2)
        self.assertTrue((runs.status == "finished").all())
        self.assertEqual(sorted(pathlib.Path.cwd().iterdir()), here)

    def test_a_folder_keeps_its_tables(self):
        out = self.folder / "out"
        runs = gradrace.run(self.write(SMALL), out=out, set={"learning_rate.eta": 0.2}, jobs=1)
        again = gradrace.read(out)
        self.assertTrue(again.runs.equals(runs))
        self.assertEqual(again.manifest["scenario"]["learning_rate"]["eta"], 0.2)
        self.assertGreater(len(again.curve), len(runs))
        self.call("run", self.folder / "scenario.json", "--set", "learning_rate.eta=0.2", "--out", out, "--quiet", "--compress", "zstd")
        self.assertTrue(gradrace.read(out).curve.equals(again.curve))

    def test_a_table_or_folder_that_is_not_there_is_named(self):
        gradrace.run(SMALL, out=self.folder / "out")
        with self.assertRaisesRegex(KeyError, "has no exchanges.csv"):
            gradrace.read(self.folder / "out").table("exchanges")
        with self.assertRaisesRegex(FileNotFoundError, "holds no results of gradrace"):
            gradrace.read(self.folder)

    def test_options_without_a_table_are_refused(self):
        for option in ({"dry_run": True}, {"shard": "1/2"}):
            with self.assertRaisesRegex(ValueError, "gives no table"):
                gradrace.run(SMALL, **option)

    def test_every_command_takes_its_options(self):
        options = {
            "timing_only": True,
            "x": ["time", "updates"],
            "out": pathlib.Path("a"),
            "set": {"cluster.learners": range(2, 4)},
            "seed": None,
            "quick": False,
        }
        self.assertEqual(
            words_of(options), ["--timing-only", "--x", "time", "--x", "updates", "--out", os.path.abspath("a"), "--set", "cluster.learners=[2, 3]"]
        )
        with self.assertRaisesRegex(gradrace.GradraceError, "unrecognised option '--replica'"):
            gradrace.run(SMALL, replica=2)

    def test_notes_are_warnings_of_the_line_that_calls(self):
        with self.assertWarnsRegex(gradrace.GradraceWarning, "sweep learning_rate too") as caught:
            gradrace.run(SMALL, out=self.folder / "out")
        self.assertEqual(caught.filename, __file__)
        self.assertEqual([str(one.message) for one in caught.warnings], gradrace.read(self.folder / "out").manifest["notes"])

    def test_plots_that_cannot_be_drawn_fail(self):
        with self.assertRaisesRegex(ValueError, "plot=True needs out="):
            gradrace.run(SMALL, plot=True)
        with unittest.mock.patch.dict(os.environ, GRADRACE_PYTHON="/nowhere/python"):
            with self.assertRaisesRegex(gradrace.GradraceError, "/nowhere/python: cannot be run"):
                gradrace.run(SMALL, out=self.folder / "out", plot=True)

    def test_progress_is_told(self):
        told = []
        gradrace.run(SMALL, progress=told.append)
        self.assertEqual((told[-1]["state"], told[-1]["done"]), ("ended", 12))
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            gradrace.run(SMALL, progress=True)
        self.assertIn("12 of 12 runs, 100%", shown.getvalue())

    def test_an_exception_while_it_runs_ends_the_program_and_keeps_its_runs(self):
        class Stop(Exception):
            pass

        def stop(told):
            raise Stop

        out, long = self.folder / "out", changed(SMALL, replicas=400, stop={"updates": 3000})
        with self.assertRaises(Stop):
            gradrace.run(long, out=out, progress=stop, jobs=1)
        self.assertEqual(gradrace.read(out).manifest["runs"], 2400)
        self.assertTrue(gradrace.read(out).unfinished)

    def test_other_commands_give_tables_and_files(self):
        self.assertEqual(len(gradrace.theory(changed(SMALL, record={}))), 6)
        fit = gradrace.fit(ROOT / "scenarios/times.csv", out=self.folder / "fit")
        self.assertEqual(fit["cluster"]["learners"], 4)
        for part in ("1/2", "2/2"):
            self.call("run", self.write(SMALL), "--out", self.folder / "out", "--shard", part, "--quiet")
        self.assertEqual(len(gradrace.collect(self.folder / "out")), 12)
        database = gradrace.collect(self.folder / "out", self.folder / "database", format="sqlite")
        self.assertTrue(database.read_bytes().startswith(b"SQLite"))
        page = gradrace.report([gradrace.read(self.folder / "out")], out=self.folder / "page.html", plot=True)
        self.assertEqual((page.path, len(page.answers)), (self.folder / "page.html", 1))
        self.assertIn("best for final test error", str(page))
        self.assertTrue(list((self.folder / "page-figures").glob("*.pdf")))

    def test_a_switch_is_searched_for(self):
        job = changed(SMALL, sweep=None, record={}, stop={"epochs": 1}, protocol={"kind": "switch", "phases": [
            {"protocol": {"kind": "sync"}, "end": {"work": 0.5}}, {"protocol": {"kind": "async"}}]})  # fmt: skip
        found = gradrace.search(job, runs=2, first_runs=2, settings=2, beta=0.5, jobs=1)
        self.assertEqual((found.facts["switch_point"], len(found.settings)), (0.25, 3))

    def test_the_notebook_runs_and_shows_what_it_found(self):
        notebook = json.loads((ROOT / "guide/one_at_half_speed.ipynb").read_text())
        names, shown = {}, {}
        with contextlib.chdir(self.folder), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", gradrace.GradraceWarning)
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    shown[cell["id"]] = self.last_value("".join(cell["source"]), names)
            self.assertIn("fine", shown["scenario"])
            self.assertEqual(list(shown["run"].index), ["k-sync k=2", "k-sync k=5", "k-sync k=8"])
            self.assertRegex(shown["read"]._repr_html_(), r"<th>k-sync k=5</th><td>[\d.]+ ± [\d.]+</td>")
            self.assertIn(pathlib.Path("out/one-slow/plots/error_time.png"), shown["plot"])
            self.assertEqual(shown["plot"]._repr_html_().count("data:image/png"), len(shown["plot"]))
            self.assertTrue((abs(shown["theory"] - 1) < 0.1).all(), shown["theory"])
            self.assertRegex(str(shown["report"]), "^k-sync k=5 (is|looks) best for time to test error 0.15")
            self.assertIn("<iframe srcdoc=", shown["report"]._repr_html_())

    def last_value(self, source, names):
        """What a cell shows: the value of its last line."""
        parsed = ast.parse(source)
        last = ast.Expression(parsed.body.pop().value)
        exec(compile(parsed, "cell", "exec"), names)
        return eval(compile(last, "cell", "eval"), names)

    def test_a_mistake_is_told_as_the_program_tells_it(self):
        with self.assertRaisesRegex(gradrace.GradraceError, 'did you mean "stop"') as caught:
            gradrace.run(changed(SMALL, stopp={"updates": 3}))
        self.assertEqual(caught.exception.status, 2)
        self.assertIn("fine", gradrace.validate(SMALL))

    def test_values_of_numpy_are_json_and_others_are_named(self):
        scenario = changed(
            SMALL, protocol={"kind": "sync"}, replicas=np.int64(2), sweep={"cluster.learners": np.array([2, 3]), "learning_rate.eta": (np.float32(0.5),)}
        )
        runs = gradrace.run(scenario, set={"stop.updates": np.uint8(9)}, seed=np.int32(3))
        self.assertEqual((runs.learners.tolist(), set(runs.updates), set(runs.seed)), ([2, 2, 3, 3], {9}, {3}))
        for value, told in (({3}, r"cluster.learners.1: expected what JSON has, got \{3\} \(set\)"), (np.nan, "cluster.learners.1: .*got nan")):
            with self.assertRaisesRegex(gradrace.GradraceError, told):
                gradrace.validate(changed(SMALL, cluster={"learners": [2, value]}))
            with self.assertRaisesRegex(gradrace.GradraceError, told):
                gradrace.run(SMALL, set={"cluster.learners": [2, value]})

    def test_a_program_that_is_not_there_is_an_error_that_names_its_variable(self):
        for named in ("/nonexistent/gradrace", os.fspath(self.folder), ""):
            with unittest.mock.patch.dict(os.environ, GRADRACE_PROGRAM=named, PATH=""):
                with self.assertRaisesRegex(gradrace.GradraceError, "GRADRACE_PROGRAM may name"):
                    gradrace.validate(SMALL)

    def test_the_package_has_the_program_s_version(self):
        self.assertIn(f"gradrace {gradrace.__version__} ", self.call("--version")[0])


if __name__ == "__main__":
    unittest.main()
