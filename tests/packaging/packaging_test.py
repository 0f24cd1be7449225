"""What is installed and packed: every part in its place, a program that runs anywhere, texts that tell all of it.

The packages are tried on bare Debian 12 and Ubuntu 24.04, each in a root file system of its own: packaging/make_roots.sh
makes these, as root, in build/roots/; else that test is skipped."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import PROGRAM, ROOT, SMALL, ProgramTest, changed, rows

sys.path.insert(0, str(ROOT / "packaging"))
from command_help import commands, options_of  # noqa: E402

BUILD = pathlib.Path(PROGRAM).parent
PYTHON = ROOT / ".venv/bin/python"
ROOTS = ROOT / "build/roots"
TIMING = changed(SMALL, name="timing", model=None, learning_rate=None, record={}, sweep=None, protocol={"kind": "async"},
                 stop={"updates": 20})  # fmt: skip


def installed(folder):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], check=True, capture_output=True)
    return folder


class Installed(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        cls.prefix = installed(pathlib.Path(cls.place.name) / "prefix")

    def run_installed(self, *words, status=0, **environment):
        known = {key: value for key, value in os.environ.items() if key != "GRADRACE_PYTHON"}
        done = subprocess.run([self.prefix / "bin/gradrace", *words], cwd=self.folder, capture_output=True, text=True,
                              check=False, env={**known, **environment})  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def test_every_part_is_in_its_place(self):
        share = self.prefix / "share"
        for part in ("gradrace/scenarios/quickstart.json", "gradrace/scenarios/schema.json", "gradrace/analysis/plots/plot.py",
                     "gradrace/analysis/requirements.txt", "gradrace/analysis/papers/dutta2018", "gradrace/scripts/sweep.sbatch",
                     "man/man1/gradrace.1", "bash-completion/completions/gradrace", "zsh/vendor-completions/_gradrace",
                     "fish/vendor_completions.d/gradrace.fish", "doc/gradrace/LICENSE", "doc/gradrace/NOTICE", "doc/gradrace/CITATION.cff"):  # fmt: skip
            self.assertTrue((share / part).exists(), part)
        wanted = {path.relative_to(ROOT) for path in (ROOT / "analysis").rglob("*.py")}
        self.assertEqual({path.relative_to(share / "gradrace") for path in (share / "gradrace/analysis").rglob("*.py")}, wanted)

    def test_it_runs_and_draws_anywhere(self):
        self.write(SMALL)
        self.run_installed("run", "scenario.json", "--out", "out", "--quiet")
        self.assertGreater(len(rows(self.folder / "out/runs.csv")), 0)
        if not PYTHON.exists():
            self.skipTest("no .venv: setup.sh could not make the Python environment of the plots")
        (self.folder / "queue.py").write_text("raise SystemExit(3)")  # no module of ours
        self.run_installed("plot", "out", GRADRACE_PYTHON=str(PYTHON))
        self.assertTrue((self.folder / "out/plots/error_time.png").exists())

    def test_scripts_find_the_program(self):
        if not shutil.which("parallel"):
            self.skipTest("no parallel")
        self.write(SMALL)
        script = self.prefix / "share/gradrace/scripts/sweep_parallel.sh"
        known = {key: value for key, value in os.environ.items() if key != "GRADRACE_PROGRAM"}
        subprocess.run([script, "scenario.json", "out", "2"], cwd=self.folder, check=True, capture_output=True, env=known)
        self.assertTrue((self.folder / "out/runs.csv").exists())

    def test_where_plots_lack_python_it_says_what_to_type(self):
        bare = self.folder / "python"
        bare.write_text("#!/bin/sh\necho Traceback >&2\nexit 1\n")
        bare.chmod(0o755)
        self.write(SMALL)
        self.run_installed("run", "scenario.json", "--out", "out", "--quiet")
        _, told = self.run_installed("plot", "out", status=1, GRADRACE_PYTHON=str(bare))
        self.assertIn(f"{bare}: lacks Python packages that plots need; python3 -m venv DIR", told)
        self.assertIn(f"{self.prefix}/share/gradrace/analysis/requirements.txt", told)
        self.assertNotIn("Traceback", told)
        _, told = self.run_installed("plot", "out", status=1, GRADRACE_PYTHON="/nowhere/python")
        self.assertIn("/nowhere/python: cannot be run", told)


class Texts(unittest.TestCase):
    known = commands(PROGRAM)

    def test_options_are_read_from_help(self):
        options = options_of(["  --out DIR             output folder, with a text that", " " * 24 + "goes on", "  --format csv|parquet  a value of two",
                              "  --scale S (=1)        a default", "  --x time|updates|gradients|epochs", " " * 24 + "beneath", "  -h [ --help ]         this text"])  # fmt: skip
        self.assertEqual([(option.flag, option.value, option.text) for option in options],
                         [("--out", "DIR", "output folder, with a text that goes on"), ("--format", "csv|parquet", "a value of two"), ("--scale", "S", "a default"),
                          ("--x", "time|updates|gradients|epochs", "beneath"), ("--help", "", "this text")])  # fmt: skip
        self.assertEqual(options[1].choices, ["csv", "parquet"])
        self.assertIn("run", [command.name for command in self.known])
        for command in self.known:
            self.assertIn("--help", [option.flag for option in command.options], command.name)

    def test_the_man_page_has_every_command_and_option(self):
        page = (BUILD / "packaging/gradrace.1").read_text()
        for command in self.known:
            self.assertIn(f".SS {command.name}\n", page)
            for option in command.options:
                self.assertIn(option.flag.replace("-", "\\-"), page)
        if not shutil.which("man"):
            self.skipTest("no man: its warnings cannot be seen")
        done = subprocess.run(["man", "--warnings", "-l", BUILD / "packaging/gradrace.1"], capture_output=True, text=True,
                              check=True, env={**os.environ, "MANPAGER": "cat", "LC_ALL": "C.UTF-8"})  # fmt: skip
        self.assertEqual(done.stderr, "")

    def completed(self, *words, folder=ROOT):
        quoted = " ".join(map(shlex.quote, words))
        script = f'source "$1"; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _gradrace 2>/dev/null; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", script, "bash", BUILD / "packaging/gradrace.bash"], capture_output=True, text=True, check=True, cwd=folder)
        return done.stdout.split()

    def test_bash_completes_commands_and_options(self):
        self.assertEqual(self.completed("gradrace", "co"), ["collect"])
        self.assertEqual(self.completed("gradrace", "run", "--re"), ["--replicas", "--resume"])
        self.assertEqual(self.completed("gradrace", "fit", "--s"), ["--sum-by", "--skip", "--step", "--scale", "--slowest-of"])
        self.assertEqual(self.completed("gradrace", "collect", "--format", "p"), ["parquet"])

    VALUES = {
        ("run", "--device", ""): ["auto", "cpu", "cuda"],
        ("reproduce", "--device", "c"): ["cpu", "cuda"],
        ("advise", "--by", ""): ["time", "cost"],
        ("list", "k-as"): ["k-async"],
        ("list", "straggler-"): ["straggler-policies"],
        ("reproduce", "dutta"): ["dutta2018", "dutta2021"],
        ("theory", "quick"): ["quickstart"],
        ("run", "guide/back"): ["guide/backups.json"],
        ("search", "guide/one_slow_of_sixteen.p"): [],  # a picture
        ("report", "packag"): ["packaging"],
        ("run", "--out", "packag"): ["packaging"],
        ("run", "--seed", ""): [],
        ("signature", ""): [],
    }

    def test_bash_completes_values(self):
        for words, wanted in self.VALUES.items():
            self.assertEqual(self.completed("gradrace", *words), wanted, words)

    def test_fish_completes_values(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        script = 'source $argv[1]; complete -C "gradrace $argv[2]"'
        for words, wanted in self.VALUES.items():
            if not wanted:
                continue  # fish proposes files where nothing else is known
            done = subprocess.run(
                ["fish", "-c", script, BUILD / "packaging/gradrace.fish", " ".join(words)], capture_output=True, text=True, check=True, cwd=ROOT
            )
            found = [line.split("\t")[0].rstrip("/") for line in done.stdout.splitlines()]
            self.assertLessEqual(set(wanted), set(found), words)

    def test_zsh_and_fish_read_their_completions(self):
        shells = {"zsh": "_gradrace", "fish": "gradrace.fish"}
        there = [shell for shell in shells if shutil.which(shell)]
        for shell in there:
            subprocess.run([shell, "-n", BUILD / "packaging" / shells[shell]], check=True)
        if len(there) < len(shells):
            self.skipTest("no " + " and no ".join(set(shells) - set(there)))


class Packages(ProgramTest):
    def test_packages_run_on_bare_systems(self):
        roots = [root for root in (ROOTS / "bookworm", ROOTS / "noble") if (root / "bin").exists()]
        if not roots:
            self.skipTest("no root file systems in build/roots; packaging/make_roots.sh makes them")
        subprocess.run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", self.folder], check=True, capture_output=True, cwd=self.folder)
        (deb,) = self.folder.glob("*.deb")
        (archive,) = self.folder.glob("*.tar.gz")
        for root in roots:
            with self.subTest(root=root.name):
                for package in (deb, archive, self.write(TIMING)):
                    shutil.copy(package, root / "tmp")
                self.try_in(root, f"dpkg -i /tmp/{deb.name}", "gradrace")
                self.try_in(root, f"tar -xf /tmp/{archive.name} -C /opt", f"/opt/{archive.name.removesuffix('.tar.gz')}/bin/gradrace")

    def try_in(self, root, install, program):
        script = f"""set -e
            {install}
            cd /tmp
            {program} --version
            {program} run scenario.json --out out --quiet --force
            grep -q finished out/runs.csv
            {program} theory scenario.json
            dpkg -r gradrace 2>/dev/null || true"""
        apart = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc", "chroot", root]  # a /proc, in which programs find themselves
        done = subprocess.run([*apart, "/bin/sh", "-c", script], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
