"""Reproducing a paper: the claims, the page, what is said without data, what a wrong value does."""

import csv
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from program import ROOT, ProgramTest, rows, skip

PYTHON = ROOT / ".venv/bin/python"
NEEDS_DATA = {14, 15, 16, 17, 18}
COLUMNS = ["id", "source", "claim", "expected", "tolerance", "measured", "verdict"]


class Resources(html.parser.HTMLParser):
    """What a page would load."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("src", "href", "srcset")]


def item(row):
    return int(row["id"].split(".")[0])


class Reproduce(ProgramTest):
    @classmethod
    def setUpClass(cls):
        """The quick form of what needs no data, once."""
        super().setUpClass()
        held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(held.cleanup)
        cls.out = pathlib.Path(held.name) / "out"
        cls.done = subprocess.run(
            [os.environ["GRADRACE_PROGRAM"] if "GRADRACE_PROGRAM" in os.environ
             else ROOT / "build/release/gradrace",
             "reproduce", "dutta2018", "--quick", "--quiet", "--out", cls.out],
            capture_output=True, text=True, check=False, env={**os.environ, "GRADRACE_DATA": ""},
        )  # fmt: skip

    def judged(self, analysis, out):
        """Exit status and claims of analysis/reproduce.py on the same output folders."""
        done = subprocess.run(
            [PYTHON, analysis / "reproduce.py", "dutta2018", out],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, {row["id"]: row["verdict"] for row in rows(out / "claims.csv")}

    def test_no_claim_fails_and_it_ends_well(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        self.assertNotIn("fail", {row["verdict"] for row in rows(self.out / "claims.csv")})

    def test_every_item_has_a_row_of_its_own(self):
        with open(self.out / "claims.csv", newline="", encoding="utf-8") as file:
            self.assertEqual(next(csv.reader(file)), COLUMNS)
        table = rows(self.out / "claims.csv")
        ids = [row["id"] for row in table]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual({item(row) for row in table}, set(range(1, 20)))
        allowed = {"pass", "fail", "skipped", "paper-inconsistent"}
        self.assertLessEqual({row["verdict"] for row in table}, allowed)
        self.assertEqual({item(row) for row in table if row["verdict"] == "skipped"}, NEEDS_DATA)

    def test_what_lacks_data_is_said_with_where_to_get_it(self):
        skipped = [row for row in rows(self.out / "claims.csv") if row["verdict"] == "skipped"]
        for row in skipped:
            self.assertRegex(row["measured"], r'no folder "(mnist|cifar10)".*https://')
        self.assertIn("skipped: fig8_who_wins_on_mnist: no folder", self.done.stdout)
        page = (self.out / "index.html").read_text(encoding="utf-8")
        self.assertIn("Left out", page)

    def test_the_page_is_one_file_that_loads_nothing(self):
        page = (self.out / "index.html").read_text(encoding="utf-8")
        parser = Resources()
        parser.feed(page)
        self.assertEqual(parser.found, ["data:,"])
        styles = "".join(re.findall(r"(?s)<style>(.*?)</style>", page))
        self.assertNotRegex(styles, r"@import|url\(")
        for name in ("fig3", "fig5", "fig6_pareto", "fig6_long_pareto", "fig7", "fig14", "floors"):
            self.assertIn(f'id="{name}"', page)

    def test_a_wrong_digitised_value_fails_its_claim(self):
        analysis = self.folder / "analysis"
        shutil.copytree(ROOT / "analysis", analysis)
        table = analysis / "papers/dutta2018/fig6.csv"
        text = table.read_text()
        self.assertIn("pareto,k-sync,7,2471\n", text)
        table.write_text(text.replace("pareto,k-sync,7,2471\n", "pareto,k-sync,7,2771\n"))
        out = self.folder / "out"
        shutil.copytree(self.out, out)
        before = self.judged(ROOT / "analysis", out)
        after = self.judged(analysis, out)
        self.assertEqual((before[0], after[0]), (0, 1))
        changed = [name for name in before[1] if before[1][name] != after[1][name]]
        self.assertEqual(changed, ["9.plotted-k-sync-pareto"])
        self.assertEqual(after[1]["9.plotted-k-sync-pareto"], "fail")

    def test_an_unknown_paper_is_named_with_what_there_is(self):
        _, told = self.call("reproduce", "dutta2017", status=2)
        self.assertIn("dutta2018", told)


if __name__ == "__main__":
    if not PYTHON.exists():
        skip("no .venv: ./setup.sh could not make the Python environment of the plots")
    unittest.main()
