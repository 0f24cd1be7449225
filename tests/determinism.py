"""Whether schedules and values depend on compiler, optimisation, instruction set, --jobs or the order
of points: determinism.py [--only NAME...] [--jobs N] [--out FILE].

A configuration is a compiler and words for it: "g++ -O3 x86-64-v3".  A word that begins with - is a
flag, x86-64-v3 is the option GRADRACE_X86_64_V3, KEY=VALUE goes to the environment of the program;
--only takes any such name.  Each is built in build/determinism, where a configured folder is not
configured again.  The program then prints its signature, and runs the scenarios of
sim/cli/results_version_test.py with --jobs 1, with --jobs 2, and with their points in reverse order.

Prints a row a configuration.  A schedule says which learner computes which gradient of which
version, and which update it enters: it is the signature, which is compared with
sim/cli/signature.expected, and trace.json and every column that counts, which are compared with the
first configuration's.  Values are times, losses and parameters: where they differ from the first
configuration's, the column with the largest relative difference is named first, then the others.
Ends with 1 where a schedule differs, where anything differs with --jobs or with the order of points,
and where a program does not build or run.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [os.fspath(ROOT / "tests/support"), os.fspath(ROOT / "tests/sim/cli")]

from program import changed, rows
from results_version_test import RECORDED, SCENARIOS, hash_of, write_images

FOLDER = ROOT / "build/determinism"
EXPECTED = ROOT / "tests/sim/cli/signature.expected"
# g++ 12.2 ends with an internal error in models/cpu/kernels/avx512.cpp at -O1 alone.
NAMES = [
    "g++ -O3", "g++ -O3 GRADRACE_CPU=avx2", "g++ -O3 GRADRACE_CPU=portable", "clang++ -O2", "g++ -O0", "g++ -O3 x86-64-v3",
    "clang++ -O0", "clang++ -O3", "clang++ -O3 x86-64-v3", "g++ -O1 -fno-tree-sra", "g++ -O2", "clang++ -O1",
]  # fmt: skip
COLUMNS = ["configuration", "version", "schedules", "values", "jobs", "order"]
VALUES = re.compile(
    "(^|_)time(_|$)|busy|idle|wasted|communicating|encoding|waiting|hidden|loss|error|learning_rate|disagreement|squared|hash|theory|^ts$|^dur$"
)


class Fault(Exception):
    """A program that does not build or run."""


class Configuration:
    def __init__(self, name):
        self.name = name
        self.compiler, *words = name.split()
        self.flags = [word for word in words if word.startswith("-")]
        self.is_v3 = "x86-64-v3" in words
        self.environment = dict(word.split("=", 1) for word in words if "=" in word and word not in self.flags)
        built = [self.compiler, *self.flags, *["x86-64-v3"] * self.is_v3]
        self.build = FOLDER / "_".join(built).replace("/", "-")

    def version(self):
        text = subprocess.run([self.compiler, "--version"], capture_output=True, text=True, check=True).stdout
        return re.search(r"\d+\.\d+(\.\d+)?", text.splitlines()[0].rsplit(" ", 1)[-1])[0]

    def make(self, jobs):
        if not (self.build / "build.ninja").exists():
            flags = [f"-DCMAKE_CXX_COMPILER={self.compiler}", f"-DCMAKE_CXX_FLAGS_RELEASE={' '.join(self.flags)} -DNDEBUG"]
            options = ["-DGRADRACE_TESTS=OFF", "-DGRADRACE_CUDA=OFF", f"-DGRADRACE_X86_64_V3={'ON' if self.is_v3 else 'OFF'}"]
            call("cmake", "--preset", "release", "-B", self.build, *flags, *options, folder=ROOT)
        call("cmake", "--build", self.build, "--target", "gradrace", "--parallel", str(jobs), folder=ROOT)

    def say(self, *words, folder):
        return call(self.build / "gradrace", *words, folder=folder, environment=self.environment)


def call(program, *words, folder, environment=None):
    """What it says, and Fault where it fails."""
    done = subprocess.run([program, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False, env=os.environ | (environment or {}))
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        error = next((line for line in said if "error:" in line), said[-1] if said else "")
        raise Fault(f"{pathlib.Path(program).name} {words[0]}: {error}")
    return done.stdout


def events(path):
    """trace.json as a table."""
    found = []
    for event in json.loads(path.read_text("utf-8"))["traceEvents"]:
        row = {key: value for key, value in event.items() if key not in ("args", "pid")} | event.get("args", {})
        found.append({"point": str(event["pid"])} | {key: str(value) for key, value in row.items()})
    return found


def read_tables(folder):
    tables = {path.name: rows(path) for path in folder.glob("*.csv")}
    return tables | {path.name: events(path) for path in folder.glob("trace.json")}


def forwards(tables):
    """Of points in reverse order: the tables that they have in their own."""
    last = max(int(row["point"]) for row in tables["runs.csv"])
    for table in tables.values():
        for row in table:
            row["point"] = str(last - int(row["point"]))
        table.sort(key=lambda row: int(row["point"]))
    return tables


def backwards(scenario):
    sweep = {path: values[::-1] for path, values in scenario.get("sweep", {}).items()}
    return changed(scenario, sweep=sweep or None)


def relative(column, old, new):
    """|old - new| / the greater of them; infinite where they are no numbers."""
    try:
        a, b = (math.nan if "hash" in column else float(text) for text in (old, new))
    except ValueError:
        return math.inf
    found = abs(a - b) / (max(abs(a), abs(b)) or 1)
    return math.inf if math.isnan(found) else found


def differences(before, after):
    """(file, column, relative difference) of each cell that differs."""
    for file in sorted(before.keys() | after.keys()):
        old, new = before.get(file, []), after.get(file, [])
        if len(old) != len(new):
            yield file, "number of rows", math.inf
            continue
        for one, other in zip(old, new):
            for column in one.keys() | other.keys():
                cells = one.get(column, ""), other.get(column, "")
                if cells[0] != cells[1]:
                    yield file, column, relative(column, *cells)


def greatest(before, after):
    """{column: (relative difference, where)} of the tables of all scenarios."""
    found = {}
    for name in before:
        for file, column, size in differences(before[name], after[name]):
            found[column] = max(found.get(column, (0, "")), (size, f"{file} of {name}"))
    return found


def say(found):
    """Columns that differ, the largest difference first, then what has no size."""
    order = sorted(found, key=lambda column: (math.isinf(found[column][0]), -found[column][0], column))
    if not order:
        return "equal"
    size, where = found[order[0]]
    first = f"{order[0]}{'' if math.isinf(size) else f' {size:.1e}'} ({where})"
    return ", ".join([first, *order[1:]])


class Found:
    """What a configuration's program says and writes."""

    def __init__(self, configuration):
        self.configuration = configuration
        with tempfile.TemporaryDirectory() as held:
            folder = pathlib.Path(held)
            write_images(folder / "images")
            self.signature = configuration.say("signature", folder=folder)
            self.tables, self.hashes = self.run(folder, SCENARIOS, 1)
            self.hashes_of_two = self.run(folder, SCENARIOS, 2)[1]
            reverse = {name: backwards(scenario) for name, scenario in SCENARIOS.items()}
            self.in_reverse = {name: forwards(tables) for name, tables in self.run(folder, reverse, 1)[0].items()}

    def run(self, folder, scenarios, jobs):
        """({name: tables}, {name: hash})"""
        tables, hashes = {}, {}
        for name, scenario in scenarios.items():
            file, out = folder / f"{name}.json", folder / "out" / name
            file.write_text(json.dumps(changed(scenario, name=name)), "utf-8")
            shutil.rmtree(out, ignore_errors=True)
            self.configuration.say("run", file, "--quiet", "--jobs", jobs, "--out", out, folder=folder)
            tables[name], hashes[name] = read_tables(out), hash_of(out)
        return tables, hashes

    def unlike_expected(self):
        """{line of the signature: ...}, as `greatest` has it."""
        said, expected = ({words[0]: words[1] for words in map(str.split, text.splitlines())} for text in (self.signature, EXPECTED.read_text()))
        names = [name for name in expected if said.get(name) != expected[name]]
        return {f"signature of {name}": (math.inf, "signature.expected") for name in names}

    def row(self, first):
        """The cells after the version, and whether all is as it has to be."""
        found = greatest(first.tables, self.tables)
        schedules = self.unlike_expected() | {column: found[column] for column in found if not VALUES.search(column)}
        values = {column: found[column] for column in found if VALUES.search(column)}
        by_jobs = [name for name in self.hashes if self.hashes[name] != self.hashes_of_two[name]]
        by_order = greatest(self.tables, self.in_reverse)
        said = recorded(self.hashes) if first is self else say(values)
        return [say(schedules), said, ", ".join(by_jobs) or "equal", say(by_order)], not (schedules or by_jobs or by_order)


