"""Terminals, pipes and disks that take no more: an error that is told, and never a success."""

import gzip
import itertools
import json
import os
import pathlib
import resource
import subprocess
import unittest

from disks import small_disk
from program import PROGRAM, ProgramTest, changed, rows

TIMING = {
    "name": "base",
    "replicas": 3,
    "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
    "protocol": {"kind": "sync"},
    "stop": {"updates": 200},
    "record": {"every_time": 1},
}


class Streams(ProgramTest):
    def commands(self):
        base = self.write(TIMING)
        (self.folder / "times.csv").write_text("seconds\n" + "".join(f"{1 + 3 * i % 7}\n" for i in range(50)))
        self.call("run", base, "--out", "there", "--quiet")
        return [
            ("help",), ("--help",), ("--version",), ("run", "--help"), ("list",), ("list", "k-async"), ("list", "columns"),
            ("schema",), ("signature",), ("validate", base), ("theory", base), ("theory", base, "--table"),
            ("run", base, "--out", "x"), ("run", base, "--out", "y", "--quiet"), ("run", base, "--dry-run"),
            ("fit", "times.csv", "--out", "fit"), ("collect", "there", "--out", "collected"),
        ]  # fmt: skip

    def run_with(self, words, **streams):
        return subprocess.run([PROGRAM, *words], cwd=self.folder, check=False, text=True, **streams)

    def test_a_full_stdout_is_an_error_of_every_command(self):
        for words in self.commands():
            with self.subTest(words=words), open("/dev/full", "w", encoding="utf-8") as full:
                done = self.run_with(words, stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 1)
                self.assertIn("gradrace: stdout: cannot be written", done.stderr)
        for out in ("x", "y"):  # what goes to the disk is there
            self.assertEqual(self.tables(self.folder / out), self.tables(self.folder / "there"))

    def test_a_full_stderr_is_one_too(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.run_with(("run", self.write(TIMING), "--out", "x"), stdout=subprocess.PIPE, stderr=full)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(rows(self.folder / "x/runs.csv")), 3)

    def test_a_reader_that_has_gone_is_none(self):
        for words in (("run", self.write(TIMING), "--out", "x"), ("run", self.write(TIMING), "--out", "x", "--force")):
            reading, writing = os.pipe()
            os.close(reading)
            done = self.run_with(words, stdout=writing, stderr=subprocess.PIPE)
            os.close(writing)
            self.assertEqual((done.returncode, len(rows(self.folder / "x/runs.csv"))), (0, 3), done.stderr)

    def test_no_file_gets_the_number_of_a_stream_that_is_closed(self):
        path = self.write(TIMING)
        self.call("run", path, "--out", "usual")
        for count in (1, 2, 3):
            for closed in itertools.combinations("012", count):
                out = "without-" + "".join(closed)
                closing = " ".join(f"{number}>&-" for number in closed)
                script = f'exec "$0" run "$1" --out {out} --progress json {closing}'
                done = subprocess.run(["sh", "-c", script, PROGRAM, path], cwd=self.folder, check=False, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.tables(self.folder / out), self.tables(self.folder / "usual"), closed)
                self.assertTrue((self.folder / out / "runs.store").read_bytes().startswith(b"runs\x1a"))


