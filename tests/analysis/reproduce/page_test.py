"""The page of a paper in a real browser without a network."""

import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ANALYSIS = Path(__file__).resolve().parents[3] / "analysis"
sys.path.insert(0, str(ANALYSIS))

import fabricate
from browser import NAMES, Browser, find_browser
from made_up import GROUPS, PAPER, judged
from reproduce.origins import Origin
from reproduce.page import write_page

KNOWN = {"2.fails": "The task is too small."}


def write(folder):
    """The page of the made-up paper, index.html."""
    origins = [Origin("race", fabricate.manifest("race"), "race")]
    command = "gradrace reproduce paper --quick"
    write_page(folder / "index.html", PAPER, judged(), KNOWN, origins, command, True)


def visible_traces(name, group):
    """Whether each trace of the group in that figure is shown."""
    traces = f"document.getElementById('{name}')._fullData"
    return f"{traces}.filter(t => t.legendgroup === '{group}').map(t => t.visible === true)"


def button_of(name, words):
    """A plotly button of a figure."""
    found = f"document.querySelectorAll('#{name} .updatemenu-button')"
    return f"[...{found}].find(e => e.textContent.trim() === '{words}')"


class Browsed(unittest.TestCase):
    """The made-up page in a browser, the same one for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.folder, cls.path, cls.browser = FOLDER, FOLDER / "index.html", BROWSER

    @classmethod
    def open(cls):
        cls.browser.errors.clear()
        cls.browser.requests.clear()
        cls.browser.open(cls.path)
        cls.browser.wait_for("document.querySelectorAll('.plotly-graph-div .main-svg').length >= 6")


def setUpModule():
    global FOLDER, BROWSER
    holder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    unittest.addModuleCleanup(holder.cleanup)
    FOLDER = Path(holder.name)
    write(FOLDER)
    BROWSER = Browser(FOLDER / "profile")
    unittest.addModuleCleanup(BROWSER.close)


class Page(Browsed):
    """As it is opened."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.open()

    def test_it_opens_without_an_error_and_loads_nothing(self):
        self.assertEqual(self.browser.errors, [])
        schemes = {url.split(":")[0] for url in self.browser.requests}
        self.assertLessEqual(schemes, {"file", "data", "blob"})
        files = [url for url in self.browser.requests if url.startswith("file:")]
        self.assertEqual(files, [self.path.resolve().as_uri()])

    def test_every_figure_is_drawn(self):
        for name, kind, count in (("points", ".scatterlayer .trace", 27), ("curves", ".scatterlayer .trace", 4),
                                  ("columns", ".barlayer .point", 4)):  # fmt: skip
            drawn = f"document.querySelectorAll('#{name} {kind}').length"
            self.assertEqual(self.browser.ask(drawn), count, name)
            box = f"document.querySelector('#{name} .main-svg').getBoundingClientRect()"
            self.assertGreater(self.browser.ask(f"{box}.width"), 600)
            self.assertGreater(self.browser.ask(f"{box}.height"), 300)
        width = self.browser.ask("document.querySelector('.plot svg[role=img][aria-label=Bars]').getBoundingClientRect().width")
        self.assertGreater(width, 600)

    def test_it_says_first_what_the_paper_asks_and_what_came_out(self):
        texts = lambda place: self.browser.ask(f"[...document.querySelectorAll('{place}')].map(one => one.textContent)")
        self.assertEqual(texts(".question"), ["Is 1 < 2, & why?"])
        heads = ["What came out", "Figures", "Caveats", "Claims", "How it was made"]
        self.assertEqual(texts("h2"), heads)
        answers = [" ".join(one.split()) for one in texts(".answers li")]
        self.assertEqual(answers[:2], ["Figure 1. It rises with <k>. 1 pass", "Figure 2. It falls. 1 pass"])
        self.assertEqual(answers[4], "Figure 5. There are two rows.")
        self.assertEqual(self.browser.ask("document.querySelector('p a').href"), "https://example.org/paper")

    def test_figures_have_numbers_and_those_of_the_paper(self):
        texts = lambda place: self.browser.ask(f"[...document.querySelectorAll('{place}')].map(one => one.textContent)")
        titles = ["Times & <orders>", "Curves", "Bars", "Columns", "Cells"]
        self.assertEqual(texts("section h3"), [f"Figure {i}. {one}" for i, one in enumerate(titles, 1)])
        self.assertEqual([note.split("From")[0].strip() for note in texts("section > p.note")[1:]], ["In the paper: Fig 8a.", "", "", "", ""])

    def test_what_is_known_to_fail_stands_with_its_reason(self):
        texts = lambda place: " ".join(self.browser.ask(f"document.querySelector('{place}').textContent").split())
        self.assertEqual(texts("#known + ul"), "2.fails: The task is too small.")
        self.assertIn("Known to fail: The task is too small.", texts('[id="claim-2.fails"]'))

    def test_kinds_of_claims_and_their_power_are_told(self):
        texts = lambda place: [" ".join(one.split()) for one in self.browser.ask(
            f"[...document.querySelectorAll('{place}')].map(one => one.textContent)")]  # fmt: skip
        self.assertEqual(texts("#answers ~ p .kind"), ["1 fitted"])
        self.assertEqual(texts(".claims .kind"), ["simulated", "theory", "fitted", "simulated"])
        row = texts('[id="claim-1.passes"]')[0]
        self.assertIn("would have found 0.2", row)

    def test_headings_stand_in_order_and_names_are_there_once(self):
        levels = self.browser.ask("[...document.querySelectorAll('h1, h2, h3, h4')].map(one => +one.tagName[1])")
        self.assertEqual(levels[0], 1)
        self.assertEqual(levels.count(1), 1)
        self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])), levels)
        names = self.browser.ask("[...document.querySelectorAll('main [id]')].filter(e => !e.closest('.plot')).map(one => one.id)")
        self.assertEqual(len(names), len(set(names)))

    def test_columns_have_words_below_and_tables_their_cells(self):
        texts = lambda place: self.browser.ask(f"[...document.querySelectorAll('{place}')].map(one => one.textContent)")
        self.assertEqual(texts("#columns .xtick text"), ["setup 1", "setup 2"])
        table = "section:has(#figure-cells)"
        self.assertEqual(texts(f"{table} th"), ["a <head>", "b"])
        self.assertEqual(texts(f"{table} td"), ["1 < 2", "x", "3", "y"])
        self.assertEqual(texts(f'{table} a[href$=".png"]'), [])

    def test_groups_look_different(self):
        traces = "document.getElementById('points')._fullData.filter(t => t.mode === 'lines')"
        colours = self.browser.ask(f"{traces}.map(t => t.line.color)")
        self.assertEqual(len(set(colours)), len(GROUPS))

    def test_no_button_offers_an_axis_that_would_hide_data(self):
        self.assertFalse(self.browser.ask(f"!!{button_of('curves', 'y log')}"))
        self.assertTrue(self.browser.ask(f"!!{button_of('curves', 'x log')}"))
        self.assertTrue(self.browser.ask(f"!!{button_of('points', 'y log')}"))

    def test_links_lead_somewhere(self):
        inside = "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash.slice(1))"
        names = self.browser.ask(inside)
        self.assertLessEqual({"figure-points", "figure-curves", "run-race", "claims"}, set(names))
        lost = f"{inside}.filter(name => !document.getElementById(decodeURIComponent(name)))"
        self.assertEqual(self.browser.ask(lost), [])

    def test_it_says_where_every_result_comes_from(self):
        said = self.browser.ask("document.body.textContent")
        for words in (
            "gradrace reproduce paper --quick", "gradrace 1.2.3 (revision abcdef)", "a processor",
            "gradrace run /somewhere/race.json --quick", "0123456789abcdef", "fedcba9876543210",
            "1,234", "1 min 05 s", "a note of the run", '"title": "race: who wins?"',
            "gpu/race: takes a GPU", "Times & <orders>", "It says 1 < 2.", "a < b",
        ):  # fmt: skip
            self.assertIn(words, said)


