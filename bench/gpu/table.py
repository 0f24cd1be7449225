"""What bench/gpu.sh measured, in a form for bench/results: reads the logs of a folder, writes gpu.csv there,
with the columns of bench/results/h200.csv, and prints a table."""

import csv
import datetime
import pathlib
import sys

COLUMNS = ["work", "contestant", "version", "replicas", "rate", "card", "date", "note"]
NAMES = {"gradrace": "gradrace", "vmap": "JAX", "graphs": "PyTorch", "eager": "PyTorch, eager"}
MINIBATCHES = {"resnet20": 128, "resnet32": 128}  # others: 32


def machine(folder):
    """Name of the card, as nvidia-smi told last."""
    logs = sorted(folder.glob("machine-*.log"))
    lines = logs[-1].read_text().splitlines() if logs else []
    return lines[1].split(",")[0] if len(lines) > 1 else ""


def measured(folder):
    """Rows that rates.py printed, and the day of each."""
    for log in sorted(folder.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()
        starts = [number for number, line in enumerate(lines) if line.startswith("peer,version,")]
        for row in csv.DictReader(lines[starts[0] :]) if starts else []:
            if row["gradients_per_second"] not in ("", "nan"):
                yield row, datetime.date.fromtimestamp(log.stat().st_mtime).isoformat()


def work_of(row):
    rule = "" if row["rule"] == "plain" else f" {row['rule']}"
    return f"{row['model']} m={MINIBATCHES.get(row['model'], 32)}{rule}"


def rows_of(folder):
    card = machine(folder)
    for row, day in measured(folder):
        note = f"slope of {row['updates'].replace(' ', ' and ')} updates"
        yield {
            "work": work_of(row),
            "contestant": NAMES[row["peer"]],
            "version": row["version"],
            "replicas": row["replicas"],
            "rate": row["gradients_per_second"],
            "card": card,
            "date": day,
            "note": note,
        }


def markdown(rows):
    """Gradients a second, a row a work; `x`: how many times as fast as the fastest peer gradrace is."""
    contestants = [
        name for name in NAMES.values() if any(row["contestant"] == name for row in rows)
    ]
    rates = {(row["work"], row["contestant"]): float(row["rate"]) for row in rows}
    lines = [f"| work | {' | '.join(contestants)} | x |", "|---" * (len(contestants) + 2) + "|"]
    for work in dict.fromkeys(row["work"] for row in rows):
        cells = [rates.get((work, name)) for name in contestants]
        own, others = (
            rates.get((work, "gradrace")),
            [
                rates[work, name]
                for name in contestants
                if name != "gradrace" and (work, name) in rates
            ],
        )
        times = f"{own / max(others):.2f}" if own and others else ""
        told = ["" if rate is None else f"{rate:,.0f}" for rate in cells]
        lines.append(f"| {work} | {' | '.join(told)} | {times} |")
    return "\n".join(lines)


def main():
    folder = pathlib.Path(sys.argv[1])
    rows = list(rows_of(folder))
    with open(folder / "gpu.csv", "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
