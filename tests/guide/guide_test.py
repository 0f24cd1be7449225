"""The guide: its commands are typed, its outputs come out.

In a block ```console a line "$ gradrace ..." is typed; the lines below it come out, in that order, with others between them.
"..." stands for whatever is there (times taken)."""

import contextlib
import os
import re
import shlex
import sqlite3
import subprocess
import unittest

from program import PROGRAM, ROOT, ProgramTest, skip

GUIDE = ROOT / "guide"
PYTHON = ROOT / ".venv/bin/python"


def sessions(text):
    """[(title, [(command, [line])])] of the sections of the guide that have commands."""
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        calls = []
        for block in re.findall(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                if line.startswith("$ "):
                    calls.append((line[2:], []))
                elif line.strip():
                    calls[-1][1].append(line.rstrip())
        if calls:
            found.append((section.splitlines()[0], calls))
    return found


def pattern(line):
    return r"\s+".join(re.escape(part).replace(r"\.\.\.", ".*") for part in line.split())


class Guide(ProgramTest):
    def setUp(self):
        super().setUp()
        for name in ("guide", "scenarios"):
            (self.folder / name).symlink_to(ROOT / name)

    def typed(self, command):
        words = shlex.split(command)
        self.assertEqual(words[0], "gradrace", command)
        done = subprocess.run([PROGRAM, *words[1:]], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def come_out(self, lines, told, command):
        rest = told.splitlines()
        for line in lines:
            at = next((i for i, one in enumerate(rest) if re.fullmatch(r"\s*" + pattern(line) + r"\s*", one)), None)
            self.assertIsNotNone(at, f"{command}\ndoes not say:\n{line}\nbut:\n{told}")
            rest = rest[at + 1 :]

    def test_what_is_typed_says_what_stands_there(self):
        questions = sessions((GUIDE / "README.md").read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(questions), 5)
        for title, calls in questions:
            with self.subTest(title):
                self.assertLessEqual(len(calls), 3)
                for command, lines in calls:
                    self.come_out(lines, self.typed(command), command)

    def test_a_database_answers_what_is_asked_in_sql(self):
        """Below each question in a block ```sql stand its rows, as sqlite3 prints them."""
        section = (GUIDE / "README.md").read_text(encoding="utf-8").split("## How are results asked in SQL?")[1].split("\n## ")[0]
        for command in re.findall(r"^\$ (.*)$", section, re.MULTILINE):
            self.typed(command)
        with contextlib.closing(sqlite3.connect(self.folder / "out/asked/results.sqlite")) as database:
            asked = re.findall(r"^```sql\n(.*?)\n(-- .*?)\n```$", section, re.MULTILINE | re.DOTALL)
            self.assertEqual(len(asked), 3)
            for question, rows in asked:
                self.assertEqual(["-- " + "|".join(map(str, row)) for row in database.execute(question)], rows.splitlines())

    def test_every_scenario_of_the_guide_is_in_it(self):
        text = (GUIDE / "README.md").read_text(encoding="utf-8")
        for path in GUIDE.glob("*.*"):
            self.assertIn(path.name, text)

    def test_a_line_that_does_not_come_out_is_noticed(self):
        self.come_out(["a  b", "run: ... s"], "a b c\n  a b\nx\nrun: 0.3 s\n", "made up")
        with self.assertRaises(AssertionError):
            self.come_out(["run: ... s", "a b"], "a b\nrun: 0.3 s\n", "made up")


if __name__ == "__main__":
    if not PYTHON.exists():
        skip("no .venv: setup.sh could not make the Python environment of the reports")
    os.environ.setdefault("GRADRACE_PYTHON", str(PYTHON))
    unittest.main()
