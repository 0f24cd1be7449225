"""Claims judged again on falsified outputs: what is falsified, what a claim notices, and that a judge
who always says yes is found out."""

import sys
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))

import fabricate
import numpy as np
from falsified import WAYS, FalsifiedFiles, NotedFiles, Reading, falsified, falsify
from reproduce.claims import THEORY, Tolerance
from reproduce.outputs import Files as ResultFiles
from reproduce.rows import Row
from reproduce.outputs import Outputs

TIMES = {1: 1.0, 2: 2.0, 4: 4.0}  # of an update, by k


def k_of(row):
    return row["protocol.k"]


def times(outputs):
    """Judges times, hashes and curves of the made-up runs."""
    found = outputs.samples("race", k_of, "mean_iteration_time")
    statuses = {k_of(row): row["status"] for row in outputs.runs("race")}
    ends = outputs.curves("race", k_of, "time", "loss")
    losses = [float(np.mean([y[-1] for _, y in ends[k]])) for k in TIMES]
    return [], [
        Row("1.near", "derived").all_near([(str(k), t, found[k]) for k, t in TIMES.items()], Tolerance(relative=0.02)),
        Row("1.ordered", "derived", tolerance=Tolerance(errors=4, most=0.02)).ordered([("", found[1], found[2]), ("", found[2], found[4])]),
        Row("1.status", "derived").holds(statuses[2] == "diverged" != statuses[1], ""),
        Row("1.loss", "derived").holds(losses == sorted(losses, reverse=True), ""),
        Row("1.always", "derived").holds(True, ""),
        Row("1.never", "derived").holds(False, ""),
        Row("1.theory", "no run", kind=THEORY).holds(True, ""),
    ]


def broken(outputs):
    """Cannot be judged but on what the runs gave."""
    found = outputs.samples("race", k_of, "updates")
    assert found[1].mean == 10
    return [], [Row("2.updates").holds(True, "")]


PAPER = SimpleNamespace(experiments=[(times, [1]), (broken, [2])])


class MadeUpRuns(fabricate.Folder):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        runs, curve = [], []
        for point, (k, time) in enumerate(TIMES.items()):
            for replica in range(8):
                status = "diverged" if k == 2 else "finished"
                row = {"point": point, "replica": replica, "protocol": "k-sync", "k": k, "status": status}
                more = {"updates": 10 * k, "mean_iteration_time": time + rng.normal(scale=0.001)}
                runs.append(row | more | {"swept": [k]})
                for i in range(2 + point):
                    place = {"point": point, "replica": replica, "time": i}
                    curve.append(place | {"loss": 1 / (1 + point) + 1 / (1 + i)})
        fabricate.write_runs(self.folder, runs, ["protocol.k"])
        fabricate.write_table(self.folder / "curve.csv", fabricate.CURVE, curve)
        fabricate.write_manifest(self.folder, "A race", scenario={"sweep": {"protocol.k": list(TIMES)}})

    def noticed(self, paper=PAPER):
        """{id: ways}, of the claims that notice any."""
        seen = {}
        for one in falsify(paper, self.folder.parent):
            seen.setdefault(one.claim, set()).add(one.way)
        return seen


