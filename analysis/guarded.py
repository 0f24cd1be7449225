"""Runs a program of this folder as gradrace does: guarded.py SCRIPT [WORD...]. An exception that it
does not catch, or output that cannot be written, is told in a line and ends it with 1. Warnings of
Python and of its packages, which are for programmers, are not shown."""

import contextlib
import ctypes
import logging
import mmap
import os
import runpy
import signal
import sys
import warnings
from pathlib import Path

sys.dont_write_bytecode = True

PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>
LEAST_MEMORY = 640 << 20  # of address space


def told(problem):
    """In a line."""
    if isinstance(problem, MemoryError):
        return "out of memory"
    if isinstance(problem, OSError) and problem.errno:
        return f"{problem.filename or 'stdout'}: {problem.strerror}"
    words = " ".join(f"{type(problem).__name__}: {problem}".split())
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in words)


def end_with_caller():
    """A signal that ends gradrace, which waits for this process, ends this one too (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def check_memory():
    """MemoryError where packages would find too little, of which some hang then."""
    try:
        mmap.mmap(-1, LEAST_MEMORY).close()
    except OSError as problem:
        raise MemoryError from problem


def end_of(script):
    """What the script ends with, as sys.exit() takes it."""
    try:
        check_memory()
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        return end.code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # who reads wants no more
        return 0
    except Exception as problem:  # pylint: disable=broad-exception-caught
        return f"gradrace: {Path(script).name}: {told(problem)}"
    return 0


def lost_output():
    """Why what was printed did not get there; empty where it did."""
    try:
        sys.stdout.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
        return "" if isinstance(problem, BrokenPipeError) else f"stdout: {problem.strerror}"
    return ""


def main(script, *words):
    end_with_caller()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # plots need no more
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # which says what it lacks; others end here
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    script = os.fspath(Path(__file__).resolve().parent / script)
    sys.argv = [script, *words]
    sys.path[0] = os.path.dirname(script)
    end = end_of(script)
    lost = lost_output()
    return f"gradrace: {lost}" if lost and not end else end


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
