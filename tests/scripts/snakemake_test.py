"""scripts/Snakefile: a sweep by Snakemake, of which a shard is killed."""

import os
import shutil
import unittest

from killed_shard import SHARDS, KilledShardTest
from program import ROOT, skip


class Snakemake(KilledShardTest):
    def test_killed_and_called_again_it_is_the_unsharded_run(self):
        self.check_that_it_goes_on(
            *("snakemake", "-s", os.fspath(ROOT / "scripts/Snakefile"), "--cores", "2"),
            *("--keep-going", "--config", "scenario=sweep.json", "out=out/sweep"),
            f"shards={SHARDS}",
        )


if __name__ == "__main__":
    if not shutil.which("snakemake"):
        skip("snakemake not found (apt-get install snakemake; ./setup.sh --slurm)")
    unittest.main()
