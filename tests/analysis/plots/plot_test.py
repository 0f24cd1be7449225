"""Tests of the plots on fabricated output folders, against numpy and against the input."""

import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import fabricate
import numpy as np
from plots import plot, run
from plots import style
from plots.bands import band, linear, step
from plots.curves import draw_curves
from plots.encoding import race
from results import ResultsError
from results import read_folder as read_results
from plots.staleness import draw_staleness, mean, shares

KS = [1, 2, 4, 8]


def solid_line(figure, label):
    """The line of a figure's only axes that has the label."""
    return next(line for line in figure.axes[0].lines if line.get_label() == label)


def legend_words(axes):
    """The entries of the legend beside axes; spaces that do not break as plain ones."""
    return [text.get_text().replace("\u00a0", " ") for text in axes.get_legend().get_texts()]


def values_at(curve, point, time, column="test_error"):
    """One value for each replica of a point at a time at which it was evaluated."""
    return [row[column] for row in curve if row["point"] == point and row["time"] == time]


def drawn(results, x, y):
    """The figure of all points, or of the best where they are many."""
    return draw_curves(results, race(results), x, y)


class Bands(unittest.TestCase):
    def test_step_holds_the_last_evaluation_and_ends_with_the_run(self):
        x, y = np.array([0.0, 2.0, 5.0]), np.array([9.0, 4.0, 1.0])
        found = step(x, y, np.array([-1.0, 0.0, 1.9, 2.0, 4.9, 5.0, 5.1]))
        np.testing.assert_array_equal(found, [np.nan, 9, 9, 4, 4, 1, np.nan])

    def test_linear_meets_the_later_of_two_evaluations_at_one_update(self):
        found = linear(np.array([0.0, 4.0, 4.0]), np.array([8.0, 6.0, 2.0]), np.array([0.0, 1.0, 4.0, 5.0]))
        np.testing.assert_array_equal(found, [8, 6.5, 2, np.nan])

    def test_mean_and_interval_are_those_of_the_replicas_still_running(self):
        curves = [
            (np.array([0.0, 1.0, 2.0]), np.array([3.0, 2.0, 1.0])),
            (np.array([0.0, 1.0]), np.array([5.0, 6.0])),
        ]
        found = band(curves)
        np.testing.assert_array_equal(found.x, [0, 1, 2])
        np.testing.assert_array_equal(found.mean, [4, 4, 1])
        np.testing.assert_array_equal(found.running, [2, 2, 1])
        # Student's t for 95 % and one degree of freedom, from a table
        np.testing.assert_allclose(found.half[:2], [12.7062, 25.4124], rtol=1e-6)
        self.assertTrue(np.isnan(found.half[2]))

    def test_grid_of_a_long_curve_is_bounded_and_keeps_its_ends(self):
        x = np.arange(5000.0)
        found = band([(x, x), (x, x + 2)])
        self.assertEqual(len(found.x), 1000)
        self.assertEqual((found.x[0], found.x[-1]), (0, 4999))
        np.testing.assert_array_equal(found.mean, np.floor(found.x) + 1)


