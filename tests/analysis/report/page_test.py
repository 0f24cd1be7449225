"""The page of a report in a real browser without a network, and the figures beside it."""

import contextlib
import importlib.util
import io
import random
import re
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import fabricate
import made_up_runs
import numpy as np
import pandas as pd
from browser import NAMES, Browser, find_browser
from report import page
from results import ResultsError, read_folder
from report.report import report
from report.summary import MOST_CASES

WIDTHS = 380, 768, 1440
EVIL = """<script>document.title = "broken"</script> "quoted" & 'so' $x^2$"""
MOST_BYTES = 2_000_000


def make(folder, title="Which one?", replicas=8, rows=60, **more):
    """An output folder with every file of a run but the trace."""
    rng = np.random.default_rng(1)
    means = {"sync": 0.13, "async": 0.1, "k-sync k=4": 0.12}
    folder.mkdir(exist_ok=True)
    made_up_runs.write(folder, made_up_runs.drawn(rng, means, replicas), title=title, **more)
    made_up_runs.write_curve(folder, means, replicas, rows)
    made_up_runs.write_learners(folder, means, replicas)
    counts = {(p, r): {0: 10, p: 20, 3 * p: 5} for p in range(3) for r in range(replicas)}
    fabricate.staleness(folder, counts)
    fabricate.theory(folder, {(0, "exact", "moments"): [(float(t), 1 / (1 + t), t) for t in range(50)]})
    return folder


def written(folders, out, plot=False):
    """The page's text."""
    with contextlib.redirect_stdout(io.StringIO()):
        report(folders, out, plot)
    return out.read_text(encoding="utf-8")


def setUpModule():
    global FOLDER, BROWSER, ONE, TOLD
    holder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    unittest.addModuleCleanup(holder.cleanup)
    FOLDER = Path(holder.name)
    BROWSER = Browser(FOLDER / "profile")
    unittest.addModuleCleanup(BROWSER.close)
    ONE, TOLD = FOLDER / "one/report.html", io.StringIO()
    with contextlib.redirect_stdout(TOLD):
        report([make(FOLDER / "one")], None, False)


