"""scripts/sweep.sh against a real Slurm on loopback, with tasks that are killed and requeued."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time
import tempfile
import unittest

from program import PROGRAM, ROOT, ProgramTest, skip
from run_store import keys
from slurm_cluster import SlurmCluster, missing, wait_until

SHARDS = 10
RUNS = 2000
SWEEP = {
    "name": "sweep",
    "replicas": 100,
    "cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {"kind": "quadratic", "dimensions": 10, "noise": 1},
    "protocol": {"kind": "k-async"},
    "learning_rate": {"kind": "constant"},
    "stop": {"updates": 4000},
    "record": {"every_time": 50},
    "sweep": {"protocol.k": [1, 2, 4, 8], "learning_rate.eta": [0.01, 0.02, 0.05, 0.1, 0.2]},
}
FEW = SWEEP | {"replicas": 1, "stop": {"updates": 100}}


def has_pending_signal(process):
    status = pathlib.Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.search(r"ShdPnd:\s*(\w+)", status)[1], 16) != 0


class Slurm(ProgramTest):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(held.cleanup)
        os.chmod(held.name, 0o711)
        cls.cluster = SlurmCluster(pathlib.Path(held.name) / "slurm", cpus=2)
        cls.addClassCleanup(cls.cluster.stop)

    def submit(self, scenario, shards, *words, program=PROGRAM):
        """Numbers of the array and of collect."""
        done = subprocess.run(
            [
                ROOT / "scripts/sweep.sh",
                scenario,
                "out/sweep",
                str(shards),
                "--cpus-per-task=1",
                "--",
                *words,
            ],
            cwd=self.folder,
            env=self.cluster.environment | {"GRADRACE_PROGRAM": os.fspath(program)},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search(r"submitted: array job (\d+) \((\d+) shards\), then collect, job (\d+)", done.stdout)
        self.assertEqual(found[2], str(shards))
        return found[1], found[3]

    def wait_while_queued(self, is_meant):
        def others():
            return not any(is_meant(job) for job in self.cluster.queue())

        wait_until(others, lambda: f"{self.cluster.queue()} {self.log('shard-1')}")

    def log(self, name):
        return (self.folder / f"out/sweep.log/{name}.log").read_text()

    def store(self, shard):
        return self.folder / f"out/sweep/runs.{shard}-of-{SHARDS}.store"

    def everything(self, out):
        return {path.name: path.read_bytes() for path in (self.folder / out).iterdir() if path.name != "manifest.json"}

    def halt_in_the_middle(self, shard):
        """Halts the shard's program between its runs; the process, and what the store has."""
        store = self.store(shard)
        wait_until(lambda: store.exists() and len(keys(store)) >= 5, f"shard {shard} does not begin")
        process = self.cluster.process(b"--shard", f"{shard}/{SHARDS}".encode())
        self.assertIsNotNone(process, f"shard {shard} has ended already")
        os.kill(process, signal.SIGSTOP)
        return process, store.read_bytes()

    def start_again(self, task):
        """Slurm lets a requeued task wait for two minutes; not this one."""
        wait_until(
            lambda: self.cluster.queue().get(task) == "PENDING BeginTime",
            f"task {task} is not requeued",
        )
        time.sleep(3)  # Slurm may still be ending what the task ran before
        self.cluster.call("scontrol", "update", f"JobId={task}", "StartTime=now")

    def starts(self, shard):
        """(runs that were there, runs made) at each start of the shard, by its lines of progress."""
        made = {}
        for line in self.log(f"shard-{shard}").splitlines():
            if line.startswith("{"):
                progress = json.loads(line)
                made[progress["kept"]] = progress["done"]
        return list(made.items())

    def test_killed_and_requeued_it_is_the_unsharded_run_and_no_run_is_made_twice(self):
        scenario = self.write(SWEEP)
        array, collect = self.submit(scenario, SHARDS, "--progress", "json")
        self.cluster.call("scontrol", "hold", collect)  # to look at the shards' stores before
        killed, requeued, limited = 3, 6, SHARDS
        before = {}

        process, before[killed] = self.halt_in_the_middle(killed)
        os.kill(process, signal.SIGKILL)

        process, before[requeued] = self.halt_in_the_middle(requeued)
        self.cluster.call("scontrol", "requeue", f"{array}_{requeued}")

        # The last task, whose number is that of the array.
        process, before[limited] = self.halt_in_the_middle(limited)
        self.cluster.call("scancel", "--signal=USR1", "--batch", f"{array}_{limited}")
        wait_until(lambda: has_pending_signal(process), "the script does not pass the signal on")
        os.kill(process, signal.SIGCONT)

        for shard in before:
            self.start_again(f"{array}_{shard}")
        self.wait_while_queued(lambda job: job.startswith(f"{array}_"))
        every = []
        for shard in range(1, SHARDS + 1):
            self.assertTrue(self.store(shard).exists(), self.log(f"shard-{shard}"))
            found, starts = keys(self.store(shard)), self.starts(shard)
            every += found
            if shard not in before:
                self.assertEqual(starts, [(0, len(found))])
                continue
            self.assertTrue(self.store(shard).read_bytes().startswith(before[shard]))
            kept, made = starts[-1]
            self.assertGreaterEqual(kept, 5, self.log(f"shard-{shard}"))
            self.assertEqual(kept + made, len(found))
            self.assertGreater(made, 0)
            if shard != killed:
                self.assertEqual(starts[:-1], [(0, kept)])
        self.assertEqual((len(every), len(set(every))), (RUNS, RUNS))

        self.cluster.call("scontrol", "release", collect)
        self.wait_while_queued(lambda job: True)
        self.assertIn(f"sweep: {RUNS} of {RUNS} runs are there", self.log("collect"))
        self.call("run", scenario, "--out", "whole", "--quiet")
        self.assertEqual(self.everything("out/sweep"), self.everything("whole"))

    def test_where_a_shard_fails_collect_is_dropped_and_the_same_call_goes_on(self):
        scenario = self.write(FEW)
        broken = self.folder / "broken"
        broken.write_text(f"""#!/bin/sh
case "$*" in *--dry-run*) ;; *"--shard 2/"*) exit 1 ;; esac
exec {PROGRAM} "$@"
""")
        broken.chmod(0o755)
        self.submit(scenario, 4, program=broken)
        self.wait_while_queued(lambda job: True)
        self.assertFalse((self.folder / "out/sweep/manifest.json").exists())
        self.submit(scenario, 4)
        self.wait_while_queued(lambda job: True)
        self.assertEqual(self.log("shard-2").count("runs are there"), 1)
        self.assertRegex(self.log("shard-1"), r"\nsweep: (\d) of \1 runs are there")
        self.call("run", scenario, "--out", "whole", "--quiet")
        self.assertEqual(self.everything("out/sweep"), self.everything("whole"))


if __name__ == "__main__":
    if missing():
        skip(f"{', '.join(missing())} not found (apt-get install slurm-wlm; ./setup.sh --slurm)")
    unittest.main()
