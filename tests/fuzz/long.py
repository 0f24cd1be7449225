"""Fuzzes for hours, and goes on where it was: long.py [--minutes N] [--targets NAME...] [--jobs N]
[--program FILE].

How many executions each target has had is in executed.csv, beside this file: a row a target, with
the seed whose executions 0 to N - 1 they are.  A call takes targets in turns, the one furthest
from its goal first, a minute each.  Ends with 1 at a fault, whose input is then in the
project's folder; its executions are not counted.
"""

import argparse
import csv
import pathlib
import re
import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FUZZ = ROOT / "build/release/tests/fuzz/fuzz"
TABLE = HERE / "executed.csv"
COLUMNS = ["target", "goal", "seed", "executions", "faults", "seconds"]
READERS = ["json", "scenario", "csv", "libsvm", "idx", "digits", "cifar10", "trace", "events"]
GOALS = {target: 10_000_000 for target in READERS} | {"runs": 1_000_000, "training": 100_000}
CHUNK_SECONDS = 60


def read_table():
    rows = {target: {"target": target, "goal": goal, "seed": 1000, "executions": 0, "faults": 0, "seconds": 0} for target, goal in GOALS.items()}
    if TABLE.is_file():
        with open(TABLE, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                rows[row["target"]].update({key: int(row[key]) for key in COLUMNS[2:-1]} | {"seconds": float(row["seconds"])})
    return rows


def write_table(rows):
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())


def execute(program, row, count):
    """Executes so many more; those of a fault are not counted."""
    words = [program, row["target"], "--runs", str(count), "--seed", str(row["seed"]), "--from", str(row["executions"])]
    begin = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    found = re.search(r"(\d+) faults", done.stdout)
    faults = int(found[1]) if found else 1
    row["faults"] += faults
    if faults:
        print(done.stderr, file=sys.stderr)
        return False
    row["executions"] += count
    row["seconds"] = round(row["seconds"] + time.monotonic() - begin, 1)
    return True


def next_count(row):
    """About a minute's executions, by the rate so far."""
    rate = row["executions"] / row["seconds"] if row["seconds"] else 20
    return max(100, min(int(rate * CHUNK_SECONDS), row["goal"] - row["executions"]))


def main():
    parser = argparse.ArgumentParser(prog="long.py", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--targets", nargs="+", choices=list(GOALS), default=list(GOALS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--program", default=FUZZ, help="default: %(default)s")
    words = parser.parse_args()
    rows, end, good = read_table(), time.monotonic() + 60 * words.minutes, True
    with ThreadPoolExecutor(words.jobs) as pool:
        running = {}
        while good:
            idle = [rows[t] for t in words.targets if t not in running.values() and rows[t]["executions"] < rows[t]["goal"]]
            idle.sort(key=lambda row: row["executions"] / row["goal"])
            while idle and len(running) < words.jobs and time.monotonic() < end:
                row = idle.pop(0)
                running[pool.submit(execute, words.program, row, next_count(row))] = row["target"]
            if not running:
                break
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                target = running.pop(done)
                good = done.result() and good
                write_table(rows)
                print(f"{target}: {rows[target]['executions']:,} of {rows[target]['goal']:,}, {rows[target]['faults']} faults", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
