#!/usr/bin/env python3
"""Runs every scenario with two builds of gradrace and compares what they write.

compare_builds.py BEFORE AFTER [SCENARIO...]: BEFORE and AFTER are the programs; without scenarios
all of scenarios/ that BEFORE's checkout has, in their quick form (those of gpu/ folders without
gradients). Columns that both have must be the same byte for byte; columns that are new or gone, and
files that are, are listed. `gradrace signature` is compared line by line. Exit status 1 where
anything but a new column, file or line differs."""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = {"manifest.json", "runs.store"}  # who made it when, and a form of its own
csv.field_size_limit(1 << 30)


def scenarios():
    found = sorted((ROOT / "scenarios").rglob("*.json"))
    return [path for path in found if path.name != "schema.json" and path.parent.name != "search"]


def run(program, scenario, out):
    """Exit status and what was said."""
    words = ["--timing-only"] if scenario.parent.name == "gpu" else []
    command = [program, "run", scenario, "--quick", "--quiet", "--jobs", "1", "--out", out, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def columns(path):
    """{name: cells} of a CSV file."""
    with open(path, newline="", encoding="utf-8") as file:
        table = list(csv.reader(file))
    return dict(zip(table[0], zip(*table[1:]))) if len(table) > 1 else dict.fromkeys(table[0], ())


def compare_files(before, after):
    """(differences, news) of two files of one name."""
    if before.read_bytes() == after.read_bytes():
        return [], []
    name = before.name
    if before.suffix != ".csv":
        return [f"{name} differs"], []
    old, new = columns(before), columns(after)
    gone = [f"{name}: column {column} is gone" for column in old if column not in new]
    other = [f"{name}: column {column} differs" for column in old if new.get(column, old[column]) != old[column]]
    return gone + other, [f"{name}: new column {column}" for column in new if column not in old]


def compare_folders(before, after):
    old, new = ({path.name: path for path in folder.iterdir() if path.name not in LEFT_OUT} for folder in (before, after))
    differences = [f"{name} is gone" for name in old if name not in new]
    news = [f"new file {name}" for name in new if name not in old]
    for name in sorted(old.keys() & new.keys()):
        found, fresh = compare_files(old[name], new[name])
        differences += found
        news += fresh
    return differences, news


def compare(programs, scenario, folder):
    """(differences, news) of one scenario."""
    outs = [folder / f"{side}{abs(hash(scenario))}" for side in ("before", "after")]
    told = [run(program, scenario, out) for program, out in zip(programs, outs)]
    if told[0][0] != told[1][0]:
        return [f"exit status {told[0][0]}, then {told[1][0]}: {told[1][1].strip()}"], []
    if told[0][0] != 0:
        return [], [f"not run: {told[0][1].strip().splitlines()[-1]}"]
    result = compare_folders(*outs)
    for out in outs:
        subprocess.run(["rm", "-r", out], check=True)
    return result


def compare_signatures(programs):
    lines = [subprocess.run([program, "signature"], capture_output=True, text=True, check=True).stdout.splitlines() for program in programs]
    gone = [f"signature: line is gone: {line}" for line in lines[0] if line not in lines[1] and not line.startswith("all")]
    return gone, [f"signature: new line: {line}" for line in lines[1] if line not in lines[0]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("scenarios", nargs="*", type=Path)
    words = parser.parse_args()
    programs = [words.before.resolve(), words.after.resolve()]
    chosen = [path.resolve() for path in words.scenarios] or scenarios()
    wrong, news = 0, {}
    differences, fresh = compare_signatures(programs)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda scenario: compare(programs, scenario, Path(folder)), chosen)
        for name, (found, new) in [("", (differences, fresh)), *zip(chosen, results)]:
            for text in found:
                print(f"{name}: {text}", flush=True)
            for text in new:
                news.setdefault(text, []).append(name)
            wrong += bool(found)
    for text, names in news.items():
        print(f"{text} ({len(names)} of {len(chosen)} scenarios)")
    print(f"{len(chosen)} scenarios, {wrong} with differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
