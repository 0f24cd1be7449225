"""Tests of the verdicts, the closed forms behind them, and what becomes of experiments not run."""

import contextlib
import csv
import io
import math
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))

import fabricate
import numpy as np
from reproduce import known_failures
from reproduce.claims import (
    FITTED,
    SIMULATED,
    THEORY,
    Claim,
    Sample,
    Tolerance,
    against_one_run,
    chance,
    count,
    count_kinds,
    difference,
    paired_difference,
    paired_ratio,
    plus,
    ratio,
    sample,
    times,
    write_claims,
)
from reproduce.figures import Series
from reproduce.interactive import band_trace
from reproduce.origins import Origin
from reproduce.outputs import Outputs, least
from reproduce.paper import read_paper
from papers.dutta2018.fig6 import authors_times
from papers.dutta2018.floors import async_floor, lemma_2, sync_floor
from papers.dutta2021.rule import QUADRATIC, ROOT, wanted
from papers.ho2013.reads import reads_of
from papers.laws import normal_maximum, order_statistic, speedup
from papers.pan2017 import latencies
from papers.pan2017.fig2 import delayed_floor
from papers.zhang2016.fig3_mnist import spread
from papers.zhang2016.fig3_quadratic import floor_of_serial, heavy_ball
from papers.zhou2020.local import expected_drift, longest_of_sums
from papers.zhou2020.mean import expected_losses, merged_means
from papers.zhou2020.protocols import Protocol, measured_round
from reproduce.replicas import (
    best_of,
    decided,
    first_at,
    first_recorded,
    jackknife,
    judging,
    late,
    late_mean,
    mean_at,
    mean_curve,
    smoothed,
)
from reproduce.reproduce import Judged, exit_status, judge, where_from
from reproduce.rows import Row
from reproduce.table import WrongTable

BY_CHANCE = Tolerance(errors=4, most=0.25)
LONG_RUN = Tolerance(relative=0.01, errors=4, most=0.1)
IN_ORDER = Row("1", tolerance=Tolerance(errors=4, most=0.02))


def verdict(expected, mean, error=0.0, **tolerance):
    return Row("1").near(Sample(mean, error), expected, Tolerance(**tolerance)).verdict