class Limits(ProgramTest):
    def limited(self, limit, value, *words):
        def set_limit():
            resource.setrlimit(limit, (value, value))

        return subprocess.run([PROGRAM, *map(os.fspath, words)], cwd=self.folder, check=False, capture_output=True, text=True, preexec_fn=set_limit)

    def test_a_limit_of_the_size_of_files_is_told(self):
        path = self.write(changed(TIMING, replicas=20))
        for size in (1, 3000, 20_000):
            done = self.limited(resource.RLIMIT_FSIZE, size, "run", path, "--out", "x", "--quiet")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("File too large", done.stderr)
            self.assertFalse((self.folder / "x/runs.csv").exists())
        self.call("run", path, "--out", "x", "--quiet")
        self.call("run", path, "--out", "y", "--quiet")
        self.assertEqual(self.tables(self.folder / "x"), self.tables(self.folder / "y"))

    def test_a_point_that_is_too_large_is_refused_before_the_others_begin(self):
        model = {"model": {"kind": "quadratic"}, "learning_rate": {"kind": "constant", "eta": 0.1}}
        large = self.write(changed(TIMING, name="large", replicas=1, sweep={"model.dimensions": [2, 1_000_000_000, 3]}, **model), "large.json")
        small = self.write(changed(TIMING, name="small", replicas=1, **model), "small.json")
        done = self.limited(resource.RLIMIT_AS, 2 << 30, "run", large, small, "--out", "x", "--quiet")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(
            done.stderr, r"large.json:\d+:\d+: error: model: does not fit into memory: .* take at least 16 GB, .* the limit is 2.15 GB \(ulimit -v"
        )
        self.assertFalse((self.folder / "x").exists())

    def test_data_that_are_too_large_are_refused_before_others_begin(self):
        learnt = {
            "model": {"kind": "softmax", "dataset": {"kind": "synthetic", "features": 1000, "test_rows": 10}},
            "learning_rate": {"kind": "constant", "eta": 0.1},
            "sweep": {"model.dataset.rows": [100, 100_000_000, 200]},
        }
        dealt = json.loads(json.dumps(learnt))
        dealt["model"]["dataset"]["partition"] = {"kind": "iid"}
        for name, keys in (("drawn", learnt), ("dealt", dealt)):
            large = self.write(changed(TIMING, name=name, replicas=1, **keys), f"{name}.json")
            small = self.write(changed(TIMING, name="small", replicas=1), "small.json")
            done = self.limited(resource.RLIMIT_AS, 2 << 30, "run", large, small, "--out", "x", "--quiet")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("error: model.dataset: does not fit into memory: the rows of the data set take at least 400 GB", done.stderr)
            self.assertFalse((self.folder / "x").exists())

    def test_packed_data_that_outgrow_memory_are_named(self):
        with gzip.open(self.folder / "bomb.csv.gz", "wb", 1) as file:
            file.write(b"x,y\n")
            for _ in range(150):
                file.write(b"0,1\n" * 250_000)
        data = {"kind": "csv", "path": "bomb.csv.gz", "label": "y", "test_rows": 1}
        learnt = {"model": {"kind": "logistic", "dataset": data}, "learning_rate": {"kind": "constant", "eta": 0.1}}
        path = self.write(changed(TIMING, replicas=1, **learnt))
        done = self.limited(resource.RLIMIT_AS, 600 << 20, "run", path, "--out", "x", "--quiet")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"bomb.csv.gz: cannot be read: it unpacks to more than|data set that does not fit into memory: csv .*bomb.csv.gz")

    def test_data_that_cannot_be_read_fail_alone(self):
        (self.folder / "good.csv").write_text("x,y\n" + "1,0\n2,1\n" * 20)
        (self.folder / "bad.csv").write_text("x,y\n1,0\nmany,1\n")
        sets = [{"kind": "csv", "path": f"{name}.csv", "label": "y", "test_rows": 1} for name in ("good", "bad")]
        learnt = {"model": {"kind": "logistic", "dataset": sets[0]}, "learning_rate": {"kind": "constant", "eta": 0.1}}
        mixed = self.write(changed(TIMING, replicas=2, sweep={"model.dataset": sets}, **learnt), "mixed.json")
        _, told = self.call("run", mixed, "--out", "x", "--quiet", status=1)
        self.assertIn("bad.csv:3: ", told)
        self.assertEqual([row["status"] for row in rows(self.folder / "x/runs.csv")], ["finished"] * 2 + ["failed"] * 2)
        (self.folder / "bad.csv").write_text((self.folder / "good.csv").read_text())
        self.call("run", mixed, "--out", "x", "--quiet")
        (self.folder / "bad.csv").write_text("x,y\n1,0\nmany,1\n")
        told, _ = self.call("run", mixed, "--out", "x")
        self.assertIn("all 4 runs are there", told)
        learnt["model"]["dataset"] = sets[1]
        bad = self.write(changed(TIMING, replicas=2, **learnt), "bad.json")
        _, told = self.call("run", bad, "--out", "y", "--quiet", status=1)
        self.assertEqual(told.count("bad.csv:3: "), 1)
        self.assertFalse((self.folder / "y").exists())

    def test_more_threads_than_there_is_memory_for(self):
        path = self.write(TIMING)
        for size in (48, 60, 72, 84, 1500):  # MiB
            done = self.limited(resource.RLIMIT_AS, size << 20, "run", path, "--out", "x", "--quiet", "--force", "--replicas", "1000", "--jobs", "1000")
            self.assertIn(done.returncode, (0, 1), (size, done.returncode, done.stderr))
            if done.returncode == 1:
                self.assertIn("out of memory", done.stderr)


class FullDisk(ProgramTest):
    def test_a_full_disk_is_told_and_what_is_finished_stays(self):
        path = self.write(changed(TIMING, replicas=30))
        self.call("run", path, "--out", "usual", "--quiet")
        with small_disk(self.folder / "disk", "48k") as disk:
            out = disk / "out"
            _, told = self.call("run", path, "--out", out, "--quiet", status=1)
            self.assertRegex(told, r"gradrace: \S+: cannot be written: No space left on device")
            self.assertFalse((out / "runs.csv").exists() or (out / "manifest.json").exists())
            subprocess.run(["mount", "-o", "remount,size=4m", os.fspath(disk)], check=True)
            told, _ = self.call("run", path, "--out", out)
            self.assertEqual(self.tables(out), self.tables(self.folder / "usual"))

    def test_old_results_stay_where_new_ones_have_no_room(self):
        path = self.write(TIMING)
        with small_disk(self.folder / "disk", "256k") as disk:
            out = disk / "out"
            self.call("run", path, "--out", out, "--quiet")
            before = self.tables(out)
            self.call("run", path, "--out", out, "--replicas", "300", "--quiet", status=1)
            self.assertEqual(self.tables(out), before)
            for name in ("aside", "runs.csv"):
                self.assertFalse((pathlib.Path(out) / ".unfinished" / name).exists())


if __name__ == "__main__":
    unittest.main()