class Page(unittest.TestCase):
    """Looked at in the browser."""

    def look(self, path, width):
        """Opens the page; its errors, requests and width."""
        BROWSER.errors.clear()
        BROWSER.requests.clear()
        BROWSER.resize(width, 900)
        BROWSER.open(path)
        return BROWSER.ask("document.documentElement.scrollWidth")

    def check(self, path):
        """No error, no request, nothing wider than the screen, at every width."""
        for width in WIDTHS:
            self.assertLessEqual(self.look(path, width), width)
            self.assertEqual(BROWSER.errors, [])
            files = [url for url in BROWSER.requests if not url.startswith("data:")]
            self.assertEqual(files, [path.resolve().as_uri()])

    def test_it_fits_every_screen_and_answers_first(self):
        self.check(ONE)
        lead = BROWSER.ask("document.querySelector('.lead').textContent")
        self.assertTrue(lead.startswith("async is best for"), lead)
        for width in WIDTHS:
            self.look(ONE, width)
            bottom = BROWSER.ask("document.querySelector('.lead').getBoundingClientRect().bottom")
            self.assertLess(bottom, 900)

    def test_each_figure_is_shown_once_and_readable(self):
        for width, shown in ((380, "column"), (1440, "page")):
            self.look(ONE, width)
            seen = BROWSER.ask("[...document.querySelectorAll('figure > div')].filter(e => e.offsetHeight > 50).map(e => e.className)")
            self.assertEqual(set(seen), {shown})
            self.assertEqual(len(seen), 5)
            sizes = "[...document.querySelectorAll('figure text')].map(e => e.getBoundingClientRect().height).filter(h => h > 0)"
            self.assertGreater(min(BROWSER.ask(sizes)), 8)

    def test_coordinates_are_shortened_and_words_are_not(self):
        folder = FOLDER / "short"
        folder.mkdir()
        runs = [(0.1, 10), (0.12, 12)]
        made_up_runs.write(folder, {"sync eta=0.12345": runs, "sync eta=0.2": [(0.2, 20), (0.21, 25)]})
        text = written([folder], FOLDER / "short.html")
        self.assertRegex(text, r"<text[^>]*>sync eta=0\.12345</text>")
        self.assertNotRegex(text, r' d="[^"]*\d\.\d{3}')

    def test_long_names_are_never_cut_to_the_same_text(self):
        """Of points that differ in their last words alone."""
        folder = FOLDER / "long_names"
        folder.mkdir()
        names = [f"local-sgd tau=8 outer eta=0.7 momentum=0.9 nesterov=true xi={i}" for i in range(4)]
        made_up_runs.write(folder, {name: [(0.1 + 0.01 * i, 10 + i), (0.12, 12 + i)] for i, name in enumerate(names)})
        text = written([folder], FOLDER / "long_names.html")
        shown = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", text))
        self.assertNotIn("\u2026", shown)
        for i in range(4):
            self.assertIn(f"xi={i}", shown)

    def test_tables_scroll_within_their_box_on_a_phone(self):
        """Also those of a point whose name is one long word, which leaves room for its numbers."""
        folder, path = FOLDER / "phone", FOLDER / "phone.html"
        folder.mkdir()
        made_up_runs.write(folder, {name: [(0.1, 10), (0.12, 12)] for name in ("sync", "x" * 120)})
        written([folder], path)
        self.check(path)
        self.look(path, 380)
        boxes = BROWSER.ask("[...document.querySelectorAll('table')].map(e => getComputedStyle(e.parentElement).overflowX)")
        self.assertEqual(set(boxes), {"auto"})
        widths = BROWSER.ask("[...document.querySelectorAll('tbody th')].map(e => e.getBoundingClientRect().width).filter(w => w > 0)")
        self.assertTrue(widths)
        self.assertLess(max(widths), 200)

    def test_of_many_circumstances_some_are_told_in_whole(self):
        runs, names = [(0.2, 20), (0.21, 21)], ("sync", "async")
        points = {f"{name} c={c:02}": runs for c in range(30) for name in names}
        values = {name: [f'{{"kind":"{name.split()[0]}"}}', name[-2:]] for name in points}
        folder, path = FOLDER / "many", FOLDER / "many.html"
        folder.mkdir()
        made_up_runs.write(folder, points, swept=("sweep.protocol", "cluster.speed"), values=values)
        written([folder], path)
        self.check(path)
        ask = BROWSER.ask
        self.assertEqual(ask("document.querySelectorAll('.several').length"), MOST_CASES)
        self.assertEqual(ask("document.querySelectorAll('.answer details tbody tr').length"), 30)
        said = page.Page([read_folder(folder)]).said()
        self.assertIn("For final test error, it is not decided under any of 30 circumstances.", said)

    def test_links_lead_somewhere(self):
        self.look(ONE, 1440)
        lost = "[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.getElementById(a.hash.slice(1))).length"
        self.assertEqual(BROWSER.ask(lost), 0)
        twice = "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(e => e.id))"
        self.assertEqual(BROWSER.ask(twice), 0)

    def test_words_of_the_scenario_stay_words(self):
        path = FOLDER / "evil.html"
        written([make(FOLDER / "evil", EVIL, notes=EVIL)], path)
        self.check(path)
        self.assertEqual(BROWSER.ask("document.title"), EVIL)
        self.assertEqual(BROWSER.ask("document.querySelector('h1').textContent"), EVIL)
        self.assertEqual(BROWSER.ask("document.querySelectorAll('script').length"), 0)

    def test_labels_stay_words_in_figures_too(self):
        runs = {EVIL: [(0.1, 10), (0.11, 12)], "b": [(0.2, 20), (0.21, 25)]}
        folder = FOLDER / "labels"
        folder.mkdir()
        made_up_runs.write(folder, runs)
        path = FOLDER / "labels.html"
        written([folder], path)
        self.check(path)
        self.assertEqual(BROWSER.ask("document.querySelectorAll('script').length"), 0)
        texts = BROWSER.ask("[...document.querySelectorAll('svg text')].map(e => e.textContent)")
        self.assertTrue(any(text.startswith(EVIL[:20]) for text in texts), texts)

    def test_axe_finds_nothing_that_bars_anybody(self):
        script = Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js")
        for width in WIDTHS:
            self.look(ONE, width)
            BROWSER.call("Runtime.evaluate", expression=script.read_text(encoding="utf-8"))
            BROWSER.ask("axe.run().then(told => { window.found = told.violations.map(one => one.id); }); 0")
            BROWSER.wait_for("!!window.found")
            self.assertEqual(BROWSER.ask("window.found"), [])

    def test_several_folders_stand_side_by_side(self):
        path = FOLDER / "several.html"
        machines = {"learners": 9, "runtime": {"distribution": "exponential", "mean": 1}}
        written([make(FOLDER / "a"), make(FOLDER / "b", "Another?", cluster=machines)], path)
        self.check(path)
        self.assertEqual(BROWSER.ask("document.querySelectorAll('.answer').length"), 2)
        tops = "[...document.querySelectorAll('#trade_off figure')].map(e => e.getBoundingClientRect().top)"
        self.look(path, 1440)
        first, second = BROWSER.ask(tops)
        self.assertEqual(first, second)

    def test_a_long_curve_stays_small_and_quick(self):
        """100,000 rows."""
        folder = make(FOLDER / "long", rows=100_000 // 24)
        started = time.process_time()
        text = written([folder], FOLDER / "long.html")
        self.assertLess(time.process_time() - started, 60)
        self.assertLess(len(text.encode()), MOST_BYTES)
        self.check(FOLDER / "long.html")
        self.assertLess(BROWSER.ask("performance.timing.domComplete - performance.timing.domLoading"), 5000)


class Folders(unittest.TestCase):
    """What lacks something."""

    def page(self, name, runs, **more):
        folder = FOLDER / name
        folder.mkdir()
        made_up_runs.write(folder, runs, **more)
        return page.Page([read_folder(folder)]).render()

    def test_one_replica_has_no_interval(self):
        text = self.page("one_replica", {"sync": [(0.2, 20)], "async": [(0.1, 10)]})
        self.assertIn("one replica does not decide", text)
        self.assertNotIn("nan", re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL))

    def test_timing_only(self):
        text = self.page("timing", {name: [(None, None)] * 3 for name in ("sync", "async")})
        self.assertIn("gradients per unit of time", text)
        self.assertNotIn('id="trade_off"', text)

    def test_points_that_are_left_out_are_counted(self):
        folder = FOLDER / "twelve"
        folder.mkdir()
        means = {f"k-sync k={k}": 0.1 + k / 100 for k in range(1, 13)}
        made_up_runs.write(folder, made_up_runs.drawn(np.random.default_rng(1), means, 4))
        made_up_runs.write_curve(folder, means, 4, 20)
        self.assertIn("4 of 12 points are left out", written([folder], FOLDER / "twelve.html"))

    def test_a_swept_number_that_nobody_chooses_has_figures_and_no_table(self):
        names = {f"{kind} learners={n}": (kind, n) for kind in ("sync", "async") for n in (4, 8, 16)}
        runs = {name: [(0.1 + n / 1000, n), (0.12, n + 1)] for name, (_, n) in names.items()}
        for key, tables in (("cluster.learners", 0), ("learning_rate.eta", 1)):
            values = {name: [f'{{"kind":"{kind}"}}', str(n)] for name, (kind, n) in names.items()}
            text = self.page(f"swept {key}", runs, swept=("sweep.protocol", key), values=values)
            section = re.search(r'<section id="swept">.*?</section>', text, flags=re.DOTALL)[0]
            self.assertEqual((section.count("<svg"), section.count("<table")), (2, tables), key)
            self.assertIn(f"final test error against {key}", section)

    def test_a_point_whose_runs_all_diverged_has_no_curve(self):
        folder = FOLDER / "diverged"
        folder.mkdir()
        made_up_runs.write(folder, {"sync": [(0.1, 10), (0.12, 12)], "async": [(np.inf, made_up_runs.NEVER)] * 2})
        made_up_runs.write_curve(folder, {"sync": 0.1, "async": 0.2}, 2, 20)
        text = page.Page([read_folder(folder)]).render()
        section = re.search(r'<section id="error_time">.*?</section>', text, flags=re.DOTALL)[0]
        self.assertEqual([name in section for name in (">sync<", ">async<")], [True, False])

    def test_errors_stand_against_bytes_after_those_against_time_where_there_are_bytes(self):
        folder = FOLDER / "bytes"
        folder.mkdir()
        made_up_runs.write(folder, {"sync": [(0.1, 10), (0.12, 12)], "async": [(0.2, 20), (0.22, 22)]})
        made_up_runs.write_curve(folder, {"sync": 0.1, "async": 0.2}, 2, 20)
        sections = lambda: re.findall(r'<section id="(\w+)">', page.Page([read_folder(folder)]).render())
        self.assertNotIn("error_bytes", sections())
        curve = pd.read_csv(folder / "curve.csv")
        curve.assign(bytes=1e6 * curve["time"]).to_csv(folder / "curve.csv", index=False)
        found = sections()
        self.assertEqual(found.index("error_bytes"), found.index("error_time") + 1)

    def test_the_unit_of_time_is_said(self):
        text = self.page("in_ms", {"sync": [(0.2, 20)], "async": [(0.1, 10)]}, time_unit="ms")
        self.assertIn("Times are in ms; those to targets are known up to the interval between evaluations, 0.5.", text)

    def test_a_label_is_the_same_words_on_the_terminal(self):
        folder = FOLDER / "words"
        folder.mkdir()
        made_up_runs.write(folder, {EVIL: [(0.1 + 0.001 * i, 10 + i) for i in range(6)], "b": [(0.2, 20)] * 6})
        self.assertIn(EVIL, page.Page([read_folder(folder)]).said()[0])

    def test_the_answer_is_said_on_the_terminal_too(self):
        answer, place = TOLD.getvalue().splitlines()
        self.assertRegex(answer, "^[^<>]+ best for [^<>]+$")
        self.assertEqual(place, f"report: {ONE}")

    def test_runs_alone(self):
        text = self.page("alone", {"sync": [(0.2, 20), (0.3, 21)], "async": [(0.1, 10), (0.11, 11)]})
        self.assertIn('id="trade_off"', text)
        self.assertNotIn('id="error_time"', text)

    def test_a_trace_is_drawn_as_a_timeline(self):
        folder = make(FOLDER / "traced")
        rng = random.Random(1)
        events = [event for p in range(3) for event in fabricate.rounds(p, "x", rng, 4, 2, 10, "cancelled")]
        fabricate.trace(folder, events)
        text = page.Page([read_folder(folder)]).render()
        self.assertIn('id="timeline"', text)
        self.assertRegex(text, r">k-sync k=4: \d+ updates shown<")

    def test_no_manifest_and_interrupted(self):
        folder = FOLDER / "half"
        folder.mkdir()
        made_up_runs.write(folder, {"sync": [(0.2, 20), (0.3, 21)], "async": [(0.1, 10), (0.11, 11)]})
        manifest = folder / "manifest.json"
        text = manifest.read_text()
        manifest.write_text(text.replace('"runs": 4', '"runs": 30'))
        self.assertIn("Interrupted: 4 of 30 runs are there.", page.Page([read_folder(folder)]).render())
        manifest.unlink()
        with self.assertRaisesRegex(ResultsError, "half: holds no results of gradrace: no manifest.json there"):
            read_folder(folder)