class Verdicts(unittest.TestCase):
    def test_near_takes_the_largest_tolerance_and_not_more(self):
        self.assertEqual(verdict(100, 100.9, relative=0.01), "pass")
        self.assertEqual(verdict(100, 101.1, relative=0.01), "fail")
        self.assertEqual(verdict(100, 98.9, relative=0.01), "fail")
        self.assertEqual(verdict(100, 101.1, 0.5, relative=0.01, errors=4), "pass")
        self.assertEqual(verdict(100, 102.1, 0.5, relative=0.01, errors=4), "fail")
        self.assertEqual(verdict(0, 0.05, relative=0.01, absolute=0.1), "pass")
        self.assertEqual(verdict(0, 0), "pass")
        self.assertEqual(verdict(0, 1e-9), "fail")
        self.assertEqual(verdict(1, math.nan, absolute=10), "fail")

    def test_all_near_fails_by_its_worst_and_tells_it(self):
        values = [("a", 1.0, Sample(1.0)), ("b", 1.0, Sample(1.5)), ("c", 1.0, Sample(1.2))]
        claim = Row("1").all_near(values, Tolerance(relative=0.3))
        self.assertEqual(claim.verdict, "fail")
        self.assertIn("1.5 for 1 at b", claim.measured)
        self.assertEqual(Row("1").all_near(values, Tolerance(relative=0.5)).verdict, "pass")

    def test_ordered_allows_for_chance_only(self):
        far = [("a", Sample(2, 0.1), Sample(1, 0.1))]
        self.assertEqual(IN_ORDER.ordered(far).verdict, "fail")
        self.assertEqual(IN_ORDER.ordered([("a", Sample(1.01, 0.1), Sample(1, 0))]).verdict, "pass")
        self.assertEqual(IN_ORDER.ordered([("a", Sample(1.03, 0.1), Sample(1, 0))]).verdict, "fail")
        wide = Row("1", tolerance=Tolerance(errors=4, most=0.05)).ordered([("a", Sample(1.03, 0.1), Sample(1, 0))])
        self.assertEqual((wide.verdict, wide.power, wide.tolerance), ("pass", 0.05, "4 standard errors (at most 5 %)"))
        self.assertEqual(IN_ORDER.ordered([("a", Sample(1.1), Sample(1))]).verdict, "fail")
        self.assertEqual(IN_ORDER.ordered([("a", Sample(1), Sample(1))]).verdict, "pass")

    def test_what_is_no_number_is_in_no_order(self):
        good, bad = ("a", Sample(1, 0.1), Sample(2, 0.1)), ("b", Sample(math.nan), Sample(1, 0.1))
        for values in ([good, bad], [bad, good], [("c", Sample(1, 0.1), Sample(math.nan))]):
            self.assertEqual(IN_ORDER.ordered(values).verdict, "fail")
        self.assertEqual(IN_ORDER.ordered([("a", Sample(0), Sample(0))]).verdict, "pass")
        self.assertEqual(IN_ORDER.ordered([("a", Sample(1e-9), Sample(0))]).verdict, "fail")
        self.assertEqual(IN_ORDER.ordered([("a", Sample(1), Sample(math.inf))]).verdict, "pass")
        values = [("a", 1, Sample(1)), ("b", 1, Sample(math.nan))]
        self.assertEqual(Row("1").all_near(values, Tolerance(absolute=1)).verdict, "fail")
        self.assertEqual(least([Sample(math.nan), Sample(2), Sample(1)]).mean, 1)

    def test_few_replicas_tell_little_of_their_error(self):
        known = {(3, 1): 235.80, (3, 9): 4.0943, (4, 2): 125.64, (4, 9): 6.9986, (4, 29): 4.6705}
        for (errors, freedom), expected in known.items():
            self.assertAlmostEqual(chance(Sample(0, 1, freedom), errors) / expected, 1, delta=1e-4)
        self.assertAlmostEqual(chance(Sample(0, 1, math.inf), 4), 4, delta=1e-12)
        self.assertEqual(Row("1").near(Sample(0.6, 0.1, 9), 0, Tolerance(errors=4)).verdict, "pass")
        self.assertEqual(Row("1").near(Sample(0.6, 0.1), 0, Tolerance(errors=4)).verdict, "fail")
        self.assertEqual(Row("1").above(Sample(0.6, 0.1, 9)).verdict, "fail")
        self.assertEqual(Row("1").above(Sample(0.6, 0.1)).verdict, "pass")
        self.assertEqual(Row("1").above(Sample(math.nan, 0.1)).verdict, "fail")

    def test_rising_takes_every_step(self):
        steps = [Sample(1, 0.1), Sample(2, 0.1), Sample(2.5, 0.1)]
        self.assertEqual(Row("1").rising(steps).verdict, "fail")
        self.assertEqual(Row("1", tolerance=Tolerance(errors=3)).rising(steps).verdict, "pass")
        self.assertIn("by 0.5", Row("1").rising(steps).measured)
        self.assertEqual(Row("1").rising([Sample(1), Sample(math.nan)]).verdict, "fail")

    def test_a_wild_replica_does_not_excuse_itself(self):
        wild = sample([4.0] * 9 + [90.0])
        self.assertEqual(Row("1").near(wild, 4, Tolerance(errors=4)).verdict, "pass")
        self.assertEqual(Row("1").near(wild, 4, Tolerance(errors=4, most=0.1)).verdict, "fail")
        self.assertEqual(Row("1").near(wild, 4, LONG_RUN).verdict, "fail")

    def test_a_paper_that_contradicts_itself_is_called_so(self):
        self.assertEqual(Row("1", tolerance=Tolerance(relative=0.1)).disagrees(1.2, 1).verdict, "paper-inconsistent")
        self.assertEqual(Row("1", tolerance=Tolerance(relative=0.1)).disagrees(1.05, 1).verdict, "pass")

    def test_samples_and_their_ratio(self):
        found = sample([1.0, 2.0, 3.0])
        self.assertEqual((found.mean, found.error), (2.0, 1 / math.sqrt(3)))
        self.assertEqual(sample([5.0]).error, 0)
        quotient = ratio(Sample(6, 0.6), Sample(2, 0.1))
        self.assertAlmostEqual(quotient.mean, 3)
        self.assertAlmostEqual(quotient.error, 3 * math.hypot(0.1, 0.05))
        gap = difference(Sample(6, 0.3, 9), Sample(2, 0.4, 9))
        self.assertEqual((gap.mean, gap.error), (4, 0.5))
        self.assertAlmostEqual(gap.freedom, 9 * 0.5**4 / (0.3**4 + 0.4**4))

    def test_replicas_of_the_same_seeds_are_paired(self):
        one, other = sample([1.0, 2.0, 3.0]), sample([2.0, 4.0, 6.3])
        gap = paired_difference(other, one)
        self.assertAlmostEqual(gap.mean, 2.1)
        self.assertAlmostEqual(gap.error, np.std([1, 2, 3.3], ddof=1) / math.sqrt(3))
        self.assertEqual(gap.freedom, 2)
        self.assertAlmostEqual(paired_ratio(other, one).mean, 2.05)
        self.assertLess(paired_ratio(other, one).error, ratio(other, one).error / 10)
        self.assertAlmostEqual(paired_ratio(sample([2.0, 4.0, 6.0]), one).error, 0)

    def test_the_table_can_be_read_back(self):
        claims = [Row("1", "a, b", claim='with "quotes"').near(Sample(1), 1, Tolerance())]
        with tempfile.TemporaryDirectory() as folder:
            write_claims(claims, Path(folder) / "claims.csv")
            with open(Path(folder) / "claims.csv", newline="", encoding="utf-8") as file:
                row = next(csv.DictReader(file))
            self.assertEqual([path.name for path in Path(folder).iterdir()], ["claims.csv"])
        self.assertEqual((row["source"], row["claim"], row["verdict"]), ("a, b", 'with "quotes"', "pass"))
        self.assertEqual(count(claims)["pass"], 1)
        numbers = ["expected_value", "measured_value", "standard_error", "replicas"]
        self.assertEqual(list(row)[7:], [*numbers, "kind", "power", "item"])
        self.assertEqual((row["kind"], row["power"]), ("simulated", ""))
        self.assertEqual((row["expected_value"], row["measured_value"], row["replicas"]), ("1.0", "1.0", ""))


