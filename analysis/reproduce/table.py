"""CSV tables that stand beside a paper's package, which people write."""

import csv


class WrongTable(Exception):
    """A table that cannot be read; says file, line and what is allowed."""


def read_table(path, columns):
    """Yields (file and line, {column: text}) of the rows, each of which the first column names;
    raises WrongTable."""
    with open(path, newline="", encoding="utf-8") as file:
        table = csv.DictReader(file)
        if table.fieldnames != columns:
            raise WrongTable(f"{path}:1: columns: {table.fieldnames}; allowed: {','.join(columns)}")
        first, found = columns[0], set()
        for row in table:
            place = f"{path}:{table.line_num}"
            if None in row or None in row.values():
                raise WrongTable(f"{place}: allowed: {len(columns)} cells")
            if row[first] in found:
                raise WrongTable(f"{place}: {first}: {row[first]} a second time; allowed: once")
            found.add(row[first])
            yield place, row