class OnScreens(Browsed):
    """Of a phone, a tablet and a desk."""

    def test_nothing_is_wider_than_the_screen(self):
        self.addCleanup(self.browser.call, "Emulation.clearDeviceMetricsOverride")
        for width in (390, 768, 1440):
            self.browser.resize(width, 900)
            self.open()
            self.assertLessEqual(self.browser.ask("document.documentElement.scrollWidth"), width)
            self.assertEqual(self.browser.errors, [])


class OnAPhone(Browsed):
    """390 pixels wide."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser.resize(390, 800)
        cls.open()
        cls.browser.wait_for("document.getElementById('points')._fullLayout.legend.orientation === 'h'")

    @classmethod
    def tearDownClass(cls):
        cls.browser.call("Emulation.clearDeviceMetricsOverride")

    def test_figures_keep_their_width_and_legends_stand_below(self):
        for name in ("points", "curves", "columns"):
            size = self.browser.ask(f"(({{w, h}}) => [w, h])(document.getElementById('{name}')._fullLayout._size)")
            self.assertGreater(size[0], 250, name)
            self.assertGreater(size[1], 200, name)
            boxes = f"['.legend', '.main-svg'].map(one => document.querySelector('#{name} ' + one).getBoundingClientRect())"
            legend, whole = self.browser.ask(f"{boxes}.map(one => [one.left, one.right, one.top, one.bottom])")
            self.assertTrue(whole[0] <= legend[0] and legend[1] <= whole[1] and legend[3] <= whole[3], name)
            self.assertGreater(legend[2], whole[2] + size[1], name)
            self.assertLessEqual(whole[3], self.browser.ask(f"document.getElementById('{name}').getBoundingClientRect().bottom"))

    def test_claims_are_as_wide_as_the_screen(self):
        widths = self.browser.ask("[...document.querySelectorAll('.claims td')].map(one => one.offsetWidth)")
        self.assertGreater(min(widths), 300)


class Clicks(Browsed):
    """Each on a page of its own."""

    def setUp(self):
        self.open()

    def test_a_click_in_the_legend_takes_a_protocol_away_and_brings_it_back(self):
        entry = "document.querySelectorAll('#points .legendtoggle')[4]"
        shown, others = visible_traces("points", "k = 2"), visible_traces("points", "k = 1")
        self.assertEqual(self.browser.ask(shown), [True] * 3)
        self.browser.click(entry)
        self.browser.wait_for(f"{shown}.every(one => !one)")
        self.assertEqual(self.browser.ask(others), [True] * 3)
        time.sleep(0.5)  # or it were a double click
        self.browser.click(entry)
        self.browser.wait_for(f"{shown}.every(one => one)")

    def test_a_band_goes_with_its_curve(self):
        shown = visible_traces("curves", "async")
        self.assertEqual(self.browser.ask(shown), [True] * 2)
        self.browser.click("document.querySelectorAll('#curves .legendtoggle')[1]")
        self.browser.wait_for(f"{shown}.every(one => !one)")

    def test_buttons_make_axes_linear_and_logarithmic(self):
        axis = "document.getElementById('points')._fullLayout.yaxis.type"
        self.assertEqual(self.browser.ask(axis), "log")
        for scale in ("linear", "log"):
            self.browser.click(button_of("points", f"y {scale}"))
            self.browser.wait_for(f"{axis} === '{scale}'")
        self.assertEqual(self.browser.errors, [])

    def test_claims_stand_with_the_failing_ones_first_and_can_be_hidden(self):
        rows = "[...document.querySelectorAll('.claims tbody tr')]"
        order = self.browser.ask(f"{rows}.map(row => row.className)")
        self.assertEqual(order, ["fail", "paper-inconsistent", "pass", "skipped"])
        self.browser.click("document.getElementById('show-pass')")
        shown = self.browser.ask(f"{rows}.filter(row => row.offsetHeight > 0).map(row => row.className)")
        self.assertEqual(shown, ["fail", "paper-inconsistent", "skipped"])

    def test_an_error_and_a_request_would_be_seen(self):
        broken = self.folder / "broken.html"
        text = self.path.read_text(encoding="utf-8")
        extra = '<script>nowhere.to.be.found()</script><img src="https://example.org/x.png">'
        broken.write_text(text.replace("<h1>", extra + "<h1>"), encoding="utf-8")
        self.browser.open(broken)
        self.assertIn("nowhere is not defined", " ".join(self.browser.errors))
        self.assertIn("ERR_NAME_NOT_RESOLVED", " ".join(self.browser.errors))
        self.assertIn("https://example.org/x.png", self.browser.requests)


if __name__ == "__main__":
    if find_browser() is None:
        print(f"skipped: none of {', '.join(NAMES)} is here; ./setup.sh --browser installs one")
        sys.exit(77)
    unittest.main(warnings="ignore")  # of plotly about itself
