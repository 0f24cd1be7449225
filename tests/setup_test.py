"""What setup.sh says and does, with a cmake that is made up; no machine is changed."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]


class SetupTest(unittest.TestCase):
    """setup.sh in a folder of its own, where apt-get and sudo fail and cmake does what a test says."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        for name in ("setup.sh", "analysis/requirements.txt"):
            (self.folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        (self.folder / "build/release").mkdir(parents=True)
        (self.folder / "build/no-plots").touch()
        for name in ("apt-get", "sudo"):
            self.program(name, "exit 1")

    def program(self, name, text):
        file = self.folder / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def cmake(self, configures="exit 0", builds="exit 0"):
        self.program(
            "cmake",
            f"""case $1 in
  --version) echo "cmake version 3.25.1" ;;
  --preset) {configures} ;;
  --build) {builds} ;;
esac""",
        )

    def configured(self):
        (self.folder / "build/release/build.ninja").touch()
        (self.folder / "build/release/CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.folder}\n")

    def call(self, *words, status=0, **environment):
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(
            [self.folder / "setup.sh", *words],
            env=os.environ | {"PATH": path} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr


class Nvcc(SetupTest):
    TOLD = "cmake --preset release -DGRADRACE_CUDA=OFF"

    def test_where_nvcc_fails_it_says_how_to_build_without(self):
        self.cmake(configures="echo 'CMake Error at CMakeTestCUDACompiler.cmake:102 (message):'; exit 1")
        self.assertIn(self.TOLD, self.call("--no-retry", "--build", "gradrace", status=1))
        self.configured()
        self.cmake(builds="printf 'FAILED: device.cu.o \\n/usr/bin/nvcc -c device.cu\\n'; exit 1")
        self.assertIn(self.TOLD, self.call("--no-retry", "--build", "gradrace", status=1))

    def test_where_something_else_fails_it_does_not(self):
        self.cmake(configures="echo 'CMake Error at CMakeLists.txt:22 (find_package):'; exit 1")
        self.assertNotIn(self.TOLD, self.call("--no-retry", "--build", "gradrace", status=1))
        self.configured()
        self.cmake(builds="printf '[1/2] /usr/bin/nvcc\\nFAILED: run.cpp.o \\ng++ -c run.cpp\\n'; exit 1")
        self.assertNotIn(self.TOLD, self.call("--no-retry", "--build", "gradrace", status=1))


class Plots(SetupTest):
    TRIES = "making the Python environment"

    def setUp(self):
        super().setUp()
        self.cmake(builds="touch build/release/gradrace; chmod +x build/release/gradrace")
        self.configured()

    def offline(self, *words, status=0):
        return self.call(*words, status=status, PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull)

    def failed(self, seconds_ago):
        when = time.time() - seconds_ago
        os.utime(self.folder / "build/no-plots", (when, when))

    def test_without_a_network_it_builds_and_does_not_try_again_within_an_hour(self):
        (self.folder / "build/no-plots").unlink()
        told = self.offline("--no-retry", "--build", "gradrace")
        self.assertIn(self.TRIES, told)
        self.assertIn("plots are not available", told)
        self.assertIn("tried again after an hour", told)
        self.assertFalse((self.folder / ".venv").exists())
        self.assertEqual(self.offline("--no-retry", "--build", "gradrace"), "")
        self.failed(3500)
        self.assertEqual(self.offline("--no-retry", "--build", "gradrace"), "")
        self.failed(3700)
        self.assertIn(self.TRIES, self.offline("--no-retry", "--build", "gradrace"))

    def test_where_plots_are_wanted_it_tries_again_at_once(self):
        self.assertIn(self.TRIES, self.offline("--require-plots", status=1))


if __name__ == "__main__":
    unittest.main()
