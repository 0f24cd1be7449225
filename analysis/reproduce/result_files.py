"""The files of results under a folder, each read once."""

from functools import cache
from pathlib import Path

import numpy as np
from plots import packed
from plots.results import read_events, read_records


class ResultFiles:
    """scenario: the name of its folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.rows = cache(self.rows)
        self.series = cache(self.series)
        self.events = cache(self.events)

    def rows(self, scenario, file):
        """Rows of a CSV file as dictionaries of texts; none where there is no file."""
        return read_records(self.folder / scenario / file)

    def series(self, scenario, file, column):
        """{(point, replica): a column of a CSV file as an array of numbers, NaN where it is empty},
        without the rows of single learners' values."""
        import pandas  # --list should not wait for it

        names = ["point", "replica", "learner", column]
        with packed.open_text(self.folder / scenario / file) as text:
            wanted = lambda name: name in names
            table = pandas.read_csv(text, usecols=wanted, float_precision="round_trip")
        if "learner" in table:
            table = table[table["learner"].isna()]
        runs, first, count = np.unique(
            table[["point", "replica"]].to_numpy(int), axis=0, return_index=True, return_counts=True
        )
        values = table[column].to_numpy(float)
        return {
            (int(point), int(replica)): values[begin : begin + length]
            for (point, replica), begin, length in zip(runs, first, count)
        }

    def events(self, scenario):
        """Events of trace.json."""
        return read_events(self.folder / scenario / "trace.json")