class Curves(fabricate.Folder):
    def test_plotted_mean_is_the_mean_over_replicas(self):
        _, curve = fabricate.race(self.folder, KS)
        figure = drawn(read_results(self.folder), "time", "test_error")
        line = solid_line(figure, "k-async k=1")
        x, y = line.get_data()
        np.testing.assert_array_equal(x, np.arange(0, 41, 2))
        for time in (0.0, 10.0, 40.0):
            values = values_at(curve, 0, time)
            self.assertEqual(len(values), 5)
            np.testing.assert_allclose(y[x == time], np.mean(values), rtol=1e-14)

    def test_plotted_band_is_the_interval_of_95_percent(self):
        _, curve = fabricate.race(self.folder, [4])
        figure = drawn(read_results(self.folder), "time", "test_error")
        values = values_at(curve, 0, 10.0)
        half = 2.776445 * np.std(values, ddof=1) / np.sqrt(5)  # t of a table, 4 degrees of freedom
        corners = figure.axes[0].collections[0].get_paths()[0].vertices
        reached = sorted(set(corners[corners[:, 0] == 10.0, 1]))
        np.testing.assert_allclose(reached, [np.mean(values) - half, np.mean(values) + half], rtol=1e-6)

    def test_solid_line_stops_where_the_first_replica_ends_and_a_faint_one_goes_on(self):
        _, curve = fabricate.race(self.folder, KS)
        figure = drawn(read_results(self.folder), "time", "test_error")
        line = solid_line(figure, "k-async k=4")
        faint = figure.axes[0].lines[figure.axes[0].lines.index(line) + 1]
        self.assertEqual(line.get_xdata()[-1], 20)
        self.assertEqual((faint.get_xdata()[0], faint.get_xdata()[-1]), (20, 40))
        self.assertLess(faint.get_alpha(), 0.5)
        np.testing.assert_allclose(faint.get_ydata()[-1], values_at(curve, 2, 40.0), rtol=1e-14)

    def test_theory_is_drawn_beside_the_loss_and_named_once(self):
        fabricate.race(self.folder, KS)
        places = {p: [(2.0 * i, 1 / (p + i), 8 * i) for i in range(1, 4)] for p in (1, 2)}
        fabricate.theory(
            self.folder,
            {
                (1, "exact", "moments"): places[1],
                (2, "exact", "moments"): places[2],
                (2, "upper", "Lemma 2"): places[1],
            },
        )
        results = read_results(self.folder)
        for x, column in (("time", 0), ("updates", 2)):
            axes = drawn(results, x, "loss").axes[0]
            lines = [line for line in axes.lines if line.get_label() == "_theory"]
            for line, p in zip(lines, (1, 2, 1), strict=True):
                np.testing.assert_array_equal(line.get_xdata(), [at[column] for at in places[p]])
                np.testing.assert_array_equal(line.get_ydata(), [at[1] for at in places[p]])
                self.assertLess(line.get_linewidth(), 1)
            named = legend_words(axes)
            told = [text.split("\n")[0] for text in named if text.startswith("theory")]
            self.assertEqual(told, ["theory: moments (exact)", "theory: Lemma 2 (upper)"])
        axes = drawn(results, "time", "test_error").axes[0]
        self.assertNotIn("_theory", [line.get_label() for line in axes.lines])

    def test_diverged_runs_are_counted_in_the_legend_and_not_in_the_mean(self):
        _, curve = fabricate.race(self.folder, KS)
        results = read_results(self.folder)
        figure = drawn(results, "time", "test_error")
        label = "k-async k=2\n(1 of 5 diverged)"
        x, y = solid_line(figure, label).get_data()
        kept = [row["test_error"] for row in curve if (row["point"], row["time"]) == (1, 4.0) and row["replica"] > 0]
        self.assertEqual(len(kept), 4)
        np.testing.assert_allclose(y[x == 4.0], np.mean(kept), rtol=1e-14)

    def test_updates_are_joined_by_straight_lines(self):
        runs = [{"point": 0, "replica": r, "protocol": "sync", "k": 2, "status": "finished"} for r in (0, 1)]
        fabricate.write_runs(self.folder, runs)
        seen = {0: ((0, 8), (4, 4), (8, 2)), 1: ((0, 8), (2, 5), (8, 2))}
        rows = [{"point": 0, "replica": r, "time": i, "update": j, "loss": y} for r, evaluations in seen.items() for i, (j, y) in enumerate(evaluations)]
        fabricate.write_table(self.folder / "curve.csv", fabricate.CURVE, rows)
        x, y = solid_line(drawn(read_results(self.folder), "updates", "loss"), "sync").get_data()
        np.testing.assert_array_equal(x, [0, 2, 4, 8])
        np.testing.assert_array_equal(y, [8, (6 + 5) / 2, (4 + 4) / 2, 2])

    def test_values_of_single_learners_are_no_part_of_the_curve(self):
        runs, curve = fabricate.race(self.folder, KS)
        figure = drawn(read_results(self.folder), "time", "test_error")
        expected = solid_line(figure, "k-async k=1").get_data()
        rows = []
        for row in curve:
            rows += [row, row | {"learner": 0, "test_error": 9}, row | {"learner": 1, "test_error": 0}]
        fabricate.write_table(self.folder / "curve.csv", [*fabricate.CURVE, "learner"], rows)
        figure = drawn(read_results(self.folder), "time", "test_error")
        np.testing.assert_array_equal(solid_line(figure, "k-async k=1").get_data(), expected)

    def test_a_summary_draws_nothing_and_says_so(self):
        fabricate.race(self.folder, KS)
        (self.folder / "curve.csv").unlink()
        figures, notes = run.draw_folder(self.folder)
        self.assertEqual(figures, {})
        self.assertIn("record.details", notes[0])

    def check_room(self, figure, legend):
        figure.draw_without_rendering()
        box, inside = legend.get_window_extent(), figure.bbox
        self.assertTrue(inside.x0 <= box.x0 and box.x1 <= inside.x1)
        self.assertTrue(inside.y0 <= box.y0 and box.y1 <= inside.y1)
        self.assertFalse(box.overlaps(figure._suptitle.get_window_extent()))
        axes = figure.axes[0].get_window_extent()
        self.assertFalse(box.overlaps(axes))
        self.assertGreater(axes.width, 0.4 * figure.bbox.width)
        self.assertGreater(axes.height, 2.5 * figure.dpi)

    def test_legend_lies_inside_the_figure_and_clear_of_title_and_axes(self):
        for points, words in ((12, ""), (12, " of a long name that takes three lines or four"), (40, " and more" * 4)):
            rows, _ = fabricate.race(self.folder, range(1, points + 1), replicas=2)
            for row in rows:
                row["label"] += words
            fabricate.write_runs(self.folder, rows, ["protocol.k"])
            fabricate.write_manifest(self.folder, "A title of many words that needs two lines. " * 3)
            figure = drawn(read_results(self.folder), "time", "test_error")
            (legend,) = [*figure.legends, figure.axes[0].get_legend()][:1]
            self.assertEqual(len(legend.get_texts()), 12 if points == 12 else 8)
            self.check_room(figure, legend)

    def test_an_interrupted_folder_says_so(self):
        rows, _ = fabricate.race(self.folder, [1, 4])
        fabricate.write_manifest(self.folder, "Who wins?", runs=60, runs_finished=9)
        fabricate.write_runs(self.folder, rows[:9], ["protocol.k"])
        with open(self.folder / "curve.csv", newline="", encoding="utf-8") as file:
            curve = list(csv.DictReader(file))
        kept = [row for row in curve if (row["point"], row["replica"]) != ("1", "4")]
        fabricate.write_table(self.folder / "curve.csv", fabricate.CURVE, kept)
        figure = drawn(read_results(self.folder), "time", "test_error")
        self.assertEqual(figure.get_suptitle(), "Who wins?\ninterrupted: 9 of 60 runs")
        named = legend_words(figure.axes[0])
        self.assertEqual(named, ["k-async k=1", "k-async k=4\n(4 of 5 runs)\n(1 of 4 diverged)"])
        fabricate.write_manifest(self.folder, "Who wins?", runs=9, runs_finished=9)
        self.assertEqual(read_results(self.folder).heading, "Who wins?")

    def test_points_of_one_curve_are_drawn_once_and_named_together(self):
        rows, curve = fabricate.race(self.folder, [1])
        for row in curve[:]:
            curve.append(row | {"point": 1})
            curve.append(row | {"point": 2, "loss": row["loss"] + (row["replica"] == 4)})
        rows += [row | {"point": p, "label": label} for p, label in ((1, "sync"), (2, "ssp")) for row in rows]
        fabricate.write_runs(self.folder, rows, ["protocol.k"])
        fabricate.write_table(self.folder / "curve.csv", fabricate.CURVE, curve)
        results = read_results(self.folder)
        for y, told in (("test_error", ["k-async k=1\n= sync\n= ssp"]), ("loss", ["k-async k=1\n= sync", "ssp"])):
            axes = drawn(results, "time", y).axes[0]
            self.assertEqual(legend_words(axes), told)

    def test_disagreement_is_drawn_where_learners_disagree(self):
        runs, curve = fabricate.race(self.folder, [1])
        for scale in (0, 2):
            rows = [row | {"disagreement": scale * row["time"] ** 2} for row in curve]
            fabricate.write_table(self.folder / "curve.csv", [*fabricate.CURVE, "disagreement"], rows)
            results = read_results(self.folder)
            self.assertEqual("disagreement" in run.curve_columns(results), scale > 0)
        other = {"point": 1, "replica": 0, "protocol": "all-reduce", "status": "finished", "swept": [2]}
        fabricate.write_runs(self.folder, [*runs, other], ["protocol.k"])
        more = [{"point": 1, "replica": 0, "time": time, "disagreement": 0.0} for time in (0.0, 40.0)]
        fabricate.write_table(self.folder / "curve.csv", [*fabricate.CURVE, "disagreement"], [*rows, *more])
        axes = drawn(read_results(self.folder), "time", "disagreement").axes[0]
        named = legend_words(axes)
        self.assertEqual(named, ["k-async k=1", "all-reduce\n(1 of 5 runs)\n(always 0)"])
        np.testing.assert_allclose(axes.lines[0].get_ydata(), 2 * np.arange(0, 41, 2.0) ** 2, rtol=1e-14)
        self.assertEqual(axes.get_yscale(), "log")
        self.assertGreater(axes.get_ylim()[0], 1)

    def test_axis_is_logarithmic_past_a_factor_of_five_only(self):
        for lowest, scale in ((0.19, "log"), (0.21, "linear"), (0.0, "linear")):
            fabricate.write_runs(
                self.folder,
                [{"point": 0, "replica": 0, "protocol": "sync", "k": 2, "status": "finished"}],
            )
            rows = [{"point": 0, "replica": 0, "time": t, "update": t, "loss": y} for t, y in ((0, 1), (1, 0.5), (2, lowest))]
            fabricate.write_table(self.folder / "curve.csv", fabricate.CURVE, rows)
            figure = drawn(read_results(self.folder), "time", "loss")
            self.assertEqual(figure.axes[0].get_yscale(), scale, lowest)
            figure.draw_without_rendering()
            minor = figure.axes[0].yaxis.get_minorticklabels()
            self.assertEqual({label.get_text() for label in minor} - {""}, set())

    def test_twelve_points_have_twelve_looks(self):
        self.assertEqual(len({tuple(style.line_style(i).values()) for i in range(12)}), 12)

    def test_errors_are_drawn_against_bytes_beside_time_where_there_are_bytes(self):
        _, curve = fabricate.race(self.folder, [1])
        for known in (True, False):
            rows = [row | {"bytes": 5e6 * row["time"] if known else ""} for row in curve]
            fabricate.write_table(self.folder / "curve.csv", [*fabricate.CURVE, "bytes"], rows)
            figures, _ = run.draw_folder(self.folder)
            self.assertEqual("error_bytes" in figures, known)
            if known:
                axes = figures["error_bytes"].axes[0]
                self.assertEqual(axes.get_xlim(), (0, 5e6 * max(row["time"] for row in curve)))
                self.assertEqual(axes.xaxis.get_major_formatter()(1e8), "100 MB")
        figures, notes = run.draw_folder(self.folder, ["bytes"])
        self.assertNotIn("error_bytes", figures)
        self.assertIn("no bytes recorded: curves against bytes left out", notes)

    def test_errors_are_drawn_against_what_they_cost_where_that_has_a_price(self):
        _, curve = fabricate.race(self.folder, [1])
        self.assertIn("no prices recorded: curves against cost left out", run.draw_folder(self.folder, ["cost"])[1])
        path = self.folder / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["scenario"].setdefault("cluster", {})["price"] = 0.5  # of each of 8 learners
        path.write_text(json.dumps(manifest))
        figures, notes = run.draw_folder(self.folder, ["cost"])
        self.assertFalse([note for note in notes if "prices" in note])
        self.assertEqual(figures["error_cost"].axes[0].get_xlim(), (0, 4 * max(row["time"] for row in curve)))


