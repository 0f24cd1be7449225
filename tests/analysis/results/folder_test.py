"""Tests of the one reader of output folders."""

import json
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))

import fabricate
import numpy as np
from results import ResultsError, read_folder
from results.shape import check

KS = [1, 2, 4]


class Reading(fabricate.Folder):
    def setUp(self):
        super().setUp()
        self.runs, self.curve = fabricate.race(self.folder, KS, replicas=2)

    def edit(self, name, old, new):
        path = self.folder / name
        self.assertIn(old, path.read_text())
        path.write_text(path.read_text().replace(old, new, 1))

    def message(self):
        with self.assertRaises(ResultsError) as caught:
            folder = read_folder(self.folder)
            self.assertTrue(len(folder.curve))
        return str(caught.exception).removeprefix(f"{self.folder}/")

    def test_points_targets_and_settings_are_data(self):
        folder = read_folder(self.folder)
        self.assertEqual({n: point.settings for n, point in folder.points.items()}, {n: {"protocol.k": k} for n, k in enumerate(KS)})
        self.assertEqual(folder.points[2].label.parts, (("", "k-async"), ("k", "4")))
        self.assertEqual([(one.of, one.level, one.column) for one in folder.targets], [("loss", 0.1, "time_to_loss_0.1")])
        self.assertEqual((folder.swept, folder.names("runs", "setting")), (["protocol.k"], ["protocol.k"]))
        np.testing.assert_array_equal(folder.numbers("protocol.k"), KS)
        self.assertTrue(folder.numbers("protocol.no").isna().all())
        self.assertEqual(folder.statuses[1], {0: "diverged", 1: "finished"})

    def test_numbers_are_those_of_the_files_to_the_last_digit(self):
        folder = read_folder(self.folder)
        np.testing.assert_array_equal(folder.curve["test_error"], [row["test_error"] for row in self.curve])
        np.testing.assert_array_equal(folder.curve["loss"], [float(row["loss"]) for row in self.curve])
        mine = [row["test_error"] for row in self.curve if (row["point"], row["replica"]) == (2, 1)]
        np.testing.assert_array_equal(folder.series("curve", "test_error")[2, 1], mine)

    def test_rows_in_another_order_are_those_of_their_runs(self):
        expected = read_folder(self.folder).series("curve", "test_error")
        header, *rows = (self.folder / "curve.csv").read_text().splitlines(keepends=True)
        mixed = rows[::2] + rows[1::2]
        self.assertNotEqual(mixed, rows)
        (self.folder / "curve.csv").write_text(header + "".join(mixed))
        found = read_folder(self.folder).series("curve", "test_error")
        self.assertEqual({run: sorted(values) for run, values in found.items()}, {run: sorted(values) for run, values in expected.items()})

    def test_points_without_runs_are_of_the_sweep_alone(self):
        fabricate.write_runs(self.folder, self.runs, ["protocol.k"])
        lines = (self.folder / "runs.csv").read_text().splitlines(keepends=True)
        (self.folder / "runs.csv").write_text("".join(lines[:3]))
        folder = read_folder(self.folder)
        self.assertEqual((list(folder.points), list(folder.whole_sweep)), ([0], [0, 1, 2]))
        self.assertIn("curve.csv: cannot be read: runs.csv has no replica 0 of point 1", self.message())

    def test_parquet_says_what_csv_says(self):
        folder = read_folder(self.folder)
        folder.runs.to_parquet(self.folder / "runs.parquet")
        folder.curve.to_parquet(self.folder / "curve.parquet")
        (self.folder / "runs.csv").unlink()
        (self.folder / "curve.csv").unlink()
        again = read_folder(self.folder)
        self.assertTrue(again.curve.equals(folder.curve))
        self.assertEqual(again.statuses, folder.statuses)

    def test_rows_of_another_length_are_refused(self):
        for more, told in (("0,0,1\n", "Row #108: Expected 11 columns, got 3"), ("0,0" + ",1" * 20 + "\n", "Row #108: Expected 11 columns, got 22")):
            text = (self.folder / "curve.csv").read_text()
            (self.folder / "curve.csv").write_text(text + more)
            self.assertRegex(self.message(), "^curve.csv: cannot be read: .*" + told)
            (self.folder / "curve.csv").write_text(text)

    def test_what_does_not_belong_together_is_refused(self):
        cases = (
            ("runs.csv", "\n0,0,", "\n7,0,", "runs.csv: cannot be read: manifest.json has no point 7"),
            ("runs.csv", "\n0,1,", "\n0,0,", "runs.csv: cannot be read: has a run twice"),
            ("runs.csv", "\n0,0,", "\nzero,0,", "runs.csv: cannot be read: column point"),
            ("runs.csv", "\n0,0,", "\n0.5,0,", "runs.csv: cannot be read: column point: expected whole numbers"),
            ("manifest.json", '"settings": [', '"settings": 3, "x": [', "manifest.json: cannot be read: points[0].settings: expected a list, got 3"),
            ("manifest.json", '"label": "', '"x": "', ""),
            ("manifest.json", '"parts": [["", ', '"parts": [[5, ', "manifest.json: cannot be read: points[0].parts[0][0]: expected a text, got 5"),
            ("manifest.json", '"points": [{', '"points": [[], {', "manifest.json: cannot be read: points[0]: expected an object, got []"),
            ("manifest.json", '{"number": 1', '{"number": 0', "manifest.json: cannot be read: it has a point twice"),
            ("manifest.json", '"level": 0.1', '"of_level": 0.1', "manifest.json: cannot be read: targets[0].level: is missing"),
        )
        for name, old, new, told in cases:
            text = (self.folder / name).read_text()
            self.edit(name, old, new)
            if told:
                self.assertIn(told, self.message())
            (self.folder / name).write_text(text)

    def test_a_manifest_of_before_is_told_apart(self):
        facts = json.loads((self.folder / "manifest.json").read_text())
        del facts["points"]
        (self.folder / "manifest.json").write_text(json.dumps(facts))
        self.assertEqual(self.message(), 'manifest.json: cannot be read: it has no "points": an older gradrace wrote it; gradrace run --force makes it anew')


