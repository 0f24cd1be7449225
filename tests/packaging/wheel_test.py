"""The wheel: made of this build, checked, installed into an environment of its own, from which plots and pages are made.

The environment borrows the packages of .venv: that pip brings those of the wheel's metadata, and in what time, is seen by
tests/packaging/wheel_in_roots.sh, by hand."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

from program import IS_RELEASE, PROGRAM, ROOT, SMALL, ProgramTest, skip

sys.path.insert(0, str(ROOT / "packaging"))
import make_wheel  # noqa: E402

FLOOR = (2, 28)  # of manylinux_2_28
MOST_BYTES = 15e6

if not IS_RELEASE:
    skip("no release build: its libraries are not linked in")
if not (ROOT / ".venv/bin/python").exists():
    skip("no .venv: setup.sh could not make the Python environment of the plots")
try:
    TOOLS = make_wheel.tools(ROOT / "build/wheel/tools")
except SystemExit as problem:
    skip(f"what wheels are made with cannot be installed: {problem}")


def said(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


class WheelTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.place = pathlib.Path(place.name)
        said(sys.executable, ROOT / "packaging/make_wheel.py", pathlib.Path(PROGRAM).parent, cls.place)
        (cls.wheel,) = cls.place.glob("*.whl")
        cls.bin = cls.place / "venv/bin"
        venv.create(cls.place / "venv")
        (packages,) = (cls.place / "venv/lib").glob("python*/site-packages")
        (borrowed,) = (ROOT / ".venv/lib").glob("python*/site-packages")
        (packages / "borrowed.pth").write_text(f"{borrowed}\n")
        said(*cls.pip(), "install", "--quiet", "--no-compile", "--no-index", cls.wheel)  # in which all that it needs is there
        cls.program = packages / "gradrace/bin/gradrace"

    @classmethod
    def pip(cls):
        return TOOLS / "python", "-m", "pip", "--python", cls.bin / "python"

    def installed(self, *words):
        """What the command `gradrace` of the environment prints."""
        known = {name: value for name, value in os.environ.items() if not name.startswith(("GRADRACE_", "PYTHON"))}
        return said(self.bin / "gradrace", *words, cwd=self.folder, env=known)

    def test_it_needs_an_old_c_library_alone_and_is_small(self):
        self.assertIn("manylinux_2_28_x86_64", self.wheel.name)
        self.assertLess(self.wheel.stat().st_size, MOST_BYTES)
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", said("readelf", "-VW", self.program))
        self.assertTrue(versions)
        self.assertLessEqual(max((int(major), int(minor)) for major, minor in versions), FLOOR)
        libraries = re.findall(r"NEEDED.*\[(.*)\]", said("readelf", "-d", self.program))
        self.assertLessEqual({name.split(".")[0] for name in libraries}, {"libc", "libm", "libpthread", "libdl", "librt", "ld-linux-x86-64"})

    def test_it_is_whole(self):
        there = set(zipfile.ZipFile(self.wheel).namelist())
        for folder in ("analysis", "scenarios"):
            for path in (ROOT / folder).rglob("*"):
                if path.suffix in (".py", ".json", ".css", ".j2") and "__pycache__" not in path.parts:
                    self.assertIn(f"gradrace/share/gradrace/{path.relative_to(ROOT)}", there)
        found = subprocess.run([*self.pip(), "check"], capture_output=True, text=True, check=False).stdout
        self.assertNotIn("gradrace ", found)  # what is borrowed has findings of its own

    def test_its_program_does_what_that_of_the_build_does(self):
        self.assertEqual(self.installed("signature"), self.call("signature")[0])
        self.assertEqual(self.installed("--version"), self.call("--version")[0])
        self.write(SMALL)
        self.installed("run", "scenario.json", "--out", "wheel", "--quiet")
        self.call("run", self.folder / "scenario.json", "--out", self.folder / "build", "--quiet")
        for name in ("runs.csv", "curve.csv", "staleness.csv", "trace.json"):
            self.assertEqual((self.folder / "wheel" / name).read_bytes(), (self.folder / "build" / name).read_bytes())

    def test_its_command_draws_and_answers_by_its_own_python(self):
        self.installed("run", "quickstart", "--replicas", "2", "--out", "out", "--quiet")
        self.installed("plot", "out", "--format", "png")
        self.assertTrue((self.folder / "out/plots/error_time.png").exists())
        self.installed("report", "out")
        self.assertIn("</html>", (self.folder / "out/report.html").read_text())

    def test_a_scenario_that_is_wrong_is_told_as_by_the_program(self):
        done = subprocess.run([self.bin / "gradrace", "validate", "nowhere.json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nowhere.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
