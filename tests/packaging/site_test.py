"""The site of the documentation: its texts are there, its links lead somewhere, everything that has a name has a page."""

import subprocess
import sys
import unittest

from program import IS_RELEASE, PROGRAM, ROOT, ProgramTest

sys.path.insert(0, str(ROOT / "packaging"))
import make_site  # noqa: E402


class Site(ProgramTest):
    def test_the_texts_link_to_what_is_there(self):
        for name in make_site.TITLES:
            for target in make_site.link_targets(ROOT / name):
                self.assertTrue(target.exists(), f"{name}: {target}")

    @unittest.skipUnless(IS_RELEASE, "no release build: a hundred calls take too long")
    def test_what_is_listed_has_a_page(self):
        pages = self.folder / "pages"
        pages.mkdir()
        groups = dict(make_site.stage_catalogue(pages, PROGRAM))
        for group, name in (("protocols", "k-async"), ("models", "softmax"), ("words", "columns")):
            self.assertIn((name, f"list/{name}.md"), groups[group])
        self.assertIn("The server waits for the first K learners", (pages / "list/k-async.md").read_text())
        self.assertGreater(len(list((pages / "list").iterdir())), 90)

    def test_links_that_lead_nowhere_are_found(self):
        (self.folder / "a.html").write_text('<h1 id="here"></h1><a href="b.html"></a><a href="#here"></a><a href="#there"></a><img src="c.png">')
        (self.folder / "b.html").write_text('<a href="a.html#here"></a><a href="a.html#nowhere"></a><a href="https://example.org/x"></a>')
        found = {(str(page), link) for page, link in make_site.dead_links(self.folder.resolve())}
        self.assertEqual(found, {("a.html", "#there"), ("a.html", "c.png"), ("b.html", "a.html#nowhere")})

    def test_the_site_is_built_and_its_links_hold(self):
        if not (ROOT / "build/site/tools/stamp").exists():
            self.skipTest("no MkDocs in build/site/tools; packaging/make_site.py installs it")
        script = ROOT / "packaging/make_site.py"
        done = subprocess.run([sys.executable, script, self.folder / "site", PROGRAM], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Models in Python", (self.folder / "site/guide/models_in_python.html").read_text())


if __name__ == "__main__":
    unittest.main()
