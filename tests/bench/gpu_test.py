"""bench/gpu.sh with fakes of the programs it calls, and the arithmetic of bench/gpu/rates.py."""

import os
import pathlib
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Notes its call; FAULT is "pattern of calls:what happens then".
FAKE = """#!/bin/sh
call="$(basename "$0") $*"
echo "$call" >>"$CALLS"
case $call in
"gradrace --version") echo "gradrace $VERSION" ;;
*-ltc*) printf '%s\\n' === 'cuda: first' 'cuda: second, at once' === ;;
esac
bits=same
while [ $# -gt 1 ]; do
  [ "$1 $2" != "--jobs 16" ] || bits=$BITS
  [ "$1" != --out ] || { mkdir -p "$2" && out=$2; }
  shift
done
[ -z "${out:-}" ] || echo "$bits" >"$out/runs.csv"
case $call in ${FAULT%%:*}) eval "${FAULT#*:}" ;; esac
"""
PROGRAMS = ["nvidia-smi", "ncu", "compute-sanitizer", "python3", "ldd"]


class Gpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)
        fakes = [self.here / "bin" / name for name in PROGRAMS]
        for fake in [
            *fakes,
            self.here / "build/gradrace",
            self.here / "build/tests/models/replay_test",
        ]:
            fake.parent.mkdir(parents=True, exist_ok=True)
            fake.write_text(FAKE)
            fake.chmod(fake.stat().st_mode | stat.S_IXUSR)

    def gpu(self, stage, fault="none:", version="1", bits="same", script=None):
        """Exit status, what was said, the calls, the names in the archive."""
        calls = self.here / "calls"
        calls.write_text("")
        path = f"{self.here}/bin:{os.environ['PATH']}"
        fakes = {"CALLS": str(calls), "FAULT": fault, "VERSION": version, "BITS": bits}
        ended = subprocess.run(
            ["sh", script or ROOT / "bench/gpu.sh", stage, self.here / "out", self.here / "mnist"],
            env={"PATH": path, "GRADRACE_BUILD": str(self.here / "build"), **fakes},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        archive = self.here / "out/results.tgz"
        names = tarfile.open(archive).getnames() if archive.exists() else []
        self.assertLessEqual(set(os.listdir(self.here / "out")), {"results.tgz"})
        return ended.returncode, ended.stdout, calls.read_text(), names

    def test_a_machine_without_a_gpu_ends_it_at_once(self):
        code, said, calls, names = self.gpu("conform", "nvidia-smi*:echo 'no devices'; exit 9")
        self.assertEqual(code, 1)
        self.assertIn("no devices\n== machine", said)
        self.assertIn("FAILED with 9", said)
        self.assertNotIn("replay_test", calls)
        self.assertTrue(any("machine" in name for name in names))

    def test_conform_ends_with_the_first_failure_and_begins_there_again(self):
        code, said, calls, names = self.gpu("conform", "*-d*second*:echo wrong; exit 1")
        self.assertEqual(code, 1)
        self.assertIn("wrong\n== cuda-second-at-once: FAILED with 1", said)
        self.assertIn("./cuda-second-at-once.log", names)
        self.assertNotIn("--jobs", calls)
        code, said, calls, names = self.gpu("conform")
        self.assertEqual(code, 0, said)
        self.assertIn("cuda-first: done before", said)
        self.assertNotIn("cuda: first", calls)
        self.assertIn("cuda: second, at once", calls)
        self.assertIn("./mlp-jobs-16/runs.csv", names)
        self.assertNotIn("--jobs", self.gpu("conform")[2])
        self.assertIn("cuda: first", self.gpu("conform", version="2")[2])

    def test_other_bits_with_other_threads_are_a_failure(self):
        code, said, _, _ = self.gpu("conform", bits="other")
        self.assertEqual(code, 1)
        self.assertIn("softmax-same-bits: FAILED", said)

    def test_a_peer_that_fails_keeps_no_other_from_its_turn(self):
        code, said, calls, _ = self.gpu("peers", "*vmap*:exit 1")
        self.assertEqual(code, 1)
        self.assertEqual(said.count("FAILED with 1"), 3)
        self.assertEqual(calls.count("--peers"), 9)
        calls = self.gpu("peers")[2]
        self.assertEqual(calls.count("--peers"), 3)

    def test_a_step_has_a_limit(self):
        short = self.here / "bench/gpu.sh"
        short.parent.mkdir()
        short.write_text((ROOT / "bench/gpu.sh").read_text().replace("step roofs 60", "step roofs 1"))
        code, said, calls, names = self.gpu("measure", "*roofs*:echo begun; sleep 30", script=short)
        self.assertEqual(code, 1)
        self.assertIn("begun\n== roofs: FAILED, not done after 1 s", said)
        self.assertIn("ncu", calls)
        self.assertIn("./roofs.log", names)

    def test_all_stages_go_by_in_order(self):
        code, said, calls, _ = self.gpu("all")
        self.assertEqual(code, 0, said)
        order = [
            "nvidia-smi",
            "cuda: first",
            "--jobs 16",
            "--peers gradrace",
            "roofs",
            "ncu",
            "vmap",
            "memcheck",
        ]
        places = [calls.index(call) for call in order]
        self.assertEqual(places, sorted(places))

    def test_it_says_how_it_is_called(self):
        self.assertEqual(subprocess.run(["sh", ROOT / "bench/gpu.sh"], stdout=subprocess.DEVNULL).returncode, 2)


class Peers(unittest.TestCase):
    def test_start_up_cancels_in_a_slope(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no numpy")
        sys.path.insert(0, str(ROOT / "bench/gpu"))
        import rates

        self.assertAlmostEqual(rates.slope(1024, (100, 300), (5.1, 5.3)), 1024 * 200 / 0.2)
        self.assertNotEqual(rate := rates.slope(1, (1, 2), (3, 3)), rate)  # NaN
        layers = rates.start(rates.SHAPES["mlp"], 3)
        self.assertEqual([w.shape for w, b in layers], [(3, 128, 784), (3, 10, 128)])
        self.assertAlmostEqual(float(numpy.var(layers[0][0])) * 784, 2, delta=0.05)
        self.assertFalse(rates.start(rates.SHAPES["softmax"], 2)[0][0].any())


if __name__ == "__main__":
    unittest.main()
