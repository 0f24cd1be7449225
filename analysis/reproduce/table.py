"""CSV tables that stand beside a paper's package, which people write."""

import csv


class WrongTable(Exception):
    """A table that cannot be read; says file, line and what is allowed."""


def read_table(path, columns, numbers=()):
    """Yields (file and line, {column: text}) of the rows, each of which the first column names, with
    {column: number} of those of `numbers` that are not empty; raises WrongTable."""
    with open(path, newline="", encoding="utf-8") as file:
        table = csv.DictReader(file)
        names, first, found = table.fieldnames or [], columns[0], set()
        if names[: len(columns)] != columns or not set(names[len(columns) :]) <= set(numbers):
            allowed = ",".join([*columns, *(f"[{name}]" for name in numbers)])
            raise WrongTable(f"{path}:1: columns: {','.join(names)}; allowed: {allowed}")
        for row in table:
            place = f"{path}:{table.line_num}"
            if None in row or None in row.values():
                raise WrongTable(f"{place}: allowed: {len(names)} cells")
            if row[first] in found:
                raise WrongTable(f"{place}: {first}: {row[first]} a second time; allowed: once")
            found.add(row[first])
            told = {name: row.pop(name, "") for name in numbers}
            try:
                row |= {name: float(text) for name, text in told.items() if text}
            except ValueError as problem:
                raise WrongTable(f"{place}: {problem}") from problem
            yield place, row
