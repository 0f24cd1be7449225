"""Plants the bugs of mutants.toml, one at a time, in a clone of the last commit, runs the tests that
should notice, and says which bugs they found: mutants.py [--only TEXT] [--first N] [--out FILE]
[--check].

The clone and its build stay in build/mutants.  The tests are run without the bug first, and have to
pass.  A bug that survives is a test that lacks; one that does not compile counts as found by the
compiler, and is said so.
"""

import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLONE = ROOT / "build/mutants"
BUILD = CLONE / "build/release"
PYTHON = ROOT / ".venv/bin/python"


def read_mutants(only):
    with open(ROOT / "tests/mutants/mutants.toml", "rb") as file:
        found = tomllib.load(file)["mutant"]
    for number, mutant in enumerate(found):
        mutant["number"] = number
        count = (ROOT / mutant["file"]).read_text().count(mutant["from"])
        if count != 1:
            sys.exit(f"mutants.toml: {mutant['file']} has {count} of {mutant['from']!r}")
    return [mutant for mutant in found if only in mutant["file"]]


def run(*words, folder=CLONE, **more):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, **more)


def must(*words, **more):
    done = run(*words, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def prepare(targets):
    """A clone of the last commit, built."""
    if not CLONE.exists():
        must("git", "clone", "--quiet", ROOT, CLONE, folder=ROOT)
    must("git", "fetch", "--quiet", "origin")
    commit = run("git", "rev-parse", "HEAD", folder=ROOT).stdout.strip()
    must("git", "checkout", "--quiet", "--force", commit)
    must("cmake", "--preset", "release", "-DGRADRACE_CUDA=OFF", "-DGRADRACE_UNITY=OFF")
    for target in targets:
        must("cmake", "--build", BUILD, "--target", target)


def tests_pass(mutant):
    if not mutant["target"]:
        file, *cases = mutant["tests"].split()
        paths = os.pathsep.join(map(str, [CLONE / "tests/support"]))
        words = [PYTHON, "-W", "ignore", CLONE / file, *cases]
        return run(*words, env=os.environ | {"PYTHONPATH": paths}, timeout=600).returncode == 0
    words = ["ctest", "--test-dir", BUILD, "-R", mutant["tests"], "--stop-on-failure", "--timeout", "120"]
    done = run(*words, env=os.environ | {"GRADRACE_PYTHON": os.fspath(PYTHON)})
    if "No tests were found" in done.stdout + done.stderr:
        sys.exit(f"no test matches {mutant['tests']}")
    return done.returncode == 0


def build(mutant):
    target = mutant["target"]
    return not target or run("cmake", "--build", BUILD, "--target", target).returncode == 0


def is_found(mutant):
    """ "tests", "compiler", or "" where the bug survives."""
    if not build(mutant):
        return "compiler"
    return "" if tests_pass(mutant) else "tests"


def check_tests(mutant, passed):
    """They pass without the bug; `passed`: those that did."""
    if mutant["tests"] in passed:
        return
    if not build(mutant) or not tests_pass(mutant):
        sys.exit(f"without a bug, this fails: {mutant['tests']}")
    passed.add(mutant["tests"])


def judge(mutant):
    file = CLONE / mutant["file"]
    right = file.read_text()
    file.write_text(right.replace(mutant["from"], mutant["to"]))
    try:
        return is_found(mutant)
    except subprocess.TimeoutExpired:
        return "tests"
    finally:
        file.write_text(right)


def main():
    parser = argparse.ArgumentParser(prog="mutants.py", description=__doc__)
    parser.add_argument("--only", default="", help="bugs in files whose path has this text")
    parser.add_argument("--first", type=int, default=0, help="the number of the first bug, to go on")
    parser.add_argument("--out", type=pathlib.Path, help="a CSV file with a row a bug")
    parser.add_argument("--check", action="store_true", help="only see that every bug has its place")
    words = parser.parse_args()
    mutants = [mutant for mutant in read_mutants(words.only) if mutant["number"] >= words.first]
    if words.check:
        print(f"{len(mutants)} bugs have their places")
        return 0
    prepare({mutant["target"] for mutant in mutants} - {""})
    rows, found, passed = [], 0, set()
    for mutant in mutants:
        check_tests(mutant, passed)
        by = judge(mutant)
        found += bool(by)
        rows.append([mutant["number"], mutant["file"], mutant["from"].strip(), mutant["to"].strip(), by or "survived"])
        print(f"{by or 'SURVIVED':8} {mutant['number']:3} {mutant['file']}: {mutant['to'].strip()[:90]}", flush=True)
    if words.out:
        with open(words.out, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["number", "file", "from", "to", "found_by"], *rows])
    print(f"found {found} of {len(mutants)} planted bugs")
    return 0 if found == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
