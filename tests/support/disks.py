"""Disks of their own for tests."""

import contextlib
import os
import subprocess
import unittest


@contextlib.contextmanager
def small_disk(place, size):
    """A tmpfs of so many bytes; skips the test where none may be mounted."""
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", os.fspath(place)]
    if os.geteuid() != 0 or subprocess.run(words, check=False, capture_output=True).returncode != 0:
        raise unittest.SkipTest("no tmpfs can be mounted: that takes root")
    try:
        yield place
    finally:
        subprocess.run(["umount", os.fspath(place)], check=True)
