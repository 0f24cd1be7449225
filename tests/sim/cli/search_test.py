"""The search for the switch point: its path, its files, and that it goes on where it was."""

import csv
import io
import json
import math
import signal
import statistics
import subprocess
import time
import unittest

from program import PROGRAM, ROOT, ProgramTest, changed, rows

# Async diverges, or ends badly, until the rate has fallen at half of the work.
JOB = {
    "name": "job",
    "cluster": {"learners": 8, "runtime": {"distribution": "gamma", "shape": 25, "scale": 0.04}},
    "model": {
        "kind": "mlp",
        "widths": [16],
        "dataset": {"kind": "synthetic", "rows": 400, "test_rows": 400, "features": 8, "classes": 4},
        "minibatch": 4,
    },
    "optimiser": {"momentum": 0.9},
    "learning_rate": {"kind": "step", "eta": 1, "factor": 0.01, "at": [0.5], "unit": "fraction"},
    "protocol": {
        "kind": "switch",
        "phases": [
            {
                "protocol": {"kind": "sync"},
                "learning_rate": {"kind": "step", "eta": 0.1, "at": [0.5], "unit": "fraction"},
                "end": {"work": 0.9},
            },
            {"protocol": {"kind": "async"}},
        ],
    },
    "stop": {"gradients": 3200},
}
BETA = 0.05

COLUMNS = "share,runs,diverged,accuracy,accuracy_sd,accuracy_95,time,time_sd,relative_time,verdict,folder"


def with_phases(*phases):
    return changed(JOB, protocol={"kind": "switch", "phases": list(phases)})


class SearchTest(ProgramTest):
    def search(self, *words, scenario=JOB, out="out", status=0):
        return self.call("search", self.write(scenario), "--out", out, "--beta", str(BETA), *words, status=status)

    def files(self, out="out"):
        """Bytes of every file of a search but the manifests of its settings, which tell the time taken."""
        paths = [path for path in sorted((self.folder / out).rglob("*")) if path.is_file()]
        return {str(path.relative_to(self.folder / out)): path.read_bytes() for path in paths if path.name != "manifest.json"}

    def written(self, out="out"):
        """When the results of each setting were written."""
        return {path.parent.name: path.stat().st_mtime_ns for path in (self.folder / out).glob("*/manifest.json")}