def recorded(hashes):
    """Whether they are those of results_version.json."""
    known = json.loads(RECORDED.read_text("utf-8"))
    unlike = [name for name in hashes if hashes[name] != known["hashes"][name]]
    return f"not those recorded for {known['compiled_for']}: {', '.join(unlike)}" if unlike else "those recorded"


def judge(name, first, jobs):
    """(what was found or None, the row, whether it is good)"""
    configuration = Configuration(name)
    if not shutil.which(configuration.compiler):
        return None, [name, "not here", "", "", "", ""], True
    version = configuration.version()
    try:
        configuration.make(jobs)
        found = Found(configuration)
    except Fault as fault:
        return None, [name, version, str(fault), "", "", ""], False
    cells, good = found.row(first or found)
    return found, [name, version, *cells], good


def main():
    parser = argparse.ArgumentParser(prog="determinism.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=NAMES[1:], metavar="NAME", help=f"beside the first; default: {', '.join(NAMES[1:])}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of the compiler, at a time; default: %(default)s")
    parser.add_argument("--out", type=pathlib.Path, help="a CSV file with a row a configuration")
    words = parser.parse_args()
    first, table, all_good = None, [COLUMNS], True
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for name in dict.fromkeys([NAMES[0], *words.only]):
        found, row, good = judge(name, first, words.jobs)
        print(f"| {' | '.join(row)} |", flush=True)
        table.append(row)
        all_good = all_good and good
        first = first or found
        if not first:
            sys.exit(f"{NAMES[0]}, with which others are compared, is not here")
    if words.out:
        with open(words.out, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(table)
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
