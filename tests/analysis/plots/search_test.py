"""The figure and the page of a search for the switch point."""

import contextlib
import io
import json
import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import fabricate
from plots.plot import figures_of
from report.report import report
from report.search import doubts, sentence
from results import ResultsError
from results.search import read_search

HEADER = "share runs diverged accuracy accuracy_sd accuracy_95 time time_sd relative_time verdict folder".split()
SETTINGS = [(1, 0.9, 0.002, 1, "target"), (0.5, 0.9, 0.002, 0.7, "pass"), (0.25, 0.895, 0.006, 0.5, "pass"), (0.125, 0.6, 0.02, 0.4, "fail")]


class Search(fabricate.Folder):
    def write(self, switch_point=0.25, **facts):
        rows = [
            {
                "share": share, "runs": 5, "diverged": 0, "accuracy": accuracy, "accuracy_sd": 0.01, "accuracy_95": half,
                "time": 100 * relative, "time_sd": 1, "relative_time": relative, "verdict": verdict, "folder": f"{100 * share:g}",
            }
            for share, accuracy, half, relative, verdict in SETTINGS
        ]  # fmt: skip
        fabricate.write_table(self.folder / "search.csv", HEADER, rows)
        told = {
            "scenario": {"title": "When?", "name": "job"}, "file": "job.json", "beta": 0.01, "runs": 5, "target": 0.9,
            "switch_point": switch_point, "cost": 12.5, "recurrences": 25.0, "searches": 1000, "success": 0.7,
            "success_95": [0.67, 0.73],
        } | facts  # fmt: skip
        (self.folder / "search.json").write_text(json.dumps(told))
        return read_search(self.folder)

    def test_the_answer_says_when_and_what_it_saves(self):
        said = sentence(self.write())
        self.assertEqual(said, "Switch after 25 % of the work: a run then takes 50 % of the time, with an accuracy of 0.895 in place of 0.9.")
        self.assertLessEqual(len(said.split()), 30)
        self.assertIn("No switch", sentence(self.write(1)))

    def test_a_setting_whose_interval_holds_the_bound_is_unclear(self):
        found = self.write()
        self.assertEqual([one.share for one in found.unclear], [0.25])
        self.assertIn("Unclear: 25 %.", doubts(found)[0])

    def test_damaged_files_are_told_with_their_name(self):
        """Each of these was a traceback, or a page that says nan %."""
        self.write()
        table, facts = (self.folder / "search.csv").read_text(), json.loads((self.folder / "search.json").read_text())
        for change, words in (
            ({"switch_point": 2}, "switch_point must be a number from 0 to 1, got 2"),
            ({"switch_point": 0.3}, "no row of verdict pass has the share 0.3"),
            ({"target": "0.9"}, 'target: expected a number, got "0.9"'),
            ({"cost": None}, "cost: expected a number, got null"),
            ({"success_95": [0.8, 0.7]}, "success_95 must be a number from 0 to 0.7"),
            ({"scenario": []}, "scenario: expected an object"),
        ):
            (self.folder / "search.json").write_text(json.dumps(facts | change))
            with self.assertRaisesRegex(ResultsError, f"search.(json|csv): cannot be read: {words}"):
                read_search(self.folder)
        (self.folder / "search.json").write_text(json.dumps(facts))
        for old, new, words in (
            ("target", "pass", "there is not one row of verdict target"),
            (",fail,", ",<b>,", "verdict must be one of"),
            ("0.6", "nanx", "column accuracy: could not convert"),
            ("0.125", "1e400", "share must be a number from 0 to 1, got inf"),
        ):
            (self.folder / "search.csv").write_text(table.replace(old, new))
            with self.assertRaisesRegex(ResultsError, f"search.csv: cannot be read: {words}"):
                read_search(self.folder)

    def test_what_is_not_known_is_not_said(self):
        lines = doubts(self.write(success=None, success_95=[None, None], recurrences=None))
        self.assertFalse([line for line in lines if "drawn anew" in line])
        self.assertIn("never saves that", lines[-1])

    def test_the_figure_has_every_setting(self):
        self.write()
        figures, notes = figures_of(self.folder, ("time",))
        self.assertEqual((list(figures), notes), (["search"], []))
        upper, lower = figures["search"].axes
        for axes, places in ((upper, [(100, 0.9), (25, 0.895), (50, 0.9), (12.5, 0.6)]), (lower, [(100, 1), (25, 0.5), (50, 0.7), (12.5, 0.4)])):
            drawn = {point for container in axes.containers for point in zip(*container[0].get_data())}
            self.assertEqual(drawn, set(places))

    def test_the_page_holds_the_answer_and_every_setting(self):
        self.write()
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            report([self.folder], None, False)
        self.assertRegex(told.getvalue(), "^Switch after 25 % .*\nreport: .*/report.html\n$")
        text = (self.folder / "report.html").read_text(encoding="utf-8")
        self.assertEqual(len(re.findall('<th scope="row">', text)), len(SETTINGS))
        self.assertIn("<svg ", text)


if __name__ == "__main__":
    unittest.main()
