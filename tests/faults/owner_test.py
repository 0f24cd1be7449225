"""Whose a file in an output folder is: what gradrace did not make, or somebody changed, is neither
replaced nor removed, whatever its name, and links are not followed."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from program import PROGRAM, SMALL, ProgramTest, changed

BASE = changed(SMALL, record={"every_time": 1}, sweep=None, protocol={"kind": "sync"}, replicas=1, stop={"updates": 5})
RECORDED = changed(BASE, record={"every_time": 1, "updates": True, "trace": True})


class Others(ProgramTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "o"
        self.call("run", self.write(BASE), "--out", "o", "--quiet")

    def text(self, name):
        return (self.out / name).read_text(encoding="utf-8")

    def test_a_file_of_a_records_name_stops_the_call_before_it_runs(self):
        before = self.text("runs.csv")
        for name in ("updates.csv", "trace.json"):
            (self.out / name).write_text("mine")
            _, told = self.call("run", self.write(RECORDED, "r.json"), "--out", "o", "--quiet", "--force", status=2)
            self.assertIn(f"o/{name}: is there, and is not among the results", told)
            self.assertEqual((self.text(name), self.text("runs.csv")), ("mine", before))
            (self.out / name).unlink()
            self.call("run", self.write(BASE), "--out", "o", "--quiet")

    def test_something_else_where_unfinished_results_go_is_named(self):
        (self.folder / "elsewhere").mkdir()
        place = self.out / ".unfinished"
        for make, what in (
            (lambda: place.symlink_to("../elsewhere"), "link"),
            (lambda: place.symlink_to("nowhere"), "link"),
            (lambda: place.write_text("mine"), "file"),
        ):
            make()
            for words in (("run", "scenario.json", "--out", "o", "--replicas", "2"), ("collect", "o")):
                told = self.call(*words, "--quiet", status=2)[1]
                self.assertIn(f"o/.unfinished: is a {what}, where unfinished results need a folder; move it away, or use --out DIR", told)
            place.unlink()
        self.assertEqual(os.listdir(self.folder / "elsewhere"), [])

    def test_a_file_of_another_form_stays(self):
        for name, words in (("runs.parquet", ("--format", "parquet")), ("curve.csv.gz", ("--compress", "gzip"))):
            (self.out / name).write_text("mine")
            _, told = self.call("collect", "o", *words, status=2)
            self.assertIn(f"o/{name}: is there", told)
            self.assertEqual(self.text(name), "mine")
            (self.out / name).unlink()

    def test_a_result_that_was_changed_outlives_its_successors(self):
        self.call("run", self.write(RECORDED, "r.json"), "--out", "o", "--quiet", "--force")
        (self.out / "updates.csv").write_text("mine")
        self.call("run", self.write(BASE), "--out", "o", "--quiet", "--force")
        self.assertEqual(self.text("updates.csv"), "mine")
        self.assertFalse((self.out / "trace.json").exists())

    def test_what_no_manifest_names_gets_another_name(self):
        usual = self.tables(self.out)
        for number, text in enumerate((None, "mine", "{}"), 1):
            manifest = self.out / "manifest.json"
            manifest.unlink() if text is None else manifest.write_text(text)
            (self.out / "curve.csv").write_text("mine")
            told = self.call(*((("run", self.write(BASE), "--out", "o"), ("collect", "o"))[number % 2]), "--quiet")[1]
            self.assertIn(f"note: o/curve.csv: no manifest says whose it is; it is curve.csv.{number} now", told)
            self.assertEqual(self.text(f"curve.csv.{number}"), "mine")
            kept = {name for name in os.listdir(self.out) if name.startswith("manifest.json.")}
            self.assertEqual(len(kept), number - 1)
            there = self.tables(self.out)
            self.assertEqual({name: there[name] for name in usual}, usual)
        self.assertEqual(self.text("manifest.json.1"), "mine")

    def test_collect_refuses_before_it_puts_stores_together(self):
        for shard in ("1/2", "2/2"):
            self.call("run", self.write(changed(BASE, replicas=4)), "--out", "o", "--shard", shard, "--quiet")
        (self.out / "runs.parquet").write_text("mine")
        there = set(os.listdir(self.out)) - {".unfinished"}
        self.assertIn("o/runs.parquet: is there", self.call("collect", "o", "--format", "parquet", status=2)[1])
        self.assertEqual(set(os.listdir(self.out)) - {".unfinished"}, there)

    def test_shards_and_fits_are_not_mixed(self):
        (self.folder / "t.csv").write_text("seconds\n" + "".join(f"{1 + 3 * i % 7}\n" for i in range(50)))
        self.call("run", self.write(changed(BASE, replicas=4)), "--out", "s", "--shard", "1/2", "--quiet")
        self.assertIn("s: holds results of runs (runs.1-of-2.store)", self.call("fit", "t.csv", "--out", "s", "--force", status=2)[1])
        self.call("fit", "t.csv", "--out", "f")
        (self.folder / "f/runs.1-of-2.store").write_bytes((self.folder / "s/runs.1-of-2.store").read_bytes())
        before = self.tables(self.folder / "f")
        self.assertIn("f: holds results of another command (fit.json)", self.call("collect", "f", status=2)[1])
        self.assertEqual(self.tables(self.folder / "f"), before)

    def test_a_fit_goes_to_no_folder_of_runs(self):
        (self.folder / "t.csv").write_text("seconds\n" + "".join(f"{1 + 3 * i % 7}\n" for i in range(50)))
        before = sorted(path.name for path in self.out.iterdir())
        for force in ((), ("--force",)):
            self.assertIn("o: holds results of runs", self.call("fit", "t.csv", "--out", "o", *force, status=2)[1])
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), before)

    def test_a_fit_replaces_nothing_that_it_did_not_make(self):
        (self.folder / "t.csv").write_text("seconds\n" + "".join(f"{1 + 3 * i % 7}\n" for i in range(50)))
        (self.folder / "real.csv").write_text("mine")
        for name in ("fit.csv", "fit.json", "sample.csv", "quantiles.csv"):
            (self.folder / name).mkdir()
            (self.folder / name / name).symlink_to(self.folder / "real.csv")
            for force in ((), ("--force",)):
                self.assertIn(f"{name}/{name}: is a link", self.call("fit", "t.csv", "--out", name, *force, status=2)[1])
            self.assertEqual((self.folder / "real.csv").read_text(), "mine")
        self.call("fit", "t.csv", "--out", "f")
        self.call("fit", "t.csv", "--out", "f", "--force")
        self.assertIn("o: is a file", self.call("fit", "t.csv", "--out", "t.csv", status=2)[1].replace("t.csv", "o"))

    def test_a_fit_that_was_changed_is_not_taken_for_whole(self):
        (self.folder / "t.csv").write_text("seconds\n" + "".join(f"{1 + 3 * i % 7}\n" for i in range(50)))
        self.call("fit", "t.csv", "--out", "f")
        self.call("fit", "t.csv", "--out", "f")
        with open(self.folder / "f/sample.csv", "a", encoding="utf-8") as file:
            file.write("0,9\n")
        self.assertIn("f: holds results already", self.call("fit", "t.csv", "--out", "f", status=2)[1])

    def test_a_page_of_nobody_knows_whom_stops_reproduce(self):
        for name in ("index.html", "claims.csv", "skipped.json"):
            (self.folder / name).mkdir()
            (self.folder / name / name).write_text("mine")
            _, told = self.call("reproduce", "chan2014", "--quick", "--out", name, status=2)
            self.assertIn(f"{name}/{name}: is not as reproduce writes it", told)
            self.assertEqual(os.listdir(self.folder / name), [name])

    def test_so_does_one_in_the_place_of_the_overview(self):
        (self.folder / "d").mkdir()
        (self.folder / "d/index.html").write_text("mine")
        _, told = self.call("reproduce", "chan2014", "ho2013", "--quick", "--out", "d", status=2)
        self.assertIn("d/index.html: is not as reproduce writes it", told)
        self.assertEqual(os.listdir(self.folder / "d"), ["index.html"])

    def test_a_fit_leaves_the_files_of_runs(self):
        (self.folder / "t.csv").write_text("seconds\n" + "".join(f"{1 + 3 * i % 7}\n" for i in range(50)))
        for name in ("costs.csv", "curve.csv"):
            (self.folder / "f").mkdir(exist_ok=True)
            (self.folder / "f" / name).write_text("mine")
        self.call("fit", "t.csv", "--out", "f", "--force")
        self.assertEqual((self.folder / "f/curve.csv").read_text() + (self.folder / "f/costs.csv").read_text(), "minemine")


class Drawings(ProgramTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "o"
        self.call("run", self.write(BASE), "--out", "o", "--quiet")

    def draw(self):
        self.call("plot", "o", "--format", "png", "--format", "svg", "--format", "pdf")
        self.call("report", "o")
        return [self.out / "report.html", *(self.out / "plots").iterdir()]

    def anew(self):
        return self.call("run", self.write(BASE), "--out", "o", "--force")[0]

    def test_what_was_drawn_goes_with_its_results(self):
        self.assertEqual({path.suffix for path in self.draw()}, {".html", ".png", ".svg", ".pdf"})
        self.call("plot", "o", "--format", "png")  # once more over its own
        self.assertIn("what was drawn of the files before (plots, report.html) is removed", self.anew())
        self.assertFalse((self.out / "plots").exists() or (self.out / "report.html").exists())

    def test_a_copy_under_another_name_stays(self):
        self.call("plot", "o")
        self.call("report", "o")
        for name, copy in (
            ("plots/error_time.png", "plots/mine.png"),
            ("plots/loss_time.svg", "plots/error_time_2.svg"),
            ("report.html", "plots/report.html.png"),
        ):
            (self.out / copy).write_bytes((self.out / name).read_bytes())
        self.call("run", self.write(BASE), "--out", "o", "--replicas", "2", "--quiet")
        self.assertEqual({path.name for path in (self.out / "plots").iterdir()}, {"mine.png", "error_time_2.svg", "report.html.png"})

    def test_what_was_changed_stays(self):
        drawn = self.draw()
        for path in drawn:
            path.write_bytes(path.read_bytes().replace(b"e", b"E", 1))
        page = self.out / "report.html"
        page.write_bytes(page.read_bytes().replace(b"E", b"e", 1))  # as it was
        page.write_bytes(page.read_bytes() + b"<!-- a note -->")
        before = {path: path.read_bytes() for path in drawn}
        self.assertNotIn("what was drawn of the files before", self.anew())
        for words in (("plot", "o"), ("plot", "o", "--format", "pdf"), ("report", "o")):
            _, told = self.call(*words, status=1)
            self.assertIn("bears no stamp of gradrace", told)
        self.assertEqual({path: path.read_bytes() for path in drawn}, before)

    def test_the_users_own_stay(self):
        mine = [self.out / name for name in ("report.html", "plots/error_time.png", "plots/final_error_by_me.png")]
        (self.out / "plots").mkdir()
        for path in mine:
            path.write_text("mine")
        os.mkfifo(self.out / "plots/staleness.png")
        self.anew()
        self.call("report", "o", status=1)
        self.call("plot", "o", status=1)
        self.call("report", "o", "--out", self.folder / "new.html", "--plot")
        os.mkfifo(self.folder / "pipe")
        self.call("report", "o", "--out", self.folder / "pipe", status=1)
        self.assertTrue((self.folder / "pipe").is_fifo())
        self.assertEqual([path.read_text() for path in mine], ["mine"] * 3)

    def test_who_draws_and_who_publishes_wait_for_each_other(self):
        folder = os.open(self.out, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        for words in (("plot", "o", "--format", "png"), ("report", "o"), ("run", self.write(BASE), "--out", "o", "--replicas", "2")):
            fcntl.flock(folder, fcntl.LOCK_EX)
            waiting = subprocess.Popen([PROGRAM, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            told = ""
            while "waits for another call that publishes or draws there" not in told:
                told = waiting.stderr.readline()
                self.assertTrue(told, words)
            self.assertIsNone(waiting.poll(), words)
            fcntl.flock(folder, fcntl.LOCK_UN)
            waiting.communicate()
            self.assertEqual(waiting.returncode, 0, words)

    def test_what_a_killed_drawing_left_goes(self):
        self.call("plot", "o", "--format", "png")
        left, in_use = (self.out / f"plots/.error_time.png.0000000{n}.unfinished" for n in range(2))
        mine = self.out / "plots/.error_time.png.draft.unfinished"
        left.touch()
        mine.touch()
        with in_use.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.call("plot", "o", "--format", "png")
            self.assertEqual((left.exists(), in_use.exists(), mine.exists()), (False, True, True))

    def test_two_that_draw_at_once_draw_both(self):
        calls = [subprocess.Popen([PROGRAM, "plot", "o", "--format", "png"], cwd=self.folder, stdout=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual([call.wait(60) for call in calls], [0, 0])
        self.assertTrue(all(path.suffix in (".png", ".svg") for path in (self.out / "plots").iterdir()))

    def test_pictures_with_a_stamp_are_whole(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("Pillow is not installed")
        self.call("plot", "o", "--format", "png")
        with Image.open(self.out / "plots/error_time.png") as picture:
            picture.verify()


class Links(ProgramTest):
    """Nothing is written, replaced or removed through a link in a folder of results, which may be a stranger's."""

    def setUp(self):
        super().setUp()
        self.out, self.elsewhere = self.folder / "o", self.folder / "elsewhere"
        self.elsewhere.mkdir()
        self.call("run", self.write(BASE), "--out", "o", "--quiet")

    def link(self, name):
        """Its file is elsewhere, as it was."""
        if (self.out / name).exists():
            (self.out / name).rename(self.elsewhere / name)
        (self.out / name).symlink_to(os.path.relpath(self.elsewhere / name, self.out))
        return self.everything_elsewhere()

    def everything_elsewhere(self):
        return {path.name: path.read_bytes() for path in self.elsewhere.iterdir()}

    def test_results_and_stores_are_not_written_through_them(self):
        for name in ("runs.csv", "curve.csv", "manifest.json", "runs.store"):
            with self.subTest(name):
                before = self.link(name)
                for force in ((), ("--force",)):
                    _, told = self.call("run", self.write(changed(BASE, replicas=3)), "--out", "o", "--quiet", *force, status=None)
                    self.assertEqual(self.everything_elsewhere(), before, told)
                    if not force:
                        self.assertIn(f"o/{name}: is a link, through which nothing is written; move it away", told)
                self.setUp_again()

    def setUp_again(self):
        for path in (self.out, self.elsewhere):
            shutil.rmtree(path)
        self.elsewhere.mkdir()
        self.call("run", self.write(BASE), "--out", "o", "--quiet")

    def test_what_a_link_leads_to_is_not_made(self):
        for name, words in (
            ("report.html", ("report", "o")),
            ("runs.1-of-2.store", ("run", self.write(BASE), "--out", "o", "--quiet", "--shard", "1/2")),
            ("plots", ("plot", "o")),
            (".unfinished", ("run", self.write(changed(BASE, replicas=3)), "--out", "o", "--quiet")),
        ):
            with self.subTest(name):
                shutil.rmtree(self.out / ".unfinished", ignore_errors=True)
                if name in ("plots", ".unfinished"):
                    (self.elsewhere / name).mkdir()
                (self.out / name).symlink_to(self.elsewhere / name)
                self.call(*words, status=None)
                self.assertLessEqual({path.name for path in self.elsewhere.rglob("*")}, {name})
                if (self.out / name).is_symlink():
                    (self.out / name).unlink()
                shutil.rmtree(self.elsewhere)
                self.elsewhere.mkdir()

    def test_a_link_to_the_folder_that_the_user_names_is_one(self):
        (self.folder / "link").symlink_to("o")
        told, _ = self.call("run", self.write(BASE), "--out", "link")
        self.assertIn("nothing is to be done", told)
        self.call("run", self.write(changed(BASE, replicas=3)), "--out", "link", "--quiet")
        self.assertEqual(json.loads((self.out / "manifest.json").read_text())["runs"], 3)

    def test_a_folder_that_is_replaced_meanwhile_is_told(self):
        long = self.write(changed(BASE, replicas=40, stop={"updates": 400000}), "long.json")
        for name in (".unfinished", "."):
            with self.subTest(name):
                run = subprocess.Popen([PROGRAM, "run", long, "--quiet", "--out", "new"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
                place = self.folder / "new" / name
                while not (self.folder / "new/runs.store").exists():
                    time.sleep(0.01)
                target = self.elsewhere / "target"
                target.mkdir()
                (target / "runs.csv").write_text("mine")
                if name == ".":
                    place.rename(self.folder / "moved")
                    (self.folder / "new").symlink_to(target)
                else:
                    place.rename(self.folder / "moved")
                    place.symlink_to(target)
                run.send_signal(signal.SIGINT)
                told = run.communicate(timeout=60)[1]
                self.assertEqual({path.name for path in target.iterdir()}, {"runs.csv"}, told)
                self.assertEqual((target / "runs.csv").read_text(), "mine")
                self.assertTrue((self.folder / "new" if name == "." else place).is_symlink(), told)
                self.assertNotEqual(run.returncode, 0, told)
                shutil.rmtree(target)
                shutil.rmtree(self.folder / "moved")
                if (self.folder / "new").is_symlink():
                    (self.folder / "new").unlink()
                shutil.rmtree(self.folder / "new", ignore_errors=True)

    def test_a_folder_in_the_place_of_a_result_is_told(self):
        (self.out / "runs.csv").unlink()
        (self.out / "runs.csv").mkdir()
        _, told = self.call("run", self.write(changed(BASE, replicas=3)), "--out", "o", "--quiet", status=2)
        self.assertIn("runs.csv: is there, and is not among the results", told)

    def test_pipes_are_no_results_and_hang_nothing(self):
        for name in ("manifest.json", "runs.csv", "curve.csv"):
            (self.out / name).rename(self.folder / "kept")
            os.mkfifo(self.out / name)
            for words in (("plot", "o"), ("collect", "o", "--quiet"), ("run", self.write(BASE), "--out", "o", "--quiet")):
                with self.subTest(name=name, command=words[0]):
                    done = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, timeout=60, check=False)
                    self.assertIn(done.returncode, (0, 1, 2))
            (self.out / name).unlink(missing_ok=True)
            (self.folder / "kept").rename(self.out / name)


if __name__ == "__main__":
    unittest.main()
