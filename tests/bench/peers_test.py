"""bench/peers: a quick call with the peers that need no installation, its checks, its table."""

import csv
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from peers import check, machine, ratios, table, works

RECORDED = ROOT / "bench/results/peers.csv"


def call(*words):
    command = [sys.executable, ROOT / "bench/peers/run.py", *words]
    surroundings = {k: v for k, v in os.environ.items() if k != "GRADRACE_DATA"}
    return subprocess.run(command, capture_output=True, text=True, env=surroundings)


class Quick(unittest.TestCase):
    def test_the_quick_form_writes_what_the_table_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "peers.csv"
            words = [
                "--quick",
                "--only",
                "heapq,numpy",
                "--python",
                sys.executable,
                "--seconds",
                "0.02",
            ]
            done = call(*words, "--out", out)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rows = ratios.read(out)
        with_gradients = ["softmax m=32", "mlp m=32"]
        wanted = {("async P=8", "heapq"), ("k-sync P=8", "heapq")} | {(w, "numpy") for w in with_gradients}
        wanted |= {(work, "gradrace") for work, _ in wanted}
        self.assertEqual({(row["work"], row["contestant"]) for row in rows}, wanted)
        for row in rows:
            self.assertIn(row["round"], ("1", "2"))
            self.assertIn(row["busy"], ("0", "1"))
            if row["rate"] or row["busy"] == "0":
                self.assertGreater(float(row["rate"]), 0)
            self.assertEqual((row["note"], row["data"][:7]), ("", "made-up"))
        self.assertIn("times as fast", done.stdout)
        made = table.table(rows)
        self.assertIn("| | gradrace, minibatches/s | x heapq loop |\n", made)
        self.assertIn("| | gradrace, gradients/s | x NumPy |\n", made)
        self.assertIn("made-up rows of MNIST's shape and density; 2 rounds.", made)

    def test_what_cannot_be_asked_for_is_said(self):
        for words, said in [
            (
                ["--only", "cobol"],
                "no peer cobol; there are heapq, simpy, coroutines, simgrid, numpy",
            ),
            (["--works", "P=9"], "no work's name contains P=9"),
            (["--gradrace", "/nowhere"], "no program /nowhere"),
        ]:
            done = call(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)

    def test_a_peer_that_cannot_take_part_is_said_and_does_not_end_the_call(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder) / "python"
            broken.write_text("#!/bin/sh\necho no such module >&2\nexit 3\n")
            broken.chmod(0o755)
            out = Path(folder) / "peers.csv"
            words = [
                "--quick",
                "--works",
                "async",
                "--only",
                "heapq",
                "--python",
                broken,
                "--out",
                out,
            ]
            done = call(*words)
            rows = ratios.read(out)
        self.assertEqual(done.returncode, 0, done.stderr)
        absent = [row for row in rows if row["contestant"] == "heapq"]
        self.assertEqual([row["note"] for row in absent], ["no part: ended with 3: no such module"])
        self.assertEqual({row["contestant"] for row in rows if row["rate"]}, {"gradrace"})

    def test_without_gradrace_there_is_nothing_to_compare(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder) / "gradrace"
            broken.write_text("#!/bin/sh\necho no such machine >&2\nexit 3\n")
            broken.chmod(0o755)
            out = ["--out", Path(folder) / "peers.csv"]
            done = call("--quick", "--works", "async", "--only", "heapq", "--gradrace", broken, *out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("run.py: gradrace failed: no such machine", done.stderr)


class Checks(unittest.TestCase):
    def test_a_mean_time_four_standard_errors_off_is_other_work(self):
        work = works.timing_work("k-sync", 8)
        mean, error = works.expected_time(work, 100)
        self.assertAlmostEqual(mean, 1 / 5 + 1 / 6 + 1 / 7 + 1 / 8)
        self.assertAlmostEqual(error**2, (1 / 25 + 1 / 36 + 1 / 49 + 1 / 64) / 100)
        result = lambda far: {"updates": 100, "time": 100 * (mean + far * error)}
        self.assertEqual(check.check_time(work, result(-3.9)), "")
        self.assertIn("mean iteration time", check.check_time(work, result(4.1)))

    def test_another_loss_or_number_of_updates_is_other_work(self):
        work = works.gradient_work("softmax", 32)
        losses = [1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.0, 1.0]
        judge = lambda loss, updates=256, same=None: check.check_loss(work, loss, updates, 1, losses, same)
        self.assertEqual(judge(1.03), "")
        self.assertEqual(judge(1.1), "")
        self.assertIn("gradrace 1", judge(1.13))
        self.assertIn("255 updates, not 256", judge(1.0, 255))
        self.assertIn("loss nan", judge(float("nan")))
        self.assertEqual(judge(1.0, same=1.0005), "")
        self.assertIn("another peer", judge(1.0, same=1.005))

    def test_few_losses_say_less_of_how_far_chance_takes_one(self):
        for freedom, exact in (7, 8.47), (11, 6.24), (15, 5.48), (31, 4.62), (10**6, 4):
            self.assertAlmostEqual(check.as_rare(4, freedom) / exact, 1, delta=0.02)
        self.assertAlmostEqual(check.as_rare(1.96, 10), 2.228, delta=0.01)


class Ratios(unittest.TestCase):
    def rows(self, rates_of):
        keep = {
            "work": "async P=8",
            "busy": "0",
            "note": "",
            "data": "",
            "machine": "",
            "version": "1",
        }
        return [keep | {"contestant": name, "round": str(i + 1), "rate": str(rate)} for name, found in rates_of.items() for i, rate in enumerate(found)]

    def test_a_ratio_is_of_one_round(self):
        rows = self.rows({"gradrace": [10, 20, 60], "heapq": [1, 4, 10]})
        self.assertEqual(ratios.ratios(rows, "async P=8", "heapq"), [10, 5, 6])
        self.assertIn("| async P=8 | 20 | 6 (5.5 to 8) |\n", table.table(rows))

    def test_a_busy_machine_is_told_in_the_table(self):
        rows = self.rows({"gradrace": [10, 20], "heapq": [1, 4]})
        self.assertNotIn("busy", table.table(rows))
        rows[1]["busy"] = "1"
        self.assertIn("**In 1 of 4 measurements the machine was busy with other work, or", table.table(rows))

    def test_what_makes_a_measurement_busy(self):
        quiet = machine.Seen(others=0.01, steal=0, elsewhere=0.05, yardstick=1.02)
        self.assertFalse(machine.is_busy(quiet, 1, 1))
        for change in ({"others": 0.2}, {"steal": 0.2}, {"elsewhere": 0.4}, {"yardstick": 1.2}):
            self.assertTrue(machine.is_busy(machine.Seen(**(vars(quiet) | change)), 1, 1), change)

    def test_another_process_on_the_core_is_seen(self):
        if hasattr(os, "sched_setaffinity"):
            self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        if machine.pin(None) is None or not machine.ticks():
            self.skipTest("this system does not say who uses a core")
        core = max(os.sched_getaffinity(0))
        watch = machine.Watch(core)
        neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        self.addCleanup(neighbour.wait)
        self.addCleanup(neighbour.kill)
        time.sleep(0.5)  # this process leaves the core to it
        self.assertGreater(watch.seen(0).others, machine.OTHERS)


class Readme(unittest.TestCase):
    def test_its_table_is_what_the_recording_gives(self):
        for readme, form in (
            ("README.md", table.short_table),
            (
                "bench/results/README.md",
                table.table,
            ),
        ):
            text = (ROOT / readme).read_text(encoding="utf-8")
            self.assertEqual(text, table.with_table(text, form(ratios.read(RECORDED))))

    def test_the_short_table_has_the_fastest_form_of_a_peer(self):
        row = lambda contestant, number, rate: {
            "work": "lenet m=32", "contestant": contestant, "round": number, "rate": rate, "busy": "0",
            "machine": "M", "version": "1", "data": "MNIST", "note": "",
        }  # fmt: skip
        rows = [row("gradrace", "1", "100"), row("jax-jit", "1", "50"), row("jax-scan", "1", "10")]
        self.assertIn(
            "| | gradients/s | x JAX |\n|---|---|---|\n| lenet m=32 | 100 | 2 |",
            table.short_table(rows),
        )

    def test_the_recording_has_every_work_that_all_peers_can_do(self):
        with open(RECORDED, newline="", encoding="utf-8") as file:
            recorded = {row["work"] for row in csv.DictReader(file)}
        names = {work["name"] for work in works.all_works()}
        of_images = {work["name"] for work in works.all_works() if works.has_images(work)}
        self.assertEqual(recorded | of_images, names)


if __name__ == "__main__":
    unittest.main()
