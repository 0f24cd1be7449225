"""What the CSV file of a recording says: medians, quartiles and ratios of each round."""

import csv
import statistics
from dataclasses import dataclass


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@dataclass
class Spread:
    low: float  # quartiles
    median: float
    high: float


def spread(values):
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    return Spread(*statistics.quantiles(values, n=4, method="inclusive"))


def in_order(values):
    return list(dict.fromkeys(values))


def rates(rows, work, contestant):
    """{round: rate}"""
    measured = [row for row in rows if (row["work"], row["contestant"]) == (work, contestant)]
    return {row["round"]: float(row["rate"]) for row in measured if row["rate"]}


def ratios(rows, work, contestant):
    """How many times as fast gradrace was, in every round that has both."""
    ours, theirs = rates(rows, work, "gradrace"), rates(rows, work, contestant)
    return [ours[number] / theirs[number] for number in ours if number in theirs]


def busy(rows):
    """(busy measurements, measurements)"""
    measured = [row for row in rows if row["rate"]]
    return sum(row["busy"] == "1" for row in measured), len(measured)
