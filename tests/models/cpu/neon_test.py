"""The kernels of 64-bit ARM, under qemu, give the bits of those of this machine.

apt-get install g++-aarch64-linux-gnu qemu-user
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import skip

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMPILER = "aarch64-linux-gnu-g++"
EMULATORS = ["qemu-aarch64", "qemu-aarch64-static"]
FLAGS = ["-std=c++20", "-O3", "-DNDEBUG", "-ffp-contract=off", "-static", f"-I{ROOT}"]
SOURCES = [
    *("models/cpu/kernels/convolution_taps.cpp", "models/cpu/kernels/kernels.cpp"),
    *("models/cpu/kernels/neon.cpp", "models/cpu/kernels/portable.cpp"),
    *("models/datasets/row_entries.cpp", "sim/instruction_set.cpp"),
    *("tests/support/every_kernel.cpp", "tests/models/cpu/kernel_hashes.cpp"),
]


def hashes(command):
    """{instruction set: lines}"""
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in text.splitlines():
        name, rest = line.split(": ", 1)
        found.setdefault(name, []).append(rest)
    return found


class Neon(unittest.TestCase):
    def test_has_the_bits_of_this_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.fspath(pathlib.Path(folder) / "kernel_hashes")
            sources = [os.fspath(ROOT / source) for source in SOURCES]
            subprocess.run([COMPILER, *FLAGS, *sources, "-o", program], check=True)
            emulator = next(name for name in EMULATORS if shutil.which(name))
            there = hashes([emulator, program])
        here = hashes([os.environ["GRADRACE_KERNEL_HASHES"]])
        self.assertEqual(sorted(there), ["neon", "portable"])
        self.assertTrue(here, "no instruction set of this machine fuses")
        for name, lines in {**here, **there}.items():
            self.assertEqual(lines, next(iter(here.values())), name)
            print(f"{name}: {len(lines)} hashes alike", file=sys.stderr)


if __name__ == "__main__":
    if not shutil.which(COMPILER) or not any(map(shutil.which, EMULATORS)):
        skip(f"there is no {COMPILER} or no {EMULATORS[0]}")
    unittest.main()
