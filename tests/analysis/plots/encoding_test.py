"""Tests of what is chosen of a sweep, how it looks, and that what is left out is said."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import fabricate
from plots import style
from plots.curves import draw_curves
from plots.encoding import MOST_CURVES, MOST_PANELS, MOST_SHADES, by_value, race, spread
from results import Label
from results import read_folder as read_results
from plots.staleness import draw_staleness
from plots.sweep import keys_of, ranking

ETAS = [0.01, 0.03, 0.1, 0.3]
KS = [1, 2, 4, 8]


def kinds(*names):
    return [{"kind": name} for name in names]


def of_kinds(names, ks):
    return [{"kind": name, "k": k} for name in names for k in ks]


class Sweeps(fabricate.Folder):
    def read(self, swept, final=lambda values: 0.1, **more):
        fabricate.sweep(self.folder, swept, final, **more)
        return read_results(self.folder)

    def large(self):
        """400 points: the best eta is 0.3, the best k 4."""
        names = [f"protocol-{i}" for i in range(5)]
        swept = {"protocol": of_kinds(names, range(1, 9)), "learning_rate.eta": [0.1 * i for i in range(1, 11)]}
        return self.read(swept, lambda v: 0.1 + abs(v[0]["k"] - 4) / 50 + abs(v[1] - 0.3), replicas=1)

    @staticmethod
    def values(results, plan, path):
        """Of the points in colour."""
        return [results.points[curve.number].settings[path] for curve in plan.curves]


class Looks(Sweeps):
    def test_a_swept_number_is_a_sequential_colour(self):
        plan = race(self.read({"protocol.k": [8, 1, 4, 2]}))
        looks = {k: curve.looks for k, curve in zip([8, 1, 4, 2], plan.curves)}
        brightness = [sum(looks[k]["color"][:3]) for k in KS]
        self.assertEqual(brightness, sorted(brightness))
        self.assertEqual({look["linestyle"] for look in looks.values()}, {"-"})

    def test_words_are_colours_of_their_own(self):
        plan = race(self.read({"protocol": kinds(*"abcdef")}))
        self.assertEqual([curve.looks["color"] for curve in plan.curves], list(style.COLOURS[:6]))

    def test_of_two_keys_the_number_is_the_colour_and_the_other_the_dashes(self):
        results = self.read({"protocol": kinds("sync", "async"), "learning_rate.eta": ETAS})
        plan = race(results)
        (panel,) = plan.panels
        self.assertEqual((len(panel.curves), panel.rest, plan.notes), (8, [], []))
        etas = self.values(results, plan, "learning_rate.eta")
        names = [value["kind"] for value in self.values(results, plan, "protocol")]
        for key, look in ((etas, "color"), (names, "linestyle")):
            pairs = {(value, curve.looks[look]) for value, curve in zip(key, plan.curves)}
            self.assertEqual(len(pairs), len(set(key)))
            self.assertEqual(len({one for _, one in pairs}), len(set(key)))

    def test_few_points_that_are_no_grid_have_looks_of_their_own(self):
        plan = race(self.read({"protocol": [*of_kinds(["k-sync"], KS), *kinds("sync", "async")]}))
        self.assertEqual(len({tuple(curve.looks.values()) for curve in plan.curves}), 6)

    def test_a_label_says_each_key_once(self):
        label = Label([("", "k-async"), ("k", "4"), ("eta", "0.1")])
        self.assertEqual(label, "k-async k=4 eta=0.1")
        self.assertEqual(label.without([("k", "4")]), "k-async eta=0.1")
        words = [("", word) for word in ("switch", "sync", "until")]
        label = Label([*words, ("work", "0.05"), ("", "then"), ("", "async"), ("path", "a, b=c")])
        self.assertEqual(label.phrases, ["switch sync until work=0.05 then async", "path=a, b=c"])


class Keys(Sweeps):
    def paths(self, swept, **more):
        return [key.path for key in keys_of(self.read(swept, **more).points)]

    def test_what_follows_from_another_key_is_none(self):
        pairs = {("adam", 0.1), ("sgd", 0.3)}
        swept = {"optimiser": kinds("adam", "sgd"), "learning_rate.eta": [0.1, 0.3]}
        self.assertEqual(self.paths(swept, missing=lambda v: (v[0]["kind"], v[1]) not in pairs), ["optimiser"])

    def test_the_protocol_comes_first_and_rates_last(self):
        swept = {"learning_rate.eta": [0.1, 0.3], "protocol": of_kinds("ab", [1, 2]), "cluster.learners": [4, 8]}
        self.assertEqual(self.paths(swept), ["protocol", "protocol.k", "cluster.learners", "learning_rate.eta"])

    def test_who_reaches_the_target_first_is_best_and_who_diverged_is_not(self):
        told = {1: (0.05, "", "finished"), 2: (0.3, 7, "finished"), 3: (0.2, 9, "finished"), 4: (0.01, 1, "diverged")}
        results = self.read({"protocol.k": list(told)}, lambda v: told[v[0]])
        ranks = ranking(results)
        self.assertEqual(sorted(results.points, key=ranks.rank.get), [1, 2, 0, 3])
        self.assertEqual(ranks.words, "first to reach test error 0.2, else lowest final test error")

    def test_without_a_target_who_ends_lowest_is_best(self):
        results = self.read({"protocol.k": KS}, lambda v: abs(v[0] - 4))
        self.assertEqual(ranking(results).best(results.points), 2)
        self.assertEqual(ranking(results).words, "lowest final test error")


class LeftOut(Sweeps):
    def test_of_twenty_points_the_best_rate_of_each_protocol_is_shown(self):
        swept = {"protocol": kinds(*"abcde"), "learning_rate.eta": ETAS}
        results = self.read(swept, lambda v: 0.1 if v[1] == 0.1 else 0.2)
        plan = race(results)
        self.assertEqual(self.values(results, plan, "learning_rate.eta"), [0.1] * 5)
        self.assertEqual(len(plan.panels[0].rest), 15)
        why = "the best eta for each protocol is shown (lowest final test error)"
        self.assertEqual(plan.notes, [f"15 of 20 points are left out (grey): {why}."])
        panels = by_value(results)
        self.assertEqual([len(panel.curves) for panel in panels.panels], [4] * 5)
        self.assertEqual((len(panels.curves), panels.notes), (20, []))

    def test_of_96_points_panels_show_every_k_at_its_best_rate(self):
        swept = {"protocol": of_kinds("abcd", KS), "learning_rate.eta": [*ETAS, 1.0, 3.0]}
        results = self.read(swept, lambda v: 0.1 if v[1] == 0.03 else 0.2)
        panels = by_value(results)
        self.assertEqual(len(panels.panels), 4)
        for panel in panels.panels:
            ks = [results.points[curve.number].settings["protocol"]["k"] for curve in panel.curves]
            self.assertEqual((ks, len(panel.rest)), (KS, 20))
        self.assertEqual(set(self.values(results, panels, "learning_rate.eta")), {0.03})
        self.assertIn("80 of 96 points", panels.notes[0])
        self.assertIn("92 of 96 points", race(results).notes[0])

    def test_of_400_points_no_more_is_shown_than_can_be_told_apart(self):
        results = self.large()
        for plan in (race(results), by_value(results)):
            self.assertLessEqual(len(plan.panels), MOST_PANELS)
            for panel in plan.panels:
                self.assertLessEqual(len(panel.curves), MOST_CURVES)
                looks = {tuple(curve.looks.values()) for curve in panel.curves}
                self.assertEqual(len(looks), len(panel.curves))
            self.assertTrue(plan.notes[0].startswith(f"{400 - len(plan.curves)} of 400 points"))
        best = [value["k"] for value in self.values(results, race(results), "protocol")]
        self.assertEqual(best, [4] * 5)

    def test_of_many_numbers_some_from_end_to_end_are_shown_and_the_best(self):
        results = self.read({"protocol.k": list(range(1, 31))}, lambda v: abs(v[0] - 17))
        plan = race(results)
        shown = self.values(results, plan, "protocol.k")
        self.assertEqual(len(shown), MOST_SHADES)
        self.assertEqual((shown[0], shown[-1]), (1, 30))
        self.assertIn(17, shown)
        self.assertEqual(plan.notes, ["22 of 30 points are left out (grey): of k some values are shown, the best among them."])
        self.assertIsNone(by_value(results))

    def test_what_no_one_chooses_has_panels_and_no_best(self):
        swept = {"protocol": kinds("a", "b"), "cluster.learners": [4, 8, 16], "learning_rate.eta": ETAS}
        results = self.read(swept, lambda v: 1 / v[1] + v[2])
        plan = race(results)
        self.assertEqual([panel.title for panel in plan.panels], ["learners=4", "learners=8", "learners=16"])
        self.assertEqual([len(panel.curves) for panel in plan.panels], [2, 2, 2])
        self.assertEqual(set(self.values(results, plan, "learning_rate.eta")), {0.01})

    def test_what_no_one_chooses_has_panels_of_some_of_its_values(self):
        """More than there is room for."""
        factors = [1 + i / 10 for i in range(30)]
        swept = {"protocol": kinds("sync", "async"), "cluster.slow.factor": factors, "learning_rate.eta": ETAS}
        results = self.read(swept, lambda v: 0.1 * v[1] + abs(v[2] - 0.1), replicas=1)
        plan = race(results)
        shown = [{results.points[curve.number].settings["cluster.slow.factor"] for curve in panel.curves} for panel in plan.panels]
        self.assertEqual({len(one) for one in shown}, {1})
        self.assertEqual((len(shown), min(shown[0]), max(shown[-1])), (MOST_PANELS, 1, 3.9))
        self.assertEqual(set(self.values(results, plan, "learning_rate.eta")), {0.1})
        self.assertIn("; of slow.factor some values are shown.", plan.notes[0])

    def test_the_best_are_shown_where_no_key_tells_points_apart(self):
        results = self.read({"protocol.k": list(range(20))}, lambda v: v[0])
        for point in results.points.values():
            point.settings.clear()
        plan = race(results)
        self.assertEqual([curve.number for curve in plan.curves], list(range(MOST_CURVES)))
        self.assertIn("8 of 20 points are left out", plan.notes[0])

    def test_the_figure_says_what_is_left_out_and_draws_it_grey(self):
        results = self.large()
        figure = draw_curves(results, race(results), "time", "test_error")
        told = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
        self.assertIn("395 of 400 points are left out (grey): the best k and eta for each protocol", told)
        grey = [line for line in figure.axes[0].lines if line.get_color() == "0.8"]
        self.assertEqual(len(grey), 395)

    def test_panels_with_one_legend_share_it_and_others_have_their_own(self):
        swept = {"protocol": kinds(*"abcde"), "learning_rate.eta": ETAS}
        results = self.read(swept)
        figure = draw_curves(results, by_value(results), "time", "test_error")
        self.assertEqual([len(legend.get_texts()) for legend in figure.legends], [4])
        swept = {"protocol": of_kinds("abcd", KS), "learning_rate.eta": ETAS}
        results = self.read(swept, lambda v: abs("abcd".index(v[0]["kind"]) - ETAS.index(v[1])))
        figure = draw_curves(results, by_value(results), "time", "test_error")
        self.assertEqual(figure.legends, [])
        self.assertEqual([len(axes.get_legend().get_texts()) for axes in figure.axes], [4] * 4)

    def test_panels_of_staleness_are_those_of_stale_points(self):
        results = self.read({"protocol.k": KS})
        fabricate.staleness(self.folder, {(n, 0): {0: 3, 1: 1} if k > 2 else {0: 4} for n, k in enumerate(KS)})
        figure, notes = draw_staleness(results, race(results))
        titles = [axes.get_title().split("\n")[0] for axes in figure.axes if axes.axison]
        self.assertEqual(titles, ["async k=4", "async k=8"])
        self.assertEqual(notes, ["2 of 4 points are left out: nothing stale."])

    def test_spread_keeps_ends_and_the_wanted(self):
        self.assertEqual(spread([1, 2, 3], 3, 2), [1, 2, 3])
        found = spread(list(range(100)), 5, 60)
        self.assertEqual(found, [0, 25, 60, 74, 99])


if __name__ == "__main__":
    unittest.main()
