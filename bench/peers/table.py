#!/usr/bin/env python3
"""The table of README.md from the CSV file of a recording:

python3 bench/peers/table.py bench/results/peers.csv            prints it
python3 bench/peers/table.py bench/results/peers.csv README.md  writes it between the file's markers
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

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


def footnotes(rows):
    """Where, of what, how busy; who did not take part, or not in the same work."""
    busy_ones, measured = busy(rows)
    rounds = max(int(row["round"]) for row in rows if row["rate"])
    version = next(row["version"] for row in rows if row["contestant"] == "gradrace")
    lines = [
        f"One core of {rows[0]['machine']}; gradrace {version}; {rows[0]['data']}; {rounds} rounds."
    ]
    lines[0] += " Ratios are medians (quartiles) over rounds."
    if busy_ones:
        lines[
            0
        ] += f" **The machine was busy with other work in {busy_ones} of {measured} measurements.**"
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
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    made = table(read(sys.argv[1]))
    if len(sys.argv) == 2:
        print(made, end="")
        return
    readme = Path(sys.argv[2])
    readme.write_text(with_table(readme.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
