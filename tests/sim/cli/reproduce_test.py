"""Reproducing papers: what is run, kept, left out and judged, and what the command says of it."""

import csv
import html.parser
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from made_up_project import HOW_LONG, SEARCHED, Project, write_scenario
from program import ROOT, ProgramTest, changed, rows, skip

PYTHON = ROOT / ".venv/bin/python"
COLUMNS = [
    "id", "source", "claim", "expected", "tolerance", "measured", "verdict",
    "expected_value", "measured_value", "standard_error", "replicas", "kind", "power", "item",
]  # fmt: skip
# Scenarios of dutta2018 that take a second and need no data.
CHEAP = (
    "fig3_who_waits_for_whom", "fig5_from_a_cold_start", "fig6_from_a_cold_start",
    "fig7_which_bound_is_lower", "fig14_how_long_is_a_large_minibatch",
)  # fmt: skip
NEEDS_DATA = {14, 15, 16, 17, 18}


class Resources(html.parser.HTMLParser):
    """What a page would load, and what it links."""

    def __init__(self):
        super().__init__()
        self.loaded, self.linked = [], []

    def handle_starttag(self, tag, attributes):
        places = [value for name, value in attributes if name in ("src", "href", "srcset")]
        (self.linked if tag == "a" else self.loaded).extend(places)


def resources(path):
    parser = Resources()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def item(row):
    return int(row["item"])


def verdicts(folder):
    return {row["id"]: row["verdict"] for row in rows(folder / "claims.csv")}


class ReproduceTest(ProgramTest):
    def reproduce(self, *words, status=0, data="", program=None):
        """Of the made-up project; stdout and stderr."""
        done = subprocess.run(
            [program or self.project.program, "reproduce", *map(os.fspath, words)],
            capture_output=True, text=True, check=False, cwd=self.folder,
            env={**os.environ, "GRADRACE_DATA": os.fspath(data)},
        )  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr


