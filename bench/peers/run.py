#!/usr/bin/env python3
"""gradrace and its peers at the same work, side by side on one core, in one call.

    python3 bench/peers/run.py                   everything, into build/peers/peers.csv
    python3 bench/peers/run.py --quick --only heapq,numpy

Contestants take turns in every round; a ratio is of one round. README.md beside this says what each
of them does.
"""

import argparse
import csv
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from peers import contestants, data, environment, machine
from peers.ratios import busy, in_order, rates, ratios, spread
from peers.rounds import COLUMNS, Settings, measure_work
from peers.table import rate_text, ratio_text
from peers.works import all_works, has_images, quick_works


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", metavar="A,B", help=f"peers, of {', '.join(contestants.NAMES)} (default all)")
    add(
        "--works",
        metavar="TEXT",
        help="works whose name contains TEXT: async, P=8, softmax, m=32 ...",
    )
    add("--quick", action="store_true", help="four short works in two rounds: does everything go?")
    add("--rounds", type=int, help="measurements of each contestant (default 5; quick 2)")
    add("--seconds", type=float, help="of a measurement, about (default 1; quick 0.05)")
    add("--core", type=int, help="that all are bound to (default the last)")
    add("--data", default=os.environ.get("GRADRACE_DATA"), help="folder with mnist (GRADRACE_DATA)")
    add(
        "--python",
        help="with NumPy and all that the peers need, in place of an environment made here",
    )
    add("--gradrace", default=str(environment.ROOT / "build/release/gradrace"), help="program")
    add(
        "--out",
        type=Path,
        default=environment.FOLDER / "peers.csv",
        help="CSV file (default %(default)s)",
    )
    return parser


def settings_of(given, parser):
    only = set(given.only.split(",")) if given.only else set(contestants.NAMES)
    if unknown := sorted(only - set(contestants.NAMES)):
        parser.error(
            f"--only: no peer {', '.join(unknown)}; there are {', '.join(contestants.NAMES)}"
        )
    if not Path(given.gradrace).exists():
        parser.error(
            f"no program {given.gradrace}: ./setup.sh --build gradrace, or --gradrace PROGRAM"
        )
    asked = quick_works() if given.quick else all_works()
    works = [w for w in asked if (given.works or "") in w["name"]]
    if not works:
        parser.error(f"--works: no work's name contains {given.works}")
    rounds, seconds, rows = (2, 0.05, 6000) if given.quick else (5, 1, 60000)
    folder, what = data.prepared(given.data, environment.FOLDER, rows)
    program = str(Path(given.gradrace).resolve())
    settings = Settings(
        program,
        folder,
        data.made_up_images(environment.FOLDER / "images", 5000),
        given.python,
        only,
        given.rounds or rounds,
        given.seconds or seconds,
        given.core,
    )
    return settings, works, what


def tell(rows):
    """Prints one work."""
    work = rows[0]["work"]
    rows = [{name: str(row.get(name) or "") for name in COLUMNS} for row in rows]
    for name in in_order(row["contestant"] for row in rows):
        found = list(rates(rows, work, name).values())
        if not found:
            continue
        between = spread(found)
        text = f"  {name:15} {rate_text(between.median):>9} /s"
        text += f" ({rate_text(between.low)} to {rate_text(between.high)})"
        if name != "gradrace":
            text += f"   gradrace is {ratio_text(ratios(rows, work, name))} times as fast"
        print(text)
    for note in in_order(f"{row['contestant']}: {row['note']}" for row in rows if row["note"]):
        print(f"  {note}")
    busy_ones, measured = busy(rows)
    if busy_ones:
        print(f"  busy, or slower than at its best, in {busy_ones} of {measured} measurements")
    sys.stdout.flush()


def what_of(work, what):
    return "made-up images of CIFAR-10's shape" if has_images(work) else what


def measure_all(works, settings, what, path):
    """Writes the CSV file, work by work; whether everybody did the same."""
    all_same = True
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        table.writeheader()
        for work in works:
            print(work["name"], flush=True)
            rows = measure_work(work, settings)
            for row in rows:
                row |= {"data": what_of(work, what), "machine": machine.name()}
                text = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
                table.writerow(text)
            file.flush()
            tell(rows)
            all_same &= not any("not the same work" in str(row.get("note")) for row in rows)
    return all_same


def main():
    parser = options()
    given = parser.parse_args()
    settings, works, what = settings_of(given, parser)
    load = machine.load_average()
    settings.core = machine.pin(settings.core)
    print(f"{machine.name()}; core {settings.core}; load average {load:.2f}; {what}")
    if load > 0.3:
        print("this machine is busy: ratios are of the same rounds, but rates will be too low")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    try:
        all_same = measure_all(works, settings, what, given.out)
    except environment.Unavailable as problem:
        print(f"run.py: gradrace failed: {problem}", file=sys.stderr)
        return 1
    print(f"written to {given.out}")
    return int(not all_same)


if __name__ == "__main__":
    sys.exit(main())
