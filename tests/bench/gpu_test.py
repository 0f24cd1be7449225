"""bench/gpu.sh with fakes of the programs it calls, and the arithmetic of bench/gpu/rates.py."""

import csv
import json
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
        self.assertIn("-tc=cuda: second\\, at once\n", calls)  # doctest parts patterns at commas
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

    def test_a_peer_that_is_not_installed_is_named_and_left_out(self):
        code, said, calls, _ = self.gpu("peers", "*import?jax*:exit 1")
        self.assertEqual(code, 0, said)
        self.assertIn("== vmap: there is no jax", said)
        self.assertEqual(calls.count("--peers graphs"), 6)
        self.assertNotIn("--peers vmap", calls)

    def test_cases_go_side_by_side(self):
        others = 'touch "$CALLS.$$"; for i in $(seq 100); do set "$CALLS".*; [ $# -lt 2 ] || exit 0; sleep 0.1; done; exit 1'
        code, said, _, _ = self.gpu("conform", f"replay_test*-d*:{others}")
        self.assertEqual(code, 0, said)
        self.assertIn("== cuda-first: ok", said)
        self.assertIn("== cuda-second-at-once: ok", said)

    def test_a_step_has_a_limit(self):
        short = self.here / "bench/gpu.sh"
        short.parent.mkdir()
        short.write_text((ROOT / "bench/gpu.sh").read_text().replace("step roofs 60", "step roofs 1"))
        code, said, calls, names = self.gpu("measure", "*roofs*:echo begun; sleep 30", script=short)
        self.assertEqual(code, 1)
        self.assertIn("begun\n== roofs: FAILED, not done after 1 s", said)
        self.assertIn("gradrace-mlp-adam: ok", said)
        self.assertIn("./roofs.log", names)

    def test_all_stages_go_by_in_order(self):
        code, said, calls, _ = self.gpu("all")
        self.assertEqual(code, 0, said)
        order = [
            "nvidia-smi",
            "cuda: first",
            "--jobs 16",
            "--peers gradrace",
            "--rule momentum",
            "roofs",
            "--peers vmap",
            "ncu",
            "memcheck",
            "table.py",
        ]
        places = [calls.index(call) for call in order]
        self.assertEqual(places, sorted(places))

    def test_it_says_how_it_is_called(self):
        self.assertEqual(subprocess.run(["sh", ROOT / "bench/gpu.sh"], stdout=subprocess.DEVNULL).returncode, 2)


class Table(unittest.TestCase):
    HEAD = "peer,version,model,rule,device,replicas,updates,seconds,gradients_per_second,loss\n"

    def test_rates_become_rows_for_bench_results(self):
        sys.path.insert(0, str(ROOT / "bench/gpu"))
        import table

        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            (here / "machine-1.log").write_text("name, driver_version\nNVIDIA H200, 580.1\n")
            of = lambda peer, rule, rate: f"{peer},1.2,mlp,{rule},cuda,1024,1000 5000,0.5 2,{rate},0.1\n"
            (here / "gradrace-mlp.log").write_text("note: told\n" + self.HEAD + of("gradrace", "plain", "3e+06"))
            (here / "gradrace-mlp-adam.log").write_text(self.HEAD + of("gradrace", "adam", "1e+06"))
            (here / "vmap-mlp.log").write_text(self.HEAD + of("vmap", "plain", "8.8e+05"))
            (here / "graphs-mlp.log").write_text(self.HEAD)
            told = subprocess.run([sys.executable, ROOT / "bench/gpu/table.py", here], check=True, stdout=subprocess.PIPE, text=True).stdout
            with open(here / "gpu.csv") as file:
                rows = list(csv.DictReader(file))
        self.assertEqual([row["work"] for row in rows], ["mlp m=32 adam", "mlp m=32", "mlp m=32"])
        self.assertEqual({row["card"] for row in rows}, {"NVIDIA H200"})
        self.assertEqual(rows[2]["contestant"], "JAX")
        self.assertEqual(rows[1]["note"], "slope of 1000 and 5000 updates")
        self.assertIn("| mlp m=32 | 3,000,000 | 880,000 | 3.41 |\n", told)
        self.assertIn("| mlp m=32 adam | 1,000,000 |  |  |\n", told)
        with open(ROOT / "bench/results/h200.csv") as file:
            self.assertEqual(next(csv.reader(file)), table.COLUMNS)

    def test_every_work_of_the_script_has_a_scenario_and_lengths(self):
        sys.path.insert(0, str(ROOT / "bench/gpu"))
        import rates

        scenarios = {path.stem: json.loads(path.read_text()) for path in (ROOT / "bench/gpu").glob("*.json")}
        self.assertEqual(scenarios.keys(), rates.REPLICAS.keys())
        self.assertEqual(scenarios.keys(), rates.LENGTHS["gradrace"].keys())
        for name, scenario in scenarios.items():
            self.assertEqual(scenario["replicas"], rates.REPLICAS[name])
            self.assertEqual(scenario["model"]["minibatch"], rates.IMAGES.get(name, rates.MINIBATCH))


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
