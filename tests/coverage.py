"""Which lines of sim, protocols and distributions the tests reach: coverage.py [--out FILE] [--kept].

Builds preset coverage, runs the programs of unit tests and the tests of the command line but the
long ones (papers, guide, packages, instruction counts), and asks gcov.  Prints a row a folder, and
the files below the goal; FILE gets a row a file.  Ends with 1 if fewer than 90 % of a folder's lines
were reached.  --kept: of the runs that were counted before, without building or testing.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/coverage"
FOLDERS = ["sim", "protocols", "distributions"]
PROGRAMS = ["gradrace", "sim_test", "protocols_test", "distributions_test", "cluster_test", "analysis_test", "claims_test"]
LONG = "paper|reproduce|guide|packaging|bench|mutants|fuzz|setup|style|scripts|NOT_BUILT|report|browser"
GOAL = 0.9


def count_runs():
    for counts in BUILD.rglob("*.gcda"):
        counts.unlink()
    subprocess.run(["cmake", "--preset", "coverage"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", *PROGRAMS], check=True)
    words = ["ctest", "--test-dir", BUILD, "--exclude-regex", LONG, "--parallel", str(os.cpu_count()), "--timeout", "600"]
    # What takes long without optimisation may fail for its bound on time: its lines count.
    subprocess.run(words, cwd=ROOT, check=False)


def lines_of(notes):
    """{file: {line: reached}} of one object file."""
    words = ["gcov", "--json-format", "--stdout", notes.name]
    text = subprocess.run(words, cwd=notes.parent, capture_output=True, text=True, check=True).stdout
    found = collections.defaultdict(dict)
    for document in text.splitlines():
        for file in json.loads(document)["files"]:
            path = pathlib.Path(file["file"])
            if not path.is_relative_to(ROOT) or path.relative_to(ROOT).parts[0] not in FOLDERS:
                continue
            lines = found[str(path.relative_to(ROOT))]
            for line in file["lines"]:
                number = line["line_number"]
                lines[number] = lines.get(number, False) or line["count"] > 0
    return found


def all_lines():
    files = collections.defaultdict(dict)
    for notes in sorted(BUILD.rglob("*.gcno")):  # of what no test ran too
        for file, lines in lines_of(notes).items():
            for number, reached in lines.items():
                files[file][number] = files[file].get(number, False) or reached
    return files


def share(files):
    lines = [reached for file in files for reached in file.values()]
    return sum(lines), len(lines)


def main():
    parser = argparse.ArgumentParser(prog="coverage.py", description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, help="a CSV file with a row a file")
    parser.add_argument("--kept", action="store_true", help="of the runs that were counted before")
    words = parser.parse_args()
    if not words.kept:
        count_runs()
    files = all_lines()
    good = bool(files)
    for folder in FOLDERS:
        reached, lines = share([files[file] for file in files if file.startswith(folder + "/")])
        print(f"{folder}: {reached:,} of {lines:,} lines, {100 * reached / max(1, lines):.1f} %")
        good = good and reached >= GOAL * lines
    rows = [(file, *share([lines])) for file, lines in sorted(files.items())]
    for file, reached, lines in rows:
        if reached < GOAL * lines:
            missed = [number for number, is_reached in sorted(files[file].items()) if not is_reached]
            print(f"  {file}: {reached} of {lines}; not lines {', '.join(map(str, missed[:20]))}{', ...' if len(missed) > 20 else ''}")
    if words.out:
        with open(words.out, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([["file", "reached", "lines"], *rows])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