class Plots(unittest.TestCase):
    def test_figures_are_written_in_each_format_and_size(self):
        folder, out = FOLDER / "plotted", FOLDER / "plots/page.html"
        folder.mkdir()
        made_up_runs.write(folder, {"sync": [(0.1, 10), (0.12, 12)], "async": [(0.2, 20), (0.22, 22)]})
        made_up_runs.write_curve(folder, {"sync": 0.1, "async": 0.2}, 2, 20)
        written([folder], out, plot=True)
        names = {path.name for path in (out.parent / "page-figures").iterdir()}
        for size in ("column", "page"):
            for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
                name = f"trade_off_{size}.{ending}"
                self.assertIn(name, names)
                self.assertEqual((out.parent / "page-figures" / name).read_bytes()[: len(start)], start)
        pdf = (out.parent / "page-figures" / "error_time_column.pdf").read_bytes()
        width = float(re.search(rb"/MediaBox \[ ?[\d.]+ [\d.]+ ([\d.]+)", pdf)[1])
        self.assertAlmostEqual(width / 72, 3.5, places=1)


if __name__ == "__main__":
    if find_browser() is None:
        print(f"skipped: none of {', '.join(NAMES)} is here; ./setup.sh --browser installs one")
        sys.exit(77)
    unittest.main(warnings="ignore")
