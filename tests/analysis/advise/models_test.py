"""The models of gradrace advise on data whose law is known: items 1 and 4 of Hemingway's checklist (Pan et al., 2017)."""

import math
import sys
import unittest
import warnings
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))

import numpy as np
import pandas as pd
from advise.candidates import facts_of, flat
from advise.convergence import Curve, fit_convergence
from advise.design import a_optimal, information, leverage
from advise.forecast import Forecaster
from advise.race import Race as TheRace
from advise.race import ShareSpent, late_p, lost_p, standing
from advise.system import features, fit_system
from advise.told import AS_GOOD, claim
from advise.trials import Rank, rank
from plots.measure import Measure

warnings.simplefilter("ignore")
SIZES = [1, 2, 4, 8, 16, 32]


class System(unittest.TestCase):
    def test_theta_comes_back_and_is_never_negative(self):
        for theta in ([0.5, 3, 0.2, 0.01], [0, 1, 0, 0], [0.2, 0, 0.3, 0], [0.1, 4, 0, 0.05]):
            found = fit_system(SIZES, features(SIZES) @ np.array(theta))
            np.testing.assert_allclose(found.theta, theta, atol=1e-10)
            self.assertLess(found.error, 1e-10)
        noise = np.random.Generator(np.random.Philox(1)).normal(0, 0.1, len(SIZES))
        self.assertTrue((fit_system(SIZES, features(SIZES) @ np.array([0, 1, 0, 0.001]) + abs(noise)).theta >= 0).all())

    def test_the_fastest_size_is_where_the_derivative_is_0(self):
        found = fit_system(SIZES, features(SIZES) @ np.array([0.5, 3, 0.2, 0.05]))
        m = found.fastest
        self.assertAlmostEqual(m, (-0.2 + math.sqrt(0.2**2 + 4 * 3 * 0.05)) / (2 * 0.05), places=8)
        around = found.time([m * 0.99, m, m * 1.01])
        self.assertLess(around[1], min(around[0], around[2]))
        self.assertEqual(fit_system(SIZES, 1 / np.array(SIZES)).fastest, math.inf)


def cocoa_curves(noise=0.05):
    """(1 - c0 / m)^i above 0.1, as CoCoA's bound has it."""
    draws = np.random.Generator(np.random.Philox(2))
    i = np.arange(1, 301)
    for number, m in enumerate(SIZES):
        values = 0.1 + 0.8 * (1 - 0.6 / m) ** i * np.exp(noise * draws.normal(size=len(i)))
        kept = values > 0.1 + 1e-3
        yield Curve(number, m, np.array([]), i[kept], np.minimum.accumulate(values[kept]))


class Convergence(unittest.TestCase):
    def test_of_cocoa_the_updates_over_learners_count_most(self):
        model = fit_convergence(list(cocoa_curves()), [])
        self.assertEqual(next(iter(model.weights)), "i/m")
        self.assertLess(model.weights["i/m"], 0)

    def test_a_size_that_was_left_out_is_foretold(self):
        curves = list(cocoa_curves())
        model = fit_convergence(curves, [])
        for curve in curves[1:-1]:
            with self.subTest(m=curve.learners):
                said = model.without(curve.candidate).updates_to(0.2, curve.learners, curve.x)
                true = math.log(0.125) / math.log(1 - 0.6 / curve.learners)
                self.assertLess(abs(math.log(said / true)), 0.3)


class Design(unittest.TestCase):
    def test_the_ends_of_a_line_say_most(self):
        rows = np.stack([np.ones(11), np.linspace(-1, 1, 11)], axis=-1)
        self.assertEqual(set(a_optimal(rows, 3)) & {0, 10}, {0, 10})
        self.assertLess(leverage(rows[[0, 10]], rows[5]), leverage(rows[[0, 10]], 2 * rows[10] - rows[5]))

    def test_it_is_near_the_best_of_all_sets(self):
        draws = np.random.Generator(np.random.Philox(3))
        rows = np.column_stack([np.ones(9), draws.normal(size=(9, 2))])
        trace = lambda of: float(np.trace(information(rows[list(of)])))
        self.assertLess(trace(a_optimal(rows, 4)), 1.5 * min(map(trace, combinations(range(9), 4))))


class Facts(unittest.TestCase):
    def test_settings_are_numbers_and_kinds(self):
        self.assertEqual(flat({"protocol": {"kind": "k-async", "k": 4}}), {"protocol.kind": "k-async", "protocol.k": 4.0})
        found = facts_of({"k": [1.0, 4.0, None], "kind": ["a", "a", "b"], "same": [2.0, 2.0, 2.0]})
        self.assertEqual([set(one) for one in found], [{"k", "kind=b"}] * 3)
        self.assertEqual([one["kind=b"] for one in found], [0, 0, 1])
        self.assertEqual([one["k"] for one in found], [-1, 1, 0])


