"""The container file: its steps are done by chroot in a copy of the root, and the command of the image answers.  The root is packaging/make_roots.sh python's, as root; without it this is skipped."""

import json
import os
import shlex
import shutil
import subprocess
import unittest

from program import ROOT, SMALL, ProgramTest, changed, skip

FILE = ROOT / "packaging/Containerfile"
CONTEXT = ROOT / "build"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
TIMING = changed(SMALL, name="timing", model=None, learning_rate=None, record={}, sweep=None, protocol={"kind": "async"},
                 stop={"updates": 20})  # fmt: skip

if not (CONTEXT / "roots/python/bookworm/bin").exists():
    skip("no root file system in build/roots/python; packaging/make_roots.sh python makes it")
if not list(CONTEXT.glob("wheel/gradrace-*.whl")):
    skip("no wheel in build/wheel; packaging/make_wheel.py makes it")


def steps():
    """[(instruction, rest)] of the file."""
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(" ", 1)) for line in lines]


class Image:
    """A folder in which the steps were done, and what the file says of its command."""

    def __init__(self, root):
        self.root, self.folder, self.command, self.environment = root, "/", [], {}
        root.mkdir()
        for instruction, rest in steps():
            getattr(self, instruction.lower())(rest)

    def from_(self, base):
        assert base == "scratch", base

    def copy(self, rest):
        pattern, to = shlex.split(rest)
        for path in CONTEXT.glob(pattern):
            source = f"{path}/." if path.is_dir() else path
            subprocess.run(["cp", "-a", source, f"{self.root}{to}"], check=True)

    def run(self, rest):
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")  # as builders do
        shutil.copy(os.environ.get("PIP_CERT", f"/{CERTIFICATES}"), self.root / CERTIFICATES)
        self.call("/bin/sh", "-c", rest, PIP_CERT=f"/{CERTIFICATES}")

    def env(self, rest):
        name, _, value = rest.partition("=")
        self.environment[name] = value

    def workdir(self, rest):
        self.folder = rest
        (self.root / rest.lstrip("/")).mkdir(exist_ok=True)

    def entrypoint(self, rest):
        self.command = json.loads(rest)

    def cmd(self, rest):
        self.default = json.loads(rest)

    def call(self, *words, **environment):
        inside = f'cd {self.folder} && exec "$@"'
        known = {"PATH": os.environ["PATH"], **self.environment, **environment}
        apart = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={self.root}/proc", "chroot", self.root]
        done = subprocess.run([*apart, "/bin/sh", "-c", inside, "sh", *words], capture_output=True, text=True, check=False, env=known)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def answer(self, *words):
        return self.call(*self.command, *(words or self.default))


setattr(Image, "from", Image.from_)


class ContainerTest(ProgramTest):
    def test_the_command_of_the_image_runs_draws_and_answers(self):
        image = Image(self.folder / "root")
        self.assertIn("usage: gradrace COMMAND", image.answer())
        self.assertEqual(image.answer("signature"), self.call("signature")[0])
        shutil.copy(self.write(TIMING), image.root / "work")
        image.answer("run", "scenario.json", "--out", "out", "--quiet")
        self.assertIn("finished", (image.root / "work/out/runs.csv").read_text())
        image.answer("run", "quickstart", "--replicas", "2", "--quiet", "--plot")
        self.assertTrue((image.root / "work/out/quickstart/plots/error_time.png").exists())
        self.assertIn("report: out/quickstart/report.html", image.answer("report", "out/quickstart"))


if __name__ == "__main__":
    unittest.main()
