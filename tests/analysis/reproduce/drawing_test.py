"""The figures beside the page of a paper."""

import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))

import numpy as np
from reproduce.drawing import draw, draw_figures
from made_up import bars, cells, columns, curves, points
from matplotlib.image import imread


class Drawings(unittest.TestCase):
    def test_they_show_what_the_figure_holds(self):
        axes = draw(points()).axes[0]
        self.assertEqual((axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()), ("K", "time", "log"))
        theory = next(line for line in axes.lines if line.get_label() == "k = 2, theory")
        np.testing.assert_array_equal(theory.get_ydata(), [20, 200, 6000])
        low, high = axes.containers[1].lines[2][0].get_segments()[2][:, 1]
        self.assertEqual((low, high), (5997, 6003))

    def test_the_legend_is_in_the_order_of_the_series(self):
        canvas = draw(points())
        told = [text.get_text() for text in canvas.axes[0].get_legend().get_texts()]
        self.assertEqual(told, [series.name for series in points().series])

    def test_the_legend_lies_inside_however_long_it_is(self):
        for copies in (1, 2):
            figure = points()
            figure.series *= copies
            for i, one in enumerate(figure.series):
                figure.series[i] = replace(one, group=f"group-division of {i} machines, the last of them slow")
            canvas = draw(figure)
            canvas.draw_without_rendering()
            (legend,) = [*canvas.legends, canvas.axes[0].get_legend()][:1]
            self.assertEqual(len(legend.get_texts()), len(figure.series))
            box, inside = legend.get_window_extent(), canvas.bbox
            self.assertTrue(inside.x0 <= box.x0 and box.x1 <= inside.x1)
            self.assertTrue(inside.y0 <= box.y0 and box.y1 <= inside.y1)
            self.assertFalse(box.overlaps(canvas.axes[0].get_window_extent()))

    def test_a_short_logarithmic_axis_has_plain_numbers(self):
        figure = curves()
        figure.log_y = True
        figure.series[0] = replace(figure.series[0], y=[2.2, 1.0, 0.6])
        canvas = draw(figure)
        canvas.draw_without_rendering()
        axis = canvas.axes[0].yaxis
        low, high = axis.get_view_interval()
        told = [text.get_text() for text in axis.get_majorticklabels() if low <= text.get_position()[1] <= high]
        self.assertLessEqual({"1", "2"}, set(told))
        self.assertEqual({text.get_text() for text in axis.get_minorticklabels()} - {""}, set())

    def test_a_figure_of_plots_stays_as_it_is(self):
        figure = bars()
        self.assertIs(draw(figure), figure.drawn)

    def test_columns_stand_side_by_side_over_their_words(self):
        axes = draw(columns()).axes[0]
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["setup 1", "setup 2"])
        places = sorted((bar.get_x(), bar.get_x() + bar.get_width(), bar.get_height()) for bar in axes.patches)
        self.assertEqual([height for *_, height in places], [1, 2, 2, 4])
        for (_, end, _), (begin, *_) in zip(places, places[1:]):
            self.assertLess(end, begin)
        np.testing.assert_allclose([places[0][0] + places[1][1], places[2][0] + places[3][1]], [0, 2], atol=1e-9)

    def test_each_is_a_file_and_no_other_stays(self):
        with tempfile.TemporaryDirectory() as holder:
            folder = Path(holder) / "figures"
            draw_figures([points(), columns()], folder)
            draw_figures([points(), curves(), bars(), cells()], folder)
            self.assertEqual(sorted(path.name for path in folder.iterdir()), ["bars.png", "curves.png", "points.png"])
            self.assertGreater(imread(folder / "points.png").std(), 0.05)


if __name__ == "__main__":
    unittest.main()
