"""The page and the figures of an advice say what its files do, and damaged files are told with their names."""

import contextlib
import io
import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))

import fabricate
from plots.advise import front, pareto_of
from plots.plot import figures_of
from report.report import report
from results import ResultsError
from results.advise import Row, read_advice

ROWS = [("sync", 9, 8, 11, 10, 1, 4, 0, "worse"), ("async", 5, 4, 6, 5.5, 0.5, 4, 0, "best"), ("k-async k=4", 50, 40, 60, "", "", 0, 0, "foretold worse"), ("async eta=9", "inf", 30, "inf", "", "", 2, 2, "worse")]  # fmt: skip
FACTS = {
    "scenario": {"title": "Which?", "time_unit": "s"}, "file": "q.json", "key": "loss", "level": 0.3, "is_budget": False, "by": "time",
    "column": "loss", "answer": "async is best for time to loss 0.3: 5.5 s.", "best": 1, "sure": True, "gradients": 100, "all_gradients": 1000,
    "notes": ["It computed 100 gradients."],
}  # fmt: skip


class Told(fabricate.Folder):
    def write(self, **facts):
        table = []
        for number, (label, said, low, high, measured, half, runs, never, verdict) in enumerate(ROWS):
            known = (number, label, said, low, high, measured, half, runs, never, measured, 0.3 if runs else "", measured and 2 * measured)
            table.append(dict(zip(Row._fields, (*known, 10 * runs, verdict, "c" if runs else ""), strict=True)))
        fabricate.write_table(self.folder / "advise.csv", Row._fields, table)
        (self.folder / "advise.json").write_text(json.dumps(FACTS | facts))
        return read_advice(self.folder)

    def test_the_page_begins_with_the_answer_and_has_every_candidate(self):
        self.write()
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            report([self.folder], None, False)
        self.assertRegex(told.getvalue(), "^async is best for time to loss 0.3: 5.5 s.\nreport: .*/report.html\n$")
        text = (self.folder / "report.html").read_text(encoding="utf-8")
        self.assertEqual(len(re.findall('<th scope="row">', text)), len(ROWS))
        self.assertIn("It computed 100 gradients.", text)
        self.assertEqual(text.count("<svg "), 4)  # two figures at two widths

    def test_the_figures_show_what_was_foretold_and_measured_and_the_front(self):
        advice = self.write()
        figures, notes = figures_of(self.folder, ("time",))
        self.assertEqual((list(figures), notes), (["candidates", "pareto"], ["1 candidate left out: the worst, or without a number"]))
        (axes,) = figures["candidates"].axes
        self.assertEqual([one.get_text() for one in axes.get_yticklabels()], ["async", "sync", "k-async k=4"])
        self.assertEqual(axes.get_xlabel(), "time to loss 0.3 (s)")
        self.assertEqual([(one.label, x, y) for one, x, y in pareto_of(advice)[2]], [("sync", 10, 20), ("async", 5.5, 11)])
        self.assertEqual(front([(3, 1), (1, 3), (2, 4), (2, 2)]), [(1, 3), (2, 2), (3, 1)])

    def test_damaged_files_are_told_with_their_names(self):
        self.write()
        table = (self.folder / "advise.csv").read_text()
        for change, words in (({"best": 7}, "advise.csv: cannot be read: advise.json's best is 7"), ({"level": "x"}, "advise.json: cannot be read: level")):
            (self.folder / "advise.json").write_text(json.dumps(FACTS | change))
            with self.assertRaisesRegex(ResultsError, words):
                read_advice(self.folder)
        (self.folder / "advise.json").write_text(json.dumps(FACTS))
        for old, new, words in (
            ("foretold worse", "<b>", "verdict must be one of"),
            ("\n1,", "\n5,", "row 1 is of candidate 5"),
            (",4,0,", ",4,9,", "never must be a number from 0 to 4"),
        ):
            (self.folder / "advise.csv").write_text(table.replace(old, new))
            with self.assertRaisesRegex(ResultsError, f"advise.csv: cannot be read: {words}"):
                read_advice(self.folder)


if __name__ == "__main__":
    unittest.main()
