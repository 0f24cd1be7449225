"""Compressed results: the same text, the same bytes each time, and no run made again for another form."""

import gzip
import json
import shutil
import subprocess
import unittest

from program import ROOT, SMALL, ProgramTest, changed

PYTHON = ROOT / ".venv/bin/python"
ENDINGS = {"gzip": ".gz", "zstd": ".zst"}
PLAIN = ("runs.csv", "manifest.json", "runs.store")
SCENARIO = changed(SMALL, stop={"updates": 600})


def unpacked(path):
    """Bytes of a compressed file, by another program than ours."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if shutil.which("zstd"):
        return subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
    read = "import pyarrow, sys; sys.stdout.buffer.write(pyarrow.input_stream(sys.argv[1], compression='zstd').read())"
    return subprocess.run([PYTHON, "-c", read, path], check=True, capture_output=True).stdout


def can_unpack(form):
    return form == "gzip" or shutil.which("zstd") or PYTHON.exists()


class Compressed(ProgramTest):
    def run_in(self, out, *words):
        told, _ = self.call("run", self.write(SCENARIO), "--out", out, "--quiet", *words)
        return self.folder / out, told

    def all_bytes(self, folder):
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    def test_files_say_the_same_and_have_the_same_bytes_for_any_number_of_jobs(self):
        plain = self.tables(self.run_in("plain")[0])
        for form, ending in ENDINGS.items():
            out, _ = self.run_in(form, "--compress", form, "--jobs", "1")
            self.assertEqual(
                {path.name for path in out.iterdir()},
                {*PLAIN, *(name + ending for name in plain if name not in PLAIN)},
            )
            manifest = json.loads((out / "manifest.json").read_text())
            self.assertIn("curve.csv" + ending, manifest["files"])
            self.assertEqual((out / "runs.csv").read_bytes(), plain["runs.csv"])
            for name, text in plain.items():
                if name not in PLAIN and can_unpack(form):
                    self.assertEqual(unpacked(out / (name + ending)), text, name)
            other, _ = self.run_in(form + "-again", "--compress", form, "--jobs", "3")
            self.assertEqual(self.tables(out), self.tables(other))

    def test_another_form_makes_no_run_again_and_takes_the_place_of_the_first(self):
        forms = {"plain": (), "gzip": ("--compress", "gzip"), "zstd": ("--compress", "zstd")}
        wanted = {form: self.tables(self.run_in(form, *words)[0]) for form, words in forms.items()}
        out, _ = self.run_in("out")
        store = (out / "runs.store").read_bytes()
        for form in ("gzip", "zstd", "plain", "zstd", "gzip", "plain"):
            _, told = self.run_in("out", *forms[form])
            self.assertIn("all 12 runs are there; the files are written anew", told)
            self.assertEqual(self.tables(out), wanted[form])
            self.assertEqual((out / "runs.store").read_bytes(), store)
            before = self.all_bytes(out)
            _, told = self.run_in("out", *forms[form])
            self.assertIn("all 12 runs are there; nothing is to be done", told)
            self.assertEqual(self.all_bytes(out), before)

    def test_no_form_is_left_beside_another(self):
        out, _ = self.run_in("out", "--compress", "zstd")
        wanted = self.tables(out)
        (out / "curve.csv").write_text("of a call before")
        self.run_in("out", "--compress", "zstd")
        self.assertEqual(self.tables(out), wanted)
        self.run_in("out", "--force")
        self.assertFalse([path for path in out.iterdir() if path.suffix == ".zst"])

    def test_what_is_not_a_runs_stays(self):
        out, _ = self.run_in("out")
        for name in ("runs.csv.gz", "manifest.json.zst", "fit.csv.gz", "mine.csv.gz"):
            (out / name).write_text("mine")
        self.run_in("out", "--compress", "gzip", "--force")
        for name in ("runs.csv.gz", "manifest.json.zst", "fit.csv.gz", "mine.csv.gz"):
            self.assertEqual((out / name).read_text(), "mine")

    def test_shards_are_collected_into_the_bytes_of_a_run(self):
        path = self.write(SCENARIO)
        for number in (1, 2, 3):
            self.call("run", path, "--out", "shards", "--shard", f"{number}/3", "--quiet")
        for form in ENDINGS:
            whole, _ = self.run_in(form, "--compress", form)
            self.call("collect", "shards", "--out", "from-" + form, "--compress", form, "--quiet")
            self.assertEqual(self.tables(self.folder / ("from-" + form)), self.tables(whole))
        self.call("collect", "shards", "--out", "from-gzip", "--quiet")
        self.assertEqual(self.tables(self.folder / "from-gzip"), self.tables(self.run_in("plain")[0]))

    def test_words_that_are_wrong_are_told(self):
        path = self.write(SCENARIO)
        for command, what in (("run", path), ("collect", self.run_in("out")[0])):
            _, told = self.call(command, what, "--out", "new", "--compress", "lzma", status=2)
            self.assertIn(f'{command}: --compress takes zstd or gzip, got "lzma"', told)
        _, told = self.call("run", path, "--out", "new", "--compress", "zstd", "--shard", "1/2", status=2)
        self.assertIn("--shard writes none; it goes to gradrace collect", told)
        self.assertFalse((self.folder / "new").exists())

    @unittest.skipUnless(PYTHON.exists(), "no Python environment of the plots")
    def test_plots_are_those_of_the_files_as_they_are(self):
        wanted = self.run_in("plain", "--plot")[0] / "plots"
        for form in ENDINGS:
            out, _ = self.run_in(form, "--compress", form, "--plot")
            drawn = self.all_bytes(out / "plots")
            self.assertEqual(drawn, self.all_bytes(wanted))
            self.assertIn("timeline.png", drawn)

    @unittest.skipUnless(PYTHON.exists(), "no Python environment of the plots")
    def test_a_damaged_file_is_told(self):
        for form, ending in ENDINGS.items():
            out, _ = self.run_in(form, "--compress", form)
            file = out / ("curve.csv" + ending)
            for damage in (lambda text: text[: len(text) // 2], lambda text: text[:-9] + b"wrong" + text[-4:]):
                whole = file.read_bytes()
                file.write_bytes(damage(whole))
                _, told = self.call("plot", out, status=1)
                self.assertIn(f"{out}/curve.csv{ending}: cannot be decompressed: ", told)
                file.write_bytes(whole)


if __name__ == "__main__":
    unittest.main()