class Found(SearchTest):
    def test_the_path_and_its_numbers_are_those_of_the_runs(self):
        told, _ = self.search("--settings", "3", "--runs", "4", "--first-runs", "3")
        text = (self.folder / "out/search.csv").read_text()
        self.assertEqual(text.splitlines()[0], COLUMNS)
        listed = self.call("list", "columns")[0]
        for file in ("search.csv", "costs.csv"):
            page = listed.partition(f"{file}: ")[2].partition("\n\n")[0]
            names = [line.split()[0] for line in page.splitlines()[1:] if line[2] != " "]
            self.assertEqual(",".join(names), (self.folder / "out" / file).read_text().splitlines()[0])
        table = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["share"] for row in table], ["1", "0.5", "0.25", "0.375"])
        self.assertEqual([row["verdict"] for row in table], ["target", "pass", "fail", "fail"])
        self.assertEqual([row["runs"] for row in table], ["3", "4", "4", "4"])
        self.assertEqual((table[1]["diverged"], table[2]["diverged"]), ("0", "4"))
        self.assertEqual((table[2]["accuracy"], table[2]["accuracy_sd"]), ("", ""))
        times = []
        for row in table:
            runs = rows(self.folder / "out" / row["folder"] / "runs.csv")
            self.assertEqual(len(runs), int(row["runs"]))
            self.assertEqual(sum(run["status"] == "diverged" for run in runs), int(row["diverged"]))
            times.append(statistics.mean(float(run["sim_time"]) for run in runs))
            self.assertAlmostEqual(float(row["time"]), times[-1], delta=1e-9)
            self.assertAlmostEqual(float(row["relative_time"]), times[-1] / times[0], delta=1e-12)
            if row["diverged"] == "0":
                accuracies = [1 - float(run["final_test_error"]) for run in runs]
                sd = statistics.stdev(accuracies)
                quantile = {3: 4.302653, 4: 3.182446}[len(runs)]
                self.assertAlmostEqual(float(row["accuracy"]), statistics.mean(accuracies), delta=1e-12)
                self.assertAlmostEqual(float(row["accuracy_sd"]), sd, delta=1e-12)
                self.assertAlmostEqual(float(row["accuracy_95"]), quantile * sd / math.sqrt(len(runs)), delta=1e-6)
        found = json.loads((self.folder / "out/search.json").read_text())
        cost = 3 + 4 * sum(times[1:]) / times[0]
        self.assertAlmostEqual(found["target"], float(table[0]["accuracy"]), delta=1e-12)
        self.assertEqual(found["switch_point"], 0.5)
        self.assertAlmostEqual(found["cost"], cost, delta=1e-9)
        self.assertAlmostEqual(found["recurrences"], cost / (1 - times[1] / times[0]), delta=1e-6)
        self.assertIsNone(found["path"][1]["accuracy"])
        self.assertEqual(found["searches"], 4000)
        low, high = found["success_95"]
        self.assertTrue(0 < low <= found["success"] <= high <= 1)
        self.assertLess(high - low, 0.04)
        for words in ("100 %", "37.5 %", "(4 diverged)", "at 50 % of the work", f"{cost:.4g} runs of the first protocol alone", "95 % interval"):
            self.assertIn(words, told)
        self.assertNotIn("ended:", told)

    def test_settings_differ_in_the_end_of_the_first_phase_alone(self):
        self.search("--settings", "2", "--runs", "2", "--first-runs", "1")
        manifests = {
            name: json.loads((self.folder / "out" / name / "manifest.json").read_text())["scenario"] for name in ("first-protocol", "share-0.5", "share-0.25")
        }
        half, quarter, alone = (manifests[name] for name in ("share-0.5", "share-0.25", "first-protocol"))
        self.assertEqual([one["replicas"] for one in (half, quarter, alone)], [2, 2, 1])
        self.assertEqual([half["seed"], quarter["seed"]], [1, 1])
        phases = half["protocol"]["phases"]
        self.assertEqual(phases[0]["end"], {"work": 0.5})
        self.assertEqual(quarter["protocol"]["phases"][0].pop("end"), {"work": 0.25})
        del phases[0]["end"]
        self.assertEqual(quarter["protocol"]["phases"], phases)
        self.assertEqual(alone["protocol"]["phases"], phases[:1])
        run = rows(self.folder / "out/first-protocol/runs.csv")[0]
        self.assertEqual((run["updates"], run["max_staleness"]), ("400", "0"))

    def test_a_known_target_trains_the_first_protocol_not_at_all(self):
        told, _ = self.search("--settings", "1", "--runs", "2", "--target", "0.82")
        alone, half = rows(self.folder / "out/search.csv")
        self.assertEqual((alone["runs"], alone["accuracy"], alone["relative_time"]), ("0", "", "1"))
        run = rows(self.folder / "out/first-protocol-time/runs.csv")[0]
        self.assertEqual((run["gradients_applied"], run["final_test_error"]), ("3200", ""))
        found = json.loads((self.folder / "out/search.json").read_text())
        self.assertEqual((found["target"], found["first_runs"]), (0.82, 0))
        self.assertAlmostEqual(found["cost"], 2 * float(half["relative_time"]), delta=1e-9)
        self.assertIn("the target given", told)

    def test_where_no_share_passes_it_says_never(self):
        told, _ = self.search("--settings", "2", "--runs", "2", "--target", "1")
        found = json.loads((self.folder / "out/search.json").read_text())
        self.assertEqual([trial["share"] for trial in found["path"]], [0.5, 0.75])
        self.assertEqual((found["switch_point"], found["recurrences"]), (1, None))
        self.assertIn("never: no share", told)
        self.assertIn("never saves that", told)

    def test_single_runs_tell_nothing_of_others(self):
        told, _ = self.search("--settings", "1", "--runs", "1")
        found = json.loads((self.folder / "out/search.json").read_text())
        self.assertEqual((found["searches"], found["success"], found["success_95"]), (0, None, [None, None]))
        self.assertIn("success: not known", told)
        self.assertIn("unclear: 50 %", told)
        self.assertIn("ended:   with the last of 1 settings, which passed: an earlier switch may do too", told)

    def test_the_same_files_for_any_number_of_jobs(self):
        self.search("--settings", "2", "--jobs", "1", out="one")
        self.search("--settings", "2", "--jobs", "3", out="three")
        self.assertEqual(self.files("one"), self.files("three"))

    def test_a_target_that_diverges_is_a_failure(self):
        phases = JOB["protocol"]["phases"]
        diverging = with_phases({"protocol": {"kind": "async"}, "end": {"work": 0.5}}, phases[1])
        rate = {"kind": "constant", "eta": 1}
        _, told = self.search("--runs", "1", scenario=changed(diverging, learning_rate=rate), status=1)
        self.assertIn("a run of the first protocol alone diverged", told)
        self.assertFalse((self.folder / "out/search.json").exists())