class Cost(unittest.TestCase):
    """What those that did not run compute: two of which models say 100 units of time, and a gradient each."""

    def least(self, half, residual, end=math.inf):
        of = Forecaster.__new__(Forecaster)
        of.target, of.model, of.confidence, of.spread = {"is_budget": False}, SimpleNamespace(horizon=1e9), 0.9, 0.0
        of.times, of.residuals, of.halves = {1: 100.0, 2: 100.0}, {3: residual, 4: residual}, {1: half, 2: half}
        return of.least_gradients([SimpleNamespace(number=n, update_time=1.0) for n in (1, 2)], lambda one, time: min(time, end))

    def test_what_models_say_is_corrected_by_what_they_said_of_those_that_ran(self):
        self.assertAlmostEqual(self.least(0, 0), 200)
        self.assertAlmostEqual(self.least(0, math.log(2)), 100)

    def test_errors_of_many_are_less_than_their_sum(self):
        self.assertAlmostEqual(self.least(math.log(2), 0), 200 - math.hypot(50, 50))

    def test_the_end_of_a_scenario_is_sure(self):
        self.assertAlmostEqual(self.least(math.log(2), 0, 10), 20)


class Recorded(TheRace):
    """A race of candidates whose runs take ten gradients each."""

    def __init__(self, most, candidates=4):
        self.counts, self.calls = dict.fromkeys(range(candidates), 0), []
        trials = SimpleNamespace(asked={"replicas": 10}, spent=0, failed=set(), best=math.inf, replicas=self.counts.get)
        trials.likely_gradients = lambda one, n, *_, again: 10 * (n - self.counts[one.number])
        trials.ranks = {n: (0.0, -n) for n in self.counts}
        super().__init__(trials, [SimpleNamespace(number=n) for n in self.counts], {}, lambda: most)

    def advance(self, one, replicas):
        self.calls.append((one.number, replicas))
        self.counts[one.number] = replicas
        self.live.add(one.number)


