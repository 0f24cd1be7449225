"""Calls that end in the middle: by every signal, and at every system call that publishes."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from program import PROGRAM, ProgramTest, changed, rows

SWEEP = {
    "name": "sweep",
    "replicas": 6,
    "cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
    "protocol": {"kind": "sync"},
    "stop": {"updates": 160_000},
    "sweep": {"cluster.learners": [4, 5, 6]},
}
SHORT = changed(SWEEP, name="short", replicas=2, stop={"updates": 50})

ENDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM,
         signal.SIGXCPU)  # fmt: skip


class Signals(ProgramTest):
    def setUp(self):
        super().setUp()
        self.path = self.write(SWEEP)

    def make_usual(self):
        self.call("run", self.path, "--out", "usual", "--quiet")
        self.usual = self.tables(self.folder / "usual")

    def interrupted(self, out, number, delay):
        words = [PROGRAM, "run", self.path, "--out", out, "--quiet", "--jobs", "1"]
        with subprocess.Popen(words, cwd=self.folder, stderr=subprocess.PIPE, text=True) as process:
            if delay is None:
                self.wait_for_runs(out, process)
            else:
                time.sleep(delay)
            process.send_signal(number)
            told = process.communicate(timeout=60)[1]
        return process.returncode, told

    def wait_for_runs(self, out, process):
        store = self.folder / out / "runs.store"
        while process.poll() is None and not store.exists():
            time.sleep(0.001)

    def test_every_signal_that_ends_a_program_keeps_finished_runs(self):
        self.make_usual()
        for number in ENDED if os.environ.get("GRADRACE_LONG") else ENDED[::3]:
            with self.subTest(number.name):
                status, told = self.interrupted(number.name, number, None)
                self.assertIn(status, (130, 0), told)
                self.go_on(number.name)

    def test_a_signal_ends_publishing_and_what_is_there_stays(self):
        """Of many runs, in the order of their numbers and not; the same call goes on."""
        many = self.write(changed(SHORT, name="many", sweep=None, stop={"updates": 1}), "many.json")
        self.call("run", many, "--out", "m", "--quiet")
        before = self.tables(self.folder / "m")
        shutil.copytree(self.folder / "m", self.folder / "n")
        for out, aside in (("m", "runs.csv"), ("n", "runs.store.new")):
            words = [PROGRAM, "run", many, "--out", out, "--quiet", "--replicas", "60000", "--jobs", "1" if aside == "runs.csv" else "2"]
            with subprocess.Popen(words, cwd=self.folder, stderr=subprocess.PIPE, text=True) as process:
                while process.poll() is None and not (self.folder / out / ".unfinished" / aside).exists():
                    time.sleep(0.001)
                process.send_signal(signal.SIGTERM)
                begin = time.monotonic()
                told = process.communicate(timeout=100)[1]
            self.assertEqual(process.returncode, 130)
            self.assertLess(time.monotonic() - begin, 3)
            self.assertIn("interrupted: the runs that had finished are kept; the same call goes on", told)
            self.assertEqual(self.tables(self.folder / out), before)
            self.call(*words[1:])
            self.assertEqual(len(rows(self.folder / out / "runs.csv")), 60000)

    def test_a_signal_ends_a_call_that_waits_for_its_scenario(self):
        with subprocess.Popen([PROGRAM, "run", "-"], cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            time.sleep(0.2)
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            finally:
                process.kill()
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_collect_keeps_whole_files_beside_a_damaged_store(self):
        path = self.write(SHORT, "short.json")
        self.call("run", path, "--out", "o", "--quiet")
        store = self.folder / "o/runs.store"
        whole = self.tables(self.folder / "o")
        for size in (store.stat().st_size // 2, store.stat().st_size - 40):
            os.truncate(store, size)
            _, told = self.call("collect", "o", status=2)
            self.assertIn("Nothing is changed", told)
            self.assertEqual(store.stat().st_size, size)
            self.assertEqual(self.tables(self.folder / "o"), whole)
            self.call("run", path, "--out", "o", "--quiet")
            self.call("collect", "o", "--quiet")
            self.assertEqual(self.tables(self.folder / "o"), whole)

    def test_a_kill_at_any_moment_leaves_whole_files(self):
        self.make_usual()
        moments = random.Random(1)
        for attempt in range(8):
            self.interrupted("killed", signal.SIGKILL, moments.uniform(0, 0.3))
            if (self.folder / "killed/manifest.json").exists():
                break
            self.assertFalse((self.folder / "killed/runs.csv").exists(), attempt)
        self.go_on("killed")

    def go_on(self, out):
        manifest = self.folder / out / "manifest.json"
        if manifest.exists():
            there = rows(self.folder / out / "runs.csv")
            self.assertEqual(len(there), json.loads(manifest.read_text())["runs_finished"])
        self.call("run", self.path, "--out", out, "--quiet")
        self.assertEqual(self.tables(self.folder / out), self.usual)
        self.assertFalse((self.folder / out / ".unfinished").exists())


class Publishing(ProgramTest):
    """strace ends the program at the n-th call of a kind, or makes that fail, while three runs a point are published in
    place of two."""

    KINDS = ("rename,renameat,renameat2", "unlink,unlinkat,rmdir", "fsync,fdatasync", "ftruncate,mkdir,mkdirat")

    def setUp(self):
        super().setUp()
        if shutil.which("strace") is None:
            self.skipTest("strace is not there")
        self.path = self.write(SHORT)
        if self.traced("kill -0 0", "getpid", "signal=KILL:when=9999").returncode != 0:
            self.skipTest("strace may not trace here")
        for replicas, name in ((2, "before"), (3, "after")):
            self.call("run", self.path, "--out", name, "--replicas", str(replicas), "--quiet")
        self.texts = [self.tables(self.folder / name) for name in ("before", "after")]

    def traced(self, shell, calls, fault):
        words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:{fault}"]
        return subprocess.run([*words, "sh", "-c", f"exec {shell}"], cwd=self.folder, check=False, capture_output=True, text=True)

    def publish(self, out, calls, fault):
        shutil.rmtree(self.folder / out, ignore_errors=True)
        shutil.copytree(self.folder / "before", self.folder / out)
        return self.traced(f"{PROGRAM} run {self.path} --out {out} --replicas 3 --quiet", calls, fault)

    def check(self, out, why):
        """Every file is the old or the new one; with a manifest all are of one."""
        there = self.tables(self.folder / out)
        there.pop(".unfinished", None)
        for name, text in there.items():
            self.assertIn(text, [texts[name] for texts in self.texts], (why, name))
        if (self.folder / out / "manifest.json").exists():
            self.assertIn(there, self.texts, why)
        self.call("run", self.path, "--out", out, "--replicas", "3", "--quiet")
        self.assertEqual(self.tables(self.folder / out), self.texts[1], why)

    def tables(self, folder):
        names = [path.name for path in folder.iterdir() if path.is_file()]
        return {name: (folder / name).read_bytes() for name in names if name not in ("manifest.json", "runs.store")}

    def test_a_kill_at_each_call_leaves_whole_files_that_the_next_run_mends(self):
        killed = 0
        for calls in self.KINDS:
            for number in range(1, 40):
                done = self.publish("out", calls, f"signal=KILL:when={number}")
                if done.returncode == 0:
                    break
                killed += 1
                self.check("out", (calls, number))
        self.assertGreater(killed, 15)

    def test_a_call_that_fails_is_told(self):
        failed = 0
        for calls in self.KINDS[:3]:
            for number in range(1, 40, 2):
                done = self.publish("out", calls, f"error=EIO:when={number}")
                self.assertIn(done.returncode, (0, 1), done.stderr)
                if done.returncode == 1:
                    self.assertIn("gradrace: ", done.stderr)
                    self.assertIn("Input/output error", done.stderr)
                    failed += 1
                self.check("out", (calls, number))
                if done.returncode == 0:
                    break
        self.assertGreater(failed, 3)

    def test_a_folder_that_is_half_published_is_named(self):
        self.publish("out", self.KINDS[0], "signal=KILL:when=3")
        self.assertFalse((self.folder / "out/manifest.json").exists())
        (self.folder / "no-python").write_text("#!/bin/sh\nexit 0\n")
        os.chmod(self.folder / "no-python", 0o755)
        python = os.fspath(self.folder / "no-python")
        for command in ("plot", "report"):
            told = self.call(command, "out", GRADRACE_PYTHON=python)[1]
            self.assertIn(
                "note: out: half published, or changed since: its files are not those of a manifest; the same call that made it writes them anew", told
            )
            self.assertEqual(self.call(command, "after", GRADRACE_PYTHON=python)[1], "")
        with open(self.folder / "after/runs.csv", "a", encoding="utf-8") as file:
            file.write("mine\n")
        told = self.call("plot", "after", GRADRACE_PYTHON=python)[1]
        self.assertIn("its files are not those of its manifest", told)
        self.assertIn("note: out: half published", self.call("collect", "out", "--quiet")[1])
        self.assertEqual(self.tables(self.folder / "out"), self.texts[1])

    def test_what_was_put_into_a_half_published_folder_stays(self):
        self.publish("out", self.KINDS[0], "signal=KILL:when=3")
        for name in ("curve.csv", "staleness.csv", "learners.csv"):
            before = (self.folder / "out" / name).read_bytes() if (self.folder / "out" / name).exists() else None
            (self.folder / "out" / name).write_text("mine")
            told = self.call("run", self.path, "--out", "out", "--replicas", "3", "--quiet", status=2)[1]
            self.assertIn(f"out/{name}: is there, and is not among the results that a call was about to publish when it was ended", told)
            self.assertEqual((self.folder / "out" / name).read_text(), "mine")
            (self.folder / "out" / name).unlink()
            if before is not None:
                (self.folder / "out" / name).write_bytes(before)
        self.check("out", "mended")

    def test_a_fit_and_a_search_that_are_half_published_are_named_and_mended(self):
        (self.folder / "t.csv").write_text("seconds\n" + "".join(f"{1 + 3 * i % 7}\n" for i in range(50)))
        (self.folder / "a.csv").write_text("share,accuracy\n" + "".join(f"{share},{0.9 + run / 1000}\n" for share in (1, 0.5, 0.25) for run in range(2)))
        phases = [{"protocol": {"kind": "sync"}, "end": {"work": 0.5}}, {"protocol": {"kind": "async"}}]
        scenario = self.write(changed(SHORT, sweep=None, replicas=1, protocol={"kind": "switch", "phases": phases}, stop={"gradients": 128}), "switch.json")
        search = f"search {scenario} --accuracies a.csv --settings 2 --runs 2 --first-runs 2 --quiet"
        for call, last in (("fit t.csv", "fit.json"), (search, "search.json")):
            self.call(*call.split(), "--out", "whole")
            whole = self.tables(self.folder / "whole")
            killed = 0
            for number in range(2, 40):
                out = f"{last}-{number}"
                if last == "search.json":  # its settings are there, whose runs would be killed first
                    shutil.copytree(self.folder / "whole", self.folder / out, ignore=shutil.ignore_patterns("search.*", "costs.csv"))
                done = self.traced(f"{PROGRAM} {call} --out {out}", self.KINDS[0], f"signal=KILL:when={number}")
                if done.returncode == 0:
                    break
                if any(path.is_file() for path in (self.folder / out).iterdir()):
                    killed += 1
                    name = next(path.name for path in (self.folder / out).iterdir() if path.is_file())
                    shutil.copytree(self.folder / out, self.folder / "mine")
                    (self.folder / "mine" / name).write_text("mine")
                    self.assertIn(f"mine/{name}: is there", self.call(*call.split(), "--out", "mine", status=2)[1])
                    self.assertEqual((self.folder / "mine" / name).read_text(), "mine")
                    shutil.rmtree(self.folder / "mine")
                    self.assertIn(f"note: {out}: half published", self.call(*call.split(), "--out", out)[1])
                self.call(*call.split(), "--out", out)
                self.assertEqual(self.tables(self.folder / out), whole)
            self.assertGreater(killed, 0)
            shutil.rmtree(self.folder / "whole")


if __name__ == "__main__":
    unittest.main()
