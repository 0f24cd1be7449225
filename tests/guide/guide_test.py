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


# The gradient of all rows against differences of the loss over them: script, class.
GRADIENT = """
import importlib.util, sys
import numpy as np
spec = importlib.util.spec_from_file_location("model", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
net = getattr(module, sys.argv[2])()
w = np.array(net.initial(3), float)
steps = 1e-5 * np.eye(len(w))
differences = [(net.evaluate(w + step)[0] - net.evaluate(w - step)[0]) / 2e-5 for step in steps]
error = np.abs(net.gradient(w, np.arange(net.rows)) - differences).max() / np.abs(differences).max()
assert error < 1e-8, error
"""


def has_torch(python):
    return subprocess.run([python, "-c", "import numpy, torch"], capture_output=True, check=False).returncode == 0


def pattern(line):
    return r"\s+".join(re.escape(part).replace(r"\.\.\.", ".*") for part in line.split())


class Guide(ProgramTest):
    def setUp(self):
        super().setUp()
        for name in ("guide", "scenarios"):
            (self.folder / name).symlink_to(ROOT / name)

    def typed(self, command, **environment):
        words = shlex.split(command)
        self.assertEqual(words[0], "gradrace", command)
        known = {**os.environ, **environment}
        done = subprocess.run([PROGRAM, *words[1:]], cwd=self.folder, capture_output=True, text=True, check=False, env=known)
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

    def test_a_network_in_pytorch_is_trained_as_the_page_says(self):
        python = next((one for one in (os.environ.get("GRADRACE_PYTHON"), PYTHON, "/usr/bin/python3") if one and has_torch(one)), None)
        if not python:
            self.skipTest("no Python with torch and numpy; apt-get install python3-torch, or pip install torch into .venv")
        (_, calls), _ = sessions((GUIDE / "models_in_python.md").read_text(encoding="utf-8"))
        for command, lines in calls:
            environment = {} if " report " in command else {"GRADRACE_PYTHON": os.fspath(python)}
            self.come_out(lines, self.typed(command, **environment), command)

    def test_a_protocol_of_one_s_own_races_as_the_page_says(self):
        page = (GUIDE / "models_in_python.md").read_text(encoding="utf-8")
        _, (_, calls) = sessions(page)
        for command, lines in calls:
            self.come_out(lines, self.typed(command), command)
        (shown,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        self.assertIn(shown, (ROOT / "scenarios/own_protocol.py").read_text(encoding="utf-8"))

    def test_the_gradient_of_one_s_own_model_is_that_of_its_loss(self):
        words = [PYTHON, "-c", GRADIENT, ROOT / "scenarios/own_model.py", "PhaseRetrieval"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

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
        texts = "".join(path.read_text(encoding="utf-8") for path in GUIDE.glob("*.md"))
        for path in GUIDE.glob("*.*"):
            self.assertIn(path.name, texts)

    def test_a_line_that_does_not_come_out_is_noticed(self):
        self.come_out(["a  b", "run: ... s"], "a b c\n  a b\nx\nrun: 0.3 s\n", "made up")
        with self.assertRaises(AssertionError):
            self.come_out(["run: ... s", "a b"], "a b\nrun: 0.3 s\n", "made up")


if __name__ == "__main__":
    if not PYTHON.exists():
        skip("no .venv: setup.sh could not make the Python environment of the reports")
    os.environ.setdefault("GRADRACE_PYTHON", str(PYTHON))
    unittest.main()
