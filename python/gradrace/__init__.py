"""Runs gradrace from Python: its commands as functions, whose results are tables.

    import gradrace
    runs = gradrace.run({"cluster": {...}, "protocol": {"kind": "async"}, "stop": {"updates": 1000}})
    runs.groupby("label").mean_iteration_time.mean()

The program is the one of this package, else that of GRADRACE_PROGRAM, else the gradrace of the PATH.
"""

import pathlib

__version__ = "0.1.0"

# gradrace.results is the reader of the program's plots and reports, which lie beside it, or in the checkout.
HERE = pathlib.Path(__file__).resolve().parent
__path__ += [str(HERE / "share/gradrace/analysis"), str(HERE.parents[1] / "analysis")]

# pylint: disable=wrong-import-position
from gradrace.calls import GradraceError, GradraceWarning, program
from gradrace.commands import advise, collect, fit, run, search, theory, validate
from gradrace.drawn import plot, report
from gradrace.results import Folder as Results
from gradrace.results import read_folder as read

__all__ = [
    "GradraceError", "GradraceWarning", "Results", "advise", "collect", "fit", "plot", "program", "read", "report", "run", "search",
    "theory", "validate",
]  # fmt: skip
