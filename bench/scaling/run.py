#!/usr/bin/env python3
"""What gradrace's cost grows with, and how fast: P, K, minibatch, dimension, replicas.

    .venv/bin/python bench/scaling/run.py     writes build/scaling/scaling.csv and scaling.png

A cost is processor time of a longer run less that of a shorter one, so that start-up and evaluations
cancel. Exponents are least squares on logarithms, one a round. Exit status 1 where the median
exponent is not within what is expected of it (sweeps.py).
"""

import argparse
import csv
import math
import statistics
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from peers import environment, machine
from peers.contestants import Gradrace
from peers.rounds import calibrate
from scaling.sweeps import SWEEPS

COLUMNS = ["sweep", "value", "round", "cost", "count", "processor_seconds", "version", "machine"]


def measured(sweep, program, rounds, seconds):
    """Rows of the CSV file; the cost is in seconds of processor time for one of sweep.unit."""
    runs = {v: Gradrace(program, sweep.scenario(v), sweep.shorter(v)) for v in sweep.values}
    counts = {value: calibrate(run, run.shorter, seconds) for value, run in runs.items()}
    for number in range(rounds):
        for value, run in runs.items():
            found = run.measure(counts[value])
            cost = found.processor_seconds / found.count
            yield {
                "sweep": sweep.name, "value": value, "round": number + 1, "cost": cost,
                "count": found.count, "processor_seconds": found.processor_seconds,
                "version": run.version, "machine": machine.name(),
            }  # fmt: skip


def exponents(sweep, rows):
    """One for each round, of values from sweep.begin on."""
    found = []
    for number in sorted({row["round"] for row in rows}):
        used = [row for row in rows if row["round"] == number and row["value"] >= sweep.begin]
        used = [row for row in used if row["cost"] > 0]
        logs = [[math.log(row[name]) for row in used] for name in ("value", "cost")]
        found.append(statistics.linear_regression(*logs).slope)
    return found


def verdict(sweep, found):
    """(as expected, line for people)"""
    least, greatest = sweep.expected
    middle = statistics.median(found)
    is_right = least <= middle <= greatest
    spread = f"{middle:.2f} ({min(found):.2f} to {max(found):.2f})"
    said = "as expected" if is_right else "NOT AS EXPECTED"
    expected = f"{least} to {greatest} from {sweep.begin} on: {sweep.reason}"
    return is_right, f"{sweep.name:10} {spread:24} {said}, {expected}"


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", metavar="A,B", help=f"sweeps, of {', '.join(s.name for s in SWEEPS)}")
    add("--rounds", type=int, default=5, help="measurements of each value (default %(default)s)")
    add("--seconds", type=float, default=0.3, help="of a measurement, about (default %(default)s)")
    add("--gradrace", default=str(environment.ROOT / "build/release/gradrace"), help="program")
    add("--out", type=Path, default=environment.ROOT / "build/scaling", help="folder")
    return parser


def draw(sweeps, rows, path):
    try:
        from scaling.plot import plot
    except ImportError:
        print(
            "no plot: matplotlib is not there (./setup.sh --require-plots makes .venv, which has it)"
        )
        return
    plot(sweeps, rows, {sweep.name: exponents(sweep, rows[sweep.name]) for sweep in sweeps}, path)


def main():
    parser = options()
    given = parser.parse_args()
    names = given.only.split(",") if given.only else [sweep.name for sweep in SWEEPS]
    if unknown := set(names) - {sweep.name for sweep in SWEEPS}:
        parser.error(f"--only: no sweep {', '.join(sorted(unknown))}")
    sweeps = [sweep for sweep in SWEEPS if sweep.name in names]
    print(f"{machine.name()}; core {machine.pin(None)}; load average {machine.load_average():.2f}")
    given.out.mkdir(parents=True, exist_ok=True)
    rows, all_right = {}, True
    with open(given.out / "scaling.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for sweep in sweeps:
            rows[sweep.name] = list(measured(sweep, given.gradrace, given.rounds, given.seconds))
            for row in rows[sweep.name]:
                table.writerow(
                    {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
                )
            is_right, said = verdict(sweep, exponents(sweep, rows[sweep.name]))
            all_right &= is_right
            print(said, flush=True)
    draw(sweeps, rows, given.out / "scaling.png")
    print(f"written to {given.out}")
    return int(not all_right)


if __name__ == "__main__":
    sys.exit(main())