class Numbers(unittest.TestCase):
    """Of a claim, beside its words: expected_value, measured_value, standard_error, replicas."""

    def numbers(self, claim):
        return claim.expected_value, claim.measured_value, claim.standard_error, claim.replicas

    def test_a_mean_comes_with_its_error_and_its_replicas(self):
        three = sample([1.0, 2.0, 3.0])
        near = Row("1").near(three, 2, Tolerance(absolute=1))
        self.assertEqual(self.numbers(near), (2.0, 2.0, three.error, 3))
        self.assertEqual(self.numbers(Row("1").near(Sample(2), 2, Tolerance())), (2.0, 2.0, None, None))
        self.assertEqual(self.numbers(Row("1").near(sample([2.0]), 2, Tolerance())), (2.0, 2.0, None, 1))
        same = sample([2.0, 2.0])
        self.assertEqual(self.numbers(Row("1").near(same, 2, Tolerance())), (2.0, 2.0, 0.0, 2))

    def test_of_several_values_it_is_the_worst(self):
        values = [("a", 1.0, sample([1.0, 1.0])), ("b", 1.0, sample([3.0, 4.0, 5.0]))]
        claim = Row("1").all_near(values, Tolerance(relative=0.1))
        self.assertEqual(self.numbers(claim)[:2] + self.numbers(claim)[3:], (1.0, 4.0, 3))

    def test_an_order_is_told_by_its_difference(self):
        low, high = sample([1.0, 2.0] * 4), sample([3.0, 5.0, 7.0] * 4)
        told = self.numbers(IN_ORDER.ordered([("a", low, high)], gap=difference))
        self.assertEqual((told[0], told[1], told[3]), (0.0, -3.5, 8))
        told = self.numbers(Row("1").rising([low, high], gap=difference))
        self.assertEqual((told[0], told[1], told[3]), (0.0, 3.5, 8))
        told = self.numbers(Row("1").above(difference(high, low)))
        self.assertEqual((told[0], told[1], told[3]), (0.0, 3.5, 8))

    def test_a_range_has_no_expected_value_and_words_no_numbers(self):
        claim = Row("1", expected="1 to 3").holds(True, sample([1.0, 3.0]))
        self.assertEqual((claim.measured, self.numbers(claim)), ("2 (se 1)", (None, 2.0, 1.0, 2)))
        self.assertEqual(self.numbers(Row("1", expected="some").holds(True, "none")), (None,) * 4)
        self.assertEqual(self.numbers(Row("1").skipped("no data")), (None,) * 4)

    def test_what_is_made_of_samples_has_the_fewest_replicas(self):
        two, three = sample([1.0, 2.0]), sample([3.0, 5.0, 7.0])
        for one in (ratio(two, three), difference(three, two), difference(two, Sample(1))):
            self.assertEqual(one.replicas, 2)
        self.assertEqual([one.replicas for one in (times(three, 2), plus(three, 1), against_one_run(three, 1))], [3] * 3)
        self.assertEqual((plus(three, 1).mean, plus(three, 1).error), (6.0, three.error))


