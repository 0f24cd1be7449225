"""Whether a report's first sentence says what made-up runs hold."""

import json
import os
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import fabricate
import made_up_runs
import numpy as np
import pandas as pd
from made_up_runs import NEVER, Answers, drawn, write
from report.answer import named_points, rising, sentence, verdicts
from plots.measure import Measure, headline_time, time_to
from plots.price import cost
from report.contest import WRONG, contest, skewed_p, student_p
from report.edges import edges
from report.rivals import replicas_text
from report.figures import KINDS
from report.page import notes
from results import ResultsError, Target, read_folder
from results.sample import sample_of_runs
from report.tables import points_table
from report.why import reasons, what_costs
from scipy import stats

# At a chance of 0.025 for each, more than 10 of 200 are wrong once in 80 such tests, more than 5 of 80 once in 60.
SETS, MOST_WRONG = (200, 10) if os.environ.get("GRADRACE_LONG") else (80, 5)


class MadeUpSets(Answers):
    def test_of_equal_points_none_is_called_best(self):
        """In 95 of 100 sets at least."""
        means = {"sync": 0.1, "async": 0.1}
        wrong = sum(any(self.best(means, seed, replicas=4)) for seed in range(SETS))
        self.assertLessEqual(wrong, MOST_WRONG)

    def test_the_known_best_is_found_and_no_other(self):
        """Better by 0.02 where a difference spreads by 0.014: of ten replicas t is 4.5 on average
        and 3.5 is asked for, which 0.8 of the sets reach."""
        means = {"sync": 0.12, "async": 0.1, "k-sync": 0.12}
        found = [self.best(means, seed) for seed in range(SETS // 4)]
        self.assertEqual({name for one in found for name in one} - {None, "async"}, set())
        self.assertGreater(sum(one[1] == "async" for one in found), SETS // 8)


class Contests(unittest.TestCase):
    """Many sets at once, without files."""

    def wrong(self, means, replicas, sets, shape=lambda x: x, resolution=0.0):
        """How often one is called best that is not better than all others."""
        rng, count = np.random.default_rng(7), 0
        for _ in range(sets):
            luck = rng.normal(size=(replicas, 1)) + rng.normal(size=(replicas, len(means)))
            values = pd.DataFrame(shape(luck + means))
            found = contest(Measure("x", "x", values, values, resolution))
            count += not found.open and not found.same
        return count

    def test_of_equal_points_few_are_called_best(self):
        """At most 6 % of the sets: of normal, skewed and rounded values, of few replicas."""
        for points, replicas in ((2, 3), (2, 10), (3, 5), (8, 5)):
            equal = np.zeros(points)
            self.assertLessEqual(self.wrong(equal, replicas, SETS), MOST_WRONG)
            self.assertLessEqual(self.wrong(equal, replicas, SETS, np.exp), MOST_WRONG)
            self.assertLessEqual(self.wrong(equal, replicas, SETS, np.ceil, 1.0), MOST_WRONG)

    def test_skewed_differences_are_not_trusted_as_normal_ones(self):
        """A constant against an exponential law of the same mean, the better looking called best: of
        4000 sets of 10 some 7 % by Student's test alone, 4 % with Hall's (standard error 0.4 %)."""
        rng, level = np.random.default_rng(3), WRONG / 2
        both = alone = 0
        for _ in range(4000):
            differences = rng.exponential(size=10) - 1
            differences *= np.sign(differences.mean())
            student = student_p(differences.mean(), differences.std(ddof=1), 10)
            alone += student <= level
            both += max(student, skewed_p(differences)) <= level
        self.assertLess(both, 0.052 * 4000)
        self.assertGreater(alone, 0.058 * 4000)

    def test_rarer_evaluations_are_no_later_times(self):
        """Times on a grid of 20 are up to 20 too late; those of the front-runner, on one of 1, up to 1."""
        values = pd.DataFrame({0: np.arange(10.0), 1: np.arange(10.0) + 15})
        slack = pd.DataFrame({0: np.full(10, 1.0), 1: np.full(10, 20.0)})
        measure = Measure("x", "x", values, values, 0.0, "sooner", 1, True)
        self.assertEqual(contest(measure).beaten, [1])
        measure.slack = slack
        found = contest(measure)
        self.assertEqual(found.open, [1])
        self.assertTrue(found.comparisons[1].is_too_coarse)
        self.assertIn("evaluations closer together would decide", replicas_text(found, [1]))

    def test_the_two_best_are_not_told_apart_when_equal(self):
        self.assertLessEqual(self.wrong(np.array([0, 0, 5.0, 5.0]), 10, SETS), MOST_WRONG)


class Compared:
    """Runs and what they are compared by, as a folder has them."""

    evaluations, scenario, time_unit = pd.DataFrame(), {}, ""

    def __init__(self, runs, targets):
        self.runs, self.targets = runs, targets


class Sentences(Answers):
    def test_a_clear_best_is_named_with_its_lead(self):
        runs = {
            "sync": [(0.2 + 0.001 * i, 50 + i) for i in range(5)],
            "async": [(0.1 + 0.002 * i, 10 + 2 * i) for i in range(5)],
        }
        words, found = self.said(runs)
        self.assertEqual(
            words,
            "async is best for time to test error 0.1: 14.0 ± 3.9 units of time, sooner than sync by 38 (95 % interval 36.0 to 40.0).",
        )
        self.assertRegex(str(found[1].sentence), "async</b> is best for final test error: 0.1040 ± 0.0039, lower than sync by 0.098")
        self.assertEqual([one.best for one in found], [1, 1])

    def test_equal_ones_are_not_decided_and_it_says_how_many_replicas_would_do(self):
        rng = np.random.default_rng(3)
        words, found = self.said(drawn(rng, {"sync": 0.105, "async": 0.1}, replicas=4))
        self.assertRegex(words, "^(sync and async|async and sync) are not told apart for time to test error 0.1: ")
        self.assertRegex(str(found[0].rivals[0]), r"may be as good: .*; \d+ more replicas would decide\.$")
        self.assertEqual([one.best for one in found], [None, None])

    def test_so_many_more_replicas_as_it_says_decide(self):
        """Of differences with the same mean and spread."""
        rng = np.random.default_rng(3)
        write(self.folder, drawn(rng, {"sync": 0.105, "async": 0.1}, replicas=4))
        one = next(c for _, c in self.case().contests if c.comparisons[1 - c.front].needed)
        other = one.comparisons[1 - one.front]
        spread = other.difference.half / stats.t.isf(0.025, 3)
        for count, passes in ((other.needed, True), (other.needed - 1, False)):
            t = other.difference.mean / (spread * 2 / np.sqrt(count))
            self.assertEqual(stats.t.sf(t, count - 1) <= one.level, passes)

    def test_one_replica_has_no_interval(self):
        words, _ = self.said({"sync": [(0.2, 50)], "async": [(0.1, 10)]})
        self.assertIn("one replica does not decide", words)
        self.assertNotIn("\u00b1", words)

    def test_one_point_is_not_called_best(self):
        words, found = self.said({"sync": [(0.2, 50), (0.21, 51)]})
        self.assertNotIn("best", words)
        self.assertIsNone(found[0].best)

    def test_the_same_runs_at_two_points_share_the_place(self):
        runs = [(0.1 + 0.001 * i, 10 + i) for i in range(6)]
        slow = [(0.3 + 0.002 * i, 60 + i) for i in range(6)]
        words, _ = self.said({"sync": runs, "k-sync": runs, "async": slow})
        self.assertTrue(words.startswith("sync and k-sync are best for time to test error 0.1: "), words)

    def test_timing_only_asks_for_gradients_per_time(self):
        points = {name: [(None, NEVER)] * 3 for name in ("sync", "async")}
        words, found = self.said(points)
        self.assertEqual([one.measure.key for one in found], ["rate"])
        self.assertIn("gradients per unit of time", words)
        self.assertEqual(found[0].best, 1)

    def test_replicas_that_are_not_there_never_failed(self):
        """Thirty of one point, five of the other, which is better: each counts where both are."""
        rng = np.random.default_rng(2)
        runs = {
            "sync": [(0.2, 50 + x) for x in rng.normal(size=30)],
            "async": [(0.1, 20 + x) for x in rng.normal(size=5)],
        }
        words, found = self.said(runs)
        self.assertRegex(words, "^async is best")
        self.assertEqual(found[0].contest.comparisons[0].pairs, 5)

    def test_an_unfinished_folder_says_so_and_asks_for_no_negative_number(self):
        rng = np.random.default_rng(4)
        runs = {name: [(0.1 + x, NEVER) for x in rng.normal(size=n) / 50] for name, n in (("a", 20), ("b", 3))}
        write(self.folder, runs)
        manifest = json.loads((self.folder / "manifest.json").read_text())
        (self.folder / "manifest.json").write_text(json.dumps(manifest | {"runs": 40}))
        words = sentence(self.case(), verdicts(self.case()))
        self.assertRegex(words, r"^Not finished \(23 of 40 runs are there\): ")
        self.assertNotRegex(words, r"-\d+ more")

    def test_a_target_that_none_reached_is_said(self):
        runs = {name: [(0.3 + 0.01 * i, NEVER) for i in range(3)] for name in ("sync", "async")}
        words, _ = self.said(runs)
        self.assertIn("no run got to the target of time to test error 0.1", words.lower())

    def test_a_protocol_is_best_though_its_rate_is_not_decided(self):
        rng = np.random.default_rng(5)
        means = {"sync eta=1": 0.3, "sync eta=2": 0.3, "async eta=1": 0.1, "async eta=2": 0.1}
        values = {name: [f'{{"kind":"{name.split()[0]}"}}', name[-1]] for name in means}
        words, _ = self.said(drawn(rng, means), swept=("sweep.protocol", "learning_rate.eta"), values=values)
        self.assertRegex(words, r"^async is best")
        case = self.case()
        self.assertEqual(case.siblings(2), [3])
        self.assertIn("Which learning rate is not decided", " ".join(verdicts(case)[0].details))

    def test_a_best_rate_at_the_edge_of_those_swept_is_said(self):
        rng = np.random.default_rng(6)
        means = {"sync eta=1": 0.3, "sync eta=2": 0.2, "sync eta=4": 0.3}
        means |= {"async eta=1": 0.3, "async eta=2": 0.2, "async eta=4": 0.1}
        values = {name: [f'{{"kind":"{name.split()[0]}"}}', name[-1]] for name in means}
        self.said(drawn(rng, means), swept=("sweep.protocol", "learning_rate.eta"), values=values)
        (edge,) = edges(self.case())
        self.assertIn("swept: for time to test error 0.1, <b>async eta=4</b> at the largest one;", edge)

    def test_an_edge_is_told_by_what_is_known(self):
        """No run reached the target, and errors fall with the rate."""
        errors = {"sync eta=1": 0.3, "sync eta=2": 0.2, "sync eta=4": 0.1, "async eta=1": 0.3, "async eta=2": 0.1}
        values = {name: [f'{{"kind":"{name.split()[0]}"}}', name[-1]] for name in errors}
        runs = {name: [(error + 0.001 * i, NEVER) for i in range(3)] for name, error in errors.items()}
        self.said(runs, swept=("sweep.protocol", "learning_rate.eta"), values=values)
        (edge,) = edges(self.case())
        self.assertIn("for final test error, <b>sync eta=4</b> and <b>async eta=2</b> at the largest one;", edge)

    def test_each_answer_has_its_own_target(self):
        """Under the first circumstance no run reaches the harder one."""
        easy, hard = "time_to_error_0.3", "time_to_error_0.1"
        runs = pd.DataFrame({"point": [0, 0, 1, 1], "replica": [0, 1, 0, 1], "status": "finished", "sim_time": 9.0,
                             easy: [1.0, 2.0, 1.0, 1.0], hard: [np.nan, np.nan, 3.0, 4.0]})  # fmt: skip
        folder = Compared(runs, [Target(**fabricate.target(name)) for name in (easy, hard)])
        self.assertEqual([headline_time(folder, [p]).key for p in (0, 1)], [easy, hard])
        self.assertEqual(headline_time(folder, [0, 1]).key, hard)

    def test_runs_that_end_with_a_greater_error_are_counted(self):
        write(self.folder, {"sync": [(9.0, NEVER)] * 2, "async": [(0.1, 3)] * 2})
        row = {"update": 0, "loss": 1.0}
        rows = [
            row | {"point": point, "replica": replica, "time": time, "test_error": error}
            for point, errors in enumerate(((0.5, 9.0), (0.5, 0.1)))
            for replica in range(2)
            for time, error in enumerate(errors)
        ]
        fabricate.write_table(self.folder / "curve.csv", fabricate.CURVE, rows)
        self.assertIn("2 of 4 runs ended with a greater error or loss", notes(read_folder(self.folder))[0])

    def test_a_point_that_rises_above_its_target_again_is_told(self):
        write(self.folder, {"sync": [(0.2, 10), (0.21, 11)], "async": [(0.3, 20), (0.31, 22)]}, target="time_to_error_0.25")
        errors = {0: (0.5, 0.2, 0.3, 0.2, 0.4), 1: (0.5, 0.4, 0.24, 0.2, 0.1)}
        rows = [
            {"point": point, "replica": replica, "time": 5 * i + 5, "update": i, "loss": 1.0, "test_error": error}
            for point, row in errors.items() for replica in range(2) for i, error in enumerate(row)
        ]  # fmt: skip
        fabricate.write_table(self.folder / "curve.csv", fabricate.CURVE, rows)
        case = self.case()
        measure = case.measures[0]
        self.assertEqual(rising(case, measure, 0), ["After its first time there 67 % of its evaluations are above the target again."])
        self.assertEqual(rising(case, measure, 1), [])

    def test_a_point_without_a_run_is_no_candidate(self):
        alike = [(0.2 + 0.001 * i, 50 + i) for i in range(8)]
        write(self.folder, {"sync": alike, "async": [(None, NEVER)] * 8, "k-sync": alike})
        text = (self.folder / "runs.csv").read_text()
        (self.folder / "runs.csv").write_text(text.replace("async,8,1,finished", "async,8,1,failed"))
        case = self.case()
        self.assertNotIn(1, case.contests[1][1].comparisons)
        self.assertIn("no run finished", points_table(case).rows[1])


class FewWords(Answers):
    """The first sentence, and the list below it."""

    def test_thirty_words_are_enough(self):
        rng = np.random.default_rng(11)
        names = ["sync", "async", "k-sync k=4", "local-sgd tau=8 xi=0.25 outer eta=0.7", "ad-psgd graph=ring overlap=true"]
        for case in range(60):
            points = {name: 0.1 + 0.01 * rng.integers(0, 1 + case % 4) for name in names[: 2 + case % 4]}
            runs = drawn(rng, points, replicas=2 + case % 5)
            if case % 3 == 0:
                runs = {name: [(error, NEVER if rng.random() < 0.4 else at) for error, at in one] for name, one in runs.items()}
            words, found = self.said(runs, values={name: [json.dumps({"kind": name})] for name in names})
            self.assertLessEqual(len(words.split()), 30, words)
            for one in found:
                self.assertLessEqual(len(one.rivals), 4)

    def test_what_may_be_as_good_is_listed_three_and_how_many_more(self):
        rng = np.random.default_rng(3)
        means = {f"k-sync k={k}": 0.1 + 0.0001 * k for k in range(1, 8)}
        _, found = self.said(drawn(rng, means, replicas=4))
        lines = [str(line) for line in found[0].rivals]
        self.assertEqual(len(lines), 4)
        self.assertTrue(all("may be as good" in line for line in lines[:3]), lines)
        self.assertEqual(lines[3], "3 more, in the table below")

    def test_a_point_that_diverged_is_not_said_to_be_as_good(self):
        """Four of its five runs diverged, and one luckily was as soon."""
        good = [(0.1 + 0.001 * i, 9 + i % 2) for i in range(5)]
        runs = {"sync": good, "async": [(0.1, 9), *[(np.inf, NEVER)] * 4], "k-sync": [(0.1 + 0.001 * i, 10 - i % 2) for i in range(5)]}
        words, found = self.said(runs)
        self.assertTrue(words.startswith("sync and k-sync are not told apart"), words)
        for one in found:
            told = " ".join(map(str, one.rivals))
            self.assertNotIn("<b>async</b> may be as good", told)
        self.assertIn("<b>async</b> is worse in 4 of 5 replicas (diverged in 80 %), too few", " ".join(map(str, found[0].rivals)))
        row = points_table(self.case()).rows[1]
        self.assertIn("likely worse", row)

    def test_a_point_far_behind_is_not_said_to_be_as_good_for_want_of_replicas(self):
        """Runs of 63 57 63 66 69 against 9 9 9 9 9; of 36 comparisons each is at 0.0007."""
        runs = {f"p{i}": [(0.2, 34 + i % 3)] * 5 for i in range(34)}
        runs |= {"sync": [(0.1, at) for at in (63, 57, 63, 66, 69)], "async": [(0.1, 9)] * 5}
        words, found = self.said(runs, record={"every_time": 3.0})
        self.assertIn("async looks best for time to test error 0.1 (too few replicas to be sure): 9", words)
        self.assertNotIn("as good", " ".join(map(str, found[0].rivals)))

    def test_one_that_is_left_open_is_named(self):
        """Its protocol's nearest point is ruled out, and of it too few runs got there to count."""
        runs = {"all-reduce": [(0.1, 9 + 0.01 * i) for i in range(10)], "async eta=1": [(0.2, 50 + i) for i in range(10)],
                "async eta=2": [(0.3, NEVER)] * 9 + [(0.3, 99)], **{f"p{i}": [(0.2, 40 + i % 7)] * 10 for i in range(40)}}  # fmt: skip
        values = {name: [json.dumps({"kind": name.split()[0]}), name[-1] if "eta" in name else "1"] for name in runs}
        _, found = self.said(runs, swept=("sweep.protocol", "learning_rate.eta"), values=values)
        open_ones = [one for one in found if one.best is None]
        self.assertTrue(all(one.rivals for one in open_ones), [str(one.sentence) for one in open_ones])

    def test_equal_points_are_named_where_another_may_be_as_good(self):
        rng = np.random.default_rng(3)
        one, other = drawn(rng, {"sync": 0.105, "async": 0.1}, replicas=4).values()
        words, _ = self.said({"sync": one, "async": other, "ssp": other})
        self.assertIn("ssp", words)
        self.assertIn("async", words)

    def test_settings_of_one_protocol_are_not_called_protocols(self):
        rng = np.random.default_rng(3)
        runs = drawn(rng, {f"k-sync k={k}": 0.1 + 0.0001 * k for k in range(1, 8)}, replicas=4)
        write(self.folder, runs)
        manifest = json.loads((self.folder / "manifest.json").read_text())
        for point in manifest["points"]:
            point["protocol"] = "k-sync"
        (self.folder / "manifest.json").write_text(json.dumps(manifest))
        words = sentence(self.case(), verdicts(self.case())).striptags()
        self.assertRegex(words, r"\d other settings may be as good\.$")

    def test_replayed_times_have_no_interval(self):
        times = [7 * (0.1 + 0.2) + i * 1e-16 for i in range(5)]
        words, found = self.said({"sync": [(0.2, 50.0)] * 5, "async": [(0.1, t) for t in times]})
        self.assertIn("async is best for time to test error 0.1: 2.1 units of time, sooner than sync by 47.9 (equal in all replicas).", words)
        self.assertIn("All replicas are equal, as where times are replayed: no chance is in this answer.", found[0].details)

    def test_huge_numbers_are_short(self):
        words, _ = self.said({"sync": [(0.2, 1e160 * (2 + i)) for i in range(5)], "async": [(0.1, 1e160 * (1 + 0.01 * i)) for i in range(5)]})
        self.assertLess(len(words), 160, words)


class NothingToTell(Answers):
    """What the first measure does not tell apart, and targets that runs did not reach."""

    SLOW = [(0.3 + 0.01 * i, 0) for i in range(5)]
    FAST = [(0.1 + 0.01 * i, 0) for i in range(5)]

    def with_targets(self, runs, levels):
        """As said(); a run reaches those levels that are no less than its error, at its time."""
        write(self.folder, runs, target="time_to_error_0.5")
        lines = (self.folder / "runs.csv").read_text().splitlines()
        columns = lines[0].split(",")
        manifest = json.loads((self.folder / "manifest.json").read_text())
        told = [lines[0]]
        for line in lines[1:]:
            row = dict(zip(columns, line.replace('"{""kind"": ""', "").replace('""}"', "").split(",")))
            told.append(",".join([line, *("7" if float(row["final_test_error"]) <= level else "" for level in levels)]))
        more = [f"time_to_error_{level}" for level in levels]
        told[0] += "," + ",".join(more)
        (self.folder / "runs.csv").write_text("\n".join(told) + "\n")
        manifest["targets"] += [fabricate.target(name) for name in more]
        (self.folder / "manifest.json").write_text(json.dumps(manifest))
        case = self.case()
        return sentence(case, verdicts(case)).striptags()

    def test_a_target_that_all_are_at_from_the_start_tells_nothing(self):
        words, found = self.said({"sync": self.SLOW, "async": self.FAST})
        self.assertTrue(words.startswith("All points are at test error 0.1 from the start; async is best for final test error: "), words)
        self.assertEqual([one.tells_apart for one in found], [False, True])
        self.assertEqual(named_points(found), [0, 1])
        one = {name: runs[:1] for name, runs in (("sync", self.SLOW), ("async", self.FAST))}
        self.assertTrue(self.said(one)[0].startswith("All points are at test error 0.1 from the start; for final test error one replica does not decide"))

    def test_equal_times_with_a_diverged_point_are_not_called_equal_alone(self):
        words, found = self.said({"async": [(np.inf, 0)] * 10, "sync": self.FAST * 2})
        self.assertTrue(words.startswith("All points are at test error 0.1 from the start (async diverged); sync is best for"), words)
        self.assertEqual(found[1].best, 1)
        equal = [(0.1, 10 + i) for i in range(5)]
        words, found = self.said({"async": [(np.inf, at) for _, at in equal], "sync": equal, "ssp": [(0.2, 50 + i) for i in range(5)]})
        self.assertTrue(words.startswith("sync is best for time to test error 0.1: "), words)
        self.assertIn("Equal to it, but diverged more often: <b>async</b>.", found[0].details)

    def test_a_harder_target_is_said_to_be_reached_by_none_or_some(self):
        runs = {"sync": [(0.3 + 0.01 * i, 50 + i) for i in range(5)], "async": [(0.12 + 0.01 * i, 10 + i) for i in range(5)]}
        for levels, said in (((0.05,), "no run reached 0.05"), ((0.135,), "2 of 10 runs reached 0.135"), ((0.135, 0.05), "2 of 10 runs reached 0.135")):
            words = self.with_targets(runs, levels)
            self.assertTrue(words.startswith("async is best for time to test error 0.5: "), words)
            self.assertTrue(words.endswith(f"; {said}."), words)
            self.assertLessEqual(len(words.split()), 30)

    def test_a_target_that_none_reached_leaves_room_for_the_error(self):
        rng = np.random.default_rng(3)
        names = ["sync", "async", "local-sgd tau=8 xi=0.25 outer eta=0.7"]
        runs = {name: [(error, NEVER) for error, _ in one] for name, one in drawn(rng, dict.fromkeys(names, 0.2), replicas=4).items()}
        words, _ = self.said(runs)
        self.assertRegex(words, "^No run (got to the target of time to|reached) test error 0.1; .* for final test error: ")
        self.assertLessEqual(len(words.split()), 30)


class FirstEvaluation(Answers):
    """A target that all runs of the best have at their first evaluation is no time of its own."""

    def told(self, resolutions):
        write(self.folder, {"sync": [(0.2, 90 + i) for i in range(5)], "async": [(0.1, 10)] * 5})
        heads, *lines = (self.folder / "runs.csv").read_text().splitlines()
        text = "\n".join(f"{line},{resolutions[line[0]]}" for line in lines)
        (self.folder / "runs.csv").write_text(f"{heads},resolution_of_time_to_error_0.1\n{text}\n")
        case = self.case()
        found = verdicts(case)
        return str(sentence(case, found)), "".join(found[0].details)

    def test_it_is_said_with_what_tells_more(self):
        words, details = self.told({"0": 5, "1": 10})
        self.assertIn("<b>async</b> is best for time to test error 0.1: 10 units of time (at the first evaluation), sooner than", words)
        self.assertIn("All runs of <b>async</b> are there at their first evaluation", details)
        for words in self.told({"0": 90, "1": 5}):
            self.assertNotIn("first evaluation", words)


class Resources(Answers):
    """Why: where the time went."""

    def told(self, learners, scenario={}, **of_runs):
        runs = {"sync": [(0.2, 50 + i) for i in range(3)], "async": [(0.1, 10 + i) for i in range(3)]}
        write(self.folder, runs, **scenario)
        text = (self.folder / "runs.csv").read_text().splitlines()
        text = [text[0] + "," + ",".join(of_runs), *(line + "," + ",".join(map(str, of_runs.values())) for line in text[1:])]
        (self.folder / "runs.csv").write_text("\n".join(text) + "\n")
        header = "point replica learner busy idle wasted gradients communicating waiting hidden down".split() + ["encoding"] * ("encoding" in learners)
        rows = [{"point": p, "replica": r, "learner": i, "gradients": 5, "wasted": 0} | learners for p in (0, 1) for r in range(3) for i in (0, 1)]
        fabricate.write_table(self.folder / "learners.csv", header, rows)
        case = self.case()
        return str(reasons(case, verdicts(case))[0]), what_costs(case)

    def test_a_link_that_all_share_is_named(self):
        """Of 100, 9 of computing and 90 on the link."""
        learners = {"busy": 9, "idle": 91, "communicating": 90, "waiting": 1, "down": 0}
        words, costs = self.told(learners, link_utilisation=0.46, server_utilisation="")
        self.assertIn("learners compute 9 %, communicate 90 % and wait 1 % of the time", words)
        self.assertIn("the busiest resource is the server&#39;s link (its busier direction 46 %; pulls and pushes take turns)", words)
        self.assertEqual(costs, ["communication costs time", "staleness costs accuracy"])
        self.assertNotIn("take turns", self.told(learners, link_utilisation=0.4, server_utilisation="")[0])

    def test_cards_are_named_where_they_are_the_busiest(self):
        learners = {"busy": 5, "idle": 95, "communicating": 95, "waiting": 0, "down": 0}
        cards = {"cluster": {"network": {"bandwidth": 1e9, "card": {"bandwidth": 1e7}}}}
        words, _ = self.told(learners, cards, link_utilisation=0.04, server_utilisation="")
        self.assertIn("the busiest resource is the learners&#39; cards", words)

    def test_a_network_is_busy_while_learners_compute_too(self):
        learners = {"busy": 57, "idle": 43, "communicating": 43, "waiting": 0, "down": 0}
        for hidden, resource in ((38, "the network"), (0, "the learners&#39; computing")):
            words, _ = self.told(learners | {"hidden": hidden}, link_utilisation="", server_utilisation="")
            self.assertIn(f"learners compute 57 % and communicate 43 % of the time; the busiest resource is {resource}", words)

    def test_making_messages_may_be_what_takes_long(self):
        learners = {"busy": 20, "idle": 80, "communicating": 10, "waiting": 5, "down": 0, "encoding": 65}
        words, costs = self.told(learners, link_utilisation=0.1, server_utilisation="")
        self.assertIn("learners compute 20 %, communicate 10 %, make and read messages 65 % and wait 5 % of the time", words)
        self.assertEqual(costs, ["making and reading messages costs time", "staleness costs accuracy"])

    def test_a_server_that_takes_long_is_named(self):
        learners = {"busy": 20, "idle": 80, "communicating": 10, "waiting": 70, "down": 0}
        words, costs = self.told(learners, link_utilisation=0.3, server_utilisation=0.95)
        self.assertIn("the busiest resource is the server (95 %)", words)
        self.assertEqual(costs, ["waiting costs time", "staleness costs accuracy"])

    def test_nothing_costs_time_where_learners_always_compute(self):
        words, costs = self.told({"busy": 100, "idle": 0, "communicating": 0, "waiting": 0, "down": 0}, link_utilisation="", server_utilisation="")
        self.assertIn("learners compute 100 % of the time", words)
        self.assertEqual(costs, ["staleness costs accuracy"])

    def test_what_was_not_counted_is_not_said_to_be_0(self):
        """As a folder of an older program has it."""
        words, _ = self.told({"busy": 16, "idle": 84}, link_utilisation="", server_utilisation="")
        self.assertIn("learners compute 16 % of the time", words)
        self.assertNotIn("wait", words)
        self.assertNotIn("communicat", words)


class Censored(Answers):
    """Runs that did not reach the target in 100 units of time."""

    def contest(self, points):
        write(self.folder, points)
        return self.case(), self.case().contests[0][1]

    def test_a_run_that_never_got_there_is_no_number(self):
        case, found = self.contest(
            {
                "sync": [(0.1, 20), (0.1, NEVER), (0.1, 30)],
                "async": [(0.1, 10), (0.1, 12), (0.1, 14)],
            }
        )
        value = found.measure.value(0)
        self.assertEqual((value.mean, value.replicas, value.never), (25, 2, 1))
        self.assertIn("in 2 of 3 runs", points_table(case).rows[0])

    def test_it_took_at_least_until_its_end(self):
        runs = {"sync": [(0.1, NEVER)] * 5, "async": [(0.1, 10 + i) for i in range(5)]}
        case, found = self.contest(runs)
        self.assertEqual(found.front, 1)
        self.assertTrue(found.comparisons[0].is_bound)
        self.assertAlmostEqual(found.comparisons[0].difference.mean, 100 - 12)
        words = str(sentence(case, verdicts(case)))
        self.assertIn("sooner than sync by at least 88 (reached in 0 of 5 runs)", words)

    def test_where_the_front_runner_missed_some_replicas_are_counted(self):
        fast = [(0.1, 10 + i) for i in range(9)] + [(0.1, NEVER)]
        case, found = self.contest({"sync": [(0.1, 50 + i) for i in range(9)] + [(0.1, NEVER)], "async": fast})
        one = found.comparisons[1 - found.front]
        self.assertIsNone(one.difference)
        self.assertEqual((one.wins, one.losses), (9, 0))
        self.assertAlmostEqual(one.p, 0.5**9)

    def test_a_diverged_run_is_behind_every_other(self):
        runs = {
            "sync": [(0.2, 20), (np.inf, NEVER), (0.2, 21)],
            "async": [(0.3, 30), (0.31, 31), (0.32, 32)],
        }
        write(self.folder, runs)
        final = self.case().contests[1][1]
        self.assertEqual(final.front, 1)
        self.assertEqual(final.comparisons[0].losses, 2)

    def test_numbers_that_differ_by_rounding_are_equal(self):
        near, apart = (pd.DataFrame({0: [24.5, 24.5, 24.5], 1: [24.5 * (1 + by)] * 3}) for by in (2e-13, 2e-10))
        self.assertEqual(contest(Measure("rate", "rate", near, near)).same, [1])
        self.assertEqual(contest(Measure("rate", "rate", apart, apart)).beaten, [1])

    def test_equal_differences_of_one_step_are_not_certain(self):
        """Times on a grid of 1 that differ by one step in all of three replicas."""
        write(
            self.folder,
            {"sync": [(0.1, 11.0)] * 3, "async": [(0.1, 10.0)] * 3},
            record={"every_time": 1.0},
        )
        folder = read_folder(self.folder)
        measure = time_to(folder, folder.targets[0])
        found = contest(measure)
        self.assertAlmostEqual(found.comparisons[0].p, stats.t.sf(np.sqrt(18), 2))


class Intervals(unittest.TestCase):
    def test_it_is_students(self):
        values = [1.0, 2.0, 4.0, 7.0]
        low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
        found = sample_of_runs(values)
        self.assertAlmostEqual(found.mean - found.half, low)
        self.assertAlmostEqual(found.mean + found.half, high)


class Units(unittest.TestCase):
    def test_what_is_the_better_the_more_is_told_in_its_own_sign(self):
        values = pd.DataFrame({0: [-1.0, -3.0]})
        self.assertEqual(Measure("rate", "rate", values, values, sign=-1).value(0).mean, 2)

    def contest_of(self, values, resolution):
        values = pd.DataFrame(values)
        return contest(Measure("final_loss", "final loss", values, values, resolution))

    def test_an_answer_does_not_change_with_the_unit(self):
        rng = np.random.default_rng(7)
        for case in range(40):
            base = np.exp(rng.normal(0, (0.01, 1, 5)[case % 3], (4 + case % 5, 4)))
            base[:, 1] = base[:, 0] * (1 + 1e-9 * (case % 2))  # as good as another, or nearly
            wanted = self.contest_of(base, 0.001)
            for scale in (1e-300, 1e-200, 1e-150, 1e150, 1e200, 1e300):
                found = self.contest_of(base * scale, 0.001 * scale)
                self.assertEqual((found.front, found.open, found.beaten), (wanted.front, wanted.open, wanted.beaten), (case, scale))
                for point, one in found.comparisons.items():
                    other = wanted.comparisons[point]
                    np.testing.assert_allclose(one.p, other.p, rtol=1e-6)
                    np.testing.assert_allclose(one.difference.mean / scale, other.difference.mean, rtol=1e-6, atol=1e-9)
                    np.testing.assert_allclose(one.difference.half / scale, other.difference.half, rtol=1e-6, atol=1e-9)
                    self.assertEqual(one.needed, other.needed)

    def test_squares_are_not_made_of_raw_numbers(self):
        # Constant times, 12e200 apart, are told apart.
        apart = self.contest_of({0: [1e200] * 3, 1: [13e200] * 3}, 0.0)
        self.assertEqual(apart.beaten, [1])
        # Losses that vary by factors of 1,000 are not, however small they are.
        wide = np.array([[1.0, 1.5], [1e-3, 2e-3], [2e-1, 1e-1], [1e-2, 3e-2]]) * 1e-225
        self.assertEqual(self.contest_of(wide, 0.0).open, [1])


class Cost(Answers):
    def test_a_price_makes_a_column(self):
        cluster = {"learners": 8, "price": 0.5}
        write(
            self.folder,
            {"sync": [(0.1, 10), (0.1, 20)], "async": [(0.1, 5), (0.1, 5)]},
            cluster=cluster,
        )
        table = points_table(self.case())
        column = table.heads.index("cost to test error 0.1")
        self.assertEqual(table.rows[0][column].split(" ")[0], "60")
        self.assertEqual(table.rows[1][column].split(" ")[0], "20")

    def test_bytes_have_a_price_too(self):
        """Half a unit a learner and time, 3 for 1e9 bytes: of the first point 1e9 a unit of time."""
        runs = {"sync": [(0.1, 10), (0.1, 20)], "async": [(0.1, 5), (0.1, NEVER)]}
        rows = [
            {"point": p, "replica": r, "time": t, "update": t, "loss": 0.1, "test_error": 0.1, "bytes": t * (1e9, 1e8)[p]}
            for p in (0, 1) for r in (0, 1) for t in (0, 10, 20, 100)
        ]  # fmt: skip
        for price, of_time in ((0.5, 4), (None, 0)):
            prices = {"price": price, "price_per_gigabyte": 3}
            write(self.folder, runs, cluster={"learners": 8} | prices)
            fabricate.write_table(self.folder / "curve.csv", [*fabricate.CURVE, "bytes"], rows)
            case = self.case()
            time = case.targets[0]
            told = cost(case, time)
            self.assertEqual(told.values[0].tolist(), [10 * (of_time + 3), 20 * (of_time + 3)])
            np.testing.assert_allclose(told.values[1].tolist(), [5 * (of_time + 0.3), np.inf])
            np.testing.assert_allclose(told.at_least[1].tolist(), [5 * (of_time + 0.3), 100 * (of_time + 0.3)])
            (drawn,) = [kind.draw(case).axes[0] for kind in KINDS if kind.name == "error_cost"]
            self.assertAlmostEqual(drawn.get_xlim()[1], 100 * (of_time + 3))
            self.assertIn("cost", drawn.get_xlabel())

    def test_bytes_that_were_not_counted_cost_nobody_knows_what(self):
        write(self.folder, {"sync": [(0.1, 10), (0.1, 20)], "async": [(0.1, 5), (0.1, 5)]}, cluster={"learners": 8, "price_per_gigabyte": 3})
        self.assertFalse([head for head in points_table(self.case()).heads if "cost" in head])

    def test_without_one_there_is_none(self):
        write(self.folder, {"sync": [(0.1, 10), (0.1, 20)], "async": [(0.1, 5), (0.1, 5)]})
        self.assertFalse([head for head in points_table(self.case()).heads if "cost" in head])


class Broken(fabricate.Folder):
    def message(self):
        with self.assertRaises(ResultsError) as caught:
            read_folder(self.folder)
        return str(caught.exception)

    def test_an_empty_folder(self):
        self.assertIn("no runs.csv there", self.message())

    def test_a_table_without_runs(self):
        fabricate.write_runs(self.folder, [])
        self.assertIn("no runs in it", self.message())

    def test_an_old_table(self):
        fabricate.write_runs(self.folder, [{"point": 0, "replica": 0, "protocol": "sync"}])
        manifest = json.loads((self.folder / "manifest.json").read_text())
        for key in ("points", "targets", "columns"):
            told = {name: value for name, value in manifest.items() if name != key}
            (self.folder / "manifest.json").write_text(json.dumps(told))
            self.assertIn(f'manifest.json: cannot be read: it has no "{key}": an older gradrace wrote it', self.message())

    def test_a_field_that_is_no_number(self):
        row = {
            "point": 0,
            "replica": 0,
            "protocol": "sync",
            "status": "finished",
            "sim_time": "soon",
            "label": "x",
        }
        fabricate.write_runs(self.folder, [row])
        self.assertIn("column sim_time", self.message())

    def test_a_manifest_that_is_cut_off(self):
        made_up_runs.write(self.folder, {"sync": [(0.1, 1)]})
        (self.folder / "manifest.json").write_text('{"scenario": ')
        self.assertIn("manifest.json", self.message())


if __name__ == "__main__":
    unittest.main()
