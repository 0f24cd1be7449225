"""Tests of who is first in Pan et al., Fig 8, on made-up curves: always, sometimes and never there."""

import math
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))

import numpy as np
from papers.pan2017.fig8_mnist import COMMON, Lead, Rates, first_at_target, margin
from reproduce.claims import FAIL, PASS, SKIPPED

RATES = {machines: "one rate" for machines in (53, 106, 212)}


def falling(*times, end=100.0):
    """Curves that come down to a test error of 0.1 at these times; infinity: never until the end."""
    return [(np.array([0.0, min(at, end), end + 1]), np.array([0.9, 0.1 if at < end else 0.5, 0.1 if at < end else 0.5])) for at in times]


def eight(time):
    return falling(*(time * (1 + 0.01 * i) for i in range(8)))


class Leads(unittest.TestCase):
    def test_it_is_the_logarithm_of_the_ratio_of_times(self):
        lead = Lead(falling(40, 60), falling(20, 30), 0.1)
        self.assertAlmostEqual(lead.sample.mean, math.log(2))
        self.assertEqual(lead.never, 0)

    def test_who_is_never_there_counts_as_at_its_end_and_is_told(self):
        lead = Lead(falling(40, math.inf), falling(20, 20), 0.1)
        self.assertAlmostEqual(lead.sample.mean, (math.log(2) + math.log(101 / 20)) / 2)
        self.assertEqual(lead.told("async")[:8], "at least")
        self.assertIn("async is never there in 1 of 2", lead.told("async"))

    def test_nothing_is_known_where_the_first_is_not_always_there(self):
        self.assertFalse(Lead(falling(40, 40), falling(20, math.inf), 0.1).is_known)


class Claims(unittest.TestCase):
    def verdict(self, machines, backup, late):
        curves = {"backup": backup, "async": late}
        return first_at_target(machines, curves, 0.1, RATES[machines], "").verdict

    def test_async_is_to_be_first_on_53_machines_and_backups_on_more(self):
        self.assertEqual(self.verdict(53, eight(40), eight(20)), PASS)
        self.assertEqual(self.verdict(106, eight(40), eight(20)), FAIL)
        self.assertEqual(self.verdict(106, eight(20), falling(*[math.inf] * 8)), PASS)
        self.assertEqual(self.verdict(106, falling(*[math.inf] * 8), eight(20)), SKIPPED)

    def test_the_margin_is_to_rise_where_it_is_known(self):
        def races(*late):
            return {m: SimpleNamespace(curves={"backup": eight(10), "async": of}) for m, of in zip(RATES, late)}

        never = falling(*[math.inf] * 8)
        self.assertEqual(margin(races(eight(10), eight(20), never), 0.1, "").verdict, PASS)
        self.assertEqual(margin(races(eight(20), eight(20), eight(40)), 0.1, "").verdict, FAIL)
        self.assertEqual(margin(races(eight(10), never, never), 0.1, "").verdict, SKIPPED)


class Choosing(unittest.TestCase):
    """Of four replicas the first chooses, for it 0.0008, where the others are far higher."""

    def rates(self, replicas):
        level = lambda value: (np.array([0.0, 1.0, 2.0]), np.full(3, value))
        low, high = {COMMON: 0.3, 0.0008: 0.2}, {COMMON: 0.3, 0.0008: 0.8}
        curves = {(name, rate): [level(low[rate])] + [level(high[rate])] * (replicas - 1)
                  for name in ("sync", "backup", "async") for rate in low}  # fmt: skip
        outputs = SimpleNamespace(curves=lambda *_: curves, samples=lambda *_: dict.fromkeys(curves))
        return Rates(outputs, 53)

    def test_a_quarter_chooses_and_the_others_judge(self):
        rates = self.rates(4)
        self.assertEqual(rates.best("async"), 0.0008)
        self.assertEqual([float(y[0]) for _, y in rates.curves["async", 0.0008][rates.judging]], [0.8] * 3)

    def test_a_single_replica_does_both(self):
        rates = self.rates(1)
        self.assertEqual(len(rates.curves["async", 0.0008][rates.judging]), 1)


if __name__ == "__main__":
    unittest.main()