class FewReplicas(unittest.TestCase):
    """Fewer than 8 decide nothing by their standard error."""

    FEW, MANY = Sample(1.0, 0.1, 6), Sample(1.0, 0.1, 7)
    GAP = staticmethod(lambda mean: Sample(mean, 0.1, 6))

    def test_a_mean_is_near_within_other_tolerances_and_far_beyond_chance(self):
        near = lambda one, expected=1.3, **tolerance: Row("1").near(one, expected, Tolerance(**tolerance)).verdict
        self.assertEqual(near(self.FEW, errors=4), "skipped")
        self.assertEqual(near(self.MANY, errors=4), "pass")
        self.assertEqual(near(self.FEW, errors=4, relative=0.1), "skipped")
        self.assertEqual(near(self.FEW, 3, errors=4, relative=0.1), "fail")
        self.assertEqual(near(self.FEW, relative=0.1), "fail")
        self.assertEqual(near(self.FEW, errors=4, relative=0.5), "pass")
        self.assertEqual(near(Sample(1.0), 1.0, errors=4), "pass")
        values = [("a", 1, self.MANY), ("b", 1, self.FEW)]
        few = Row("1").all_near(values, BY_CHANCE)
        self.assertEqual(few.verdict, "skipped")
        self.assertIn("7 replicas do not tell; it takes 8", few.measured)

    def test_words_hold_or_a_gap_does_not_decide(self):
        holds = lambda is_met, **more: Row("1").holds(is_met, self.FEW, **more).verdict
        clear = chance(self.GAP(1), 4) * 1.01
        self.assertEqual([holds(is_met) for is_met in (True, False)], ["pass", "fail"])
        self.assertEqual([holds(False, gap=self.GAP(gap)) for gap in (0.1, -0.1, -clear)], ["skipped", "skipped", "fail"])
        self.assertEqual(holds(False, gap=self.MANY), "fail")

    def test_what_chance_explains_hides_nothing_else(self):
        near = lambda *values: Row("1").all_near(list(values), Tolerance(errors=4, relative=0.1)).verdict
        rough, far = ("a", 1, Sample(5, 2, 3)), ("b", 1, Sample(1.5, 0.001, 20))
        self.assertEqual([near(rough), near(far), near(rough, far)], ["skipped", "fail", "fail"])

    def test_a_gap_that_is_clear_either_way_is_judged_and_no_other(self):
        above = lambda mean: Row("1").above(self.GAP(mean)).verdict
        clear = chance(self.GAP(1), 4) * 1.01
        self.assertEqual([above(clear), above(0.1), above(-0.1), above(-clear)], ["pass", "skipped", "skipped", "fail"])

    def test_an_order_holds_where_its_means_do(self):
        ordered = lambda low: IN_ORDER.ordered([("a", Sample(low, 0.1, 6), Sample(1.0))]).verdict
        clear = chance(self.GAP(1), 4) * 1.01
        self.assertEqual([ordered(0.9), ordered(1.01), ordered(1 + clear)], ["pass", "skipped", "fail"])


class Power(unittest.TestCase):
    """The smallest effect that a claim would have found."""

    def test_it_is_the_critical_value_times_the_standard_error(self):
        ten = Sample(5.0, 0.1, 9)
        self.assertAlmostEqual(Row("1").near(ten, 5, BY_CHANCE).power / 0.69986, 1, delta=1e-4)
        self.assertAlmostEqual(Row("1", tolerance=Tolerance(errors=3)).above(ten).power / 0.40943, 1, delta=1e-4)
        rising = Row("1").rising([Sample(1, 0.1, 9), Sample(5, 0.1, 9), Sample(7, 0.1, 9)])
        self.assertAlmostEqual(rising.power, chance(difference(Sample(7, 0.1, 9), ten), 4))

    def test_there_is_none_where_no_standard_error_decides(self):
        near = lambda **tolerance: Row("1").near(Sample(5.0, 0.1, 9), 5, Tolerance(**tolerance)).power
        self.assertIsNone(near(relative=0.2, errors=4))
        self.assertIsNone(near(absolute=0.7, errors=4))
        self.assertAlmostEqual(near(errors=4, most=0.1), 0.5)
        self.assertIsNone(Row("1").near(Sample(5.0), 5, BY_CHANCE).power)
        self.assertIsNone(Row("1").holds(True, sample([1.0, 2.0])).power)


class Kinds(unittest.TestCase):
    def test_a_claim_has_the_kind_of_its_source(self):
        kinds = [
            Row("1", "logs (fit)", kind=FITTED).near(Sample(1), 1, BY_CHANCE).kind,
            Row("1", "logs (fit)", kind=FITTED).skipped("").kind,
            Row("1").above(Sample(1)).kind,
        ]
        self.assertEqual(kinds, [FITTED, FITTED, SIMULATED])
        self.assertEqual(Row("1", tolerance=Tolerance(relative=0.1)).disagrees(1.2, 1).kind, THEORY)

    def test_those_of_a_verdict_are_counted(self):
        claims = [Row("1", kind=FITTED).holds(met, "") for met in (True, True, False)]
        self.assertEqual(count_kinds(claims, "pass"), {SIMULATED: 0, THEORY: 0, FITTED: 2, "after-the-fact": 0})


