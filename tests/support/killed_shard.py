"""What the tests of ways to run shards share: a sweep one of whose shards is killed in the middle."""

import os
import re
import subprocess

from program import PROGRAM, ProgramTest
from run_store import keys

SHARDS, RUNS = 4, 80
SWEEP = {
    "name": "sweep",
    "replicas": 20,
    "cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
    "protocol": {"kind": "k-async"},
    "stop": {"updates": 100000},
    "record": {"every_time": 1000},
    "sweep": {"protocol.k": [1, 2, 4, 8]},
}
STARTED = re.compile(r"^sweep: (?:(\d+) of )?(\d+) runs?(?: (?:is|are) there)?$", re.MULTILINE)


class KilledShardTest(ProgramTest):
    def killing_once(self):
        """A program that is gradrace, but for shard 2, which is killed at its first start."""
        program = self.folder / "killing_once"
        store = self.folder / f"out/sweep/runs.2-of-{SHARDS}.store"
        program.write_text(f"""#!/usr/bin/env bash
[[ $* == *"--shard 2/"* && ! -e {self.folder}/killed ]] || exec {PROGRAM} "$@"
touch {self.folder}/killed
{PROGRAM} "$@" &
while kill -0 $! && (($(stat -c %s {store} 2>/dev/null || echo 0) <= 20000)); do :; done  # two runs
kill -9 $!
exit 137
""")
        program.chmod(0o755)
        return os.fspath(program)

    def check_that_it_goes_on(self, *words):
        """The call makes sweep.json into out/sweep: shard 2 is killed, and the next call goes on."""
        self.write(SWEEP, "sweep.json")
        program, out = self.killing_once(), self.folder / "out/sweep"

        def call():
            done = subprocess.run(
                words,
                cwd=self.folder,
                env=os.environ | {"GRADRACE_PROGRAM": program},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            return done.returncode, done.stdout

        status, told = call()
        self.assertNotEqual(status, 0, told)
        self.assertFalse((out / "manifest.json").exists())
        there = {store.name: len(keys(store)) for store in out.glob("runs.*.store")}
        killed = there.pop(f"runs.2-of-{SHARDS}.store")
        self.assertGreater(killed, 0)
        self.assertEqual(len(there), SHARDS - 1)

        status, told = call()
        self.assertEqual(status, 0, told)
        starts = [(int(kept or 0), int(runs)) for kept, runs in STARTED.findall(told)]
        left = RUNS - sum(there.values())
        self.assertEqual([start for start in starts if start[0] < start[1]], [(killed, left)], told)

        self.call("run", "sweep.json", "--out", "whole", "--quiet")
        for path in (self.folder / "whole").iterdir():
            if path.name != "manifest.json":
                self.assertEqual((out / path.name).read_bytes(), path.read_bytes(), path.name)
        self.assertEqual(len(list(out.iterdir())), len(list((self.folder / "whole").iterdir())))
