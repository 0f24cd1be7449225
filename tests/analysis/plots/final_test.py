"""Tests of the plots of final errors against swept numbers."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import fabricate
import numpy as np
from plots.final import draw_final, is_log_spaced, numbers_of
from plots.measure import final_value
from plots.run import draw_folder, final_figures
from results import read_folder as read_results
from plots.sweep import keys_of

ETAS = [0.01, 0.03, 0.1, 0.3, 1.0]
T_95 = {2: 12.7062, 4: 3.18245}  # of a table, by the number of replicas


def draw(results, path):
    key = next(key for key in keys_of(results.points) if key.path == path)
    return draw_final(results, key, final_value(results), results.heading)


def told_by(figure):
    return " ".join(text.get_text().replace("\n", " ") for text in figure.texts)


class Final(fabricate.Folder):
    def read(self, swept, final, **more):
        fabricate.sweep(self.folder, swept, final, **more)
        return read_results(self.folder)

    def test_bars_are_means_and_their_intervals(self):
        results = self.read({"learning_rate.eta": ETAS}, lambda v: 0.1 + v[0], replicas=4)
        figure = draw(results, "learning_rate.eta")
        (bars,) = figure.axes[0].containers
        line, _, (intervals,) = bars
        np.testing.assert_array_equal(line.get_xdata(), ETAS)
        for number, segment in enumerate(intervals.get_segments()):
            values = results.runs[results.runs["point"] == number]["final_test_error"]
            half = T_95[4] * np.std(values, ddof=1) / 2
            np.testing.assert_allclose(line.get_ydata()[number], np.mean(values), rtol=1e-13)
            np.testing.assert_allclose(segment[:, 1], np.mean(values) + np.array([-half, half]), rtol=1e-5)
        self.assertEqual(figure.axes[0].get_xscale(), "log")
        self.assertIn("95 % interval", told_by(figure))

    def test_an_axis_is_logarithmic_where_values_are_spaced_so(self):
        for values, expected in (
            (ETAS, True),
            ([1, 2, 4, 8], True),
            ([1, 2, 3, 4], False),
            (list(range(1, 30)), False),
            ([0, 1, 10, 100], False),
        ):
            self.assertEqual(is_log_spaced(values), expected, values)

    def test_every_number_with_values_enough_has_a_plot(self):
        swept = {"protocol": [{"kind": n, "k": k} for n in "ab" for k in (1, 2, 4)], "learning_rate.eta": ETAS}
        results = self.read(swept, lambda v: v[1])
        self.assertEqual(list(final_figures(results)), ["final_error_by_k", "final_error_by_eta"])
        figure = draw(results, "learning_rate.eta")
        self.assertEqual([axes.get_title(loc="left") for axes in figure.axes], ["a", "b"])
        self.assertEqual([len(axes.containers) for axes in figure.axes], [3, 3])
        results = self.read({"learning_rate.eta": ETAS[:2]}, lambda v: v[0])
        self.assertEqual(numbers_of(keys_of(results.points)), [])

    def test_of_a_summary_final_errors_are_drawn(self):
        self.read({"learning_rate.eta": ETAS}, lambda v: v[0])
        (self.folder / "curve.csv").unlink()
        figures, notes = draw_folder(self.folder)
        self.assertEqual(list(figures), ["final_error_by_eta"])
        self.assertEqual(figures["final_error_by_eta"].axes[0].get_ylabel(), "final test error")
        self.assertEqual(notes, ["a summary only (record.details is false): final errors alone are drawn"])

    def test_points_without_the_number_are_left_out_and_said(self):
        protocols = [{"kind": "sync"}, *({"kind": "k-sync", "k": k} for k in (1, 2, 4, 8))]
        results = self.read({"protocol": protocols}, lambda v: v[0].get("k", 9))
        figure = draw(results, "protocol.k")
        (bars,) = figure.axes[0].containers
        np.testing.assert_array_equal(bars[0].get_xdata(), [1, 2, 4, 8])
        self.assertIn("1 of 5 points have no k and are left out.", told_by(figure))

    def test_of_a_third_key_the_best_is_shown_and_the_rest_said(self):
        swept = {"protocol": [{"kind": n} for n in "ab"], "cluster.learners": [2, 4, 8], "learning_rate.eta": ETAS[:3]}
        swept["optimiser.momentum"] = [0, 0.9]
        results = self.read(swept, lambda v: 0.2 - 0.1 * v[3] + v[2])
        figure = draw(results, "cluster.learners")
        self.assertIn("points are left out: the best", told_by(figure))

    def test_diverged_runs_are_out_of_the_mean_and_their_points_white(self):
        told = {1: (0.1, "", "finished"), 2: (0.2, "", "diverged"), 3: (0.3, "", "finished")}
        results = self.read({"protocol.k": [1, 2, 3]}, lambda v: told[v[0]], replicas=2)
        first = (results.runs["point"] == 1) & (results.runs["replica"] == 0)
        results.runs.loc[first, "status"] = "finished"
        figure = draw(results, "protocol.k")
        (value,) = results.runs[first]["final_test_error"]
        white = next(line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white")
        np.testing.assert_allclose(white.get_ydata(), [value])
        self.assertIn("White: over the runs that did not diverge.", told_by(figure))


if __name__ == "__main__":
    unittest.main()