class Reading(fabricate.Folder):
    def test_labels_are_those_of_the_file(self):
        row = {"replica": 0, "protocol": "k-sync", "status": "finished"}
        rows = [row | {"point": p, "label": f"k-sync k={p}, named"} for p in (0, 1)]
        fabricate.write_runs(self.folder, rows)
        told = [point.label for point in read_results(self.folder).points.values()]
        self.assertEqual(told, ["k-sync k=0, named", "k-sync k=1, named"])

    def test_a_folder_of_an_older_program_is_refused_with_what_to_do(self):
        fabricate.race(self.folder, [1])
        manifest = self.folder / "manifest.json"
        facts = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({key: facts[key] for key in facts if key != "points"}))
        with self.assertRaisesRegex(ResultsError, 'race/manifest.json.*has no "points": an older.*run --force makes it anew'):
            read_results(self.folder)

    def test_a_folder_without_runs_is_refused(self):
        with self.assertRaisesRegex(ResultsError, "no runs.csv there"):
            read_results(self.folder)

    def test_a_damaged_number_is_refused_with_its_folder(self):
        fabricate.race(self.folder, [1])
        text = (self.folder / "curve.csv").read_text().replace("4.0,", "4..0,")
        (self.folder / "curve.csv").write_text(text)
        with self.assertRaisesRegex(ResultsError, "race/curve.csv: cannot be read: column time: .*4..0"):
            run.draw_folder(self.folder)


