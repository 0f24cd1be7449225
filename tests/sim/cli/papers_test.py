"""The quick forms of the papers that are named, by one thread: which claims hold, which fail and are known to, which are left out,
how long it takes, and whether their pages work in a browser.

With GRADRACE_LONG all claims are judged again on falsified results, those too that take more replicas than quick forms have, and with
GRADRACE_DATA too it covers the figures on data, which take as long as all others; else they are skipped."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

from program import IS_RELEASE, PROGRAM, ROOT, rows, skip

sys.dont_write_bytecode = True
from browser import NAMES, Browser, find_browser

PAPERS = sys.argv[1:]
IS_LONG = bool(os.environ.get("GRADRACE_LONG"))
HAS_DATA = IS_LONG and bool(os.environ.get("GRADRACE_DATA"))
FALSIFIED = PAPERS if IS_LONG else [paper for paper in PAPERS if paper in ("dutta2021", "luo2019", "zhou2020")]  # five seconds each


def of_paper(paper, *ids):
    return {f"{paper}: {id}" for id in ids}


def known_to_fail(paper):
    """What its list names of the claims that were looked at."""
    path = ROOT / "analysis/papers" / paper / "known_failures.csv"
    return of_paper(paper, *(row["claim"] for row in rows(path))) if path.is_file() else set()


# What no run shows.
NOT_MODELLED = (
    of_paper(
        "douillard2025",
        *(f"streaming.{what}-{model}-{cu}" for what in ("Streaming", "overlapped", "4-bit") for model in ("1B", "10B", "100B") for cu in (50, 80, 90, 95, 99)),
    )
    | of_paper("ho2013", "7.lazy")
    | of_paper("li2021", "T6.setup-1-0.919", "T7.setup-3", "O1.table")
    | of_paper("pan2017", "1.serial", "13.layers")
    | of_paper("zhang2016", "11.threads")
)
# What takes 8 replicas, of which quick forms have fewer.
UNDECIDED = (
    of_paper("pan2017", "11.monotone", "11.ratios", "11.mild-5", "11.mild-15")
    | of_paper("pan2017", *(f"9.mnist-{what}" for what in (53, 106, 212, "gap-106", "gap-212")))
    | of_paper(
        "pan2017", *(f"10.mnist-{rates}{what}-{target}" for rates in ("", "best-") for what in (53, 106, 212, "margin") for target in ("8.5", "10", "12", "15"))
    )
    | of_paper("zhang2016", "5.softmax-rises", *(f"5.{model}-{what}" for model in ("softmax", "perceptron") for what in ("best-rates", "tuned", "best-ends")))
    | of_paper("zhang2016", "5.perceptron-best-left", "10.tuned-pairs", "10.tuned-alpha0", "10.tuned-prescription")
    | of_paper("zhang2016", *(f"10.tuned-{what}{name}" for what in ("", "products-") for name in ("hardsync", "1-softsync", "lambda-softsync")))
    | of_paper("dutta2021", "22.MNIST-tuned", "22.MNIST-tuned-late")
    | of_paper("vogels2019", *(f"5.{code}" for code in ("top-k", "random-k", "sign")), "6.ranks", "6.accuracy", "7.warm", "7.memory")
    | of_paper("vogels2019", *(f"8.{code}" for code in ("whole", "top-k", "sign")))
    | of_paper(
        "yan2021",
        *(f"4.{data}-{what}" for data in ("mnist", "cifar10") for what in ("bytes", "bytes-error", "loss")),
        *(f"7.{data}-{what}" for data in ("mnist", "cifar10") for what in ("fewer", "error", "whole", "fast")),
    )
    | of_paper("zhou2020", "6.mnist-first-10")
)
NEEDS_A_GPU = (
    of_paper("dutta2021", "22.CNN-on-CIFAR-10")
    | of_paper(
        "li2021",
        "A1.resnet-1",
        "A1.resnet-1.above-ASP",
        "A1.resnet-2",
        "A1.resnet-2.above-ASP",
        "A3.resnet",
        "A4.orders-ASP-first",
        "A4.orders-BSP-first",
        "A4.orders-as-ASP",
        "A4.resnet",
        "A8.resnet",
        "S3.resnet",
    )
    | of_paper("luo2019", "3.resnet")
    | of_paper("pan2017", "5.cnn", "9.cnn", "11.cnn", "12.cnn")
    | of_paper("zhang2016", "5.cnn")
    | of_paper("zhou2020", "6.resnet")
)
# Scenarios of which quick forms have too few replicas, the replicas that do, and claims that hold then.
MORE = {
    "dutta2018": (
        "how_high_is_the_floor",
        "14",
        {"12.sync", "12.async", "12.above-0.005", "12.above-0.05", "12.inflation-0.005", "12.inflation-0.05", "12.gap", "13", "13.floor"},
    )
}
NEEDS_MORE = of_paper("dutta2018", "12.floors", "13.floors")
# Experiments on data, as they are skipped.
NEEDS_DATA = (
    of_paper("dutta2018", "14.fig8", "15.fig9", "16.fig10", "17.fig11", "18.fig12")
    | of_paper("dutta2021", "22.mnist", "22.mnist_rates", "22.grey_cifar10")
    | of_paper("li2021", "A8.momentum", "A8.momentum_at_its_own_rate")
    | of_paper("luo2019", "3.losses", "4.losses", "3.cifar10", "4.cifar10", "8.iterations")
    | of_paper("pan2017", "9.fig8_mnist", "10.fig8_mnist", "11.fig2", "11.ramp")
    | of_paper("vogels2019", *(f"{item}.mnist" for item in (5, 6, 7, 8)))
    | of_paper("yan2021", "4.mnist", "4.cifar10", "7.mnist", "7.cifar10")
    | of_paper("zhang2016", "5.fig3_softmax", "6.fig3_softmax", "5.fig3_rates", "5.fig3_perceptron")
    | of_paper("zhang2016", "5.fig3_perceptron_rates", "10.trade_off", "10.trade_off_rates")
    | of_paper("zhou2020", "6.mnist")
)


# What notices no falsified output.
UNNOTICED = (
    of_paper("chan2014", "D3.divided", "D3.penalty")  # of hashes
    | of_paper("dutta2018", "16.loss")  # both are equal
    | of_paper("ho2013", "7.push")  # of a trace
    | of_paper("li2021", *(f"B1.setup-{setup}" for setup in (1, 2, 3)))  # of a search
    | of_paper("li2021", "T7.total")  # a bound far away
    | of_paper("luo2019", "4.bound")  # a bound far away
    | of_paper("luo2019", "7.complete-overlap", "7.exponential-in-turn", "7.exponential-overlap")  # of a status
    | of_paper("pan2017", "1.staleness")  # every point has 0
    | of_paper("pan2017", "11.mild-5", "11.mild-15")  # a wide bound, on the least of four rates
    | of_paper("pan2017", "6.left-power", "6.left-line")  # by the law of updates
    | of_paper("yan2021", "3.curvatures")  # a bound far away
    | of_paper("zhang2016", "2.dropped")  # of a trace
    | of_paper("zhang2016", "5.quadratic-learns-1", "5.quadratic-learns-2")  # a bound far away
    | of_paper("zhang2016", "5.softmax-divided")  # all are equal
)


def ways_noticed(paper, folder):
    """{id of a claim: {way of falsifying: columns}}."""
    words = [ROOT / ".venv/bin/python", ROOT / "tests/support/falsified.py", paper, folder]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


class Papers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(held.cleanup)
        cls.out = pathlib.Path(held.name) / "out"
        begin = time.monotonic()
        cls.done = cls.reproduce(*PAPERS, "--quick", "--out", cls.out)
        cls.seconds = time.monotonic() - begin
        cls.told = cls.done.stdout + cls.done.stderr
        cls.claims = {paper: rows(cls.out / paper / "claims.csv") for paper in PAPERS}

    @staticmethod
    def reproduce(*words):
        environment = os.environ if HAS_DATA else {**os.environ, "GRADRACE_DATA": ""}
        return subprocess.run([PROGRAM, "reproduce", *words, "--quiet", "--jobs", "1"], capture_output=True, text=True, check=False, env=environment)

    def ids(self, verdict):
        return {f"{paper}: {row['id']}" for paper, table in self.claims.items() for row in table if row["verdict"] == verdict}

    def test_those_claims_fail_that_are_known_to(self):
        known = set().union(*map(known_to_fail, PAPERS))
        if HAS_DATA:
            self.assertEqual(self.ids("fail"), known - UNDECIDED, self.told)
        self.assertLessEqual(self.ids("fail"), known, self.told)
        self.assertEqual(self.ids("pass") & known, set(), self.told)
        self.assertEqual(self.done.returncode, 0, self.told)

    def test_every_figure_has_a_sentence_on_what_came_out(self):
        for paper in PAPERS:
            page = (self.out / paper / "index.html").read_text(encoding="utf-8")
            answers = re.findall(r'<li><a href="#figure-([^"]+)">Figure \d+</a>\. (.*?) <span', page)
            self.assertGreater(len(answers), 0, paper)
            for figure, answer in answers:
                self.assertTrue(answer, f"{paper}: {figure}")

    def test_nothing_is_broken(self):
        for paper, table in self.claims.items():
            for row in table:
                for words in ("could not be judged", "its run failed", "not yet part", "holds no runs"):
                    self.assertNotIn(words, row["measured"], f"{paper}: {row['id']}\n{self.told}")
        self.assertNotIn("Traceback", self.told)

    def test_no_claim_is_skipped_but_those_that_must_be(self):
        left_out = NOT_MODELLED | (UNDECIDED if HAS_DATA else NEEDS_DATA) | NEEDS_MORE
        left_out = {id for id in left_out if id.split(":")[0] in PAPERS}
        self.assertEqual(self.ids("skipped") - NEEDS_A_GPU, left_out, self.told)

    def test_claims_that_hold_notice_falsified_outputs(self):
        """But those of no run, those of a fit and those that are marked; of all that are of runs 0.9 notice several ways."""
        several = []
        for paper in FALSIFIED:
            noticed = ways_noticed(paper, self.out / paper)
            holding = [row for row in self.claims[paper] if row["verdict"] == "pass"]
            silent = {row["id"] for row in holding if row["id"] not in noticed}
            excused = {row["id"] for row in holding if row["kind"] in ("theory", "fitted")}
            marked = UNNOTICED & of_paper(paper, *(row["id"] for row in holding))
            self.assertEqual(of_paper(paper, *silent - excused), marked)
            several += [len(noticed.get(row["id"], [])) > 1 for row in holding if row["kind"] == "simulated"]
        if IS_LONG:
            self.assertGreater(sum(several), 0.9 * len(several))

    @unittest.skipUnless(IS_LONG, "the long form takes more replicas")
    def test_claims_that_take_more_replicas_hold_and_notice_falsified_outputs(self):
        for paper in MORE.keys() & set(PAPERS):
            scenario, replicas, claims = MORE[paper]
            folder = self.out.parent / "more" / paper
            done = self.reproduce(paper, "--quick", "--only", scenario, "--replicas", replicas, "--out", folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            passed = {row["id"] for row in rows(folder / "claims.csv") if row["verdict"] == "pass"}
            self.assertLessEqual(claims, passed)
            self.assertLessEqual(claims, ways_noticed(paper, folder).keys())

    def test_most_claims_are_of_runs(self):
        simulated = [row for table in self.claims.values() for row in table if row["verdict"] == "pass" and row["kind"] == "simulated"]
        self.assertGreater(len(simulated), 34 * len(PAPERS))

    def test_the_pages_open_in_a_browser_without_an_error_and_load_nothing(self):
        if not find_browser():
            self.skipTest(f"no browser: {', '.join(NAMES)}")
        browser = Browser(self.out.parent / "profile")
        self.addCleanup(browser.close)
        for paper in PAPERS:
            with self.subTest(paper):
                page = self.out / paper / "index.html"
                browser.errors.clear()
                browser.requests.clear()
                browser.open(page)
                browser.wait_for(
                    "document.querySelectorAll('.plotly-graph-div').length > 0 &&"
                    " [...document.querySelectorAll('.plotly-graph-div')]"
                    ".every(one => one.querySelector('.main-svg'))"
                )
                self.assertEqual(browser.errors, [])
                others = [url for url in browser.requests if not url.startswith(("data:", "blob:"))]
                self.assertEqual(others, [page.resolve().as_uri()])

    def test_it_takes_less_than_twenty_minutes(self):
        self.assertLess(self.seconds, 1200)


if __name__ == "__main__":
    if not IS_RELEASE:
        skip("the papers take a release build")
    if not (ROOT / ".venv/bin/python").is_file():
        skip("setup.sh made no Python environment for the plots")
    unittest.main(argv=sys.argv[:1])