class MadeElsewhere(SearchTest):
    """Runs whose accuracies are a table's; the scenario has no model."""

    def found(self, table, *words, status=0):
        (self.folder / "runs.csv").write_text("share,accuracy,where\n" + table)
        job = {key: JOB[key] for key in ("name", "cluster", "protocol", "stop")} | {"timing_only": True}
        told = self.search("--accuracies", "runs.csv", *words, scenario=job, status=status)
        path = self.folder / "out/search.json"
        return told, json.loads(path.read_text()) if path.exists() else None

    def test_the_path_is_that_of_the_table_and_ends_where_it_does(self):
        table = "1,0.9,here\n1,0.94,there\n0.75,0.9,\n0.5,0.9,\n0.5,0.91,\n0.25,0.88,\n0.25,,diverged\n"
        (told, _), found = self.found(table, "--runs", "3")
        self.assertEqual([(one["share"], one["verdict"]) for one in found["path"]], [(0.5, "pass"), (0.25, "fail")])
        self.assertEqual((found["switch_point"], found["first_runs"]), (0.5, 5))
        self.assertRegex(found["accuracies"], "^[0-9a-f]{16}$")
        self.assertAlmostEqual(found["target"], 0.92)
        self.assertIn("the table has no runs of 37.5 %", told)
        self.assertIn("(2 settings, runs of a table)", told)
        self.assertIn("success: not known: the search was cut short", told)
        self.assertIn("unused:  the table's runs of 75 %", told)
        self.assertEqual((found["searches"], found["success"], found["unused"]), (0, None, [0.75]))
        times = [float(row["relative_time"]) for row in rows(self.folder / "out/search.csv")]
        self.assertAlmostEqual(found["cost"], 2 + 2 * sum(times[1:]), delta=1e-9)  # as many as there are
        for row in rows(self.folder / "out/share-0.5/runs.csv"):
            self.assertEqual((row["gradients_applied"], row["final_test_error"]), ("3200", ""))

    def test_fewer_runs_cost_less_and_succeed_less_often(self):
        table = "1,0.9,\n1,0.9,\n" + "".join(f"0.5,{0.84 + 0.01 * run},\n" for run in range(6))
        _, found = self.found(table, "--runs", "3", "--settings", "1")
        costs = rows(self.folder / "out/costs.csv")
        self.assertEqual(
            [(row["first_runs"], row["runs"]) for row in costs],
            [("3", "3"), ("2", "2"), ("1", "1"), ("0", "3"), ("0", "2"), ("0", "1")],
        )
        time = found["path"][0]["relative_time"]
        for row in costs:
            cost = int(row["first_runs"]) + int(row["runs"]) * time
            self.assertAlmostEqual(float(row["cost"]), cost, delta=1e-9)
            self.assertAlmostEqual(float(row["recurrences"]), cost / (1 - time), delta=1e-6)
        # A run passes from 0.85 on: five of six.
        self.assertLess(abs(float(costs[-1]["success"]) - 5 / 6), 4 * math.sqrt(5 / 36 / 4000))
        self.assertGreater(float(costs[-3]["success"]), float(costs[-1]["success"]))

    def test_the_rows_that_decide_are_those_that_are_paid_for(self):
        # The mean of all rows passes, that of the first two does not.
        table = "".join(f"1,{x},\n" for x in (0.9, 0.9, 0.5, 0.5)) + "".join(f"0.5,{x},\n" for x in (0.8, 0.8, 0.99, 0.99, 0.99))
        _, found = self.found(table, "--runs", "2", "--first-runs", "2", "--settings", "1")
        self.assertAlmostEqual(found["target"], 0.9)
        self.assertEqual([(one["accuracy"], one["verdict"]) for one in found["path"]], [(0.8, "fail")])
        self.assertAlmostEqual(found["cost"], 2 + 2 * found["path"][0]["relative_time"], delta=1e-9)
        self.assertLess(found["success"], 1)  # by all rows
        _, found = self.found(table, "--runs", "5", "--first-runs", "4", "--settings", "1", "--force")
        self.assertEqual([one["verdict"] for one in found["path"]], ["pass"])

    def test_a_single_run_in_the_table_shows_no_spread(self):
        for table, share in (("1,0.9,\n1,0.92,\n0.5,0.9,\n", "50 %"), ("1,0.9,\n0.5,0.9,\n0.5,0.92,\n", "100 %")):
            with self.subTest(table):
                (told, _), found = self.found(table, "--settings", "1", "--force")
                self.assertIn(f"success: not known: a single run of {share} shows no spread", told)
                self.assertEqual((found["searches"], found["success"]), (0, None))
                self.assertFalse((self.folder / "out/costs.csv").exists())
        table = "1,0.9,\n1,0.92,\n0.5,0.9,\n0.5,0.92,\n"
        self.found(table, "--settings", "1", "--force")
        self.assertTrue((self.folder / "out/costs.csv").exists())
        self.found(table + "0.25,0.9,\n", "--settings", "2", "--force")
        self.assertFalse((self.folder / "out/costs.csv").exists())

    def test_a_table_that_does_not_do(self):
        for table, words in {
            "1,0.9,\n0.5,1.9,\n": 'runs.csv:3: got share "0.5", accuracy "1.9"; allowed: a share above 0',
            "1,0.9,\n0,0.9,\n": 'runs.csv:3: got share "0", accuracy "0.9"; allowed: a share above 0',
            "0.5,0.9,\n": "no runs of the first protocol alone, of share 1; allowed: --target",
            "1,0.9,\n0.25,0.9,\n": "runs.csv: has no runs of share 0.5, which a search tries first",
            "1,0.9,\n1,,\n0.5,0.9,\n": "runs.csv:3: a run of the first protocol alone diverged",
        }.items():
            with self.subTest(table):
                (_, told), found = self.found(table, status=2)
                self.assertIn(words, told)
                self.assertIsNone(found)
        self.found("0.5,0.9,\n", "--target", "0.9", "--settings", "1")


