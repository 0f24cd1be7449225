"""scripts/sweep_parallel.sh: a sweep by GNU parallel, of which a shard is killed."""

import json
import shutil
import subprocess
import unittest

from killed_shard import SHARDS, SWEEP, KilledShardTest
from program import ROOT, skip


def is_gnu_parallel():
    program = shutil.which("parallel")  # moreutils has another one
    return program and b"GNU parallel" in subprocess.run([program, "--version"], capture_output=True, check=False).stdout


class Parallel(KilledShardTest):
    SCRIPT = ROOT / "scripts/sweep_parallel.sh"

    def test_killed_and_called_again_it_is_the_unsharded_run(self):
        self.check_that_it_goes_on(self.SCRIPT, "sweep.json", "out/sweep", str(SHARDS))

    def test_options_go_to_each_shard_as_they_are(self):
        scenario = self.write(SWEEP)
        words = ("--set", 'notes="two  words, {}"', "--set", 'stop={"updates": 10}')
        subprocess.run(
            [self.SCRIPT, scenario, "out/sweep", "2", *words],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )
        self.call("run", scenario, *words, "--out", "whole", "--quiet")
        self.assertEqual(*(self.tables(self.folder / out) for out in ("out/sweep", "whole")))

    def test_no_word_is_one_of_parallel_or_an_option(self):
        self.write(SWEEP, "{}.json")
        words = ("--set", 'notes="a {} {#} {1} {/.} {%} {= $_ =} b\\n$HOME `id`"', "--set", 'stop={"updates": 10}')
        subprocess.run([self.SCRIPT, "{}.json", "-o{#} ut", "2", *words], cwd=self.folder, check=True, capture_output=True)
        manifest = json.loads((self.folder / "-o{#} ut/manifest.json").read_text(encoding="utf-8"))
        self.assertEqual(manifest["scenario"]["notes"], json.loads(words[1].removeprefix("notes=")))

    def test_a_wrong_call_is_told(self):
        for words in ((), ("a", "b"), ("a", "b", "c")):
            done = subprocess.run([self.SCRIPT, *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("usage: scripts/sweep_parallel.sh", done.stderr)


if __name__ == "__main__":
    if not is_gnu_parallel():
        skip("GNU parallel not found (apt-get install parallel; ./setup.sh --slurm)")
    unittest.main()
