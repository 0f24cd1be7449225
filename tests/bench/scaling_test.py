"""bench/scaling: exponents of made-up costs, and a short sweep by the program itself."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from scaling import run
from scaling.sweeps import SWEEPS

MINIBATCH = next(sweep for sweep in SWEEPS if sweep.name == "minibatch")


def costs(exponent, below=0.0):
    """Rows of two rounds, the second twice as slow; below the sweep's beginning the cost is `below`."""
    cost = lambda value: value**exponent if value >= MINIBATCH.begin else below
    return [{"value": value, "round": number, "cost": number * cost(value)} for number in (1, 2) for value in MINIBATCH.values]


class Exponents(unittest.TestCase):
    def test_an_exponent_is_of_each_round_and_of_the_values_where_it_is_expected(self):
        for exponent in (0.5, 1, 2):
            found = run.exponents(MINIBATCH, costs(exponent, below=1e9))
            self.assertEqual([round(x, 9) for x in found], [exponent, exponent])

    def test_what_is_not_as_expected_is_said(self):
        is_right, said = run.verdict(MINIBATCH, [0.98, 1.0, 1.02])
        self.assertTrue(is_right)
        self.assertIn("1.00 (0.98 to 1.02)", said)
        is_right, said = run.verdict(MINIBATCH, [1.0, 1.5, 1.6])
        self.assertFalse(is_right)
        self.assertIn("NOT AS EXPECTED, 0.85 to 1.1 from 64 on", said)


class Program(unittest.TestCase):
    def test_a_short_sweep_writes_its_costs_and_a_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["--only", "K", "--rounds", "1", "--seconds", "0.02", "--out", folder]
            command = [sys.executable, ROOT / "bench/scaling/run.py", *words]
            done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
            self.assertIn("K  ", done.stdout, done.stderr)
            lines = (Path(folder) / "scaling.csv").read_text().splitlines()
            self.assertTrue((Path(folder) / "scaling.png").exists())
        costs = [float(line.split(",")[3]) for line in lines[1:]]
        self.assertEqual(len(costs), 7)
        self.assertGreater(min(costs), 0)  # how they grow in 0.02 s each depends on what else runs


if __name__ == "__main__":
    unittest.main()
