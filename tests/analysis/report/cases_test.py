"""Which points of one folder or several a report compares, and what it says of many circumstances."""

import json
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import numpy as np
from made_up_runs import NEVER, Answers, write
from report.answer import verdicts
from report.case import Together, cases, why_apart
from results import read_folder
from report.page import Page
from report.summary import outcomes, tallies
from report.tables import contest_table


class Circumstances(Answers):
    def test_circumstances_are_answered_apart(self):
        """Under the first sync is best, under the second async."""
        low, high = [(0.1 + 0.001 * i, 10 + i) for i in range(6)], [(0.3 + 0.002 * i, 60 + 2 * i) for i in range(6)]
        points = {"sync c=1": low, "async c=1": high, "sync c=2": high, "async c=2": low}
        values = {name: [f'{{"kind":"{name.split()[0]}"}}', name[-1]] for name in points}
        write(self.folder, points, swept=("sweep.protocol", "cluster.speed"), values=values)
        found = cases(read_folder(self.folder))
        self.assertEqual([case.where for case in found], ["cluster.speed=1", "cluster.speed=2"])
        best = [case.label(verdicts(case)[0].best) for case in found]
        self.assertEqual(best, ["sync", "async"])

    def test_many_circumstances_are_counted(self):
        """sync is best under two, async under one; under the fourth they are equal, under the fifth
        apart by luck alone, and under the sixth no run has an error."""
        low, high = [(0.1 + 0.001 * i, 10 + i) for i in range(6)], [(0.3 + 0.002 * i, 60 + 2 * i) for i in range(6)]
        lucky, failed = [(0.1 + 0.01 * (i * i % 5), 9 + i * i % 5) for i in range(6)], [(np.inf, NEVER)] * 6
        pairs = [(low, high), (low, high), (high, low), (low, low), (low, lucky), (failed, failed)]
        points = {f"{name} c={c}": runs for c, pair in enumerate(pairs) for name, runs in zip(("sync", "async"), pair)}
        values = {name: [f'{{"kind":"{name.split()[0]}"}}', name[-1]] for name in points}
        write(self.folder, points, swept=("sweep.protocol", "cluster.speed"), values=values)
        found = [(case, verdicts(case)) for case in cases(read_folder(self.folder))]
        expected = "sync is best under 2 of 6 circumstances, async under 1; under 3 it is not decided"
        told = [str(one).replace("<b>", "").replace("</b>", "") for one in tallies(found)]
        self.assertEqual(
            told, [f"For time to test error 0.1, {expected} (async looks best under 1).", f"For final test error, {expected} (sync looks best under 1)."]
        )
        column = [row[2] for row in outcomes("abcdef", found).rows]
        sync, both = "<b>sync</b>", "<b>async</b>"
        open_one = "not decided; <b>sync</b> looks best (9 more replicas)"
        self.assertEqual(column, [sync, sync, both, "all are equal", open_one, "no run got there"])
        self.assertIn("not decided under any of 1 circumstances.", tallies(found[3:4])[0])

    def test_a_protocol_is_counted_whatever_its_best_rate(self):
        """Under c = 2 two of its rates are as good."""
        good, bad = [(0.1 + 0.001 * i, 10 + i) for i in range(6)], [(0.3 + 0.002 * i, 60 + 2 * i) for i in range(6)]
        of = {("async", 1, 1): good, ("async", 2, 1): bad, ("async", 1, 2): good, ("async", 2, 2): good}
        points = {f"{name} c={c} eta={eta}": of.get((name, eta, c), bad) for c in (1, 2) for name in ("sync", "async") for eta in (1, 2)}
        values = {label: [f'{{"kind":"{label.split()[0]}"}}', label.split()[1][-1], label[-1]] for label in points}
        write(self.folder, points, swept=("sweep.protocol", "cluster.c", "learning_rate.eta"), values=values)
        found = [(case, verdicts(case)) for case in cases(read_folder(self.folder))]
        self.assertIn("<b>async</b> is best under 2 of 2 circumstances.", tallies(found)[0])

    def test_the_network_of_a_protocol_is_chosen_with_it(self):
        runs = {"async": [(0.2 + 0.001 * i, 50 + i) for i in range(6)], "local-sgd": [(0.1 + 0.001 * i, 10 + i) for i in range(6)]}
        networks = ['{"topology":"star"}', '{"topology":"mesh"}']
        values = {name: [f'{{"kind":"{name}"}}', network] for name, network in zip(runs, networks)}
        lists = {"protocol": [{"kind": name} for name in runs], "cluster.network": [json.loads(one) for one in networks]}
        swept = ("sweep.protocol", "cluster.network")
        write(self.folder, runs, swept=swept, values=values, sweep={"zip": lists})
        self.assertEqual([case.where for case in cases(read_folder(self.folder))], [""])
        more = {**runs, "k-sync": runs["async"]}
        write(self.folder, more, swept=swept, values={**values, "k-sync": ['{"kind":"k-sync"}', networks[0]]}, sweep=lists)
        self.assertEqual([len(case.points) for case in cases(read_folder(self.folder))], [2, 1])


