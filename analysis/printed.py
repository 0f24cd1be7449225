"""Numbers and tables as programs here print them, and write them into files."""

import csv
import io
import math

import numpy as np


def number_text(value):
    """The shortest text that reads back as the same number; empty for NaN (not applicable)."""
    if math.isnan(value):
        return ""
    fixed = np.format_float_positional(value, trim="-")
    return min(fixed, np.format_float_scientific(value, trim="-", exp_digits=2), key=len)


def short(value, digits=4):
    return "-" if math.isnan(value) else f"{value:.{digits}g}"


def count_text(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def aligned(heads, rows):
    widths = [max(map(len, column)) for column in zip(heads, *rows)]
    lines = (
        "".join(f"  {cell:{width}}" for cell, width in zip(row, widths)) for row in [heads, *rows]
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def csv_text(rows):
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(rows[0])
    for row in rows:
        lines.writerow(number_text(one) if isinstance(one, float) else one for one in row.values())
    return file.getvalue()


def known(value):
    """None in place of a number that is not known, or is never reached."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