class MadeUpPapers(ReproduceTest):
    def setUp(self):
        super().setUp()
        self.project = Project(self.folder / "project")

    def fates(self, told):
        """{scenario: kept, skipped, failed or seconds} of the table of times."""
        lines = told.split("\nTimes\n")[1].splitlines()
        return {line.split()[-1]: line.split()[0] for line in lines}

    def test_without_a_paper_they_are_listed_with_their_titles(self):
        told, _ = self.reproduce()
        self.assertIn("  big    The big paper\n  small  The small paper\n", told)

    def test_wrong_words_end_with_2(self):
        _, told = self.reproduce("bog", status=2)
        self.assertIn("allowed: all, big, small", told)
        self.assertIn("--data", self.reproduce("big", "--data", "nowhere", status=2)[1])

    def test_what_lacks_data_or_a_gpu_is_left_out_and_said_so(self):
        told, _ = self.reproduce("big", "--quick")
        self.assertRegex(told, r'(?m)^skipped: on_mnist: no folder "mnist": looked at ')
        self.assertRegex(told, r'(?m)^skipped: on_a9a: no file "libsvm/a9a": looked at ')
        self.assertRegex(told, r"(?m)^skipped: gpu/deep: takes a GPU: --device cuda$")
        fates = self.fates(told)
        self.assertEqual((fates["on_mnist"], fates["gpu/deep"]), ("skipped", "skipped"))
        self.assertRegex(told, r"(?m)^ +\d+\.\d s  big how_long$")
        self.assertRegex(told, r"(?m)^ +\d+\.\d s  in all$")
        out = self.folder / "out/big-quick"
        self.assertEqual(verdicts(out), {"1.sync": "pass", "2.mnist": "skipped", "3.deep": "skipped"})
        table = rows(out / "claims.csv")
        self.assertRegex(table[1]["measured"], r'no folder "mnist".*https://')
        self.assertIn("takes a GPU", table[2]["measured"])
        page = (out / "index.html").read_text(encoding="utf-8")
        for words in ("Left out", "takes a GPU", "https://", "gradrace reproduce big", "How long does"):
            self.assertTrue(words in page, words)
        self.assertTrue((out / "figures/times.png").is_file())

    def test_data_that_lack_a_file_are_missing_and_broken_ones_fail_alone(self):
        mnist = self.folder / "data/mnist"
        mnist.mkdir(parents=True)
        (mnist / "train-images-idx3-ubyte").write_bytes(b"\0\0\x08\x03")
        told, _ = self.reproduce("big", "--out", "out", data=mnist.parent)
        self.assertRegex(told, r"skipped: on_mnist: .*/mnist: holds no train-labels-idx1-ubyte")
        self.assertRegex(rows(self.folder / "out/claims.csv")[1]["measured"], "holds no.*https://")
        (mnist / "train-labels-idx1-ubyte").write_bytes(b"")
        write_scenario(self.project.paper("big"), "wrong", {"replicas": 0})
        out, told = self.reproduce("big", "--out", "out", status=1, data=mnist.parent)
        self.assertRegex(told, r"(?m)^failed: on_mnist: .*train-images-idx3-ubyte: has 4 bytes")
        self.assertRegex(told, r"(?m)^failed: wrong: (?s:.*)replicas: must be 1 to")
        fates = self.fates(out)
        self.assertEqual((fates["on_mnist"], fates["wrong"], fates["how_long"]), ("failed", "failed", "kept"))
        self.assertEqual(verdicts(self.folder / "out")["1.sync"], "pass")
        self.assertIn("its run failed: ", rows(self.folder / "out/claims.csv")[1]["measured"])

    def test_what_lies_in_the_folder_search_is_searched(self):
        scenario = write_scenario(self.project.paper("small"), "search/job", SEARCHED)
        scenario.with_suffix(".csv").write_text("share,accuracy\n1,0.9\n0.5,0.9\n")
        told, _ = self.reproduce("small")
        self.assertRegex(told, r"(?m)^ +\d+\.\d s  small search/job$")
        self.assertNotIn("recurrences", told)
        found = json.loads((self.folder / "out/small/search/job/search.json").read_text())
        self.assertEqual((found["switch_point"], len(found["path"])), (0.5, 1))
        page = (self.folder / "out/small/index.html").read_text(encoding="utf-8")
        file = "scenarios/papers/small/search/job"
        self.assertTrue(f"gradrace search {file}.json --accuracies {file}.csv" in page)
        links = [link for link in resources(self.folder / "out/small/index.html").linked if "search/job" in link]
        self.assertEqual(len(links), 2)
        for link in links:
            self.assertTrue((self.folder / "out/small" / link).is_file(), link)

    def test_what_is_whole_and_the_same_is_kept(self):
        runs = self.folder / "out/small/how_long/runs.csv"
        manifest = runs.with_name("manifest.json")
        self.reproduce("small")
        before = runs.stat().st_mtime_ns
        self.assertEqual(self.fates(self.reproduce("small")[0])["how_long"], "kept")
        self.assertEqual(runs.stat().st_mtime_ns, before)
        self.reproduce("small", "--force")
        self.assertNotEqual(runs.stat().st_mtime_ns, before)
        facts = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(facts | {"runs_finished": 1}))
        self.assertNotEqual(self.fates(self.reproduce("small")[0])["how_long"], "kept")
        whole = runs.read_bytes()
        for what_is_left in (whole[:-10], whole.splitlines(True)[0], None) if os.environ.get("GRADRACE_LONG") else (whole[:-10],):
            runs.unlink() if what_is_left is None else runs.write_bytes(what_is_left)
            self.assertNotEqual(self.fates(self.reproduce("small")[0])["how_long"], "kept")
            self.assertEqual(runs.read_bytes(), whole)

    def test_replicas_and_device_of_every_scenario_can_be_changed(self):
        of = lambda *words: self.reproduce("small", "--out", "out", "--force", *words) and rows(self.folder / "out/how_long/runs.csv")
        points = {row["point"] for row in of()}
        self.assertEqual(len(of("--replicas", "7")), 7 * len(points))
        told = self.reproduce("small", "--out", "other", "--device", "gpu", status=2)[1]
        self.assertIn("device: unknown value", told)

    def test_with_a_gpu_what_lies_in_the_folder_gpu_is_run(self):
        """No GPU here: what stands for a deep network is timing-only."""
        write_scenario(self.project.paper("big"), "gpu/deep", HOW_LONG)
        told, _ = self.reproduce("big", "--device", "cuda", "--only", "deep", "--replicas", "3")
        fates = self.fates(told)
        self.assertRegex(fates["gpu/deep"], r"^\d+\.\d$")
        self.assertRegex(told, r"(?m)^skipped: how_long: left out: --only deep$")
        out = self.folder / "out/big"
        self.assertEqual(len(rows(out / "gpu/deep/runs.csv")), 3)
        self.assertEqual(verdicts(out), {"1.time": "skipped", "2.mnist": "skipped", "3.deep": "pass"})
        page = (out / "index.html").read_text(encoding="utf-8")
        self.assertIn("gradrace run scenarios/papers/big/gpu/deep.json --device cuda", page)
        self.assertEqual(self.fates(self.reproduce("big", "--replicas", "3")[0])["gpu/deep"], "kept")
        self.assertEqual(self.fates(self.reproduce("big", "--only", "how_long", "--force")[0])["gpu/deep"], "skipped")
        self.assertIn("allowed: how_long, on_a9a, on_mnist, gpu/deep", self.reproduce("big", "--only", "shallow", status=2)[1])

    def test_what_only_the_cpu_computes_is_left_out_of_the_folder_gpu_and_else_made_there(self):
        dataset = {"kind": "synthetic", "rows": 200, "test_rows": 50, "partition": {"kind": "iid"}}
        alone = {"model": {"kind": "softmax", "dataset": dataset}, "learning_rate": {"kind": "constant", "eta": 0.1}}
        apart = changed(HOW_LONG, protocol={"kind": "all-reduce"}, **alone)
        for name in ("gpu/apart", "apart"):
            write_scenario(self.project.paper("small"), name, apart)
        told, _ = self.reproduce("small", "--device", "cuda")
        self.assertRegex(told, r"(?m)^skipped: gpu/apart: only the CPU draws each learner's rows of dataset.partition$")
        self.assertRegex(told, r"(?m)^on the CPU: apart: only the CPU draws each learner's rows of dataset.partition$")
        manifest = json.loads((self.folder / "out/small/apart/manifest.json").read_text())
        self.assertEqual(manifest["device"], "cpu")
        self.assertFalse((self.folder / "out/small/gpu/apart").exists())

    def test_a_folder_of_something_else_is_refused(self):
        (self.folder / "file").write_text("")
        self.assertIn("is a file", self.reproduce("small", "--out", "file", status=2)[1])
        (self.folder / "out").mkdir()
        (self.folder / "out/manifest.json").write_text("{}")
        self.assertIn("results of a run", self.reproduce("small", "--out", "out", status=2)[1])
        write_scenario(self.project.paper("half"), "how_long", HOW_LONG)
        self.assertIn("no package", self.reproduce("half", status=2)[1])
        self.assertIn("no package", self.reproduce(status=2)[1])

    def test_other_results_are_not_overwritten(self):
        runs = self.folder / "out/how_long/runs.csv"
        manifest = runs.with_name("manifest.json")
        self.reproduce("small", "--out", "out")
        before = runs.read_bytes(), manifest.read_bytes()
        write = lambda **keys: write_scenario(self.project.paper("small"), "how_long", changed(HOW_LONG, **keys))
        refused = lambda *words: self.reproduce("small", "--out", "out", *words, status=2)[1]
        self.assertIn("--force", refused("--quick"))
        write(seed=2)
        self.assertIn("has runs of another scenario: seed (1 there, 2 here)", refused())
        self.assertEqual((runs.read_bytes(), manifest.read_bytes()), before)

    def test_an_interrupted_call_goes_on_when_it_is_started_again(self):
        slow = changed(HOW_LONG, replicas=10**6, stop={"updates": 10**5})
        write_scenario(self.project.paper("small"), "slow", slow)
        process = subprocess.Popen(
            [self.project.program, "reproduce", "small", "--out", "out"], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not (self.folder / "out/slow/.unfinished").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, told)
        self.assertFalse((self.folder / "out/index.html").exists())
        write_scenario(self.project.paper("small"), "slow", changed(slow, replicas=1))
        fates = self.fates(self.reproduce("small", "--out", "out")[0])
        self.assertEqual(fates["how_long"], "kept")
        self.assertNotEqual(fates["slow"], "kept")

    def test_a_claim_that_fails_ends_with_1_and_all_papers_are_summed_up(self):
        paper = self.project.folder / "analysis/papers/small/judged.py"
        paper.write_text(paper.read_text().replace('near(times["sync"], 2,', 'near(times["sync"], 2.1,'))
        told, _ = self.reproduce("all", "--out", "out", status=1)
        self.assertIn("fails: 1.sync: sync takes 2: 2, expected 2.1\n", told)
        self.assertRegex(told, r"(?m)^big +1 +0 +2 +0 +\d")
        self.assertRegex(told, r"(?m)^small +0 +1 +2 +0 +\d")
        found = resources(self.folder / "out/index.html")
        self.assertEqual((found.loaded, found.linked), (["data:,"], ["big/index.html", "small/index.html"]))
        page = (self.folder / "out/index.html").read_text(encoding="utf-8")
        for words in ("The big paper", "The small paper", "How long does sync take?", "1 fail", "1 pass"):
            self.assertIn(words, page)

    def test_a_claim_that_is_known_to_fail_ends_with_0(self):
        paper = self.project.folder / "analysis/papers/small/judged.py"
        known = paper.with_name("known_failures.csv")
        known.write_text("claim,why\n1.sync,A minibatch takes 2.\n")
        told, _ = self.reproduce("small", "--out", "out")
        self.assertIn(f"holds now: 1.sync: take it off {known}\n", told)
        paper.write_text(paper.read_text().replace('near(times["sync"], 2,', 'near(times["sync"], 2.1,'))
        told, _ = self.reproduce("small", "--out", "out")
        self.assertIn("fails, as known: 1.sync: A minibatch takes 2.\n", told)
        self.assertIn("1 fail, 2 skipped, 0 paper-inconsistent; of those that fail, 1 are known failures\n", told)
        self.assertEqual(verdicts(self.folder / "out")["1.sync"], "fail")
        self.assertIn("A minibatch takes 2.", (self.folder / "out/index.html").read_text(encoding="utf-8"))
        known.write_text("claim,why\n1.sync,\n")
        _, told = self.reproduce("small", "--out", "out", status=1)
        self.assertIn(f"{known}:2: allowed: a claim's id and a sentence that says why", told)


