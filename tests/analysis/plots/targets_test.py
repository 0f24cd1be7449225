"""Tests of the target that answers and plots go by."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))

from results import Target
from results.target import headline, in_order


def targets(of, levels):
    return [Target(of, level, f"{of} {level}", "") for level in levels]


class Targets(unittest.TestCase):
    ERRORS = targets("test_error", [0.3, 0.2, 0.1])
    LOSSES = targets("loss", [2, 0.5])

    def test_errors_come_first_and_of_each_the_easiest(self):
        self.assertEqual(in_order([*reversed(self.LOSSES), *reversed(self.ERRORS)]), [*self.ERRORS, *self.LOSSES])

    def headline(self, *shares):
        told = dict(zip(self.ERRORS, shares))
        return headline([*self.LOSSES, *self.ERRORS], lambda one: told.get(one, 1)).level

    def test_the_hardest_that_every_run_reached_goes_before_what_some_reached(self):
        self.assertEqual(self.headline(1, 1, 0.5), 0.2)
        self.assertEqual(self.headline(1, 1, 1), 0.1)

    def test_where_no_target_was_reached_by_every_run_it_is_the_hardest_that_any_reached(self):
        self.assertEqual(self.headline(0.9, 0.2, 0), 0.2)

    def test_where_none_was_reached_it_is_the_easiest(self):
        self.assertEqual(self.headline(0, 0, 0), 0.3)

    def test_losses_are_gone_by_where_there_is_no_target_of_an_error(self):
        self.assertEqual(headline(self.LOSSES, lambda one: 1).level, 0.5)
        self.assertIsNone(headline([], lambda one: 1))

    def test_words(self):
        self.assertEqual([str(one) for one in (self.ERRORS[2], self.LOSSES[0])], ["test error 0.1", "loss 2"])


if __name__ == "__main__":
    unittest.main()
