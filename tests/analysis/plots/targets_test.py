"""Tests of the target that answers and plots go by."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))

from plots.targets import headline_target, target_columns, target_of


class Targets(unittest.TestCase):
    ERRORS = ["time_to_error_0.3", "time_to_error_0.2", "time_to_error_0.1"]
    LOSSES = ["time_to_loss_2", "time_to_loss_0.5"]

    def test_errors_come_first_and_of_each_the_easiest(self):
        columns = ["point", *reversed(self.LOSSES), "status", *reversed(self.ERRORS)]
        self.assertEqual(target_columns(columns), [*self.ERRORS, *self.LOSSES])

    def headline(self, *shares):
        told = dict(zip(self.ERRORS, shares))
        return headline_target([*self.LOSSES, *self.ERRORS], lambda name: told.get(name, 1))

    def test_the_hardest_that_every_run_reached_goes_before_what_some_reached(self):
        self.assertEqual(self.headline(1, 1, 0.5), "time_to_error_0.2")
        self.assertEqual(self.headline(1, 1, 1), "time_to_error_0.1")

    def test_where_no_target_was_reached_by_every_run_it_is_the_hardest_that_any_reached(self):
        self.assertEqual(self.headline(0.9, 0.2, 0), "time_to_error_0.2")

    def test_where_none_was_reached_it_is_the_easiest(self):
        self.assertEqual(self.headline(0, 0, 0), "time_to_error_0.3")

    def test_losses_are_gone_by_where_there_is_no_target_of_an_error(self):
        self.assertEqual(headline_target(self.LOSSES, lambda name: 1), "time_to_loss_0.5")
        self.assertIsNone(headline_target(["point"], lambda name: 1))

    def test_words(self):
        self.assertEqual([target_of(name) for name in ("time_to_error_0.1", "time_to_loss_2")], ["test error 0.1", "loss 2"])


if __name__ == "__main__":
    unittest.main()