class Shapes(unittest.TestCase):
    """What a document has to be like, told by the dotted path of what is not."""

    SHAPE = {"name": str, "sizes": [int], "share?": (float, None), "points": [{"at": float}], "by": {str: bool}, "any": object}
    GOOD = {"name": "x", "sizes": [1, 2], "points": [{"at": 1}, {"at": 0.5}], "by": {"a": True}, "any": [None]}

    def told(self, **changed):
        try:
            check(self.GOOD | changed, self.SHAPE)
        except ValueError as error:
            return str(error)
        return None

    def test_what_fits_is_taken(self):
        self.assertIsNone(self.told())
        for share in (None, 1, 0.5):
            self.assertIsNone(self.told(share=share))
        self.assertIsNone(self.told(sizes=[], points=[], by={}, more=3))

    def test_what_does_not_is_told_by_its_path(self):
        for changed, words in (
            ({"name": None}, "name: expected a text, got null"),
            ({"sizes": 3}, "sizes: expected a list, got 3"),
            ({"sizes": [1, True]}, "sizes[1]: expected a whole number, got true"),
            ({"sizes": [1.5]}, "sizes[0]: expected a whole number, got 1.5"),
            ({"share": False}, "share: expected a number, got false"),
            ({"points": [{"at": 1}, {"at": "x"}]}, 'points[1].at: expected a number, got "x"'),
            ({"points": [{}]}, "points[0].at: is missing"),
            ({"points": {}}, "points: expected a list, got {}"),
            ({"by": {"a b": 1}}, "by.a b: expected true or false, got 1"),
            ({"name": ["long"] * 20}, "name: expected a text, got " + ("[" + '"long", ' * 5)[:40] + "..."),
        ):
            self.assertEqual(self.told(**changed), words)
        with self.assertRaisesRegex(ValueError, "^it: expected an object, got \\[\\]$"):
            check([], self.SHAPE)


if __name__ == "__main__":
    unittest.main()