class Greedy(SearchTest):
    def test_the_first_protocol_alone_goes_without_a_policy_that_leads_on(self):
        first, last = JOB["protocol"]["phases"]
        job = with_phases({**first, "stragglers": {"kind": "greedy"}}, last)
        told, _ = self.search("--settings", "1", "--runs", "2", "--first-runs", "2", scenario=job)
        self.assertIn("alone:   the first protocol went without its greedy policy", told)
        of = lambda name: json.loads((self.folder / "out" / name / "manifest.json").read_text())["scenario"]
        self.assertNotIn("stragglers", of("first-protocol")["protocol"]["phases"][0])
        self.assertEqual(of("share-0.5")["protocol"]["phases"][0]["stragglers"]["kind"], "greedy")


class Kept(SearchTest):
    def test_settings_that_are_whole_are_kept(self):
        self.search("--settings", "2", "--runs", "2")
        before = self.written()
        self.search("--settings", "3", "--runs", "2")
        after = self.written()
        self.assertEqual(set(after) - set(before), {"share-0.375"})
        self.assertEqual({name: after[name] for name in before}, before)
        self.search("--settings", "3", "--runs", "2", out="fresh")
        self.assertEqual(self.files(), self.files("fresh"))
        self.search("--settings", "3", "--runs", "2", "--target", "0.82")
        self.assertEqual({name: self.written()[name] for name in after}, after)
        self.search("--settings", "2", "--runs", "2", "--force")
        self.assertGreater(self.written()["share-0.5"], after["share-0.5"])

    def test_a_setting_that_is_not_whole_is_run_again(self):
        self.search("--settings", "2", "--runs", "2")
        before = self.files()
        manifest = self.folder / "out/share-0.25/manifest.json"
        facts = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(facts | {"runs_finished": 1}))
        runs = self.folder / "out/share-0.25/runs.csv"
        runs.write_text("".join(runs.read_text().splitlines(keepends=True)[:2]))
        self.search("--settings", "2", "--runs", "2")
        (self.folder / "out/share-0.25/runs.csv.1").unlink()  # what was there
        self.assertEqual(before, self.files())

    def test_results_of_something_else_are_not_overwritten_without_force(self):
        self.search("--settings", "1", "--runs", "2")
        before = self.files()
        _, told = self.search("--settings", "1", "--runs", "2", "--seed", "2", status=2)
        self.assertIn("has runs of another scenario: seed (1 there, 2 here); use --out DIR", told)
        self.assertEqual(before, self.files())
        self.search("--settings", "1", "--runs", "2", "--seed", "2", "--force")
        self.assertNotEqual(before, self.files())
        self.call("run", self.write(JOB), "--quiet", "--out", "of-runs")
        for name in ("search.csv", "search.json"):
            (self.folder / f"of-{name}").mkdir(exist_ok=True)
            (self.folder / f"of-{name}" / name).write_text("mine")
            for force in (("--force",), ()):
                self.assertRegex(self.search(*force, out=f"of-{name}", status=2)[1], "which gradrace did not make|is not among the results|holds results of")
                self.assertEqual((self.folder / f"of-{name}" / name).read_text(), "mine")
        self.assertIn("holds results of runs (manifest.json)", self.search("--force", out="of-runs", status=2)[1])

    def test_an_interrupted_search_goes_on_to_the_same_files(self):
        slow = changed(JOB, stop={"gradients": 40000})
        words = ["--settings", "3", "--runs", "2", "--first-runs", "1", "--beta", str(BETA), "--quiet"]
        path = self.write(slow)
        process = subprocess.Popen(
            [PROGRAM, "search", path, *words, "--out", "out"], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not (self.folder / "out/share-0.25/runs.store").exists():
            self.assertIsNone(process.poll(), "the search ended before it was interrupted")
            time.sleep(0.005)
        time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, told)
        self.assertIn("the same call goes on where it was", told)
        self.assertNotIn("nothing is kept", told)
        self.assertFalse((self.folder / "out/search.csv").exists())
        before = self.written()
        self.call("search", path, *words, "--out", "out")
        self.assertEqual(self.written()["first-protocol"], before["first-protocol"])
        self.assertEqual(self.written()["share-0.5"], before["share-0.5"])
        self.call("search", path, *words, "--out", "fresh")
        self.assertEqual(self.files(), self.files("fresh"))