class Staleness(fabricate.Folder):
    COUNTS = {(0, 0): {0: 5, 1: 2}, (0, 1): {0: 1, 3: 2}}

    def draw(self):
        results = read_results(self.folder)
        return draw_staleness(results, race(results))[0]

    def test_bars_are_shares_over_all_replicas_and_the_line_is_the_mean(self):
        fabricate.race(self.folder, [4])
        fabricate.staleness(self.folder, self.COUNTS)
        axes = self.draw().axes[0]
        np.testing.assert_allclose([bar.get_height() for bar in axes.patches], [0.6, 0.2, 0, 0.2], rtol=1e-15)
        np.testing.assert_allclose([bar.get_x() + bar.get_width() / 2 for bar in axes.patches], range(4), atol=1e-12)
        np.testing.assert_allclose(axes.lines[0].get_xdata(), [0.8, 0.8], rtol=1e-15)

    def test_wide_bars_hold_whole_ranges(self):
        counts = {tau: 1 for tau in range(10)}
        np.testing.assert_allclose(shares(counts, 4, 3), [0.4, 0.4, 0.2], rtol=1e-15)
        self.assertEqual(mean(counts), 4.5)

    def test_what_lies_past_the_axis_is_told(self):
        fabricate.race(self.folder, [4])
        fabricate.staleness(self.folder, {(0, 0): {0: 998, 5000: 2}})
        axes = self.draw().axes[0]
        self.assertEqual(axes.get_title(), "k-async k=4\nmean 10, 0.2 % beyond 0")


