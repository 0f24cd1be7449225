"""Tests of the plot of a fit on fabricated output folders."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import fabricate
import numpy as np
from plots import fit, plot
from results import ResultsError


class Fits(fabricate.Folder):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.series = {str(l): list((1 + l) * rng.uniform(1, 9, 200)) for l in range(2)}

    def read(self, **keys):
        fabricate.fit(self.folder, self.series, **keys)
        return fit.read_fit(self.folder)

    def test_title_is_the_file_and_the_verdict(self):
        self.assertEqual(self.read().title, "times.csv: persistence")

    def test_histogram_and_densities_are_those_of_the_fitted_times(self):
        for evened in (False, True):
            axes = fit.draw_fit(self.read(evened=evened)).axes[0]
            heights, edges, _ = axes.patches[0].get_data()
            times = np.concatenate([np.array(x) for x in self.series.values()])
            if evened:
                each = [np.array(x) / np.mean(x) for x in self.series.values()]
                times = np.concatenate(each) * times.mean()
            share = np.mean((times >= edges[0]) & (times <= edges[-1]))
            self.assertAlmostEqual(float((heights * np.diff(edges)).sum()), share, delta=1e-12)
            counts, _ = np.histogram(times, edges)
            np.testing.assert_allclose(heights, counts / 400 / np.diff(edges), rtol=1e-12)
            # The fabricated law is uniform on 0 to 10.
            np.testing.assert_allclose(axes.lines[0].get_ydata(), 0.1, rtol=1e-9)

    def test_quantiles_stand_against_those_measured(self):
        results = self.read()
        axes = fit.draw_fit(results).axes[1]
        x, y = axes.lines[0].get_data()
        np.testing.assert_allclose(x, (np.arange(100) + 0.5) / 10)
        times, _ = results.fitted_times
        for i, p in ((0, 0.005), (49, 0.495), (99, 0.995)):
            self.assertEqual(y[i], times[int(np.ceil(p * 400)) - 1])

    def test_cancelled_times_count_by_the_product_limit(self):
        # 1 - 4/5 left after 1, of which two thirds are left after 3, and none after 5.
        self.series = {"0": [5.0, 1.0, 2.0], "1": [3.0, 4.0]}
        results = self.read(cancelled=(2.0, 4.0))
        times, weights = results.fitted_times
        np.testing.assert_allclose(times, [1, 3, 5])
        np.testing.assert_allclose(weights, [1 / 5, 4 / 15, 8 / 15])
        y = fit.draw_fit(results).axes[1].lines[0].get_ydata()
        np.testing.assert_allclose(y[[10, 30, 60]], [1, 3, 5])

    def test_outliers_are_left_out_where_what_was_fitted_is_drawn(self):
        plain = self.read()
        known = fit.draw_persistence(plain).axes[1].lines[-2].get_ydata()
        self.series["0"][7:7] = [500.0]
        self.series["1"] += [700.0]
        results = self.read(outliers=(500.0, 700.0))
        np.testing.assert_allclose(results.fitted_times[0], plain.fitted_times[0])
        axes = fit.draw_persistence(results).axes[1]
        np.testing.assert_allclose(axes.lines[-2].get_ydata(), known)
        self.assertEqual(axes.get_ylabel(), "autocorrelation, without 2 outliers")
        densities, quantiles = fit.draw_fit(results).axes
        self.assertEqual(densities.get_xlabel().split("\n")[0], "t, without 2 outliers")
        self.assertEqual(quantiles.get_ylabel(), "quantile as measured, without 2 outliers")
        self.assertNotIn("outliers", fit.draw_fit(plain).axes[1].get_ylabel())

    def test_the_times_of_a_column_a_learner_are_called_time(self):
        results = self.read(column="")
        self.assertEqual(fit.draw_persistence(results).axes[0].get_ylabel(), "time")
        self.assertEqual(fit.draw_fit(results).axes[0].get_xlabel().split("\n")[0], "time")

    def test_names_below_boxes_do_not_overlap(self):
        name = "node-17.rack-3.cluster.example.org/"
        for names in (
            [str(l) for l in range(24)],
            [f"worker {l}" for l in range(24)],
            [name + str(l) for l in range(24)],
            [name + str(l) for l in range(3)],
            ["a", "b"],
        ):
            self.series = dict.fromkeys(names, [1.0, 2.0, 4.0])
            figure = fit.draw_persistence(self.read())
            figure.draw_without_rendering()
            axes = figure.axes[-1]
            shown = [label for label in axes.get_xticklabels() if label.get_text()]
            boxes = [label.get_window_extent() for label in shown]
            self.assertGreaterEqual(len(boxes), len(names) // 2)
            for one, other in zip(boxes, boxes[1:]):
                self.assertLess(one.x1, other.x0, names[0])

    def test_autocorrelation_is_that_of_the_series_about_their_means(self):
        lags = 3
        x = np.array([1.0, 3.0, 2.0, 6.0]) / 3
        known = [1, ((1 - 3) * 0 + 0 * -1 + -1 * 3) / 14, ((1 - 3) * -1 + 0 * 3) / 14, -2 * 3 / 14]
        np.testing.assert_allclose(fit.autocorrelation([x], lags), known, rtol=1e-12)
        np.testing.assert_allclose(fit.autocorrelation([x, x], lags), known, rtol=1e-12)

    def test_fitted_autocorrelation_is_that_of_the_clusters_law(self):
        persistence = {"kind": "ar1", "correlation": 0.8, "sd": 0.3}
        results = self.read(persistence=persistence, evened=True)
        found = fit.fitted_autocorrelation(results.facts, 2)
        known = [1, np.expm1(0.09 * 0.8) / 0.16, np.expm1(0.09 * 0.64) / 0.16]
        np.testing.assert_allclose(found, known, rtol=1e-12)
        axes = fit.draw_persistence(results).axes[1]
        self.assertIn("fitted", [line.get_label() for line in axes.lines])
        axes = fit.draw_persistence(self.read()).axes[1]
        self.assertNotIn("fitted", [line.get_label() for line in axes.lines])

    def test_each_learner_has_a_line_and_a_box(self):
        figure = fit.draw_persistence(self.read())
        series, _, boxes = figure.axes
        for line, (name, times) in zip(series.lines, self.series.items()):
            self.assertEqual(line.get_label(), name)
            np.testing.assert_allclose(line.get_ydata(), times)
        labels = [label.get_text() for label in boxes.get_xticklabels()]
        self.assertEqual(labels, ["0", "1"])

    def test_one_learner_constant_ones_and_many_are_drawn(self):
        for series in (
            {"": self.series["0"]},
            {**self.series, "2": [4.0] * 50},
            {str(l): self.series["0"] for l in range(30)},
        ):
            fabricate.fit(self.folder, series)
            paths, notes = plot.draw_folder(self.folder)
            self.assertEqual({path.stem for path in paths}, {"fit", "persistence"})
            many = ["30 learners: the first 24 are shown"]
            self.assertEqual(notes, many if len(series) == 30 else [])

    def test_learners_that_never_vary_have_no_family(self):
        fabricate.fit(self.folder, {"0": [1.0] * 9, "1": [2.0] * 9}, families=())
        paths, notes = plot.draw_folder(self.folder)
        self.assertEqual({path.stem for path in paths}, {"persistence"})
        told = "a learner's times do not vary: plot of the families left out"
        self.assertEqual(notes, [told])

    def test_a_damaged_folder_is_refused(self):
        self.read()
        (self.folder / "fit.json").write_text("{}")
        with self.assertRaisesRegex(ResultsError, "race: cannot be read: file: is missing"):
            fit.read_fit(self.folder)


if __name__ == "__main__":
    unittest.main()