class Example(SearchTest):
    def test_stale_gradients_of_a_large_rate_are_borne_only_late(self):
        points = []
        for rate in ("0.01", "0.05"):
            words = ["--settings", "2", "--set", f"learning_rate.eta={rate}"]
            self.call("search", ROOT / "scenarios/when_to_switch.json", "--quiet", "--out", rate, *words)
            points.append(json.loads((self.folder / rate / "search.json").read_text())["switch_point"])
        self.assertEqual(points, [0.25, 0.5])


class Refused(SearchTest):
    def refused(self, scenario, *words):
        _, told = self.call("search", self.write(scenario), "--out", "out", *words, status=2)
        self.assertFalse((self.folder / "out").exists())
        return told

    def test_what_cannot_be_searched(self):
        sync, last = JOB["protocol"]["phases"]
        others = {
            "of a protocol of two phases": changed(JOB, protocol={"kind": "async"}),
            "of a protocol of two phases, ": with_phases(sync, {**sync, "end": {"work": 0.95}}, last),
            "has another end": with_phases({**sync, "end": {"updates": 10}}, last),
            "this one has another end": with_phases({**sync, "end": {"work": 0.5, "updates": 10}}, last),
            "takes a single point": changed(JOB, sweep={"cluster.learners": [2, 4]}),
            "equal work": changed(JOB, stop={"gradients": 3200, "time": 10}),
            "compares test errors": changed(JOB, model={"kind": "quadratic", "dimensions": 2}),
            "compares test errors, ": changed(JOB, timing_only=True),
        }
        for words, scenario in others.items():
            with self.subTest(words):
                told = self.refused(scenario)
                self.assertIn(words.rstrip(", "), told)
                self.assertTrue(told.startswith("gradrace: "), told)

    def test_options(self):
        self.assertIn("take one", self.refused(JOB, "--target", "0.9", "--first-runs", "5"))
        self.assertIn("--beta must be 0 to 1, got 2", self.refused(JOB, "--beta", "2"))
        self.assertIn("--target must be 0 to 1, got 1.5", self.refused(JOB, "--target", "1.5"))
        for option in ("--runs", "--first-runs", "--settings", "--jobs"):
            self.assertIn(f"{option} must be >= 1, got 0", self.refused(JOB, option, "0"))
        told = self.refused(JOB, "--settings", "12")
        self.assertIn("of 3200 gradients the last settings would differ by less than one", told)
        self.assertIn("allowed: 1 to 11", told)
        self.assertIn("allowed: 1 to 4", self.refused(changed(JOB, stop={"epochs": 0.25})))
        self.assertIn("one scenario file", self.refused(JOB, "other.json"))
        self.assertIn("replicas", self.refused(JOB, "--replicas", "3"))
        adaptive = {"protocol": {"kind": "adasync", "k0": 1, "interval": 10}, "end": {"work": 0.5}}
        told = self.refused(with_phases(adaptive, JOB["protocol"]["phases"][1]), "--target", "0.9")
        self.assertIn("--target takes times from runs without gradients", told)


if __name__ == "__main__":
    unittest.main()
