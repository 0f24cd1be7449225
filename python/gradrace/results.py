"""Folders of results as tables."""

import functools
import json
import pathlib

import pandas
import pyarrow

FORMS = {"": None, ".gz": "gzip", ".zst": "zstd"}  # endings, and what compresses them


class Results:
    """The folder of a scenario's runs.  Each table is read when it is asked for, compressed or not, CSV or Parquet."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        if not (self.folder / "manifest.json").is_file():
            raise FileNotFoundError(
                f"{self.folder}: holds no results of gradrace (manifest.json is not there)"
            )

    def __repr__(self):
        return f"Results({str(self.folder)!r})"

    @functools.cached_property
    def manifest(self):
        """What made the results, as a dict; its `scenario` gives the same again."""
        return json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))

    def table(self, name):
        """The table of that file, "curve" for curve.csv; KeyError where the runs did not record it."""
        parquet = self.folder / f"{name}.parquet"
        if parquet.is_file():
            return pandas.read_parquet(parquet)
        for ending, compression in FORMS.items():
            path = self.folder / f"{name}.csv{ending}"
            if path.is_file():
                with pyarrow.input_stream(path, compression=compression) as stream:
                    return pandas.read_csv(stream)
        raise KeyError(f"{self.folder}: has no {name}.csv")

    @functools.cached_property
    def runs(self):
        """A row a run (point x replica)."""
        return self.table("runs")

    @functools.cached_property
    def curve(self):
        """A row an evaluation."""
        return self.table("curve")

    @functools.cached_property
    def staleness(self):
        return self.table("staleness")

    @functools.cached_property
    def learners(self):
        return self.table("learners")

    @functools.cached_property
    def updates(self):
        return self.table("updates")


def read(folder):
    """Results of a folder that `run`, or `gradrace run` in a shell, has written; FileNotFoundError where it is none."""
    return Results(folder)
