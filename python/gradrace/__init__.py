"""Runs gradrace scenarios from Python, and reads the folders that they leave.

    import gradrace
    runs = gradrace.run({"cluster": {...}, "protocol": {"kind": "async"}, "stop": {"updates": 1000}})
    runs.groupby("label").mean_iteration_time.mean()

The program is the one of this package, else that of GRADRACE_PROGRAM, else the gradrace of the PATH.
"""

from gradrace.results import Results, read
from gradrace.running import GradraceError, program, run, validate

__all__ = ["GradraceError", "Results", "program", "read", "run", "validate"]