class CommandLine(fabricate.Folder):
    def run_plot(self, *folders):
        """Exit status and output of plot.py, as the program runs it."""
        command = [sys.executable, os.fspath(ANALYSIS / "plots/plot.py"), *map(os.fspath, folders)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def draw_here(self):
        with contextlib.redirect_stdout(io.StringIO()):
            return plot.draw_folder(self.folder)

    def test_writes_every_plot_and_names_it(self):
        fabricate.race(self.folder, KS)
        fabricate.staleness(self.folder, {(p, 0): {p + 1: 10} for p in range(4)})
        fabricate.trace(self.folder, [e for p in range(4) for e in (fabricate.version(p, 1, 1, 2), fabricate.gradient(p, 0, 0, 0, 1, "used"))])
        status, told, problems = self.run_plot(self.folder)
        names = ("error_time", "loss_time", "staleness", "timeline")
        wanted = [self.folder / "plots" / f"{name}.{ending}" for name in names for ending in ("png", "svg")]
        self.assertEqual((status, problems), (0, ""))
        self.assertEqual(told, f"plots: {self.folder}/plots/ ({', '.join(names)}; .png and .svg)\n")
        self.assertEqual(sorted((self.folder / "plots").iterdir()), sorted(wanted))
        for path in wanted:
            start = path.read_bytes()[:8]
            self.assertEqual(start, b"\x89PNG\r\n\x1a\n" if path.suffix == ".png" else b"<?xml ve")

    def test_pictures_are_the_same_bytes_each_time(self):
        fabricate.race(self.folder, KS)
        first = [path.read_bytes() for path in self.draw_here()[0]]
        self.assertEqual(first, [path.read_bytes() for path in self.draw_here()[0]])

    def test_staleness_is_left_out_where_there_is_none_and_a_word_says_so(self):
        fabricate.race(self.folder, [4])
        for counts, why in (({0: 40}, "every applied gradient was fresh"), ({}, "no gradient was applied")):
            fabricate.staleness(self.folder, {(0, 0): counts})
            paths, notes = self.draw_here()
            self.assertNotIn("staleness.png", [path.name for path in paths])
            self.assertEqual(notes, [f"staleness: {why}: plot left out"])

    def test_timing_only_leaves_the_error_plots_out_and_says_so(self):
        fabricate.write_runs(
            self.folder,
            [{"point": 0, "replica": 0, "protocol": "sync", "k": 4, "status": "updates"}],
        )
        fabricate.staleness(self.folder, {(0, 0): {0: 30, 1: 10}})
        paths, notes = self.draw_here()
        self.assertEqual([path.name for path in paths], ["staleness.png", "staleness.svg"])
        self.assertEqual(notes, ["no losses or errors recorded (timing only): error plots left out"])

    def test_loss_stands_in_for_a_missing_test_error(self):
        fabricate.race(self.folder, [1])
        text = (self.folder / "curve.csv").read_text().replace("test_error", "other")
        (self.folder / "curve.csv").write_text(text.replace("test_loss", "test_error"))
        results = read_results(self.folder)
        self.assertEqual(run.curve_columns(results), {"error": "loss"})

    def test_sizes_formats_and_axes_are_those_asked_for(self):
        _, curve = fabricate.race(self.folder, KS)
        rows = [row | {"gradients": 8 * row["update"]} for row in curve]
        fabricate.write_table(self.folder / "curve.csv", fabricate.CURVE, rows)
        for size, pixels in (("column", 525), ("page", 1050)):
            paths, notes = plot.draw_folder(self.folder, ["gradients", "epochs"], ["png", "pdf"], size)
            names = {path.name for path in paths}
            self.assertEqual(names, {f"{y}_gradients.{e}" for y in ("error", "loss") for e in ("png", "pdf")})
            self.assertIn("no epochs recorded: curves against epochs left out", notes)
            for path in paths:
                content = path.read_bytes()
                if path.suffix == ".png":
                    self.assertEqual(int.from_bytes(content[16:20], "big"), pixels)
                else:
                    self.assertEqual(content[:5], b"%PDF-")
                    self.assertNotIn(b"CreationDate", content)

    def test_text_is_drawn_as_it_stands(self):
        title, label = "Is $5_a^2$ more than \\alpha_{3}?", "ssp_2 of $x^2$"
        rows, _ = fabricate.race(self.folder, [1], replicas=1)
        fabricate.write_runs(self.folder, [row | {"label": label} for row in rows], ["protocol.k"])
        fabricate.write_manifest(self.folder, title)
        with style.matplotlib.rc_context({"svg.fonttype": "none"}), contextlib.redirect_stdout(None):
            plot.draw_folder(self.folder, endings=["svg"])
        drawn_text = (self.folder / "plots/error_time.svg").read_text()
        for text in (title, label, "simulated time (unit of the runtime)"):
            self.assertTrue(f">{text}<" in drawn_text, text)

    def test_the_unit_of_time_is_on_the_axis(self):
        fabricate.race(self.folder, [1], replicas=1)
        fabricate.write_manifest(self.folder, "How long?", scenario={"time_unit": "ms"})
        with style.matplotlib.rc_context({"svg.fonttype": "none"}), contextlib.redirect_stdout(None):
            plot.draw_folder(self.folder, endings=["svg"])
        self.assertIn(">simulated time (ms)<", (self.folder / "plots/error_time.svg").read_text())

    def test_a_folder_without_runs_is_bad_usage_and_the_others_are_drawn(self):
        fabricate.race(self.folder, [1])
        status, told, problems = self.run_plot(self.folder.parent, self.folder)
        self.assertEqual(status, 2)
        self.assertIn("no runs.csv there", problems)
        self.assertIn("error_time", told)


if __name__ == "__main__":
    unittest.main()