class Race(unittest.TestCase):
    def test_each_that_may_win_runs_once_before_any_runs_twice(self):
        race = Recorded(1000)
        self.assertTrue(race.enter())
        self.assertEqual(race.calls, [(0, 1), (1, 1), (2, 1), (3, 1)])
        self.assertFalse(race.enter())
        race.front = 1
        race.double()
        self.assertEqual(race.calls[4:], [(1, 4), (3, 2), (2, 2), (0, 2)])
        self.assertFalse(race.is_spent)

    def test_only_the_best_of_those_that_ran_once_run_again(self):
        race = Recorded(1000, 9)
        race.enter()
        race.double()
        self.assertEqual(race.calls[9:], [(n, 2) for n in (8, 7, 6, 5, 4, 3)])

    def test_what_does_not_pay_for_all_goes_to_the_best(self):
        race = Recorded(39)
        race.enter()
        race.double()
        self.assertEqual(race.calls[4:], [(3, 2)])
        self.assertFalse(race.is_spent)
        race.most_gradients = lambda: 19
        race.double()
        self.assertTrue(race.is_spent)
        self.assertEqual(len(race.calls), 5)

    def judged(self, *columns):
        values = pd.DataFrame(dict(enumerate(columns)), dtype=float)
        return self.standing(Measure("time", "time", values, values), list(values))

    def standing(self, measure, live):
        ranks = {n: rank(measure.values[n], measure.at_least[n]) for n in measure.values}
        return standing(measure, ranks, live, 0.9, 4)

    def test_who_is_surely_behind_is_worse_and_who_is_as_near_as_10_percent_is_no_better(self):
        shared = np.random.Generator(np.random.Philox(4)).normal(0, 1, 16)
        wobble = np.tile([0.01, -0.01, 0.02, -0.02], 4)
        front, found = self.judged(10 + shared, 14 + shared + wobble, 10.05 + shared + wobble[::-1] * 10, 10.5 + shared * 4)
        self.assertEqual((front, [one.word for one in found.values()]), (0, ["worse", "no better", "open"]))
        self.assertAlmostEqual(found[1].lead.mean, 4, places=2)

    def test_runs_that_were_cut_count_by_the_likeliest_mean_whatever_their_limits(self):
        values = pd.DataFrame({0: [5, 6, math.inf, 7], 1: [20.0, 21, 22, 23], 2: [5, 6, math.inf, 7]})
        goal = Measure("time", "time", values, values.replace({0: {math.inf: 8.0}}))
        means = np.linspace(4, 20, 16001)
        likelihood = sum(-np.log(means) - time / means for time in (5, 6, 7)) - 8 / means
        found = [rank(goal.values[n], goal.at_least[n]) for n in goal.values]
        self.assertAlmostEqual(found[0].mean, means[likelihood.argmax()], places=3)
        self.assertEqual(found[1:], [(0, 21.5), (0.25, 6)])
        self.assertEqual(self.standing(goal, [0, 1, 2])[0], 0)

    def test_the_front_runner_goes_on_until_it_gets_there(self):
        race, cut, ranks = Recorded(1000), {0, 1}, {0: (0, 9.0), 1: (0, 14.0), 2: (0, 12.0)}
        race.live, calls = {0, 1, 2}, []
        race.counts.update({0: 4, 1: 4, 2: 2})
        race.trials.ranks, race.trials.was_cut, race.trials.mean = ranks, cut.__contains__, lambda n: ranks[n][1]

        def run(one, *call, again):
            calls.append((one.number, *call, again))
            cut.remove(one.number)
            ranks[one.number] = (0, 13.0)
            return True

        race.run_within = run
        race.settle()
        self.assertEqual(calls, [(0, 4, math.inf, True)])

    def test_one_of_which_a_run_diverged_is_worse_than_one_that_always_gets_there(self):
        front, found = self.judged([10, 11, 12], [1, 2, math.inf])
        self.assertEqual((front, found[1].word), (0, "worse"))

    def test_runs_that_are_late_by_far_bound_their_mean(self):
        values = pd.DataFrame({0: [10.0, 11, 9, 10], 1: [5, math.inf, math.inf, math.inf]})
        bound = values.replace(math.inf, 300.0)
        goal = Measure("time", "time", values, bound, target="loss")
        ranks = {0: Rank(0, 10.0), 1: Rank(0.75, 5.0)}
        self.assertAlmostEqual(late_p(goal, ranks, 0, 1), 4 * (1 / 30) ** 3 * (29 / 30) + (1 / 30) ** 4)
        self.assertEqual((late_p(goal, ranks, 0, 0), late_p(goal, ranks, 1, 1)), (1, 1))
        self.assertEqual(self.standing(goal, list(values))[1][1].word, "worse")

    def test_who_lost_more_runs_is_worse_where_so_many_are_surely_more(self):
        """Of runs that the scenario's end stopped, by the ways in which the lost ones could be shared."""
        for lost, runs, front_lost, front_runs in ((1, 1, 0, 2), (1, 4, 2, 4), (4, 4, 0, 4), (7, 8, 1, 8)):
            values = pd.DataFrame({0: [9.0] * 8, 1: [8.0] * 8})
            values[0] = values[0].where(values.index < front_runs).mask(values.index < front_lost, math.inf)
            values[1] = values[1].where(values.index < runs).mask(values.index < lost, math.inf)
            goal = Measure("time", "time", values, values.replace(math.inf, 10.0))
            ranks = {0: Rank(front_lost / front_runs, 9), 1: Rank(lost / runs, 8)}
            ways = [math.comb(runs, n) * math.comb(front_runs, lost + front_lost - n) for n in range(lost + front_lost + 1)]
            p = sum(ways[lost:]) / sum(ways)
            self.assertAlmostEqual(lost_p(goal, ranks, 0, 1), p)
            front, found = standing(goal, ranks, [0, 1], 0.9, 4)
            self.assertEqual(front, 0 if front_lost / front_runs < lost / runs else 1)
            if front == 0:
                self.assertEqual(found[1].word, "worse" if p <= 0.1 / 4 else "open")

    def test_it_says_best_of_one_that_is_surely_better_than_each(self):
        shared = np.random.Generator(np.random.Philox(4)).normal(0, 1, 16)
        wobble = np.tile([0.01, -0.01, 0.02, -0.02], 4)
        far, near = self.judged(10 + shared, 14 + shared + wobble), self.judged(10 + shared, 10.05 + shared + wobble * 10)
        late = self.judged(10 + shared, 10.5 + shared * 4)
        late[1][1] = late[1][1]._replace(word="worse")  # by Markov's bound
        for (_, verdicts), sure, words in ((far, True, "is best"), (near, True, AS_GOOD), (late, True, AS_GOOD), (far, False, "looks best")):
            self.assertEqual(claim(SimpleNamespace(sure=sure, race=SimpleNamespace(verdicts=verdicts))), words)

    def test_who_dropped_is_beside_the_front_runner_of_now_and_no_front_runner(self):
        values = pd.DataFrame({0: [10.0, 11, 12, 13], 1: [14.0, 15, 16, 17], 2: [1.0, 30, 1, 2]})
        front, found = self.standing(Measure("time", "time", values, values), [0, 1])
        self.assertEqual((front, set(found)), (0, {1, 2}))

    def test_no_run_begins_that_may_take_more_than_is_left(self):
        trials = SimpleNamespace(asked={"replicas": 10}, spent=90, likely_gradients=lambda one, *_: one, run=lambda *_: "runs")
        race = TheRace(trials, [], {}, lambda: 100)
        self.assertEqual(race.run_within(10, 1, math.inf), "runs")
        with self.assertRaises(ShareSpent):
            race.run_within(11, 1, math.inf)

    def test_two_replicas_seldom_say_much_and_none_that_gets_there_says_nothing(self):
        self.assertEqual(self.judged([10, 11], [12, 15])[1][1].word, "open")
        self.assertEqual(self.judged([math.inf] * 2, [math.inf] * 2), (None, {}))


if __name__ == "__main__":
    unittest.main()
