"""What scripts/sweep.sh and its tasks say and do, with a made-up sbatch and scontrol."""

import os
import shutil
import signal
import subprocess
import unittest

from program import PROGRAM, ROOT, SMALL, ProgramTest, changed
from slurm_cluster import wait_until

TIMING = changed(SMALL, model=None, learning_rate=None, record={}, sweep=None, protocol={"kind": "async"})


class ScriptTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.scenario = self.write(TIMING)
        self.made_up(
            "sbatch",
            f'printf "<%s>" "$@" >>{self.folder}/submitted; echo >>{self.folder}/submitted; echo 7',
        )
        self.made_up("scontrol", f'echo "$@" >>{self.folder}/requeued')

    def made_up(self, name, text):
        file = self.folder / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    def environment(self, task="2", last="3", **changes):
        return {
            **os.environ,
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "GRADRACE_PROGRAM": PROGRAM,
            "SLURM_ARRAY_JOB_ID": "5",
            "SLURM_JOB_ID": "6",
            "SLURM_ARRAY_TASK_ID": task,
            "SLURM_ARRAY_TASK_MIN": "1",
            "SLURM_ARRAY_TASK_MAX": last,
            "SLURM_ARRAY_TASK_COUNT": "3",
            **changes,
        }

    def start(self, script, *words, **changes):
        return subprocess.Popen(
            ["bash", ROOT / "scripts" / script, *words],
            cwd=self.folder,
            env=self.environment(**changes),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def told(self, script, *words, status=0, **changes):
        process = self.start(script, *words, **changes)
        told, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, told)
        return told

    def lines(self, name):
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []


class Submission(ScriptTest):
    def test_it_submits_an_array_and_collect_behind_it(self):
        told = self.told("sweep.sh", self.scenario, "out/a b%/", "40%10", "--time=5", "--", "--set", "seed=3")
        self.assertIn("shard 1/40", told)
        self.assertIn("submitted: array job 7 (40 shards), then collect, job 7; logs: out/a b%.log/", told)
        array, collect = self.lines("submitted")
        scripts = ROOT / "scripts"
        log = "<--parsable><--export=ALL><--output=out/a b%%.log/"
        self.assertEqual(
            array,
            f"{log}shard-%a.log><--time=5><--array=1-40%10><{scripts}/sweep.sbatch><{self.scenario}><out/a b%><--set><seed=3>",
        )
        self.assertEqual(
            collect,
            f"{log}collect.log><--time=5><--dependency=afterok:7><--kill-on-invalid-dep=yes><{scripts}/collect.sbatch><out/a b%>",
        )

    def test_what_is_wrong_is_told_before_anything_is_submitted(self):
        for words, status, wanted in (
            ((), 2, "usage: scripts/sweep.sh"),
            (
                (self.scenario, "out/s", "many"),
                2,
                'SHARDS is a number such as 40, or 40%10 for at most 10 at once; got "many"',
            ),
            ((self.scenario, "out/s", "0"), 2, "SHARDS is a number"),
            (("none.json", "out/s", "4"), 2, "none.json"),
            ((self.scenario, "out/s", "4", "--", "--set", "cluster.learner=3"), 2, "unknown key"),
            (
                (self.scenario, "out/s", "4", "--", "--force"),
                2,
                "--force would begin anew at every start; remove out/s instead",
            ),
        ):
            self.assertIn(wanted, self.told("sweep.sh", *words, status=status))
        told = self.told("sweep.sh", self.scenario, "out/s", "4", status=2, GRADRACE_PROGRAM="/none")
        self.assertIn("/none: no such program", told)
        told = self.told("sweep.sh", self.scenario, "out/s", "4", status=2, PATH=self.without_sbatch())
        self.assertIn("there is no sbatch here", told)
        self.assertEqual(self.lines("submitted"), [])

    def test_what_sbatch_refuses_is_said(self):
        self.made_up("sbatch", "echo no controller >&2; exit 1")
        told = self.told("sweep.sh", self.scenario, "out/s", "4", status=2)
        self.assertIn("no controller\n", told)
        self.assertIn("sbatch does not take the array; nothing is submitted", told)
        self.made_up("sbatch", 'case "$*" in *collect*) exit 1 ;; *) echo 7 ;; esac')
        told = self.told("sweep.sh", self.scenario, "out/s", "4", status=2)
        self.assertIn("the array is job 7, but collect could not be submitted", told)

    def without_sbatch(self):
        folder = self.folder / "few"
        folder.mkdir()
        for name in ("bash", "dirname", "readlink"):
            (folder / name).symlink_to(shutil.which(name))
        return os.fspath(folder)


