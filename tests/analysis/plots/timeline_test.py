"""Tests of the timeline on fabricated traces."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import fabricate
from plots import style
from plots.encoding import race
from results import read_folder as read_results
from plots.timeline import EXCHANGES, FATES, GAPS, SHADES, TRANSFERS, colours_of, draw_timeline, two_rounds
from plots import trace


def read_traces(events):
    return trace.read_traces(events, {0: fabricate.LEARNERS})


def hex_of(colour):
    return style.matplotlib.colors.to_hex(colour).lower()


def extent(bars):
    """(learner, start, end, colour) of each bar of a collection."""
    for path in bars.get_paths():
        box = path.get_extents()
        middle = round((box.y0 + box.y1) / 2)
        yield middle, box.x0, box.x1, hex_of(bars.get_facecolor()[0])


def shown_bars(axes, kinds):
    """Those of FATES or GAPS that a panel shows."""
    colours = {hex_of(looks.colours[0]) for looks in kinds.values()}
    bars = [bar for bars in axes.collections if bars.get_facecolor().size for bar in extent(bars)]
    return {bar for bar in bars if bar[3] in colours}


def update_lines(axes):
    """Where the lines of updates stand."""
    in_axes = axes.get_xaxis_transform()
    (lines,) = [one for one in axes.collections if one.get_transform() == in_axes]
    return [segment[0][0] for segment in lines.get_segments()]


def joins(axes):
    """The ends of lines that join the bars of a group."""
    in_axes = axes.get_xaxis_transform()
    lines = [one for one in axes.collections if one.get_transform() != in_axes]
    lines = [one for one in lines if hasattr(one, "get_segments")]
    return [[tuple(end) for end in segment] for one in lines for segment in one.get_segments()]


def words_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


class Timeline(fabricate.Folder):
    def draw(self, events):
        row = {"replica": 0, "protocol": "k-sync", "learners": fabricate.LEARNERS, "k": 2, "status": "finished"}
        points = sorted({event["pid"] for event in events})
        rows = [row | {"point": p, "swept": [2 + p]} for p in points]
        fabricate.write_runs(self.folder, rows, ["protocol.k"])
        fabricate.trace(self.folder, events)
        results = read_results(self.folder)
        return draw_timeline(results, race(results).curves, results.heading)[0]

    @staticmethod
    def peers(learners, end):
        """Two updates of learners who all compute from 0 to 1."""
        events = [fabricate.version(0, 0, 0, 2), fabricate.version(0, 1, 2, end)]
        return events + [fabricate.gradient(0, i, 0, 0, 1, "used") for i in range(learners)]

    def test_exchanges_are_bars_across_their_learners(self):
        events = self.peers(5, 4)
        events += fabricate.exchange(0, 0, "all-reduce", [0, 1, 2, 3, 4], 1, 2)
        events += fabricate.exchange(0, 1, "group", [0, 1, 4], 2, 3)
        events += fabricate.exchange(0, 2, "group", [2, 3], 2.5, 3.5)
        events += fabricate.exchange(0, 3, "group", [0, 1], 3, 3.5)
        figure = self.draw(events)
        spans = {
            (round(box.y0 + 0.46), round(box.y1 - 0.46), box.x0, box.x1, hex_of(one.get_edgecolor()))
            for one in figure.axes[0].patches
            for box in [one.get_bbox()]
        }
        first, second, green = hex_of(SHADES[0]), hex_of(SHADES[1]), hex_of(style.GREEN)
        of_groups = {(0, 1, 2, 3, first), (4, 4, 2, 3, first), (2, 3, 2.5, 3.5, second), (0, 1, 3, 3.5, first)}
        self.assertEqual(spans, {(0, 4, 1, 2, green), *of_groups})
        self.assertEqual(joins(figure.axes[0]), [[(2.5, 1), (2.5, 4)]])
        words = [EXCHANGES["all-reduce"].words, EXCHANGES["group"].words]
        self.assertEqual(words_of(figure), [FATES["used"].words, "waiting", *words, "update"])

    def test_exchanges_at_one_time_have_colours_of_their_own(self):
        events = [*self.peers(5, 4)]
        places = ([0, 1], 2, 3), ([2, 3], 2.5, 3.5), ([0, 1], 3, 4), ([3, 4], 3.5, 4)
        for number, (learners, start, end) in enumerate(places):
            events += fabricate.exchange(0, number, "group", learners, start, end)
        colours = colours_of(read_traces(events)[0].exchanges)
        self.assertEqual(list(colours.values()), [SHADES[i] for i in (0, 1, 0, 1)])

    def test_pairs_and_gossip_are_told_apart(self):
        events = self.peers(3, 4)
        events += fabricate.exchange(0, 0, "exchange", [0, 2], 1, 2, members=[0, 2])
        events += fabricate.exchange(0, 1, "exchange", [1], 1, 2, hears=[0, 2])
        figure = self.draw(events)
        self.assertEqual(joins(figure.axes[0]), [[(1.5, 0), (1.5, 2)]])
        self.assertEqual(words_of(figure)[2:4], [EXCHANGES["pair"].words, EXCHANGES["gossip"].words])

    def test_messages_to_and_from_a_coordinator_are_told_apart(self):
        events = self.peers(3, 4)
        events += fabricate.exchange(0, 0, "push", [2], 1, 2, members=[2])
        events += fabricate.exchange(0, 1, "pull", [2], 2.5, 3, members=[2])
        words = words_of(self.draw(events))
        self.assertEqual(words[2:4], [EXCHANGES["push"].words, EXCHANGES["pull"].words])

    def test_rows_are_runs_of_neighbours(self):
        events = self.peers(5, 4) + fabricate.exchange(0, 0, "group", [0, 1, 3], 2, 3)
        (one,) = read_traces(events)[0].exchanges
        self.assertEqual(one.rows(), [[0, 1], [3, 3]])

    def test_where_every_gradient_is_an_update_no_lines_are_drawn_without_a_server(self):
        events = [
            *(fabricate.version(0, i, float(i), i + 1.0) for i in range(3)),
            *(fabricate.gradient(0, i, 0, 0, i + 1, "used") for i in range(2)),
        ]
        figure = self.draw(events)
        self.assertEqual(len(update_lines(figure.axes[0])), 2)
        self.assertIn("update", words_of(figure))
        figure = self.draw(events + fabricate.exchange(0, 0, "group", [0, 1], 2, 2.5))
        self.assertEqual(update_lines(figure.axes[0]), [])
        self.assertNotIn("update", words_of(figure))

    def test_an_exchange_without_a_network_is_marks(self):
        events = self.peers(4, 3)
        events += fabricate.exchange(0, 0, "group", [0, 3], 2, 2)
        events += fabricate.exchange(0, 1, "all-reduce", [0, 1, 2, 3], 1, 1)
        figure = self.draw(events)
        marks = {tuple(line.get_xdata()): list(line.get_ydata()) for line in figure.axes[0].lines}
        self.assertEqual(marks, {(2, 2): [0, 3], (1, 1, 1, 1): [0, 1, 2, 3]})
        self.assertEqual({line.get_marker() for line in figure.axes[0].lines}, {"o", "s"})
        self.assertEqual(words_of(figure)[2:4], [EXCHANGES[one].words + ", in no time" for one in ("all-reduce", "group")])

    def test_bars_and_lines_stand_where_the_trace_says(self):
        events = [
            fabricate.version(0, 0, 0, 2),
            fabricate.version(0, 1, 2, 3),
            fabricate.gradient(0, 0, 0, 0, 1.5, "used"),
            fabricate.gradient(0, 1, 0, 0, 2, "used"),
            fabricate.gradient(0, 2, 0, 0, 2, "cancelled"),
            fabricate.gradient(0, 2, 1, 2, 3, "in flight"),
        ]
        axes = self.draw(events).axes[0]
        self.assertEqual(update_lines(axes), [2])
        colour = lambda fate: hex_of(FATES[fate].colours[0])
        self.assertEqual(
            shown_bars(axes, FATES),
            {
                (0, 0, 1.5, colour("used")),
                (1, 0, 2, colour("used")),
                (2, 0, 2, colour("cancelled")),
                (2, 2, 3, colour("in flight")),
            },
        )

    def test_transfers_of_a_star_are_not_drawn_as_computing(self):
        events = [
            fabricate.version(0, 0, 0, 4),
            fabricate.version(0, 1, 4, 8),
            fabricate.gradient(0, 0, 0, 0, 4, "used"),
            fabricate.transfer(0, 0, "pull", 0, 1),
            fabricate.transfer(0, 0, "push", 3, 4),
            fabricate.gradient(0, 1, 0, 0, 4, "cancelled"),
            fabricate.transfer(0, 1, "pull", 0, 2.5),
            fabricate.gradient(0, 0, 1, 4, 8, "in flight"),
            fabricate.transfer(0, 0, "pull", 4, 8),
        ]
        figure = self.draw(events)
        colour = lambda kinds, name: hex_of(kinds[name].colours[0])
        computed = {(0, 1, 3, colour(FATES, "used")), (1, 2.5, 4, colour(FATES, "cancelled"))}
        self.assertEqual(shown_bars(figure.axes[0], FATES), computed)
        pull, push = (colour(TRANSFERS, name) for name in ("pull", "push"))
        moved = {(0, 0, 1, pull), (0, 3, 4, push), (1, 0, 2.5, pull), (0, 4, 8, pull)}
        self.assertEqual(shown_bars(figure.axes[0], TRANSFERS), moved)
        words = [FATES["used"].words, FATES["cancelled"].words]
        words += [looks.words for looks in TRANSFERS.values()]
        self.assertEqual(words_of(figure), [*words, "waiting", "update"])

    def test_a_learner_that_does_nothing_waits_or_is_down(self):
        events = [
            fabricate.version(0, 0, 0, 6),
            fabricate.gradient(0, 0, 0, 0, 1, "used"),
            fabricate.gradient(0, 0, 1, 2, 6, "used"),
            fabricate.gradient(0, 1, 0, 0, 2, "lost"),
            fabricate.gradient(0, 1, 1, 5, 6, "used"),
        ]
        figure = self.draw(events)
        colour = lambda gap: hex_of(GAPS[gap].colours[0])
        gaps = {(0, 1, 2, colour("waiting")), (1, 2, 5, colour("down"))}
        self.assertEqual(shown_bars(figure.axes[0], GAPS), gaps)
        self.assertLessEqual({"waiting", "down"}, set(words_of(figure)))
        exchange = fabricate.exchange(0, 0, "all-reduce", [0, 1], 1, 2)
        self.assertNotIn((0, "waiting"), read_traces(events + exchange)[0].gaps())

    def test_the_legend_has_what_is_to_be_seen_and_nothing_else(self):
        events = [fabricate.version(0, 0, 0, 1)]
        events += [fabricate.gradient(0, 0, i, i, i + 1, "used") for i in range(9)]
        events.append(fabricate.gradient(0, 0, 9, 9, 10, "dropped"))
        self.assertEqual(words_of(self.draw(events)), [FATES["used"].words])

    def test_axis_ends_just_after_the_fifth_update(self):
        events = [fabricate.version(0, i, i, i + 1) for i in range(20)]
        events += [fabricate.gradient(0, 0, i, i, i + 1, "used") for i in range(20)]
        axes = self.draw(events).axes[0]
        self.assertAlmostEqual(axes.get_xlim()[1], 5.15)
        self.assertEqual(axes.get_title(loc="left"), "k-sync: 5 updates shown")

    def test_axis_holds_two_rounds_of_exchanges_and_of_minibatches(self):
        steps = [fabricate.version(0, i, i, i + 1) for i in range(41)]
        for learner in range(2):
            steps += [fabricate.gradient(0, learner, i, i, i + 1, "used") for i in range(40)]
        self.assertEqual(two_rounds(read_traces(steps)[0]), 5)
        once = fabricate.exchange(0, 0, "all-reduce", [0, 1], 10, 11)
        self.assertEqual(two_rounds(read_traces(steps + once)[0]), 41)
        for number, time in enumerate((10, 20, 30)):
            steps += fabricate.exchange(0, number, "all-reduce", [0, 1], time, time)
        self.assertEqual(two_rounds(read_traces(steps)[0]), 20)
        hasty = [fabricate.version(0, i, i / 10, i / 10 + 0.1) for i in range(41)]
        hasty += [fabricate.gradient(0, 0, i, i, i + 1, "used") for i in range(4)]
        self.assertEqual(two_rounds(read_traces(hasty)[0]), 2)

    def test_time_past_the_end_of_a_trace_is_shaded(self):
        events = [fabricate.version(0, i, i, i + 1) for i in range(4)]
        events.append(fabricate.gradient(0, 0, 0, 0, 4, "used"))
        self.assertEqual(len(self.draw(events).axes[0].patches), 0)
        (shade,) = self.draw(events + self.slow_point()).axes[0].patches
        self.assertEqual((shade.get_x(), shade.get_x() + shade.get_width()), (4, 11))

    @staticmethod
    def slow_point():
        """A second point whose only update comes at 10."""
        return [
            fabricate.version(1, 0, 0, 10),
            fabricate.version(1, 1, 10, 11),
            fabricate.gradient(1, 0, 0, 0, 10, "used"),
        ]

    def test_legend_lies_inside_the_figure(self):
        events = self.peers(4, 9)
        for number, kind in enumerate(("all-reduce", "group")):
            events += fabricate.exchange(0, number, kind, [0, 1, 2], 1 + number, 2 + number)
        events += fabricate.exchange(0, 2, "exchange", [0, 2], 3, 4, members=[0, 2])
        events += fabricate.exchange(0, 3, "exchange", [1], 3, 4, hears=[0, 2])
        for number, fate in enumerate(FATES):
            events.append(fabricate.gradient(0, 3, number, number, number + 0.8, fate))
        figure = self.draw(events)
        figure.draw_without_rendering()
        legend, inside = figure.legends[0].get_window_extent(), figure.bbox
        self.assertTrue(inside.x0 <= legend.x0 and legend.x1 <= inside.x1)
        self.assertTrue(inside.y0 <= legend.y0 and legend.y1 <= inside.y1)
        self.assertFalse(legend.overlaps(figure.axes[0].get_tightbbox()))

    def test_every_kind_has_looks_of_its_own(self):
        fates = {"used", "waiting", "dropped", "cancelled", "lost", "in flight"}
        self.assertEqual(set(FATES), fates)
        kinds = [*FATES.values(), *TRANSFERS.values(), *GAPS.values(), *EXCHANGES.values()]
        self.assertEqual(len({looks.words for looks in kinds}), len(kinds))
        self.assertEqual(len({(looks.colours, looks.hatch) for looks in kinds}), len(kinds))
        self.assertEqual(len({looks.mark for looks in EXCHANGES.values()}), len(EXCHANGES))


if __name__ == "__main__":
    unittest.main()