class Several(Answers):
    def folders(self, **second):
        runs = {"sync": [(0.2 + 0.001 * i, 50 + i) for i in range(5)]}
        better = {"async": [(0.1 + 0.002 * i, 10 + 2 * i) for i in range(5)]}
        paths = [self.folder / "a", self.folder / "b"]
        for path in paths:
            path.mkdir()
        write(paths[0], runs, swept=(), sweep={})
        write(paths[1], better, swept=(), sweep={}, **second)
        return [read_folder(path) for path in paths]

    def test_folders_that_differ_in_choices_are_compared(self):
        folders = self.folders(protocol={"kind": "async"}, learning_rate={"eta": 3})
        self.assertEqual(why_apart(folders), "")
        (case,) = cases(Together(folders))
        self.assertEqual(case.label(verdicts(case)[0].best), "b")
        self.assertEqual(len(contest_table(case, case.contests[0][1]).rows), 2)

    def test_folders_of_other_seeds_share_no_random_numbers(self):
        folders = self.folders()
        (case,) = cases(Together(folders))
        self.assertTrue(case.shares_random_numbers)
        folders[1].runs["seed"] = 2.0
        (case,) = cases(Together(folders))
        self.assertFalse(case.shares_random_numbers)

    def test_folders_of_other_machines_are_not(self):
        self.assertIn("scenarios differ", why_apart(self.folders(cluster={"learners": 9})))

    def test_data_count_by_what_they_hold_and_not_by_where_they_are(self):
        folders = self.folders()
        for place, folder in zip("ab", folders):
            folder.scenario["model"] = {"dataset": {"kind": "csv", "path": f"/{place}/rows.csv"}}
            folder.manifest["hashes"] = {"data": ["rows.csv 1"]}
        self.assertEqual(why_apart(folders), "")
        folders[1].manifest["hashes"] = {"data": ["rows.csv 2"]}
        self.assertEqual(why_apart(folders), "they were made of different data")
        self.assertTrue(any("made of different data" in one for one in Page(folders).said()))

    def test_files_of_two_places_are_one_circumstance(self):
        paths = [self.folder / "a", self.folder / "b"]
        for path, name, low in zip(paths, ("sync", "async"), (0.2, 0.1)):
            path.mkdir()
            points = {f"{name} path={file}": [(low + 0.001 * i, 50 + i) for i in range(5)] for file in ("x.csv", "y.csv")}
            values = {label: [f"/{path.name}/{label[-5:]}"] for label in points}
            sweep = {"cluster.runtime.path": [value for (value,) in values.values()]}
            write(path, points, swept=("cluster.runtime.path",), values=values, sweep=sweep)
        folders = [read_folder(path) for path in paths]
        self.assertEqual(why_apart(folders), "")
        found = cases(Together(folders))
        self.assertEqual([case.where for case in found], [f"cluster.runtime.path={file}" for file in ("x.csv", "y.csv")])
        self.assertEqual([len(case.points) for case in found], [2, 2])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
