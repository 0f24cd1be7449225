"""The Python package: runs scenarios, reads folders, passes on what the program says."""

import os
import pathlib
import sys
import unittest
import unittest.mock

from program import PROGRAM, ROOT, SMALL, ProgramTest, changed, skip

sys.path.insert(0, str(ROOT / "python"))
try:
    import gradrace
    import numpy as np
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