class Dutta2018(ReproduceTest):
    @classmethod
    def setUpClass(cls):
        """The quick form of what is cheap, once."""
        super().setUpClass()
        held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(held.cleanup)
        cls.project = Project(pathlib.Path(held.name) / "project")
        papers = cls.project.folder / "analysis/papers"
        shutil.rmtree(papers)
        shutil.copytree(ROOT / "analysis/papers", papers)
        here = cls.project.paper("dutta2018")
        here.mkdir()
        for file in (ROOT / "scenarios/papers/dutta2018").glob("*.json"):
            if file.stem in CHEAP or '"path"' in file.read_text():
                shutil.copy2(file, here)
        cls.out = pathlib.Path(held.name) / "out"
        cls.done = subprocess.run(
            [cls.project.program, "reproduce", "dutta2018", "--quick", "--quiet", "--out", cls.out],
            capture_output=True, text=True, check=False, env={**os.environ, "GRADRACE_DATA": ""},
        )  # fmt: skip

    def judged(self, out):
        """Exit status and verdicts of the project's analysis on these output folders."""
        done = subprocess.run(
            [PYTHON, self.project.folder / "analysis/reproduce/reproduce.py", "dutta2018", out],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, verdicts(out)

    def test_no_claim_fails_and_it_ends_well(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        found = verdicts(self.out)
        self.assertNotIn("fail", found.values())
        self.assertLessEqual({8, 9, 11, 19}, {item(row) for row in rows(self.out / "claims.csv") if row["verdict"] == "pass"})

    def test_every_item_has_a_row_of_its_own(self):
        with open(self.out / "claims.csv", newline="", encoding="utf-8") as file:
            self.assertEqual(next(csv.reader(file)), COLUMNS)
        table = rows(self.out / "claims.csv")
        ids = [row["id"] for row in table]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual({item(row) for row in table}, set(range(1, 20)))
        allowed = {"pass", "fail", "skipped", "paper-inconsistent"}
        self.assertLessEqual({row["verdict"] for row in table}, allowed)
        for row in table:
            if item(row) in NEEDS_DATA:
                self.assertEqual(row["verdict"], "skipped")
                self.assertRegex(row["measured"], r'no folder "(mnist|cifar10)".*https://')

    def test_the_page_is_one_file_that_loads_nothing(self):
        page = (self.out / "index.html").read_text(encoding="utf-8")
        found = resources(self.out / "index.html")
        self.assertEqual(found.loaded, ["data:,"])
        for link in found.linked:
            self.assertTrue(link.startswith(("#", "https://")) or (self.out / link).is_file(), link)
        styles = "".join(re.findall(r"(?s)<style>(.*?)</style>", page))
        self.assertNotRegex(styles, r"@import|url\(")
        for name in ("fig3", "fig6_pareto", "fig7", "fig14"):
            self.assertTrue(f'id="{name}"' in page, name)

    def test_a_wrong_digitised_value_fails_its_claim(self):
        table = self.project.folder / "analysis/papers/dutta2018/fig6.csv"
        text = table.read_text()
        self.addCleanup(table.write_text, text)
        out = self.folder / "out"
        scenario = "fig6_from_a_cold_start"
        shutil.copytree(self.out / scenario, out / scenario)
        before = verdicts(self.out)
        self.assertIn("pareto,k-sync,7,2471\n", text)
        table.write_text(text.replace("pareto,k-sync,7,2471\n", "pareto,k-sync,7,2771\n"))
        after = self.judged(out)
        self.assertEqual(after[0], 1)
        changed = [name for name in before if name in after[1] and before[name] != after[1][name]]
        self.assertEqual(changed, ["9.plotted-k-sync-pareto"])
        self.assertEqual(after[1]["9.plotted-k-sync-pareto"], "fail")


if __name__ == "__main__":
    if not PYTHON.exists():
        skip("no .venv: ./setup.sh could not make the Python environment of the plots")
    unittest.main()
