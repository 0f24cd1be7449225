#!/usr/bin/env python3
"""Tables from the CSV file of a recording, written between the markers of a file:

python3 bench/peers/table.py bench/results/peers.csv                          prints the table of all
python3 bench/peers/table.py bench/results/peers.csv bench/results/README.md  the table of all
python3 bench/peers/table.py --short bench/results/peers.csv README.md        minibatches of 32 alone
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from peers.machine import YARDSTICK
from peers.ratios import busy, in_order, rates, ratios, read, spread

BEGIN = "<!-- bench/peers/table.py: begin -->"
END = "<!-- bench/peers/table.py: end -->"
TITLES = {
    "heapq": "heapq loop",
    "simpy": "SimPy",
    "coroutines": "C++ coroutines",
    "simgrid": "SimGrid",
    "numpy": "NumPy",
    "torch-eager": "PyTorch",
    "torch-compiled": "PyTorch, compiled",
    "jax-jit": "JAX jit",
    "jax-scan": "JAX scan",
    "jax-vmap": "JAX vmap of 16",
}


SHORT = {  # of each the fastest form
    "minibatches": {
        "heapq loop": ["heapq"],
        "SimPy": ["simpy"],
        "SimGrid": ["simgrid"],
        "C++ coroutines": ["coroutines"],
    },
    "gradients": {
        "NumPy": ["numpy"],
        "PyTorch": ["torch-eager", "torch-compiled"],
        "JAX": ["jax-jit", "jax-scan", "jax-vmap"],
    },
}


def number(value):
    """Three digits: 1,230, 45.6, 0.789."""
    digits = f"{value:.3g}"
    return f"{float(digits):,.0f}" if value >= 100 else digits


def rate_text(value):
    return f"{number(value / 1e6)} M" if value >= 1e6 else number(value)


def ratio_text(values):
    if not values:
        return "-"
    found = spread(values)
    return f"{number(found.median)} ({number(found.low)} to {number(found.high)})"


def table_of(rows, works, names, unit):
    """Lines of Markdown: gradrace's rate, then the ratios to those who take part anywhere."""
    titles = ["", f"gradrace, {unit}/s", *(f"x {TITLES[name]}" for name in names)]
    lines = ["| " + " | ".join(titles).strip() + " |", "|" + "---|" * len(titles)]
    for work in works:
        ours = list(rates(rows, work, "gradrace").values())
        cells = [rate_text(spread(ours).median)] if ours else ["-"]
        cells += [ratio_text(ratios(rows, work, name)) for name in names]
        lines.append(f"| {work} | " + " | ".join(cells) + " |")
    return lines


def fastest_text(rows, work, names):
    """The median ratio to the fastest of the names."""
    found = [ratios(rows, work, name) for name in names]
    medians = [spread(values).median for values in found if values]
    return number(min(medians)) if medians else "-"


def short_table(rows):
    """Async, and gradients of minibatches of 32: medians."""
    works = [w for w in in_order(r["work"] for r in rows) if w.startswith("async") or "m=32" in w]
    blocks = []
    for unit, peers in SHORT.items():
        some = [work for work in works if ("P=" in work) == (unit == "minibatches")]
        there = [
            n for n, forms in peers.items() if any(rates(rows, w, f) for w in some for f in forms)
        ]
        lines = [
            "| " + " | ".join(["", f"{unit}/s", *(f"x {name}" for name in there)]).strip() + " |",
            "|" + "---|" * (len(there) + 2),
        ]
        for work in some:
            ours = spread(list(rates(rows, work, "gradrace").values())).median
            cells = [rate_text(ours), *(fastest_text(rows, work, peers[name]) for name in there)]
            lines.append(f"| {work} | " + " | ".join(cells) + " |")
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, footnotes(rows)[0].replace(" (quartiles)", "")]) + "\n"


def footnotes(rows):
    """Where, of what, how busy; who did not take part, or not in the same work."""
    busy_ones, measured = busy(rows)
    rounds = max(int(row["round"]) for row in rows if row["rate"])
    versions = dict.fromkeys(row["version"] for row in rows if row["contestant"] == "gradrace")
    data, machines = (dict.fromkeys(row[key] for row in rows) for key in ("data", "machine"))
    lines = [
        f"One core of {', '.join(machines)}; gradrace {', '.join(versions)}; {', '.join(data)}; {rounds} rounds."
    ]
    lines[0] += " Ratios are medians (quartiles) over rounds."
    if busy_ones:
        lines[0] += (
            f" **In {busy_ones} of {measured} measurements the machine was busy with other work, or"
            f" its core {YARDSTICK:.0%} slower than at its best.**"
        )
    for note in in_order(
        (row["contestant"], row["work"], row["note"]) for row in rows if row["note"]
    ):
        lines.append(f"{note[0]}, {note[1]}: {note[2]}.")
    return lines


def table(rows):
    works, names = in_order(r["work"] for r in rows), in_order(r["contestant"] for r in rows)
    blocks = []
    for is_timing, unit in (True, "minibatches"), (False, "gradients"):
        some = [work for work in works if ("P=" in work) == is_timing]
        who = [name for name in TITLES if any(rates(rows, work, name) for work in some)]
        if some:
            blocks.append("\n".join(table_of(rows, some, [n for n in who if n in names], unit)))
    return "\n\n".join([*blocks, "\n\n".join(footnotes(rows))]) + "\n"


def with_table(text, made):
    """The text with what is between its markers replaced."""
    before, after = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:before]}\n\n{made}\n{text[after:]}"


def main():
    words = [word for word in sys.argv[1:] if word != "--short"]
    if len(words) not in (1, 2):
        sys.exit(__doc__)
    made = (short_table if "--short" in sys.argv else table)(read(words[0]))
    if len(words) == 1:
        print(made, end="")
        return
    readme = Path(words[1])
    readme.write_text(with_table(readme.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