class Ways(unittest.TestCase):
    VALUES = {(p, r): np.array([10.0 * p + r, 10 * p + r + 0.5]) for p in range(3) for r in range(2)}

    def firsts(self, way):
        found = falsified(self.VALUES, way, seed=1)
        return [found[at][0] for at in sorted(found)]

    def test_points_change_places_replica_by_replica(self):
        self.assertEqual(self.firsts("equal"), [0, 1, 0, 1, 0, 1])
        self.assertEqual(self.firsts("reversed"), [20, 21, 10, 11, 0, 1])
        self.assertEqual(self.firsts("rotated"), [10, 11, 20, 21, 0, 1])

    def test_values_are_scaled(self):
        self.assertEqual(self.firsts("scaled"), [0, 1.5, 15, 16.5, 30, 31.5])

    def test_noise_moves_a_point_as_a_whole_by_half_the_spread_between_points(self):
        """Of 2,000 points; the deviation of their moves is known to 1.6 %."""
        values = {(p, r): np.array([p % 2 + 0.25, 7.25]) for p in range(2000) for r in range(2)}
        found = falsified(values, "noise", seed=1)
        moves = {at: found[at] - values[at] for at in values}
        for (point, replica), move in moves.items():
            np.testing.assert_allclose(move, moves[point, 0][0])
        spread = np.std([p % 2 / 2 for p in range(2000)])
        self.assertAlmostEqual(np.std([moves[p, 0] for p in range(2000)]) / (0.5 * spread), 1, delta=0.06)

    def test_points_that_agree_are_moved_apart(self):
        found = falsified({(p, 0): np.array([2.5]) for p in range(3)}, "noise", seed=1)
        self.assertEqual(len({float(one[0]) for one in found.values()}), 3)

    def test_curves_keep_their_length(self):
        values = {(0, 0): np.array([0.5, 1, 2]), (1, 0): np.array([5.5, 6])}
        found = falsified(values, "reversed", seed=1)
        self.assertEqual([one.tolist() for one in found.values()], [[5.5, 5.5, 6], [0.5, 2]])

    def test_whole_numbers_stay_whole_and_texts_are_not_scaled(self):
        whole = {(p, 0): np.array([float(p), np.nan]) for p in range(4)}
        for way in WAYS:
            values = np.concatenate(list(falsified(whole, way, seed=1).values()))
            values = values[np.isfinite(values)]
            self.assertTrue((values == values.round()).all(), way)
        texts = {(p, 0): np.array([name], object) for p, name in enumerate("ab")}
        self.assertIs(falsified(texts, "scaled", 1), texts)
        self.assertEqual(falsified(texts, "rotated", 1)[0, 0], ["b"])


class Files(MadeUpRuns):
    def test_results_are_falsified_and_labels_are_not(self):
        noted = NotedFiles(ResultFiles(self.folder.parent))
        times(Outputs(self.folder.parent, noted))
        found = {(one.table, one.column) for one, _ in noted.readings()}
        self.assertEqual(
            found,
            {("runs", "mean_iteration_time"), ("runs", "status"), ("curve", "time"), ("curve", "loss")},
        )

    def test_rows_and_series_of_the_column_alone_are_other_ones(self):
        files = ResultFiles(self.folder.parent)
        reading = Reading("race", "runs", "updates")
        false = FalsifiedFiles(files, reading, True, "reversed")
        rows = [row["updates"] for row in false.rows("race", "runs")]
        self.assertEqual(rows, [40] * 8 + [20] * 8 + [10] * 8)
        self.assertEqual(false.series("race", "runs", "updates")[0, 0], [40])
        self.assertEqual(false.series("race", "runs", "k")[0, 0], [1])
        self.assertEqual([row["k"] for row in false.rows("race", "runs")][::8], [1, 2, 4])
        self.assertTrue(false.differs)
        self.assertEqual(files.rows("race", "runs")[0]["updates"], 10)

    def test_gradients_of_a_trace_go_to_other_points(self):
        fabricate.trace(self.folder, [fabricate.gradient(p, 0, 0, p, 2 * p + 1, "used") for p in (0, 1)])
        lengths = lambda way: {
            event["pid"]: event["dur"] / 1e6 for event in FalsifiedFiles(ResultFiles(self.folder.parent), Reading("race", "trace"), False, way).events("race")
        }
        self.assertEqual([lengths(way) for way in WAYS], [{0: 1, 1: 1}, {0: 2, 1: 1}, {0: 2, 1: 1}, {0: 1, 1: 2}, {0: 1, 1: 2}])


class Claims(MadeUpRuns):
    def test_a_claim_notices_what_changes_its_verdict(self):
        seen = self.noticed()
        self.assertEqual(seen["1.near"], set(WAYS))
        self.assertEqual(seen["1.ordered"], {"reversed", "rotated"})
        self.assertEqual(seen["1.status"], {"equal", "rotated"})
        self.assertLessEqual({"reversed", "rotated"}, seen["1.loss"])
        for id in ("1.always", "1.never", "1.theory"):
            self.assertNotIn(id, seen)

    def test_what_cannot_be_judged_is_not_noticed(self):
        self.assertNotIn("2.updates", self.noticed())

    def test_a_judge_who_always_says_yes_is_found_out(self):
        def yes(row, *_):
            return row.holds(True, "")

        with mock.patch.object(Row, "ordered", yes):
            self.assertNotIn("1.ordered", self.noticed())


if __name__ == "__main__":
    unittest.main()