class KnownFailures(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.list = Path(holder.name) / "paper/known_failures.csv"
        self.list.parent.mkdir()
        here = mock.patch.object(known_failures, "PAPERS", Path(holder.name))
        here.start()
        self.addCleanup(here.stop)

    def test_a_paper_without_a_list_has_none(self):
        self.assertEqual(known_failures.read_known_failures("paper"), {})

    def test_the_list_is_read(self):
        self.list.write_text('claim,why\n1.a,"Small, as it is."\n')
        self.assertEqual(known_failures.read_known_failures("paper"), {"1.a": "Small, as it is."})

    def test_what_is_wrong_is_said_with_its_line(self):
        for text, told in (
            ("id,why\n", ":1: columns: .*allowed: claim,why"),
            ("", ":1: columns: ; allowed: claim,why"),
            ("claim,why\n1.a,b\n1.c,\n", ":3: allowed: a claim's id and a sentence"),
            ("claim,why\n1.a,b,c\n", ":2: allowed"),
            ("claim,why\n1.a,b\n1.a,c\n", ":3: claim: 1.a a second time"),
        ):
            self.list.write_text(text)
            with self.assertRaisesRegex(WrongTable, f"{self.list}{told}"):
                known_failures.read_known_failures("paper")

    def test_new_failures_are_told_last(self):
        claims = [Claim(id, "", "words", "1", "", "2", one) for id, one in (("1", "fail"), ("2", "fail"), ("3", "pass"))]
        known = {"2": "why", "3": "why", "4": "why"}
        self.assertEqual(
            known_failures.told("paper", claims, known),
            ["fails, as known: 2: why", f"holds now: 3: take it off {self.list}", "fails: 1: words: 2, expected 1"],
        )


class AgainstTables(unittest.TestCase):
    def test_a_single_run_has_the_deviation_of_one_replica(self):
        ten = Sample(5.0, 0.1, 9)  # a deviation of 0.1 sqrt(10) = 0.316 a run
        found = against_one_run(ten, 0)
        self.assertAlmostEqual(found.error, math.hypot(0.1, 0.1 * math.sqrt(10)))
        rounded = against_one_run(Sample(5.0, 0.0, 9), 0.6)
        self.assertAlmostEqual(rounded.error, 0.6 / math.sqrt(12))


class Curves(unittest.TestCase):
    """Numbers taken from curves."""

    RAMP = (np.array([0.0, 1, 2, 3, 4]), np.array([8.0, 4, 2, 1, 3]))

    def test_the_end_of_a_curve_is_its_last_share(self):
        self.assertEqual(late_mean(self.RAMP), 2)  # x > 2
        self.assertEqual(late_mean(self.RAMP, 0.25), 3)
        self.assertEqual(late_mean(self.RAMP, 0.8), 2.5)
        self.assertEqual(late([self.RAMP, (self.RAMP[0], 2 * self.RAMP[1])]).mean, 3)

    def test_where_a_curve_first_comes_down_to_a_level(self):
        self.assertEqual(first_at(*self.RAMP, 3), 1.5)
        self.assertEqual(first_at(*self.RAMP, 2), 2)
        self.assertEqual(first_at(*self.RAMP, 9), 0)
        self.assertEqual(first_at(*self.RAMP, 0.5), math.inf)
        self.assertEqual(first_recorded(*self.RAMP, 3), 2)
        self.assertEqual(first_recorded(*self.RAMP, 0.5), math.inf)

    def test_smoothing_averages_over_its_width(self):
        grid = np.arange(5.0)
        found = smoothed([(grid, np.array([0.0, 0, 6, 0, 0]))], grid, 2)
        self.assertEqual(list(found), [0, 2, 2, 2, 0])

    def test_means_are_taken_where_all_replicas_run(self):
        x, mean = mean_curve([self.RAMP, (self.RAMP[0][:3], self.RAMP[1][:3] + 2)])
        self.assertEqual((list(x), list(mean)), ([0, 1, 2], [9, 5, 3]))
        self.assertEqual(mean_at([self.RAMP], 0.5).mean, 6)

    def test_the_jackknife_of_a_mean_is_its_standard_error(self):
        values = [1.0, 2.0, 4.0, 4.5]
        found = jackknife(lambda one: float(np.mean(one)), values)
        self.assertAlmostEqual(found.mean, sample(values).mean)
        self.assertAlmostEqual(found.error, sample(values).error)
        self.assertEqual(found.freedom, 3)
        self.assertEqual(jackknife(lambda one: math.inf, values).error, 0)
        self.assertEqual(jackknife(lambda one: math.inf if len(one) > 3 else 1.0, values).error, math.inf)


class BestRates(unittest.TestCase):
    """Rates that some replicas choose and others judge."""

    CLAIM = Row("1.rate", "who asks", kind=FITTED, claim="a gap").above(sample([1.0, 1.1]))

    def test_every_third_replica_chooses_and_the_others_judge(self):
        errors = {0.1: sample([0.3, 0, 0, 0.3, 0, 0]), 0.2: sample([0.2, 9, 8, 0.2, 7, 6])}
        self.assertEqual(best_of(errors), 0.2)
        self.assertEqual(list(judging(errors[0.2]).values), [9, 8, 7, 6])

    def test_a_rate_at_which_a_run_diverges_is_never_the_best(self):
        self.assertEqual(best_of({0.1: sample([math.nan, 0, 0]), 0.2: sample([9.0, 9, 9])}), 0.2)

    def test_fewer_than_8_judges_decide_nothing(self):
        claims = [self.CLAIM]
        self.assertIs(decided(claims, sample(np.ones(8))), claims)
        (one,) = decided(claims, sample(np.ones(7)))
        self.assertEqual((one.id, one.source, one.claim, one.kind), ("1.rate", "who asks", "a gap", FITTED))
        self.assertEqual((one.verdict, one.measured), ("skipped", "replicas that chose no rate: 7; it takes 8 to tell"))


class Reads(unittest.TestCase):
    """Learner, version, staleness, start, end: two of 32 learners make four updates."""

    ROWS = np.array([(0, 3, 0, 3, 4), (1, 0, 1, 0, 2), (0, 0, 0, 0, 1), (0, 1, 1, 1, 3)], float)

    def test_what_reads_contain_by_hand(self):
        found = reads_of(self.ROWS)
        self.assertEqual(list(found.clock), [0, 0, 1, 2])
        self.assertEqual([list(row[:3]) for row in found.ahead[2:]], [[0, -1, -1], [0, -1, -2]])
        self.assertEqual((found.missing(), found.extra(), found.most()), (23, 0, 61))
        self.assertEqual((found.not_own(), found.untimely), (0, 0))

    def test_a_read_of_an_old_version_is_seen(self):
        rows = self.ROWS.copy()
        rows[0, 1:3] = 2, 1
        found = reads_of(rows)
        self.assertEqual((found.not_own(), found.untimely), (1, 1))


class ClosedForms(unittest.TestCase):
    def test_the_longest_of_normal_times_is_that_of_draws(self):
        draws = np.random.default_rng(1).normal(1, 0.3, (200_000, 32))
        draws = draws[(draws > 0).all(axis=1)].max(axis=1)
        self.assertAlmostEqual(normal_maximum(1, 0.3, 32), draws.mean(), delta=0.002)
        self.assertAlmostEqual(normal_maximum(1, 0.01, 1), 1, delta=1e-6)

    def test_the_heavy_balls_loss_settles_at_its_floor(self):
        losses = heavy_ball(2000, 30)
        self.assertAlmostEqual(losses[-1] / floor_of_serial(30), 1, delta=1e-9)
        self.assertAlmostEqual(losses[1], (1 - 0.012) ** 2 + 0.012**2 / 60, delta=1e-12)

    def test_the_spread_is_that_of_the_farthest(self):
        found = {("step", name): Sample(0.1) for name in ("hardsync", *(f"n = {n}" for n in (1, 2, 6, 15, 30)))}
        found["step", "n = 6"] = Sample(0.15)
        self.assertAlmostEqual(spread(found, "step"), 0.05)
        found["step", "n = 30"] = Sample(math.nan)
        self.assertFalse(spread(found, "step") <= 1)

    def test_order_statistics_are_those_of_draws(self):
        draws = np.random.default_rng(1).random((200_000, 8))
        for law, values in (("exponential", -np.log(draws)), ("pareto", draws**-0.5)):
            means = np.sort(values, axis=1).mean(axis=0)
            for k in range(1, 7):  # the sum of the highest Paretos converges slowly
                self.assertAlmostEqual(means[k - 1] / order_statistic(law, k, 8), 1, delta=0.006)

    def test_speedups_are_those_of_the_literature(self):
        table = {"exponential": 71.95, "shifted-exponential": 45.98, "pareto": 79.76}
        for law, value in table.items():
            self.assertAlmostEqual(speedup(law, 20), value, delta=0.006)

    def test_the_authors_estimator_bends_up_at_the_end(self):
        found = authors_times("shifted-exponential", 2000)
        self.assertGreater(found[20].mean - found[19].mean, 3 * (found[11].mean - found[10].mean))
        self.assertAlmostEqual(found[1].mean, 276, delta=8)

    def test_lemma_2_by_hand(self):
        # eta = 0.1, K = 2: floor 0.1 / 4 = 0.025, then 0.025 + 0.9^t (1 - 0.025).
        expected = [1, 0.025 + 0.9 * 0.975, 0.025 + 0.81 * 0.975]
        for found, wanted in zip(lemma_2(0.1, 2, [0, 1, 2]), expected):
            self.assertAlmostEqual(found, wanted)
        self.assertAlmostEqual(lemma_2(0.1, 2, [10_000])[0], 0.025)

    def test_the_async_floor_is_that_of_a_simulation(self):
        rng = np.random.default_rng(1)
        eta, learners, runs = 0.05, 8, 4000
        w, read = np.zeros(runs), np.zeros((runs, learners))
        every, late = np.arange(runs), []
        for update in range(600):
            who = rng.integers(learners, size=runs)
            w = w - eta * (read[every, who] + rng.standard_normal(runs))
            read[every, who] = w
            if update >= 200:
                late.append((w**2 / 2).mean())
        self.assertAlmostEqual(np.mean(late) / async_floor(eta), 1, delta=0.02)
        self.assertAlmostEqual(async_floor(eta, 1), sync_floor(eta, 1))

    def test_the_rules_of_k_are_those_of_the_tables(self):
        for k0, table in QUADRATIC.items():
            for r, k in table.items():
                self.assertAlmostEqual(wanted("k-sync", k0, r), k, delta=0.006)
            self.assertAlmostEqual(wanted("k-async", k0, 1), k0)
            self.assertLess(wanted("k-sync", k0, 1e12), 8)
        for k0, table in ROOT.items():
            for r, k in table.items():
                self.assertAlmostEqual(wanted("k-batch-sync", k0, r), k)


class Latencies(unittest.TestCase):
    def test_the_law_of_arrivals_is_that_of_draws(self):
        random = np.random.default_rng(1)
        steps = 20_000
        crowds = latencies.CROWDS
        badness = random.gamma(crowds["shape"], crowds["scale"], (steps, 1))
        normal = random.normal(latencies.MEAN, latencies.DEVIATION, (steps, 100))
        pareto = np.minimum(latencies.LONGEST, 2 * random.random((steps, 100)) ** -0.5)
        times = np.sort(np.where(random.random((steps, 100)) < badness, pareto, normal), axis=1)
        law = latencies.straggling_in_crowds()
        self.assertAlmostEqual(sum(law), 1, places=6)
        for k in (1, 50, 95, 98, 99, 100):
            drawn = sample(times[:, k - 1])
            self.assertLess(abs(latencies.mean_arrival(k, law) - drawn.mean), 4 * drawn.error)
            early = sample(times[:, k - 1] < 1.9)
            self.assertLess(abs(latencies.within(k, law, 1.9) - early.mean), 4 * early.error + 1e-6)

    def test_the_floor_of_delayed_gradients_is_that_of_fresh_ones_at_0(self):
        self.assertAlmostEqual(delayed_floor(0.1, 0), 0.1 / (2 * (2 - 0.1)))
        # w_(t+1) = w_t - a w_(t-1) + a noise, an autoregression of second order.
        a = 0.1
        expected = a**2 / 2 * (1 + a) / ((1 - a) * ((1 + a) ** 2 - 1))
        self.assertAlmostEqual(delayed_floor(a, 1), expected)


def fine(outputs):
    return [], [Row("1.fine", item="1").near(Sample(1), 1, Tolerance())]


def lacking(outputs):
    return outputs.runs("race")


def broken(outputs):
    return {}["nowhere"]


def paper(*experiments):
    """One of a single item, which all of them judge."""
    return SimpleNamespace(about={"1": "an item"}, experiments=[(one, ["1"]) for one in experiments])


class DelayedAverages(unittest.TestCase):
    """Of Zhou et al., 2020."""

    def test_the_longest_of_sums_is_that_of_draws(self):
        self.assertAlmostEqual(longest_of_sums(1, 2.0, 4), 2 * (1 + 1 / 2 + 1 / 3 + 1 / 4), 3)
        draws = np.random.default_rng(1).gamma(50, 0.04, (200_000, 16)).max(axis=1)
        self.assertAlmostEqual(longest_of_sums(50, 0.04, 16), draws.mean(), 2)

    def test_the_mean_moves_by_hand(self):
        dasgd = Protocol("dasgd", 2, 1, 0.25)
        found = merged_means(dasgd, [0.0, 1.0, 0.0, 0.0, 0.0], 0.5, 16.0)
        # 16; 8; 4 - 0.5; 1.75 / 4 + 3.5 x 3 / 4; half of it; a half / 4 + 3 / 4 of it
        np.testing.assert_allclose(found, [16, 8, 3.5, 3.0625, 1.53125, 1.33984375])

    def test_the_mean_loss_is_that_of_a_simulation(self):
        draw = np.random.default_rng(1)
        for protocol in (Protocol("local-sgd", 4), Protocol("dasgd", 4, 3, 0.25), Protocol("dasgd", 3, 3, 0.5)):
            means = np.array([merged_means(protocol, draw.normal(0, 0.5, 30), 0.2, 1.0) for _ in range(20_000)])
            expected = expected_losses(protocol, 30, 0.2, 0.25, 0.5)
            losses = means**2 / 2
            error = losses.std(axis=0) / math.sqrt(len(losses))
            self.assertTrue((np.abs(losses.mean(axis=0) - expected) <= 5 * error + 1e-12).all())

    def test_learners_drift_apart_as_in_a_simulation(self):
        draw = np.random.default_rng(1)
        x = np.zeros((50_000, 8))
        for step in range(1, 6):
            x -= 0.05 * (x + draw.normal(size=x.shape))
            self.assertAlmostEqual(x.var(axis=1).mean() / expected_drift(step), 1, delta=0.01)

    def test_a_round_by_hand(self):
        # T_c = 1, T_s = 6, tau = 4: average 1 is there at 10, average 2 at 16, with d = 4 at the end
        # of a round; with d = 1 at 10 and, three steps and one average later, at 19.
        row = lambda time: {"updates": 12, "sim_time": time}
        self.assertEqual(measured_round(Protocol("dasgd", 4, 4), row(14), 1), 6)
        self.assertEqual(measured_round(Protocol("dasgd", 4, 1), row(22), 1), 9)
        self.assertEqual(measured_round(Protocol("local-sgd", 4), row(24), 1), 10)
        self.assertEqual(measured_round(Protocol("all-reduce"), row(84), 1), 7)
        self.assertEqual([Protocol("dasgd", 4, d).round_time(1, 6) for d in (4, 1, 0)], [6, 9, 10])


class Experiments(unittest.TestCase):
    def test_what_was_not_run_is_skipped_and_no_item_is_left_out(self):
        paper_2018 = read_paper("dutta2018")
        with tempfile.TemporaryDirectory() as folder:
            judged = judge(paper_2018, Outputs(folder))
        claims = judged.claims
        self.assertEqual(judged.figures, [])
        self.assertEqual({claim.item for claim in claims}, set(map(str, range(1, 20))))
        self.assertEqual({claim.verdict for claim in claims}, {"skipped"})
        self.assertEqual(len(judged.missing), len(paper_2018.experiments))
        self.assertFalse(judged.is_broken)

    def test_an_experiment_left_out_is_said_though_others_judge_its_item(self):
        with tempfile.TemporaryDirectory() as folder:
            judged = judge(paper(fine, lacking), Outputs(folder))
        self.assertEqual([claim.id for claim in judged.claims], ["1.fine", "1.lacking"])
        self.assertEqual(judged.claims[1].verdict, "skipped")
        self.assertEqual(list(judged.missing), ["race"])

    def test_an_experiment_that_breaks_does_not_lose_the_others(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as told:
            judged = judge(paper(broken, fine), Outputs(folder))
        self.assertTrue(judged.is_broken)
        self.assertEqual([claim.verdict for claim in judged.claims], ["skipped", "pass"])
        self.assertEqual(judged.missing, {"broken": "could not be judged: KeyError: 'nowhere'"})
        self.assertIn("Traceback", told.getvalue())
        self.assertEqual(exit_status(judged, {}), 1)

    def test_a_claim_that_fails_ends_with_1(self):
        status = lambda *verdicts, known=(): exit_status(Judged(claims=[Claim(str(i), "", "", "", "", "", one) for i, one in enumerate(verdicts)]), known)
        self.assertEqual(status("pass", "fail"), 1)
        self.assertEqual(status("pass", "fail", known={"1": "why"}), 0)
        self.assertEqual(status("fail", "fail", known={"1": "why"}), 1)
        self.assertEqual(status("pass", "pass", known={"1": "why"}), 0)
        self.assertEqual(status("pass", "skipped", "paper-inconsistent"), 0)

    def test_what_lacks_data_is_said_with_where_to_get_it(self):
        for reason in ('no folder "mnist": looked at x', "/data/mnist: holds no train-labels"):
            self.assertRegex(where_from(reason), "; MNIST's.*https://")
        self.assertEqual(where_from("takes a GPU"), "takes a GPU")

    def test_no_item_of_a_paper_is_left_out(self):
        for name in (
            "chan2014",
            "das2016",
            "douillard2025",
            "dutta2021",
            "ho2013",
            "li2021",
            "luo2019",
            "pan2016hemingway",
            "pan2017",
            "vogels2019",
            "yan2021",
            "zhang2016",
            "zhou2020",
        ):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                judged = judge(read_paper(name), Outputs(folder))
                self.assertFalse(judged.is_broken)
                items = list(dict.fromkeys(claim.item for claim in judged.claims))
                self.assertEqual(items, list(read_paper(name).about))
                self.assertEqual({claim.verdict for claim in judged.claims}, {"skipped"})

    def test_a_band_is_drawn_around_its_curve(self):
        series = Series("a", SIMULATED, [0, 1], [2.0, 3.0], [0.5, 0.25], True)
        drawn = band_trace(series, "#0072B2")
        self.assertEqual(list(drawn.x), [0, 1, 1, 0])
        self.assertEqual(list(drawn.y), [2.5, 3.25, 2.75, 1.5])


class Origins(unittest.TestCase):
    def test_the_machine_is_told_with_its_threads_where_they_are_known(self):
        told = fabricate.manifest("race")
        self.assertEqual(Origin("race", told, "race").machine, "a processor, Linux, compiler 12, 2 threads")
        del told["jobs"]  # shards that were collected
        self.assertEqual(Origin("race", told, "race").machine, "a processor, Linux, compiler 12")


if __name__ == "__main__":
    unittest.main()