class Task(ScriptTest):
    def test_it_makes_its_shard(self):
        self.assertIn("shard 2/3", self.told("sweep.sbatch", self.scenario, "out/s"))
        self.assertTrue((self.folder / "out/s/runs.2-of-3.store").exists())

    def test_its_threads_are_those_of_the_task_unless_it_is_told(self):
        echo = self.made_up("echo_program", 'echo "$@"')
        for words, wanted in (
            ((), "--jobs 3"),
            (("--jobs", "8"), "--jobs 8"),
            (("--jobs=8",), "--jobs=8"),
        ):
            told = self.told(
                "sweep.sbatch",
                "s",
                "o",
                *words,
                GRADRACE_PROGRAM=os.fspath(echo),
                SLURM_CPUS_PER_TASK="3",
            )
            self.assertEqual(told, f"run s --out o --shard 2/3 {wanted}\n")

    def test_an_array_that_is_not_all_shards_is_refused(self):
        for changes in ({"task": "3", "last": "4"}, {"SLURM_ARRAY_TASK_MIN": "0"}, {"task": ""}):
            told = self.told("sweep.sbatch", self.scenario, "out/s", status=2, **changes)
            self.assertIn("wants sbatch --array=1-N", told)

    def test_a_failure_is_not_requeued(self):
        for status in (1, 2, 134, 139):
            broken = self.made_up("broken", f"echo more >>{self.folder}/out/s/runs.2-of-3.store; exit {status}")
            (self.folder / "out/s").mkdir(parents=True, exist_ok=True)
            self.told(
                "sweep.sbatch",
                self.scenario,
                "out/s",
                status=status,
                GRADRACE_PROGRAM=os.fspath(broken),
            )
        self.assertEqual(self.lines("requeued"), [])

    def test_killed_it_is_requeued_if_runs_were_finished(self):
        (self.folder / "out/s").mkdir(parents=True)
        got_on = self.made_up("got_on", f"echo more >>{self.folder}/out/s/runs.2-of-3.store; kill -9 $$")
        told = self.told("sweep.sbatch", self.scenario, "out/s", status=137, GRADRACE_PROGRAM=os.fspath(got_on))
        self.assertIn("shard 2/3: ended with 137; goes on when the queue lets it", told)
        self.assertEqual(self.lines("requeued"), ["requeue 5_2"])
        stuck = self.made_up("stuck", "kill -9 $$")
        told = self.told("sweep.sbatch", self.scenario, "out/s", status=137, GRADRACE_PROGRAM=os.fspath(stuck))
        self.assertIn("finished no run since it was started; give it a longer --time or more --mem", told)
        self.assertEqual(self.lines("requeued"), ["requeue 5_2"])

    def test_at_the_time_limit_the_program_ends_in_order_and_is_requeued(self):
        long = self.write(changed(TIMING, replicas=20000), "long.json")
        process = self.start("sweep.sbatch", long, "out/s")
        store = self.folder / "out/s/runs.2-of-3.store"
        wait_until(lambda: store.exists() and store.stat().st_size > 1e5, "no runs")
        process.send_signal(signal.SIGUSR1)
        told, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, told)
        self.assertIn("interrupted: the runs that had finished are kept", told)
        self.assertEqual(self.lines("requeued"), ["requeue 5_2"])

    def test_cancelled_it_waits_for_the_program_and_is_not_requeued(self):
        slow = self.made_up(
            "slow",
            f"trap 'sleep 0.3; echo ended in order; exit 130' TERM; touch {self.folder}/begun\nwhile :; do sleep 0.05; done",
        )
        process = self.start("sweep.sbatch", self.scenario, "out/s", GRADRACE_PROGRAM=os.fspath(slow))
        wait_until((self.folder / "begun").exists, "it does not begin")
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True).stdout.split()
        for each in (process.pid, *map(int, children)):
            os.kill(each, signal.SIGTERM)
        told, _ = process.communicate(timeout=60)
        self.assertEqual((process.returncode, told), (130, "ended in order\n"))
        self.assertEqual(self.lines("requeued"), [])


if __name__ == "__main__":
    unittest.main()
