"""Tests of the tables of claims and figures: how they are read and refused, and that every row is used
somewhere."""

import ast
import re
import sys
import tempfile
import unittest
from pathlib import Path
from string import Formatter
from unittest import mock

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

from reproduce import words
from reproduce.claims import Sample, Tolerance
from reproduce.paper import page_of
from reproduce.rows import COLUMNS, Row, claims_of, read_rows
from reproduce.table import WrongTable
from reproduce.words import read_figures

PAPERS = ANALYSIS / "papers"
TABLES = sorted(PAPERS.glob("*/claims.csv"))
HEAD = ",".join(COLUMNS) + "\n"


def pattern(node):
    """The ids that an argument of claim(...) may be, as a regular expression."""
    if isinstance(node, ast.Constant):
        return re.escape(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(pattern(one) if isinstance(one, ast.Constant) else ".*" for one in node.values)
    return ".+"


def calls(folder, function="claim"):
    """{place: the call of that function} of a package."""
    return {
        f"{path.name}:{node.lineno}": node
        for path in sorted(folder.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == function
    }


class Tables(unittest.TestCase):
    def test_every_row_is_judged_and_what_is_judged_has_a_row(self):
        self.assertTrue(TABLES)
        for path in TABLES:
            rows = read_rows(path)
            places = {place: pattern(call.args[0]) for place, call in calls(path.parent).items()}
            for place, ids in places.items():
                self.assertTrue(any(re.fullmatch(ids, id) for id in rows), f"{path.parent.name}/{place}: {ids}")
            named = {one for judges in page_of(path.parent.name)["experiments"].values() for one in judges}
            for id in rows:
                self.assertTrue(id in named or any(re.fullmatch(ids, id) for ids in places.values()), f"{path}: {id}")
            items = set(words.checklist_of(path.parent.name))
            self.assertLessEqual(named, {*rows, *items}, path)
            self.assertLessEqual({row.item for row in rows.values()}, items, path)

    def test_what_stands_in_braces_is_a_fact_that_some_place_gives(self):
        for path in TABLES:
            given = {one.arg for call in calls(path.parent).values() for one in call.keywords}
            for row in read_rows(path).values():
                fields = {name for words in (row.source, row.claim, row.expected) for _, name, *_ in Formatter().parse(words)}
                self.assertLessEqual(fields - {None, "errors", "tolerance"}, given, f"{path}: {row.id}")

    def refused(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "claims.csv"
            path.write_text(text, encoding="utf-8")
            with self.assertRaises(WrongTable) as caught:
                read_rows(path)
            return str(caught.exception).removeprefix(f"{path}:")

    def test_a_wrong_table_is_refused_with_its_line(self):
        self.assertEqual(self.refused("id,words\n")[:2], "1:")
        self.assertEqual(self.refused(HEAD + "1,1,Fig 1,simulated,so\n"), "2: allowed: 6 cells")
        row = "1,1,Fig 1,simulated,so,2\n"
        self.assertEqual(self.refused(HEAD + row + row), "3: id: 1 a second time; allowed: once")
        self.assertIn("2: could not convert string to float: 'few'", self.refused(HEAD.replace("\n", ",errors\n") + row.replace("\n", ",few\n")))
        self.assertIn("2: kind: dreamt; allowed: simulated", self.refused(HEAD + row.replace("simulated", "dreamt")))

    def test_a_claim_without_a_row_is_refused(self):
        with self.assertRaisesRegex(WrongTable, "has no row 99"):
            claims_of(TABLES[0].parent.name)("99")


class FigureTables(unittest.TestCase):
    def test_every_row_is_drawn_and_what_is_drawn_has_its_row_and_facts(self):
        for path in sorted(PAPERS.glob("*/figures.csv")):
            rows, drawn = read_figures(path), set()
            for place, call in calls(path.parent, "figure_of").items():
                name = call.args[0].value
                drawn.add(name)
                fields = {field for text in rows[name].values() for _, field, *_ in Formatter().parse(text)}
                given = {one.arg for one in call.keywords} - {"marks", "ticks", "series"}
                self.assertEqual(fields - {None}, given, f"{path.parent.name}/{place}")
            self.assertEqual(drawn, set(rows), path)

    def test_words_are_filled_and_axes_are_as_the_row_says(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(words, "PAPERS", Path(folder)):
            path = Path(folder) / "made_up/figures.csv"
            path.parent.mkdir()
            path.write_text("figure,in_paper,title,x_label,y_label,log,note\nfig_{n},Fig {n},of {n},x,y,x,{{K}} of {n:g}\n", encoding="utf-8")
            one = words.figures_of("made_up")("fig_{n}", n=8, marks=[1])
            self.assertEqual((one.name, one.title, one.note, one.marks), ("fig_8", "Of 8", "{K} of 8", [1]))
            self.assertEqual((one.in_paper, one.log_x, one.log_y), ("Fig 8", True, False))
            with self.assertRaisesRegex(WrongTable, f"{path}: has no row fig_8"):
                words.figures_of("made_up")("fig_8")
            path.write_text("figure,in_paper,title,x_label,y_label,log,note\nfig,,Of,x,y,z,\n", encoding="utf-8")
            with self.assertRaisesRegex(WrongTable, f"{path}:2: log: z; allowed: x, y, x y or nothing"):
                words.figures_of("made_up")("fig")


class Rows(unittest.TestCase):
    def test_numbers_of_a_row_are_its_range_and_its_tolerance(self):
        text = "1,1,Fig 1,simulated,so,{tolerance},1.08,,0.01,4\n"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "claims.csv"
            path.write_text(HEAD.replace("\n", ",low,high,relative,errors\n") + text, encoding="utf-8")
            row = read_rows(path)["1"]
        self.assertEqual((row.low, row.high, row.tolerance), (1.08, None, Tolerance(relative=0.01, errors=4)))
        self.assertEqual(row.holds(True, "").expected, "1 % or 4 standard errors")

    def test_a_number_of_the_row_is_expected_or_one_that_is_computed(self):
        row = Row("1", "Fig 1", claim="so", expected="2", tolerance=Tolerance(relative=0.01))
        self.assertEqual([row.near(Sample(2.01)).verdict, row.near(Sample(2.03)).verdict], ["pass", "fail"])
        self.assertEqual(row.near(Sample(3.0), 3.0).verdict, "pass")
        self.assertEqual(row.near(Sample(2.03), tolerance=Tolerance(absolute=0.1)).verdict, "pass")
        self.assertEqual(row.disagrees(3).verdict, "paper-inconsistent")

    def test_the_row_says_how_many_standard_errors_decide(self):
        gap = Sample(3.5, 1.0, 100)
        for errors, verdict in ((3, "pass"), (4, "fail")):
            row = Row("1", expected="> 0 by more than {errors:g} standard errors", tolerance=Tolerance(errors=errors))
            self.assertEqual(row.above(gap).expected, f"> 0 by more than {errors} standard errors")
            self.assertEqual([row.above(gap).verdict, row.all_above([gap]).verdict], [verdict] * 2)
            self.assertEqual(row.rising([Sample(0.0), gap]).verdict, verdict)

    def test_numbers_of_the_runs_fill_the_words(self):
        row = Row("1", claim="E[X_{{K:P}}] of {runs} runs", expected="within {spread:.2g}", facts={"runs": 8, "spread": 0.123})
        one = row.holds(True, "it is")
        self.assertEqual((one.claim, one.expected), ("E[X_{K:P}] of 8 runs", "within 0.12"))

    def test_what_is_skipped_needs_no_number_of_what_is_expected(self):
        one = Row("1", claim="so", expected="within {spread:.2g}").skipped("no data")
        self.assertEqual((one.claim, one.expected, one.verdict), ("so", "", "skipped"))

    def test_a_range_is_read_from_the_row(self):
        row = Row("1", low=1.08, high=1.11)
        self.assertEqual(row.within(Sample(1.1)).expected, "1.08 to 1.11")
        self.assertEqual([row.within(Sample(value)).verdict for value in (1.07, 1.08, 1.11, 1.12)], ["fail", "pass", "pass", "fail"])


if __name__ == "__main__":
    unittest.main()
